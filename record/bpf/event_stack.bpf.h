/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of events with stacks. The walk of a user stack is by far the largest program that there is,
 * so there is one of it, event_stack.bpf.c, that the programs of all sources end with: a tail
 * call. Those work between programs of raw tracepoints only. A row is put together in memory of
 * the CPU, with its stacks behind it:
 *
 *	struct ebt_wire_x *row;
 *
 *	row = ebrec_event_begin(EBT_T_x, sizeof(*row), bpf_ktime_get_ns(), task);
 *	if (!row)
 *		return 0;
 *	row->… = …; every field but the head, CPU, task and the stacks
 *	return ebrec_event_end(ctx, sizeof(*row), offsetof(struct ebt_wire_x, kstack),
 *			       offsetof(struct ebt_wire_x, ustack), EBREC_KSTACK | EBREC_USTACK);
 */
#ifndef RECORD_BPF_EVENT_STACK_BPF_H
#define RECORD_BPF_EVENT_STACK_BPF_H

#include "record/bpf/probe.h"
#include "record/bpf/stack.bpf.h"

/* Rows that can be under way on one CPU: of a task, a soft interrupt, an interrupt, an NMI. Whoever
 * interrupts is done before the interrupted goes on. */
#define EBREC_EVENT_LEVELS 4
#define EBREC_EVENT_ROW	   256

/* Which stacks. A user stack is left out where there is none: in interrupts, of kernel threads. */
#define EBREC_KSTACK 1
#define EBREC_USTACK 2

struct ebrec_event {
	__u32 table;
	__u32 stacks;	      /* EBREC_KSTACK … */
	__u32 start;	      /* where the row begins; it ends where `behind` begins */
	__u32 kstack, ustack; /* where the references are; EBREC_EVENT_ROW: there is none */
	__u32 bytes_at;	      /* the same, of the bytes below */
	__u32 n_bytes;
	__u32 unused;
	__u64 time;
	__u8 bytes[EBREC_PROBE_BYTES + EBREC_PROBE_STRING + 8]; /* of probe.bpf.h; 512 count */
	__u8 row[EBREC_EVENT_ROW];
	struct ebrec_stacks behind;
	__u8 behind_stacks[EBREC_PROBE_BYTES];
	__u8 unused2[EBREC_EVENT_ROW]; /* the verifier adds the last start to the largest length */
};

EBREC_CPU_ARRAY(event_scratch, EBREC_EVENT_LEVELS, struct ebrec_event) __weak;

/* How many of them are in use. */
EBREC_CPU_ARRAY(event_depth, 1, __u32) __weak;

/* [0]: ebrec_event_stacks; empty where nobody wants stacks. */
EBREC_PROGRAMS(event_programs) __weak;

/* The row that is under way; *ret_depth counts it. */
static __always_inline struct ebrec_event *ebrec_event_current(__u32 **ret_depth)
{
	__u32 level;

	*ret_depth = ebrec_entry(&event_depth);
	if (!*ret_depth || !**ret_depth)
		return NULL;
	level = **ret_depth - 1;
	return bpf_map_lookup_elem(&event_scratch, &level);
}

/* Room for a row, whose first fields, cpu and task, are filled in; NULL, and counted, where there
 * is none. */
static __always_inline void *ebrec_event_begin(__u32 table, __u32 size, __u64 time,
					       const struct task_struct *task)
{
	__u32 level, *depth = ebrec_entry(&event_depth);
	struct ebrec_event *event;
	struct ebrec_row *row;

	if (!depth)
		return NULL;
	level = *depth;
	event = bpf_map_lookup_elem(&event_scratch, &level);
	if (!event) {
		ebrec_count_drop(table);
		return NULL;
	}
	*depth = level + 1;
	event->table = table;
	event->start = EBREC_EVENT_ROW - size;
	event->n_bytes = 0;
	event->time = time;
	row = (void *)(event->row + EBREC_EVENT_ROW - size);
	row->cpu = bpf_get_smp_processor_id();
	row->task = task->pid;
	return row;
}

/* `at` comes from memory: the verifier does not know that it fits. */
static __always_inline void ebrec_event_refer(struct ebrec_event *event, __u32 at,
					      struct ebt_ref value)
{
	barrier_var(at);
	if (at <= EBREC_EVENT_ROW - sizeof(value))
		*(struct ebt_ref *)(event->row + at) = value;
}

/* Puts the bytes of the row behind its stacks, which take len bytes. Returns how many there are. */
static __always_inline __u32 ebrec_event_add_bytes(struct ebrec_event *event, __u32 len)
{
	__u32 n = event->n_bytes;
	struct ebt_ref ref = { EBREC_EVENT_ROW - event->start + len, n };

	barrier_var(n);
	barrier_var(len);
	if (!n || n > EBREC_PROBE_BYTES || len > sizeof(event->behind))
		return 0;
	if (bpf_probe_read_kernel((void *)&event->behind + len, n, event->bytes))
		return 0;
	ebrec_event_refer(event, event->bytes_at, ref);
	return n;
}

/* Hands the row over, with stacks of klen and ulen bytes behind it. */
static __always_inline void ebrec_event_output(struct ebrec_event *event, __u32 *depth, __u32 klen,
					       __u32 ulen)
{
	__u32 start = event->start, len = klen + ulen;
	struct ebt_ref kstack = {}, ustack = {};

	ebrec_refer(&kstack, &ustack, EBREC_EVENT_ROW - start, klen, ulen);
	ebrec_event_refer(event, event->kstack, kstack);
	ebrec_event_refer(event, event->ustack, ustack);
	if (config.event_bytes)
		len += ebrec_event_add_bytes(event, len);
	barrier_var(start);
	barrier_var(len);
	if (start <= EBREC_EVENT_ROW - sizeof(struct ebt_wire_head) &&
	    len <= sizeof(event->behind) + EBREC_PROBE_BYTES) {
		len += EBREC_EVENT_ROW - start;
		ebrec_output(ebrec_event_slot(), event->table, (void *)(event->row + start), len,
			     event->time);
	}
	(*depth)--;
}

/* As ebrec_event_end(), for programs of another kind, which have a map of their own to end in. */
static __always_inline int ebrec_event_end_by(void *ctx, void *programs, __u32 size, __u32 kstack,
					      __u32 ustack, __u32 stacks)
{
	__u32 *depth;
	struct ebrec_event *event = ebrec_event_current(&depth);

	if (!event)
		return 0;
	event->kstack = kstack ? EBREC_EVENT_ROW - size + kstack : EBREC_EVENT_ROW;
	event->ustack = ustack ? EBREC_EVENT_ROW - size + ustack : EBREC_EVENT_ROW;
	event->stacks = stacks;
	if (config.event_stacks && stacks)
		bpf_tail_call(ctx, programs, 0);
	/* Nobody wants stacks, or the kernel would not. */
	ebrec_event_output(event, depth, 0, 0);
	return 0;
}

/*
 * Takes stacks and hands the row over: the last thing that a program does. size is that of the row,
 * kstack and ustack where its references are, 0: it has none.
 */
static __always_inline int ebrec_event_end(void *ctx, __u32 size, __u32 kstack, __u32 ustack,
					   __u32 stacks)
{
	return ebrec_event_end_by(ctx, &event_programs, size, kstack, ustack, stacks);
}

#endif
