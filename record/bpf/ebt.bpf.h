/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every BPF program of the recorder uses: configuration, the gate, the filter, and rings.
 * Included by each *.bpf.c; the objects are linked into one, where weak definitions of the same
 * map or variable become one.
 */
#ifndef RECORD_BPF_EBT_BPF_H
#define RECORD_BPF_EBT_BPF_H

#include "record/bpf/kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "format/schema/wire.h"
#include "record/bpf/shared.h"

char LICENSE[] SEC("license") __weak = "GPL";

const volatile struct ebrec_bpf_config config __weak = {};

/* 0: record nothing. Opened when everything is attached, closed before anything is detached. */
volatile __u32 gate __weak = 0;

/*
 * Maps; in a header, which several objects include, followed by __weak. Those of 1 entry may be
 * made larger when they are loaded.
 */
#define EBREC_MAP(name, kind, flags, n, key_type, value_type) \
	struct {                                              \
		__uint(type, BPF_MAP_TYPE_##kind);            \
		__uint(map_flags, flags);                     \
		__uint(max_entries, n);                       \
		__type(key, key_type);                        \
		__type(value, value_type);                    \
	} name SEC(".maps")

#define EBREC_ARRAY(name, n, value)	    EBREC_MAP(name, ARRAY, 0, n, __u32, value)
#define EBREC_CPU_ARRAY(name, n, value)	    EBREC_MAP(name, PERCPU_ARRAY, 0, n, __u32, value)
#define EBREC_HASH(name, n, key, value)	    EBREC_MAP(name, HASH, 0, n, key, value)
#define EBREC_LRU_HASH(name, n, key, value) EBREC_MAP(name, LRU_HASH, 0, n, key, value)
/* One that user space maps into its memory. */
#define EBREC_SHARED_ARRAY(name, value) EBREC_MAP(name, ARRAY, BPF_F_MMAPABLE, 1, __u32, value)
#define EBREC_TASK_STORAGE(name, value) \
	EBREC_MAP(name, TASK_STORAGE, BPF_F_NO_PREALLOC, 0, int, value)
/* Of maps that are alike. */
#define EBREC_MAPS(name, inner)                           \
	struct {                                          \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS); \
		__uint(max_entries, 1);                   \
		__type(key, __u32);                       \
		__array(values, inner);                   \
	} name SEC(".maps")
/* For a tail call. */
#define EBREC_PROGRAMS(name) EBREC_MAP(name, PROG_ARRAY, 0, 1, __u32, __u32)

struct ebrec_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

EBREC_MAPS(rings, struct ebrec_ring) __weak;
EBREC_SHARED_ARRAY(slots, struct ebrec_slot) __weak;
EBREC_SHARED_ARRAY(followed, struct ebrec_followed) __weak;
EBREC_CPU_ARRAY(drops, EBREC_DROPS_TABLES, struct ebrec_drops) __weak;

/*
 * When the system call that a tid is in began; 0: it is in none. An array by tid, not task
 * storage: the lookup is a few instructions instead of two calls and a lock, which is a third of
 * what a traced call costs. 8 bytes for each possible tid, only made with source `syscalls`.
 */
EBREC_ARRAY(syscall_start, 1, __u64) __weak;

#define COMM_LEN 16 /* of a task's name, and of a network device's */

static __always_inline __u32 ebrec_comm_len(const char *comm)
{
	__u32 n = 0;

	while (n < COMM_LEN && comm[n])
		n++;
	return n;
}

/* The entry of a map of one. */
static __always_inline void *ebrec_entry(void *map)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(map, &zero);
}

/* --- filter --- */

static __always_inline bool ebrec_tid_followed(__u32 tid)
{
	__u32 key = tid / 64;
	struct ebrec_followed *f = bpf_map_lookup_elem(&followed, &key);

	return f && f->tid[tid % 64];
}

/* Written for every new task, so that what a dead one left under its tid does not matter. */
static __always_inline void ebrec_follow_tid(__u32 tid, bool follow)
{
	__u32 key = tid / 64;
	struct ebrec_followed *f = bpf_map_lookup_elem(&followed, &key);

	if (f)
		f->tid[tid % 64] = follow;
}

static __always_inline bool ebrec_is_self(const struct task_struct *task)
{
	return (__u32)task->tgid == config.self_tgid;
}

static __always_inline bool ebrec_task_followed(const struct task_struct *task)
{
	if (config.all)
		return task->pid && !ebrec_is_self(task);
	return ebrec_tid_followed(task->pid);
}

/* --- rings --- */

/* The slot of this CPU. */
static __always_inline __u32 ebrec_event_slot(void)
{
	return EBREC_SLOT_EVENT(bpf_get_smp_processor_id());
}

/*
 * Flags for handing over a record. Waking the reader for each would cost more than the record
 * itself, so it is woken only if it sleeps and much is queued, and only one record in 64 looks;
 * a hash of the time says which, as that needs no memory. The reader also wakes by itself.
 */
static __always_inline __u64 ebrec_wake_flags(void *ring, __u32 index, __u64 time)
{
	struct ebrec_slot *slot;

	if ((__u32)time * 0x9e3779b1u >> 26)
		return BPF_RB_NO_WAKEUP;
	slot = bpf_map_lookup_elem(&slots, &index);
	if (!slot || !slot->asleep || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < slot->wake_bytes)
		return BPF_RB_NO_WAKEUP;
	slot->asleep = 0;
	return BPF_RB_FORCE_WAKEUP;
}

static __always_inline void ebrec_count_drops(__u32 table, __u32 n)
{
	struct ebrec_drops *d = bpf_map_lookup_elem(&drops, &table);

	/* Programs of uprobes may be preempted by others of the same kind. */
	if (d)
		__sync_fetch_and_add(&d->ring_full, n);
}

static __always_inline void ebrec_count_drop(__u32 table)
{
	ebrec_count_drops(table, 1);
}

/* May what is done so many times a second at the most be done now? */
static __always_inline bool ebrec_may(struct ebrec_rate *rate, __u64 now, __u64 most)
{
	if (rate->second != now / 1000000000) {
		rate->second = now / 1000000000;
		rate->n = 0;
	}
	if (rate->n >= most) {
		rate->refused++;
		return false;
	}
	rate->n++;
	return true;
}

/* There was no memory to keep what becomes a row of this table. */
static __always_inline void ebrec_count_no_storage(__u32 table)
{
	struct ebrec_drops *d = bpf_map_lookup_elem(&drops, &table);

	if (d)
		__sync_fetch_and_add(&d->no_storage, 1);
}

static __always_inline void ebrec_fill_head(struct ebt_wire_head *head, __u32 table, __u32 len,
					    __u64 time)
{
	head->time = time;
	head->len = len;
	head->table = table;
	head->flags = 0;
}

/*
 * With source `lock`: this CPU takes the lock of a ring. If it has to wait, that would be a row
 * too, which would have to take the same lock.
 */
EBREC_CPU_ARRAY(ring_busy, 1, __u32) __weak;

static __always_inline __u32 *ebrec_ring_enter(void)
{
	__u32 *busy = config.lock_rings ? ebrec_entry(&ring_busy) : NULL;

	if (busy)
		++*(volatile __u32 *)busy;
	return busy;
}

static __always_inline void ebrec_ring_leave(__u32 *busy)
{
	if (busy)
		--*(volatile __u32 *)busy;
}

/* bpf_ringbuf_reserve() and _output(). */
static __always_inline void *ebrec_ring_reserve(void *ring, __u64 size)
{
	__u32 *busy = ebrec_ring_enter();
	void *record = bpf_ringbuf_reserve(ring, size, 0);

	ebrec_ring_leave(busy);
	return record;
}

static __always_inline long ebrec_ring_output(void *ring, void *data, __u64 size, __u64 flags)
{
	__u32 *busy = ebrec_ring_enter();
	long r = bpf_ringbuf_output(ring, data, size, flags);

	ebrec_ring_leave(busy);
	return r;
}

static __always_inline bool ebrec_ring_busy(void)
{
	__u32 *busy = ebrec_entry(&ring_busy);

	return busy && *busy;
}

/*
 * Wakes the session's thread, which reads the side-band, the task ring and /proc: something
 * happened that it should hear of before its next deadline. Once it has been woken it says when it
 * wants to be woken again, so that however much happens, only some hundred a second are paid for.
 */
static __always_inline bool ebrec_ring_doorbell(void)
{
	__u32 index = EBREC_SLOT_DOORBELL(&config);
	struct ebrec_slot *slot = bpf_map_lookup_elem(&slots, &index);
	void *ring, *record;

	if (!slot || !slot->asleep)
		return false;
	ring = bpf_map_lookup_elem(&rings, &index);
	record = ring ? ebrec_ring_reserve(ring, sizeof(__u64)) : NULL;
	if (!record) /* in an NMI, with the ring's lock held: the next one rings */
		return false;
	slot->asleep = 0;
	bpf_ringbuf_discard(record, BPF_RB_FORCE_WAKEUP);
	return true;
}

/*
 * Room for a record of fixed size, its head filled in; NULL, and counted, where there is none.
 * *flags is for bpf_ringbuf_submit().
 */
static __always_inline void *ebrec_reserve(__u32 slot, __u32 table, __u32 size, __u64 time,
					   __u64 *flags)
{
	void *ring = bpf_map_lookup_elem(&rings, &slot);
	void *record;

	if (!ring)
		return NULL;
	*flags = ebrec_wake_flags(ring, slot, time);
	record = ebrec_ring_reserve(ring, size);
	if (!record) {
		ebrec_count_drop(table);
		return NULL;
	}
	ebrec_fill_head(record, table, size, time);
	return record;
}

/* How most rows begin. */
struct ebrec_row {
	struct ebt_wire_head head;
	__u32 cpu, task;
};

/* The same in the ring of this CPU, for tables whose first field is cpu, which is filled in too. */
static __always_inline void *ebrec_reserve_event(__u32 table, __u32 size, __u64 time, __u64 *flags)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct ebrec_row *row = ebrec_reserve(EBREC_SLOT_EVENT(cpu), table, size, time, flags);

	if (row)
		row->cpu = cpu;
	return row;
}

/* Copies a record whose size is known late; its head is filled in here. False: it is lost. */
static __always_inline bool ebrec_output(__u32 slot, __u32 table, struct ebt_wire_head *record,
					 __u32 len, __u64 time)
{
	void *ring = bpf_map_lookup_elem(&rings, &slot);

	if (!ring)
		return false;
	ebrec_fill_head(record, table, len, time);
	if (!ebrec_ring_output(ring, record, len, ebrec_wake_flags(ring, slot, time)))
		return true;
	ebrec_count_drop(table);
	return false;
}

#endif
