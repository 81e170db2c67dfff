/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `net`, devices: a row for each packet that a driver is given, with the time that it was
 * queued before, and for each that a device hands up.
 */
#include <bpf/bpf_endian.h>

#include "record/bpf/net.bpf.h"

#define ATTR_QUEUE_KNOWN 1

/*
 * A packet between the queue of a device and its driver. It is known by the address of its sk_buff,
 * which another one may get later; so what is freed while it is queued loses its entry. With the
 * device, as a tunnel hands the same sk_buff on to another device from within its driver.
 */
struct packet_key {
	const struct sk_buff *skb;
	const struct net_device *dev;
};

struct packet {
	__u64 queued;  /* 0: not known */
	__u64 started; /* given to the driver; 0: not yet */
	__u64 cookie;
	__u32 owner, cpu;
	__u32 segments, protocol;
};

EBREC_HASH(net_packets, 65536, struct packet_key, struct packet);

/* Devices with a row already, and their names. */
struct device_key {
	__u32 netns, ifindex;
};

struct device_name {
	__u64 word[2];
};

EBREC_LRU_HASH(net_devices, 4096, struct device_key, struct device_name);

struct device_record {
	struct ebt_wire_net_device row;
	struct device_name name;
};

static __always_inline __u32 device_ns(const struct net_device *dev)
{
	return BPF_CORE_READ(dev, nd_net.net, ns.inum);
}

/* A row for a device that has none, or another name by now. */
static __always_inline void note_device(const struct net_device *dev, __u32 netns, __u64 now)
{
	struct device_key key = { netns, dev->ifindex };
	const struct device_name *known = bpf_map_lookup_elem(&net_devices, &key);
	struct device_record *record;
	struct device_name name = {};
	__u64 flags;

	bpf_probe_read_kernel(&name, sizeof(name), &dev->name);
	if (known && known->word[0] == name.word[0] && known->word[1] == name.word[1])
		return;
	record = ebrec_reserve_event(EBT_T_net_device, sizeof(*record), now, &flags);
	if (!record)
		return;
	record->row.netns = netns;
	record->row.ifindex = key.ifindex;
	record->row.mtu = dev->mtu;
	record->row.type = dev->type;
	record->row.unused = 0;
	record->name = name;
	record->row.name =
		(struct ebt_ref){ sizeof(record->row), ebrec_comm_len((const char *)&name) };
	bpf_ringbuf_submit(record, flags);
	bpf_map_update_elem(&net_devices, &key, &name, BPF_ANY);
}

/* --- sending --- */

/*
 * Whose packet is this? Its socket's owner. A packet that is queued in a system call is that
 * task's, if nobody has used the socket before: the first datagram.
 */
static __always_inline void fill_owner(struct packet *packet, const struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	struct net_socket *s;

	if (!sk || !net_is_full(sk))
		return;
	s = bpf_sk_storage_get(&net_sockets, sk, NULL, 0);
	if (!s && !ebrec_in_interrupt())
		s = net_use_socket(sk, bpf_get_current_task_btf());
	if (!s)
		return;
	packet->owner = net_owner_task(s->owner);
	/* The helper that makes one does not take such a pointer. */
	packet->cookie = BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
}

static __always_inline __u32 segments_of(const struct sk_buff *skb)
{
	const struct skb_shared_info *info = (const void *)skb->head + skb->end;

	return BPF_CORE_READ(info, gso_segs) ?: 1;
}

/* False: nobody wants it. */
static __always_inline bool fill_packet(struct packet *packet, const struct sk_buff *skb,
					const struct net_device *dev)
{
	fill_owner(packet, skb);
	if (!packet->owner && !net_namespace_followed(device_ns(dev)))
		return false;
	packet->segments = segments_of(skb);
	packet->protocol = bpf_ntohs(skb->protocol);
	return true;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(ebrec_net_queue, const struct sk_buff *skb)
{
	struct packet_key key = { .skb = skb };
	struct packet packet = {};

	if (!gate)
		return 0;
	key.dev = skb->dev;
	if (!key.dev || !fill_packet(&packet, skb, key.dev))
		return 0;
	packet.queued = bpf_ktime_get_ns();
	/* Where there is no room its queue time will not be known. */
	bpf_map_update_elem(&net_packets, &key, &packet, BPF_ANY);
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(ebrec_net_start_xmit, const struct sk_buff *skb, const struct net_device *dev)
{
	struct packet_key key = { skb, dev };
	struct packet packet = {}, *found;

	if (!gate)
		return 0;
	found = bpf_map_lookup_elem(&net_packets, &key);
	if (found) {
		found->started = bpf_ktime_get_ns();
		found->cpu = bpf_get_smp_processor_id();
		return 0;
	}
	/* A part of a packet that was too large for the device, or one that bypassed the queue. */
	if (!fill_packet(&packet, skb, dev))
		return 0;
	packet.started = bpf_ktime_get_ns();
	packet.cpu = bpf_get_smp_processor_id();
	bpf_map_update_elem(&net_packets, &key, &packet, BPF_ANY);
	return 0;
}

static __always_inline void emit_packet(const struct net_device *dev, const struct packet *packet,
					__u32 netns, __u32 direction, __u32 length, __u32 result,
					__u64 now)
{
	struct ebt_wire_net_packet *row;
	__u64 flags;

	note_device(dev, netns, now);
	row = ebrec_reserve_event(EBT_T_net_packet, sizeof(*row), now, &flags);
	if (!row)
		return;
	row->task = packet->owner;
	row->cookie = packet->cookie;
	row->queue = packet->queued ? packet->started - packet->queued : 0;
	row->netns = netns;
	row->ifindex = dev->ifindex;
	row->direction = direction;
	row->length = length;
	row->segments = packet->segments;
	row->attrs = packet->queued ? ATTR_QUEUE_KNOWN : 0;
	row->result = result;
	row->protocol = packet->protocol;
	bpf_ringbuf_submit(row, flags);
}

/* Whatever skb points to may have been freed by the driver, and got by somebody else. */
SEC("tp_btf/net_dev_xmit")
int BPF_PROG(ebrec_net_xmit, const struct sk_buff *skb, int result, const struct net_device *dev,
	     unsigned int length)
{
	struct packet_key key = { skb, dev };
	struct packet packet = { .segments = 1 }, *found;
	__u32 netns;

	if (!gate)
		return 0;
	netns = device_ns(dev);
	found = bpf_map_lookup_elem(&net_packets, &key);
	if (found && found->started && found->cpu == bpf_get_smp_processor_id()) {
		packet = *found;
		if (result == NET_XMIT_BUSY)
			found->started = 0;
		else
			bpf_map_delete_elem(&net_packets, &key);
	} else if (!net_namespace_followed(netns)) {
		return 0;
	}
	if (dev->type == NET_TYPE_LOOPBACK && length > dev->hard_header_len)
		length -= dev->hard_header_len;
	emit_packet(dev, &packet, netns, EBT_V_net_packet_direction_send, length, result,
		    bpf_ktime_get_ns());
	return 0;
}

/* A packet that is freed while a driver has it belongs to net_dev_xmit. */
static __always_inline int forget(const struct sk_buff *skb)
{
	struct packet_key key = { .skb = skb };
	const struct packet *found;

	if (!gate)
		return 0;
	key.dev = skb->dev;
	found = bpf_map_lookup_elem(&net_packets, &key);
	if (found && !found->started)
		bpf_map_delete_elem(&net_packets, &key);
	return 0;
}

/* Dropped. */
SEC("tp_btf/kfree_skb")
int BPF_PROG(ebrec_net_kfree_skb, const struct sk_buff *skb)
{
	return forget(skb);
}

/* Cut into parts, or replaced by a copy. */
SEC("tp_btf/consume_skb")
int BPF_PROG(ebrec_net_consume_skb, const struct sk_buff *skb)
{
	return forget(skb);
}

/* --- receiving --- */

/* Nobody knows yet whom it is for. */
SEC("tp_btf/netif_receive_skb")
int BPF_PROG(ebrec_net_receive_skb, const struct sk_buff *skb)
{
	const struct net_device *dev = skb->dev;
	__u32 netns = device_ns(dev), length, header;
	struct packet packet = {};

	if (!gate || !net_namespace_followed(netns))
		return 0;
	packet.segments = segments_of(skb);
	packet.protocol = bpf_ntohs(skb->protocol);
	length = skb->len;
	header = (__u32)(skb->data - skb->head) - skb->mac_header;
	if (dev->type != NET_TYPE_LOOPBACK && skb->mac_header != NET_NO_HEADER && header < 256)
		length += header;
	emit_packet(dev, &packet, netns, EBT_V_net_packet_direction_receive, length, 0,
		    bpf_ktime_get_ns());
	return 0;
}
