/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writer's side of the SPSC queues of system calls; struct ebrec_spsc says why they are. */
#ifndef RECORD_BPF_CALL_QUEUE_BPF_H
#define RECORD_BPF_CALL_QUEUE_BPF_H

#include "record/bpf/ebt.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct ebrec_spsc));
} spsc_queues SEC(".maps");

/* How often a writer asks if the reader sleeps, in bytes; a power of two. */
#define CALL_QUEUE_LOOK 32768

/* Of this CPU; NULL: it has none. */
static __always_inline struct ebrec_spsc *call_queue(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&spsc_queues, &cpu);
}

/* Where a row that begins at this position lies: whole, as there is room behind the end. */
static __always_inline void *call_queue_at(struct ebrec_spsc *queue, __u64 position)
{
	return (void *)(queue + 1) + (position & (config.spsc_bytes - 8));
}

static __always_inline bool call_queue_has_room(const struct ebrec_spsc *queue, __u32 bytes)
{
	return queue->head + bytes - *(volatile __u64 *)&queue->tail <= config.spsc_bytes;
}

/* NULL, too, if there is no room. */
static __always_inline struct ebrec_spsc *call_queue_with_room(__u32 bytes)
{
	struct ebrec_spsc *queue = call_queue();

	return queue && call_queue_has_room(queue, bytes) ? queue : NULL;
}

/* Wakes the reader, which sleeps at the CPU's ring, by a record that is none. */
static __always_inline void call_queue_kick(const struct ebrec_spsc *queue)
{
	__u32 cpu = ebrec_event_slot();
	struct ebrec_slot *slot = bpf_map_lookup_elem(&slots, &cpu);
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	void *record;

	if (!slot || !ring || !slot->asleep || queue->head - queue->tail < config.spsc_bytes / 4)
		return;
	slot->asleep = 0;
	record = ebrec_ring_reserve(ring, 8);
	if (record)
		bpf_ringbuf_discard(record, BPF_RB_FORCE_WAKEUP);
}

/* bytes: a multiple of eight. */
static __always_inline void call_queue_submit(struct ebrec_spsc *queue, __u64 bytes)
{
	__u64 head = queue->head, end = head + bytes;

	/* x86 makes stores visible in order; another architecture would need a store-release. */
	barrier();
	*(volatile __u64 *)&queue->head = end;
	if ((head ^ end) & -CALL_QUEUE_LOOK)
		call_queue_kick(queue);
}

#endif
