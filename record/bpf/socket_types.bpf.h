/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sources know of the kernel's sockets. Pointers are read and not followed (kernel_types.h).
 */
#ifndef RECORD_BPF_SOCKET_TYPES_BPF_H
#define RECORD_BPF_SOCKET_TYPES_BPF_H

#include "record/bpf/compat.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct net_pointer {
	struct net *net;
};

struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct net_pointer skc_net;
	struct {
		__u8 bytes[16];
	} skc_v6_daddr, skc_v6_rcv_saddr;
	struct {
		__s64 counter;
	} skc_cookie;
	unsigned long skc_flags;
};

enum sock_flags { SOCK_DONE = 1 };

struct socket;

struct sock {
	struct sock_common __sk_common;
	int sk_err;
	__u16 sk_protocol;
	struct socket *sk_socket; /* NULL: nobody has accepted it yet, or it is closed */
};

struct inet_sock {
	__be16 inet_sport;
};

struct socket {
	short type;
	struct file *file;
	struct sock *sk;
};

#pragma clang attribute pop

/* Numbers of the kernel's interface. */
enum {
	NET_UNIX = 1,
	NET_INET = 2,
	NET_INET6 = 10,
	NET_NETLINK = 16,
};

#endif
