/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `tp`: any tracepoint of the kernel. Where it has a trace event, its record is the context
 * of the program; else its arguments are. Both are read as user space has found out: tp_specs.
 */
#include "record/bpf/event_walk.bpf.h"
#include "record/bpf/probe_tp.h"

struct tp_row {
	__u32 len; /* of args */
	__u32 unused;
	struct ebt_wire_probe_hit hit; /* the record, with what it refers to behind it */
	__u8 args[EBREC_TP_BYTES + EBREC_TP_TEXT + 2 * sizeof(__u64) * EBREC_PROBE_ARGS];
	struct ebrec_stacks room; /* stacks begin where args end */
};

EBREC_ARRAY(tp_specs, EBREC_MAX_PROBES + 1, struct ebrec_tp_spec);

/* event_depth counts them together with other rows, as one walk is under way at a time. */
EBREC_CPU_ARRAY(tp_rows, EBREC_EVENT_LEVELS, struct tp_row);

/* [0]: ebrec_probe_event_stacks and ebrec_probe_raw_stacks. Tail calls work between programs of one
 * kind. */
EBREC_PROGRAMS(tp_event_programs);
EBREC_PROGRAMS(tp_raw_programs);

/* With -a the interrupts of idle CPUs and of the recorder count too: they are the machine's. */
static __always_inline bool wanted(const struct task_struct *task, bool interrupt)
{
	if (config.all)
		return interrupt || !ebrec_is_self(task);
	return ebrec_tid_followed(task->pid);
}

static __always_inline void put_number(struct tp_row *row, const struct ebrec_tp_arg *arg,
				       const void *from)
{
	__u32 at = row->len, size = arg->size, shift;
	__u64 value = 0;

	barrier_var(at);
	barrier_var(size);
	if (at > sizeof(row->args) - sizeof(value) || size > sizeof(value))
		return;
	bpf_probe_read_kernel(&value, size, from);
	shift = 64 - 8 * size;
	if (arg->kind == EBREC_TP_SIGNED)
		value = (__s64)(value << (shift & 63)) >> (shift & 63);
	*(__u64 *)(row->args + at) = value;
	row->len = at + sizeof(value);
}

static __always_inline void put_length(struct tp_row *row, __u32 at, __u32 len)
{
	/* The bytes of what could not be read take no place. */
	*(__u16 *)(row->args + at) = len;
	row->len = at + sizeof(__u16) + (len == EBREC_PROBE_UNREADABLE ? 0 : len);
}

static __always_inline void put_text(struct tp_row *row, const struct ebrec_tp_arg *arg, __u32 len,
				     const void *from)
{
	__u32 at = row->len;
	long n = -1;

	barrier_var(at);
	barrier_var(len);
	if (at > sizeof(row->args) - sizeof(__u16) - EBREC_TP_TEXT - 1)
		return; /* never: see EBREC_TP_BYTES */
	barrier_var(at);
	if (len > EBREC_TP_TEXT)
		len = EBREC_TP_TEXT;
	if (at <= EBREC_TP_BYTES) {
		if (arg->kind == EBREC_TP_STRING)
			/* A place more, for the zero byte: of 16 bytes, all 16 may be letters. */
			n = bpf_probe_read_kernel_str(row->args + at + 2, len + 1, from) - 1;
		else if (!bpf_probe_read_kernel(row->args + at + 2, len, from))
			n = len;
	}
	put_length(row, at, n < 0 || n > EBREC_TP_TEXT ? EBREC_PROBE_UNREADABLE : (__u32)n);
}

static __always_inline void put(struct tp_row *row, void *ctx, const struct ebrec_tp_arg *arg)
{
	__u32 loc = 0, at = arg->at, len = arg->len;
	const void *from;
	__u64 pointer;

	if (arg->where != EBREC_TP_HERE) {
		bpf_probe_read_kernel(&loc, sizeof(loc), ctx + at);
		at = arg->where == EBREC_TP_REL ? at + sizeof(loc) : 0;
		at += loc & 0xffff;
		if (loc >> 16 < len)
			len = loc >> 16;
	}
	from = ctx + at;
	for (__u32 i = 0; i < 2; i++) {
		if (i >= arg->pointers)
			break;
		pointer = 0;
		bpf_probe_read_kernel(&pointer, sizeof(pointer), from);
		from = (const void *)(pointer + arg->offsets[i]);
	}
	if (arg->kind == EBREC_TP_NUMBER || arg->kind == EBREC_TP_SIGNED)
		put_number(row, arg, from);
	else
		put_text(row, arg, len, from);
}

/* Where a stack begins behind arguments of len bytes. */
static __always_inline __u32 stacks_at(__u32 len)
{
	return (len + sizeof(__u64) - 1) & -sizeof(__u64);
}

/* Hands the row over, with a stack of ulen bytes behind its arguments. */
static __always_inline void output(struct tp_row *row, __u32 *depth, __u32 ulen)
{
	__u32 len = row->len, at = stacks_at(len);

	row->hit.args = (struct ebt_ref){ len ? sizeof(row->hit) : 0, len };
	if (ulen) {
		row->hit.ustack = (struct ebt_ref){ sizeof(row->hit) + at, ulen };
		len = at + ulen;
	}
	barrier_var(len);
	if (len <= sizeof(row->args) + sizeof(row->room))
		ebrec_output(EBREC_SLOT_EVENT(row->hit.cpu), EBT_T_probe_hit, &row->hit.head,
			     sizeof(row->hit) + len, row->hit.head.time);
	barrier();
	--*(volatile __u32 *)depth;
}

static __always_inline void hit(void *ctx, void *programs, __u32 probe,
				const struct task_struct *task, bool interrupt)
{
	__u32 level, *depth = ebrec_entry(&event_depth);
	struct ebrec_tp_spec *spec = bpf_map_lookup_elem(&tp_specs, &probe);
	__u64 now = bpf_ktime_get_ns();
	struct tp_row *row;

	if (!depth || !spec)
		return;
	level = *depth;
	row = bpf_map_lookup_elem(&tp_rows, &level);
	if (!row) {
		ebrec_count_drop(EBT_T_probe_hit);
		return;
	}
	/* Ours from here on: an interrupt that comes now takes the next one. */
	*(volatile __u32 *)depth = level + 1;
	barrier();
	row->hit = (struct ebt_wire_probe_hit){
		.head.time = now,
		.cpu = bpf_get_smp_processor_id(),
		.task = interrupt ? 0 : task->pid,
		.probe = probe,
	};
	row->len = 0;
	for (__u32 i = 0; i < EBREC_PROBE_ARGS && i < spec->n_args; i++)
		put(row, ctx, &spec->args[i]);
	/* A row within a row has the user stack of that one, whose walk may be under way. */
	if (config.event_stacks && !level && !interrupt && ebrec_has_user_stack(task))
		bpf_tail_call(ctx, programs, 0);
	output(row, depth, 0);
}

/* programs: where those of this kind go on. probe: what it is the number of. */
static __always_inline void try_hit(void *ctx, void *programs, __u32 probe)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	bool interrupt;

	/* A ring whose lock has to be waited for makes no row of that. */
	if (!gate || (config.lock_rings && ebrec_ring_busy()))
		return;
	interrupt = ebrec_in_interrupt();
	if (wanted(task, interrupt))
		hit(ctx, programs, probe, task, interrupt);
}

/* Attached to trace events; the cookie is the probe's number. Returning 0 would keep the record
 * from everybody else who has the same perf event. */
SEC("tp")
int ebrec_probe_event(void *ctx)
{
	try_hit(ctx, &tp_event_programs, (__u32)bpf_get_attach_cookie(ctx));
	return 1;
}

/*
 * A copy of it for each tracepoint, as not every kernel has cookies for those. The number is that
 * in the instruction, which user space changes in its copies.
 */
SEC("raw_tp")
int ebrec_probe_raw(void *ctx)
{
	__u64 probe;

	asm volatile("%0 = " EBREC_TP_MAGIC_TEXT " ll" : "=r"(probe));
	try_hit(ctx, &tp_raw_programs, (__u32)probe);
	return 0;
}

/* --- stacks --- */

/* Takes the user stack of the row that is under way, the only one of its CPU, and hands it over. */
static __always_inline void walk(void *ctx)
{
	__u32 *depth = ebrec_entry(&event_depth), at, ulen = 0;
	struct tp_row *row = ebrec_entry(&tp_rows);

	if (!depth || !row)
		return;
	at = stacks_at(row->len);
	barrier_var(at);
	if (at <= sizeof(row->args))
		ulen = event_user_stack(ctx, bpf_get_current_task_btf(), (void *)row->args + at);
	output(row, depth, ulen);
}

SEC("tp")
int ebrec_probe_event_stacks(void *ctx)
{
	walk(ctx);
	return 1;
}

/* Has a tail call for the reason that event_stack.bpf.c has one. */
SEC("raw_tp")
int ebrec_probe_raw_stacks(void *ctx)
{
	if (!config.event_stacks) /* never: it would not have been called */
		bpf_tail_call(ctx, &tp_raw_programs, 0);
	walk(ctx);
	return 0;
}
