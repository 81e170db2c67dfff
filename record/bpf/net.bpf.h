/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `net`: what its programs for connections (net.bpf.c) and for packets (net_packet.bpf.c)
 * share. Most of it happens in soft interrupts, whose current task has nothing to do with it: so
 * each socket keeps the process that used it last in a system call.
 */
#ifndef RECORD_BPF_NET_BPF_H
#define RECORD_BPF_NET_BPF_H

#include "record/bpf/socket_types.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct tcp_sock {
	__u32 segs_out, segs_in, srtt_us, total_retrans;
	__u64 bytes_sent, bytes_received, bytes_retrans;
};

struct request_sock {
	struct sock_common __req_common;
};

struct net_device {
	unsigned int mtu;
	unsigned short type, hard_header_len;
	int ifindex;
	struct net_pointer nd_net;
	char name[16];
};

struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	char cb[48];
	unsigned int len;
	__be16 protocol;
	__u16 mac_header;
	unsigned int end; /* where offsets are kept: on 64-bit machines */
	unsigned char *head, *data;
};

struct skb_shared_info {
	unsigned short gso_segs;
};

struct tcp_skb_cb {
	__u16 tcp_gso_segs;
};

#pragma clang attribute pop

/* Numbers of the kernel's interface. */
enum {
	NET_TCP = 6,
	NET_MSG_PEEK = 2,
	NET_ECANCELED = 125,
	NET_TYPE_LOOPBACK = 772, /* ARPHRD_LOOPBACK */
	NET_NO_HEADER = 0xffff,	 /* sk_buff.mac_header */
	NET_XMIT_BUSY = 16,	 /* NETDEV_TX_BUSY */
};

/* Of a socket. The kernel copies it to sockets that a listener makes, and frees it with them. */
struct net_socket {
	__u64 since; /* SYN_SENT, or ESTABLISHED, or first seen */
	__u32 owner; /* process id; 0: not known */
	__u32 stage; /* NET_STAGE_* */
};

enum { NET_STAGE_OTHER, NET_STAGE_CONNECT, NET_STAGE_ACCEPT, NET_STAGE_CONNECTED };

EBREC_MAP(net_sockets, SK_STORAGE, BPF_F_NO_PREALLOC | BPF_F_CLONE, 0, int, struct net_socket)
__weak;

/* Network namespaces that followed tasks use: their devices' packets are recorded. */
EBREC_LRU_HASH(net_namespaces, 4096, __u32, __u8) __weak;

static __always_inline __u32 net_sock_ns(const struct sock *sk)
{
	return BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
}

static __always_inline bool net_owner_followed(__u32 owner)
{
	if (config.all)
		return owner != config.self_tgid;
	return owner && ebrec_tid_followed(owner);
}

/* Who a row names. */
static __always_inline __u32 net_owner_task(__u32 owner)
{
	return net_owner_followed(owner) ? owner : 0;
}

static __always_inline bool net_namespace_followed(__u32 netns)
{
	return config.all || bpf_map_lookup_elem(&net_namespaces, &netns);
}

/* Is it a whole socket, not one that stands for a connection to be made or in TIME_WAIT? */
static __always_inline bool net_is_full(const struct sock *sk)
{
	__u32 state = sk->__sk_common.skc_state;

	return state != EBT_V_net_state_new_NEW_SYN_RECV && state != EBT_V_net_state_new_TIME_WAIT;
}

/*
 * The current task uses the socket, in a system call. Sockets of tasks that are not followed are
 * left alone; one of a followed task that another uses stays the former's.
 */
static __always_inline struct net_socket *net_use_socket(struct sock *sk,
							 const struct task_struct *task)
{
	struct net_socket *s;
	__u32 netns;
	__u8 one = 1;

	if (!ebrec_task_followed(task))
		return NULL;
	s = bpf_sk_storage_get(&net_sockets, sk, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s) {
		ebrec_count_no_storage(EBT_T_net_connection);
		return NULL;
	}
	if (s->owner == (__u32)task->tgid)
		return s;
	s->owner = task->tgid;
	if (!s->since)
		s->since = bpf_ktime_get_ns();
	netns = net_sock_ns(sk);
	if (!config.all && !bpf_map_lookup_elem(&net_namespaces, &netns))
		bpf_map_update_elem(&net_namespaces, &netns, &one, BPF_ANY);
	return s;
}

#endif
