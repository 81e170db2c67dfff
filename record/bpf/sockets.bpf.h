/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a socket is that a descriptor stands for: rows of table `socket`, before those of `fd`. */
#ifndef RECORD_BPF_SOCKETS_BPF_H
#define RECORD_BPF_SOCKETS_BPF_H

#include <bpf/bpf_endian.h>

#include "record/bpf/call_rows.bpf.h"
#include "record/bpf/socket_types.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sockaddr_un {
	unsigned short sun_family;
	char sun_path[108];
};

struct unix_address {
	int len; /* of the first name, as bind() has it */
	struct sockaddr_un name[];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

struct netlink_sock {
	__u32 portid;
};

#pragma clang attribute pop

#define SOCKET_PATH 128 /* more than a name; a power of two */

struct socket_row {
	struct ebt_wire_socket row;
	__u8 saddr[16], daddr[16];
	char path[SOCKET_PATH], peer_path[SOCKET_PATH];
};

/* How long its name is. */
static __always_inline __u32 unix_path(const struct sock *sk, char path[SOCKET_PATH])
{
	const struct unix_address *addr = BPF_CORE_READ((const struct unix_sock *)sk, addr);
	long n = BPF_CORE_READ(addr, len) - (long)sizeof(unsigned short);

	if (!addr || n <= 0)
		return 0;
	n = bpf_probe_read_kernel_str(path, SOCKET_PATH, &addr->name[0].sun_path);
	if (n > 1)
		return n - 1;
	/* An abstract name begins with a zero byte, and may have others. */
	n = BPF_CORE_READ(addr, len) - (long)sizeof(unsigned short);
	if (n <= 0)
		return 0;
	barrier_var(n);
	n &= SOCKET_PATH - 1;
	return bpf_probe_read_kernel(path, n, &addr->name[0].sun_path) ? 0 : n;
}

static __always_inline __u64 file_inode(const struct file *file)
{
	return BPF_CORE_READ(file, f_inode, i_ino);
}

static __always_inline void fill_unix(struct socket_row *r, const struct sock *sk)
{
	const struct sock *peer;

	if (!bpf_core_type_exists(struct unix_sock))
		return;
	peer = BPF_CORE_READ((const struct unix_sock *)sk, peer);
	r->row.path.off = offsetof(struct socket_row, path);
	r->row.path.len = unix_path(sk, r->path);
	if (!peer)
		return;
	r->row.peer = file_inode(BPF_CORE_READ(peer, sk_socket, file));
	r->row.peer_path.off = offsetof(struct socket_row, peer_path);
	r->row.peer_path.len = unix_path(peer, r->peer_path);
}

static __always_inline void fill_inet(struct socket_row *r, const struct sock *sk, bool is_v6)
{
	const __u32 len = is_v6 ? 16 : 4;

	r->row.sport = bpf_ntohs(BPF_CORE_READ((const struct inet_sock *)sk, inet_sport));
	r->row.dport = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	r->row.saddr.len = len;
	r->row.daddr.len = len;
	if (is_v6) {
		bpf_probe_read_kernel(r->saddr, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_probe_read_kernel(r->daddr, 16, &sk->__sk_common.skc_v6_daddr);
	} else {
		bpf_probe_read_kernel(r->saddr, 4, &sk->__sk_common.skc_rcv_saddr);
		bpf_probe_read_kernel(r->daddr, 4, &sk->__sk_common.skc_daddr);
	}
}

static __always_inline void fill_addresses(struct socket_row *r, const struct sock *sk)
{
	switch (r->row.family) {
	case NET_UNIX:
		fill_unix(r, sk);
		break;
	case NET_INET:
		fill_inet(r, sk, false);
		break;
	case NET_INET6:
		fill_inet(r, sk, true);
		break;
	case NET_NETLINK:
		if (bpf_core_type_exists(struct netlink_sock))
			r->row.sport = BPF_CORE_READ((const struct netlink_sock *)sk, portid);
		break;
	}
}

/* All of the row but its head. file: of a descriptor of the task, which is a socket. 0: it is none,
 * as the name of one that is open with O_PATH; else bytes. */
static __always_inline __u32 fill_socket(struct socket_row *r, const struct file *file, __u32 task)
{
	const struct socket *socket = BPF_CORE_READ(file, private_data);
	const struct sock *sk = BPF_CORE_READ(socket, sk);

	if (!sk)
		return 0;
	/* A field at a time: stacks of programs are small. */
	r->row.cpu = bpf_get_smp_processor_id();
	r->row.task = task;
	r->row.inode = file_inode(file);
	r->row.cookie = BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
	r->row.peer = 0;
	r->row.netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	r->row.family = BPF_CORE_READ(sk, __sk_common.skc_family);
	r->row.type = BPF_CORE_READ(socket, type);
	r->row.protocol = BPF_CORE_READ(sk, sk_protocol);
	r->row.sport = 0;
	r->row.dport = 0;
	r->row.saddr.off = offsetof(struct socket_row, saddr);
	r->row.saddr.len = 0;
	r->row.daddr.off = offsetof(struct socket_row, daddr);
	r->row.daddr.len = 0;
	r->row.path.off = sizeof(r->row);
	r->row.path.len = 0;
	r->row.peer_path.off = sizeof(r->row);
	r->row.peer_path.len = 0;
	fill_addresses(r, sk);
	return r->row.family == NET_UNIX ? sizeof(*r) : offsetof(struct socket_row, path);
}

/* Of the file `socket` of struct call_rows. */
__noinline int syscall_add_socket(__u64 now)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct call_rows *rows = ebrec_entry(&call_rows);
	struct socket_row *r;
	__u32 len;

	if (!rows)
		return 0;
	r = call_rows_place(rows, now);
	len = fill_socket(r, (const struct file *)rows->socket, task->pid);
	if (!len)
		return 0;
	rows->cookie = r->row.cookie;
	call_rows_add(rows, &r->row.head, EBT_T_socket, len, now);
	rows->n_sockets++;
	return 1;
}

#endif
