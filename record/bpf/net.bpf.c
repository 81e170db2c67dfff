/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `net`, sockets: TCP connections, what went wrong with them, what is sent and received.
 */
#include <bpf/bpf_endian.h>

#include "record/bpf/net.bpf.h"

/* NULL: nobody whom we follow has used it; or it is no whole socket. */
static __always_inline struct net_socket *socket_of(const struct sock *sk)
{
	return bpf_sk_storage_get(&net_sockets, (void *)sk, NULL, 0);
}

/* Is it of somebody whom we follow? *ret: what socket_of() gives. */
static __always_inline bool wanted(const struct sock *sk, struct net_socket **ret)
{
	if (!gate)
		return false;
	*ret = socket_of(sk);
	return config.all || (*ret && net_owner_followed((*ret)->owner));
}

/* 1 where the other side has ended its part, which counts as a byte. */
static __always_inline __u32 got_end(const struct sock *sk)
{
	return sk->__sk_common.skc_flags >> bpf_core_enum_value(enum sock_flags, SOCK_DONE) & 1;
}

/* --- connections --- */

struct connection_record {
	struct ebt_wire_net_connection row;
	__u8 saddr[16], daddr[16];
};

static __always_inline void fill_addresses(struct connection_record *record, const struct sock *sk)
{
	const struct inet_sock *inet = (const void *)sk;
	__u32 len = sk->__sk_common.skc_family == NET_INET6 ? 16 : 4;

	record->row.family = sk->__sk_common.skc_family;
	record->row.sport = bpf_ntohs(BPF_CORE_READ(inet, inet_sport));
	record->row.dport = bpf_ntohs(sk->__sk_common.skc_dport);
	record->row.saddr = (struct ebt_ref){ offsetof(struct connection_record, saddr), len };
	record->row.daddr = (struct ebt_ref){ offsetof(struct connection_record, daddr), len };
	__builtin_memset(record->saddr, 0, 16);
	__builtin_memset(record->daddr, 0, 16);
	if (len == 16) {
		bpf_probe_read_kernel(record->saddr, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_probe_read_kernel(record->daddr, 16, &sk->__sk_common.skc_v6_daddr);
	} else {
		bpf_probe_read_kernel(record->saddr, 4, &sk->__sk_common.skc_rcv_saddr);
		bpf_probe_read_kernel(record->daddr, 4, &sk->__sk_common.skc_daddr);
	}
}

static __always_inline void emit_connection(const struct sock *sk, const struct net_socket *s,
					    __u32 kind, __u32 error, __u64 latency, __u64 now)
{
	struct connection_record *record;
	__u64 flags;

	record = ebrec_reserve_event(EBT_T_net_connection, sizeof(*record), now, &flags);
	if (!record)
		return;
	record->row.task = s->owner;
	record->row.cookie = bpf_get_socket_cookie((void *)sk);
	record->row.latency = latency;
	record->row.kind = kind;
	record->row.error = error;
	record->row.netns = net_sock_ns(sk);
	fill_addresses(record, sk);
	bpf_ringbuf_submit(record, flags);
}

static __always_inline void emit_state(const struct sock *sk, const struct net_socket *s, __u32 old,
				       __u32 new, __u64 now)
{
	struct ebt_wire_net_state *row;
	__u64 flags;

	row = ebrec_reserve_event(EBT_T_net_state, sizeof(*row), now, &flags);
	if (!row)
		return;
	row->task = s->owner;
	row->cookie = bpf_get_socket_cookie((void *)sk);
	row->old = old;
	row->new = new;
	bpf_ringbuf_submit(row, flags);
}

static __always_inline void emit_end(const struct sock *sk, const struct net_socket *s, __u64 now)
{
	const struct tcp_sock *tcp = (const void *)sk;
	struct ebt_wire_net_end *row;
	__u64 flags;

	row = ebrec_reserve_event(EBT_T_net_end, sizeof(*row), now, &flags);
	if (!row)
		return;
	row->task = s->owner;
	row->cookie = bpf_get_socket_cookie((void *)sk);
	row->duration = now - s->since;
	row->bytes_sent = BPF_CORE_READ(tcp, bytes_sent);
	row->bytes_resent = BPF_CORE_READ(tcp, bytes_retrans);
	row->bytes_received = BPF_CORE_READ(tcp, bytes_received) - got_end(sk);
	row->segments_sent = BPF_CORE_READ(tcp, segs_out);
	row->segments_received = BPF_CORE_READ(tcp, segs_in);
	row->retransmits = BPF_CORE_READ(tcp, total_retrans);
	row->srtt = BPF_CORE_READ(tcp, srtt_us) >> 3;
	row->error = sk->sk_err;
	row->unused = 0;
	bpf_ringbuf_submit(row, flags);
}

/* From ESTABLISHED on. */
static __always_inline void connected(const struct sock *sk, struct net_socket *s, __u64 now)
{
	const struct tcp_sock *tcp = (const void *)sk;

	if (s->stage == NET_STAGE_CONNECT)
		emit_connection(sk, s, EBT_V_net_connection_kind_connect, 0, now - s->since, now);
	else if (s->stage == NET_STAGE_ACCEPT)
		emit_connection(sk, s, EBT_V_net_connection_kind_accept, 0,
				(__u64)(BPF_CORE_READ(tcp, srtt_us) >> 3) * 1000, now);
	s->stage = NET_STAGE_CONNECTED;
	s->since = now;
}

static __always_inline void closed(const struct sock *sk, struct net_socket *s, __u64 now)
{
	__u32 error = sk->sk_err;

	if (s->stage == NET_STAGE_CONNECT)
		emit_connection(sk, s, EBT_V_net_connection_kind_connect, error ?: NET_ECANCELED,
				now - s->since, now);
	else if (s->stage == NET_STAGE_CONNECTED)
		emit_end(sk, s, now);
	s->stage = NET_STAGE_OTHER;
	s->since = now;
}

/* SYN_SENT and LISTEN come from system calls only; all others may come from interrupts. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(ebrec_net_state, const struct sock *sk, int old, int new)
{
	struct net_socket *s;
	__u64 now;

	if (!gate || sk->sk_protocol != NET_TCP)
		return 0;
	if (new == EBT_V_net_state_new_SYN_SENT || new == EBT_V_net_state_new_LISTEN)
		net_use_socket((void *)sk, bpf_get_current_task_btf());
	s = bpf_sk_storage_get(&net_sockets, (void *)sk, NULL,
			       config.all ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (!s || !net_owner_followed(s->owner))
		return 0;
	now = bpf_ktime_get_ns();
	if (new == EBT_V_net_state_new_SYN_SENT || new == EBT_V_net_state_new_SYN_RECV) {
		/* SYN_SENT to SYN_RECV: both sides connect at once. */
		if (old != EBT_V_net_state_old_SYN_SENT) {
			s->since = now;
			s->stage = new == EBT_V_net_state_new_SYN_SENT ? NET_STAGE_CONNECT
								       : NET_STAGE_ACCEPT;
		}
	}
	emit_state(sk, s, old, new, now);
	if (new == EBT_V_net_state_new_ESTABLISHED)
		connected(sk, s, now);
	else if (new == EBT_V_net_state_new_CLOSE)
		closed(sk, s, now);
	return 0;
}

static __always_inline void emit_retransmit(const struct sock *sk, const struct net_socket *s,
					    __u32 kind, __u64 cookie, __u32 segments, __u32 length)
{
	struct ebt_wire_net_retransmit *row;
	__u64 flags;

	row = ebrec_reserve_event(EBT_T_net_retransmit, sizeof(*row), bpf_ktime_get_ns(), &flags);
	if (!row)
		return;
	row->task = s ? net_owner_task(s->owner) : 0;
	row->cookie = cookie;
	row->netns = net_sock_ns(sk);
	row->kind = kind;
	row->segments = segments;
	row->length = length;
	bpf_ringbuf_submit(row, flags);
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(ebrec_net_retransmit, const struct sock *sk, const struct sk_buff *skb)
{
	const struct tcp_skb_cb *cb = (const void *)skb->cb;
	struct net_socket *s;

	if (!wanted(sk, &s))
		return 0;
	emit_retransmit(sk, s, EBT_V_net_retransmit_kind_segment, bpf_get_socket_cookie((void *)sk),
			BPF_CORE_READ(cb, tcp_gso_segs), skb->len);
	return 0;
}

SEC("tp_btf/tcp_retransmit_synack")
int BPF_PROG(ebrec_net_retransmit_synack, const struct sock *sk, const struct request_sock *req)
{
	struct net_socket *s;

	if (!wanted(sk, &s))
		return 0;
	emit_retransmit(sk, s, EBT_V_net_retransmit_kind_SYN_ACK,
			BPF_CORE_READ(req, __req_common.skc_cookie.counter), 1, 0);
	return 0;
}

static __always_inline void emit_reset(__u32 direction, __u32 owner, __u64 cookie, __u32 netns)
{
	struct ebt_wire_net_reset *row;
	__u64 flags;

	row = ebrec_reserve_event(EBT_T_net_reset, sizeof(*row), bpf_ktime_get_ns(), &flags);
	if (!row)
		return;
	row->task = owner;
	row->cookie = cookie;
	row->netns = netns;
	row->direction = direction;
	bpf_ringbuf_submit(row, flags);
}

/* sk may be NULL: nobody listens there. Or it may be no whole socket, but one in TIME_WAIT. Newer
 * kernels do not promise skb either. */
SEC("tp_btf/tcp_send_reset")
int BPF_PROG(ebrec_net_send_reset, const struct sock *sk, const struct sk_buff *skb)
{
	struct net_socket *s = NULL;
	__u32 netns, owner = 0;
	__u64 cookie = 0;

	if (!gate)
		return 0;
	if (sk) {
		s = socket_of(sk);
		netns = net_sock_ns(sk);
		cookie = bpf_get_socket_cookie((void *)sk);
	} else if (skb) {
		netns = BPF_CORE_READ(skb, dev, nd_net.net, ns.inum);
	} else {
		return 0;
	}
	if (s)
		owner = net_owner_task(s->owner);
	if (owner || net_namespace_followed(netns))
		emit_reset(EBT_V_net_reset_direction_send, owner, cookie, netns);
	return 0;
}

SEC("tp_btf/tcp_receive_reset")
int BPF_PROG(ebrec_net_receive_reset, const struct sock *sk)
{
	struct net_socket *s;

	if (wanted(sk, &s))
		emit_reset(EBT_V_net_reset_direction_receive, s ? net_owner_task(s->owner) : 0,
			   bpf_get_socket_cookie((void *)sk), net_sock_ns(sk));
	return 0;
}

/* --- what processes send and receive --- */

static __always_inline int transfer(const struct sock *sk, int bytes, __u32 direction)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct ebt_wire_net_transfer *row;
	__u32 family = sk->__sk_common.skc_family;
	__u64 flags;

	if ((family != NET_INET && family != NET_INET6) || !net_use_socket((void *)sk, task) ||
	    bytes <= 0)
		return 0;
	row = ebrec_reserve_event(EBT_T_net_transfer, sizeof(*row), bpf_ktime_get_ns(), &flags);
	if (!row)
		return 0;
	row->task = task->pid;
	row->cookie = bpf_get_socket_cookie((void *)sk);
	row->bytes = bytes;
	row->direction = direction;
	row->protocol = sk->sk_protocol;
	bpf_ringbuf_submit(row, flags);
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(ebrec_net_send, const struct sock *sk, int ret, int flags)
{
	return gate ? transfer(sk, ret, EBT_V_net_transfer_direction_send) : 0;
}

/* What is only peeked at will be received once more. */
SEC("tp_btf/sock_recv_length")
int BPF_PROG(ebrec_net_receive, const struct sock *sk, int ret, int flags)
{
	return gate && !(flags & NET_MSG_PEEK)
		       ? transfer(sk, ret, EBT_V_net_transfer_direction_receive)
		       : 0;
}

/* A task has copied something out of a TCP socket: for kernels without the former. */
SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(ebrec_net_read, const struct sock *sk)
{
	if (gate)
		net_use_socket((void *)sk, bpf_get_current_task_btf());
	return 0;
}

/* --- sockets that are there when the recording begins --- */

SEC("iter/task_file")
int ebrec_net_sockets(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct net_socket *s;
	struct socket *socket;
	struct sock *sk;
	__u32 family;

	if (!task || !file || !gate || !ebrec_task_followed(task))
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk)
		return 0;
	family = sk->__sk_common.skc_family;
	if (family != NET_INET && family != NET_INET6)
		return 0;
	s = net_use_socket((void *)sk, task);
	if (!s || sk->sk_protocol != NET_TCP ||
	    sk->__sk_common.skc_state != EBT_V_net_state_new_ESTABLISHED)
		return 0;
	s->stage = NET_STAGE_CONNECTED;
	emit_connection(sk, s, EBT_V_net_connection_kind_there, 0, 0, bpf_ktime_get_ns());
	return 0;
}
