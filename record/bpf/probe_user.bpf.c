/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sources `uprobe` and `usdt`. A call of a function is remembered with its thread, by where the
 * stack pointer was: when a function returns, what lies below is of functions that were left in
 * another way, as by longjmp().
 *
 * Programs of uprobes may be preempted, and another task's may run on the same CPU meanwhile. So
 * memory for a row is claimed by an atomic operation. Each of them has a tail call, for the reason
 * that event_stack.bpf.c has one.
 */
#include "record/bpf/bring_in.bpf.h"
#include "record/bpf/event_walk.bpf.h"
#include "record/bpf/probe.bpf.h"
#include "record/bpf/probe_user.h"

#include <linux/bpf_perf_event.h>

/* A call that has not returned. */
struct probe_frame {
	__u64 sp, time, ip;
	__u64 later[EBREC_PROBE_LATER];
	__u32 site, depth, n_bytes, unused;
	__u8 bytes[EBREC_PROBE_KEPT];
};

struct probe_calls {
	__u32 n, unused;
	struct probe_frame frame[EBREC_PROBE_DEPTH];
};

EBREC_TASK_STORAGE(probe_calls, struct probe_calls);

/* Arguments that do not fit into struct probe_frame, by tid << 32 | number of the frame. */
struct probe_long {
	__u8 bytes[EBREC_PROBE_BYTES];
};

EBREC_MAP(probe_longs, HASH, BPF_F_NO_PREALLOC, EBREC_PROBE_LONG, __u64, struct probe_long);

EBREC_ARRAY(probe_sites, EBREC_PROBE_SITES, struct ebrec_probe_site);

/* Rows that can be under way on a CPU: of tasks that were preempted. */
#define SCRATCHES 4

struct probe_scratch {
	__u32 owner; /* a tid; 0: it is free */
	__u32 unused;
	__u64 function; /* where the stack begins, if the walk begins at its caller; or 0 */
	struct ebrec_event event;
};

EBREC_CPU_ARRAY(probe_scratches, SCRATCHES, struct probe_scratch);

/* [0]: ebrec_probe_stacks. Tail calls work between programs of one kind. */
EBREC_PROGRAMS(probe_programs);

/* A call pushes the return address on x86 only. */
#if defined(__TARGET_ARCH_x86)
#define RETURN_ADDRESS_SIZE 8
#else
#define RETURN_ADDRESS_SIZE 0
#endif

/* --- memory for a row --- */

static __always_inline struct probe_scratch *find_scratch(__u32 owner)
{
	for (__u32 i = 0; i < SCRATCHES; i++) {
		__u32 key = i;
		struct probe_scratch *s = bpf_map_lookup_elem(&probe_scratches, &key);

		if (s && *(volatile __u32 *)&s->owner == owner)
			return s;
	}
	return NULL;
}

/* NULL, and counted, where all are taken. */
static __always_inline struct probe_scratch *take_scratch(__u32 tid)
{
	for (__u32 i = 0; i < SCRATCHES; i++) {
		__u32 key = i;
		struct probe_scratch *s = bpf_map_lookup_elem(&probe_scratches, &key);

		if (s && !__sync_val_compare_and_swap(&s->owner, 0, tid))
			return s;
	}
	ebrec_count_drop(EBT_T_probe_hit);
	return NULL;
}

static __always_inline void release_scratch(struct probe_scratch *scratch)
{
	*(volatile __u32 *)&scratch->owner = 0;
}

/* --- what is fetched --- */

static __always_inline __u64 read_register(const void *regs, __u16 at)
{
	__u64 value = 0;

	if (at != EBREC_NO_REGISTER)
		bpf_probe_read_kernel(&value, sizeof(value), regs + at);
	return value;
}

/* The address behind all pointers but the last; false: one of them cannot be read. */
static __always_inline bool follow(const struct ebrec_fetch *f, __u64 *value)
{
	for (int i = 0; i + 1 < EBREC_PROBE_DEREFS; i++) {
		if (i + 1 >= f->n_derefs)
			break;
		if (bpf_probe_read_user(value, sizeof(*value), (void *)*value))
			return false;
		*value += f->deref[i];
	}
	return true;
}

static __always_inline __u64 cut_to_size(__u64 value, __u8 size, bool is_signed)
{
	__u32 shift = 64 - 8 * (size & 15);

	shift &= 63;
	value <<= shift;
	return is_signed ? (__u64)((__s64)value >> shift) : value >> shift;
}

static __always_inline void put_number(struct ebrec_event *event, const struct ebrec_fetch *f,
				       __u64 value)
{
	__u64 read = 0;

	if (f->n_derefs) {
		if (follow(f, &value))
			bpf_probe_read_user(&read, sizeof(read), (void *)value);
		value = read;
	}
	ebrec_put_number(event, cut_to_size(value, f->size, f->is_signed));
}

/* A value, as it was in registers, becomes an argument. */
static __always_inline void put(struct ebrec_event *event, const struct ebrec_fetch *f, __u64 value,
				__u32 following)
{
	if (f->what == EBREC_FETCH_NUMBER) {
		put_number(event, f, value);
		return;
	}
	if (!follow(f, &value))
		value = 0;
	if (f->what == EBREC_FETCH_STRING) {
		/* A pointer in a register needs no step; one in memory is read first. */
		if (value && f->n_derefs &&
		    bpf_probe_read_user(&value, sizeof(value), (void *)value))
			value = 0;
		ebrec_put_string(event, (void *)value, following);
	} else {
		ebrec_put_bytes(event, (void *)value,
				f->what == EBREC_FETCH_WORD ? f->size : f->len, following);
	}
}

struct fetching {
	const void *regs;
	const struct ebrec_probe_site *site;
	struct ebrec_event *event;
	struct probe_frame *frame; /* where pointers are kept; NULL: nothing is later */
};

static __always_inline __u64 fetch_value(const void *regs, const struct ebrec_fetch *f)
{
	__u64 value = read_register(regs, f->base) + f->add;

	if (f->index != EBREC_NO_REGISTER)
		value += read_register(regs, f->index) << (f->shift & 3);
	return value;
}

static long fetch_one(__u32 i, struct fetching *a)
{
	const struct ebrec_probe_site *site = a->site;
	const struct ebrec_fetch *f;
	__u32 later;

	barrier_var(i);
	if (i >= EBREC_PROBE_FETCHES || i >= site->n)
		return 1;
	f = &site->fetch[i];
	if (!f->later) {
		put(a->event, f, fetch_value(a->regs, f), site->n - 1 - i);
		return 0;
	}
	later = i - (site->n - site->n_later);
	barrier_var(later);
	if (a->frame && later < EBREC_PROBE_LATER)
		a->frame->later[later] = fetch_value(a->regs, f);
	return 0;
}

/* All that is known before a function returns. */
static __always_inline void fetch(const void *regs, const struct ebrec_probe_site *site,
				  struct probe_scratch *scratch, struct probe_frame *frame)
{
	struct fetching a = {
		.regs = regs, .site = site, .event = &scratch->event, .frame = frame
	};

	scratch->event.n_bytes = 0;
	bpf_loop(EBREC_PROBE_FETCHES, fetch_one, &a, 0);
}

/* What is fetched when the function returns: the last arguments of the place. */
static long fetch_later(__u32 i, struct fetching *a)
{
	const struct ebrec_probe_site *site = a->site;
	const struct ebrec_fetch *f;
	__u64 value;
	__u32 number = site->n - site->n_later + i;

	barrier_var(number);
	barrier_var(i);
	if (i >= site->n_later || number >= EBREC_PROBE_FETCHES || i >= EBREC_PROBE_LATER)
		return 1;
	f = &site->fetch[number];
	/* Of what is returned, it is known only now. */
	value = f->later == 2 ? fetch_value(a->regs, f) : a->frame->later[i];
	put(a->event, f, value, site->n_later - 1 - i);
	return 0;
}

static __always_inline void fetch_rest(const void *regs, const struct ebrec_probe_site *site,
				       struct probe_scratch *scratch, struct probe_frame *frame)
{
	struct fetching a = {
		.regs = regs, .site = site, .event = &scratch->event, .frame = frame
	};

	bpf_loop(EBREC_PROBE_LATER, fetch_later, &a, 0);
}

/* --- rows --- */

/* All but duration, depth and result. */
static __always_inline struct ebt_wire_probe_hit *begin_row(struct probe_scratch *scratch,
							    const struct task_struct *task,
							    __u32 probe, __u32 kind, __u64 now)
{
	struct ebrec_event *event = &scratch->event;
	struct ebt_wire_probe_hit *row;

	event->table = EBT_T_probe_hit;
	event->start = EBREC_EVENT_ROW - sizeof(*row);
	event->time = now;
	event->stacks = EBREC_USTACK;
	event->kstack = EBREC_EVENT_ROW;
	event->ustack = ebrec_bytes_at(sizeof(*row), offsetof(struct ebt_wire_probe_hit, ustack));
	event->bytes_at = ebrec_bytes_at(sizeof(*row), offsetof(struct ebt_wire_probe_hit, args));
	row = (void *)(event->row + EBREC_EVENT_ROW - sizeof(*row));
	*row = (struct ebt_wire_probe_hit){
		.cpu = bpf_get_smp_processor_id(),
		.task = task->pid,
		.probe = probe,
		.kind = kind,
	};
	return row;
}

static __always_inline void output(struct probe_scratch *scratch, __u32 ulen)
{
	__u32 depth = 1; /* is for rows of other sources */

	ebrec_event_output(&scratch->event, &depth, 0, ulen);
}

/* The last thing that a program does with a row. */
static __always_inline int end_row(void *ctx, struct probe_scratch *scratch, __u64 function)
{
	scratch->function = function;
	if (config.event_stacks)
		bpf_tail_call(ctx, &probe_programs, 0);
	output(scratch, 0);
	release_scratch(scratch);
	return 0;
}

/* --- calls --- */

static __always_inline __u64 long_key(const struct task_struct *task, __u32 index)
{
	return (__u64)task->pid << 32 | index;
}

static __always_inline void keep_bytes(const struct task_struct *task, struct probe_frame *frame,
				       __u32 index, const struct ebrec_event *event)
{
	__u64 key = long_key(task, index);
	__u32 n = event->n_bytes;

	frame->n_bytes = n;
	barrier_var(n);
	if (n <= EBREC_PROBE_KEPT)
		bpf_probe_read_kernel(frame->bytes, n, event->bytes);
	else if (bpf_map_update_elem(&probe_longs, &key, event->bytes, BPF_ANY))
		frame->n_bytes = 0;
}

static __always_inline void take_bytes(const struct task_struct *task,
				       const struct probe_frame *frame, __u32 index,
				       struct ebrec_event *event)
{
	__u64 key = long_key(task, index);
	const struct probe_long *kept;
	__u32 n = frame->n_bytes;

	event->n_bytes = 0;
	barrier_var(n);
	if (n <= EBREC_PROBE_KEPT) {
		bpf_probe_read_kernel(event->bytes, n, frame->bytes);
		event->n_bytes = n;
		return;
	}
	kept = bpf_map_lookup_elem(&probe_longs, &key);
	if (!kept || n > EBREC_PROBE_BYTES)
		return;
	bpf_probe_read_kernel(event->bytes, n, kept->bytes);
	event->n_bytes = n;
	bpf_map_delete_elem(&probe_longs, &key);
}

static __always_inline __u32 probe_of_site(__u32 key)
{
	const struct ebrec_probe_site *site = bpf_map_lookup_elem(&probe_sites, &key);

	return site ? site->probe : 0;
}

/* Frames that are to go: all that do not fit this. */
struct trimming {
	const struct task_struct *task;
	struct probe_calls *calls;
	struct probe_scratch *scratch;
	__u64 sp, now;
	__u32 site; /* whose call stays at this very sp */
};

#define STAYS_ANY  EBREC_PROBE_SITES
#define STAYS_NONE (EBREC_PROBE_SITES + 1)

static __always_inline bool stays(const struct probe_frame *frame, const struct trimming *t)
{
	return frame->sp > t->sp ||
	       (frame->sp == t->sp && (frame->site == t->site || t->site == STAYS_ANY));
}

/* The last frame, whose function did not return, as a row. */
static long trim_one(__u32 i, struct trimming *t)
{
	struct ebt_wire_probe_hit *row;
	struct probe_frame *frame;
	__u32 index = t->calls->n - 1;

	barrier_var(index);
	if (index >= EBREC_PROBE_DEPTH)
		return 1;
	frame = &t->calls->frame[index];
	if (stays(frame, t))
		return 1;
	t->calls->n = index;
	row = begin_row(t->scratch, t->task, probe_of_site(frame->site),
			EBT_V_probe_hit_kind_entered, t->now);
	row->depth = frame->depth;
	row->duration = t->now - frame->time;
	t->scratch->event.ustack = EBREC_EVENT_ROW;
	row->ustack = (struct ebt_ref){};
	take_bytes(t->task, frame, index, &t->scratch->event);
	output(t->scratch, 0);
	return 0;
}

static __always_inline void trim(const struct task_struct *task, struct probe_calls *calls,
				 struct probe_scratch *scratch, __u64 sp, __u32 site, __u64 now)
{
	struct trimming t = {
		.task = task, .calls = calls, .scratch = scratch, .sp = sp, .now = now, .site = site
	};

	bpf_loop(EBREC_PROBE_DEPTH, trim_one, &t, 0);
}

/* Did a followed function at the same place of the stack jump here? */
static __always_inline bool is_tail_call(const struct task_struct *task, const void *ctx, __u64 sp)
{
	__u64 to = 0;

#if defined(__TARGET_ARCH_x86)
	bpf_probe_read_user(&to, sizeof(to), (void *)sp);
#else
	to = PT_REGS_RET((struct pt_regs *)ctx);
#endif
	return to && to == unwind_trampoline(task);
}

/* Calls of the same place that are under way. */
static __always_inline __u32 depth_of(const struct probe_calls *calls, __u32 n, __u32 site)
{
	__u32 depth = 0;

	for (__u32 i = 0; i < EBREC_PROBE_DEPTH; i++) {
		if (i >= n)
			break;
		depth += calls->frame[i].site == site;
	}
	return depth;
}

static __always_inline bool follows(const struct task_struct *task)
{
	return gate && ebrec_task_followed(task);
}

/* NULL: the task is not followed, or there is no such place. */
static __always_inline const struct ebrec_probe_site *find_site(const struct task_struct *task,
								__u32 key)
{
	return follows(task) ? bpf_map_lookup_elem(&probe_sites, &key) : NULL;
}

SEC("uprobe")
int ebrec_probe_entry(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 key = bpf_get_attach_cookie(ctx), n;
	struct ebt_wire_probe_hit *row;
	struct probe_scratch *scratch;
	struct probe_calls *calls;
	struct probe_frame *frame;
	__u64 sp = PT_REGS_SP(ctx);
	const struct ebrec_probe_site *site = find_site(task, key);

	if (!site)
		return 0;
	calls = bpf_task_storage_get(&probe_calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!calls) {
		ebrec_count_no_storage(EBT_T_probe_hit);
		return 0;
	}
	scratch = take_scratch(task->pid);
	if (!scratch)
		return 0;
	trim(task, calls, scratch, sp, is_tail_call(task, ctx, sp) ? STAYS_ANY : STAYS_NONE,
	     bpf_ktime_get_ns());
	n = calls->n;
	barrier_var(n);
	if (n >= EBREC_PROBE_DEPTH) {
		/* Too many calls are under way to follow this one. */
		fetch(ctx, site, scratch, NULL);
		row = begin_row(scratch, task, site->probe, EBT_V_probe_hit_kind_entered,
				bpf_ktime_get_ns());
		row->depth = EBREC_PROBE_DEPTH;
		return end_row(ctx, scratch, 0);
	}
	frame = &calls->frame[n];
	fetch(ctx, site, scratch, frame);
	frame->sp = sp;
	frame->ip = PT_REGS_IP(ctx);
	frame->site = key;
	frame->depth = depth_of(calls, n, key);
	keep_bytes(task, frame, n, &scratch->event);
	release_scratch(scratch);
	frame->time = bpf_ktime_get_ns();
	calls->n = n + 1;
	return 0;
}

SEC("uretprobe")
int ebrec_probe_return(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns(), sp = PT_REGS_SP(ctx) - RETURN_ADDRESS_SIZE;
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 key = bpf_get_attach_cookie(ctx), index;
	struct ebt_wire_probe_hit *row;
	struct probe_scratch *scratch;
	struct probe_frame *frame;
	struct probe_calls *calls;
	const struct ebrec_probe_site *site = find_site(task, key);

	if (!site)
		return 0;
	calls = bpf_task_storage_get(&probe_calls, task, NULL, 0);
	if (!calls || !calls->n)
		return 0; /* it was entered before the recording */
	scratch = take_scratch(task->pid);
	if (!scratch)
		return 0;
	trim(task, calls, scratch, sp, key, now);
	index = calls->n - 1;
	barrier_var(index);
	if (index >= EBREC_PROBE_DEPTH || calls->frame[index].sp != sp) {
		release_scratch(scratch);
		return 0;
	}
	frame = &calls->frame[index];
	calls->n = index;
	row = begin_row(scratch, task, site->probe, EBT_V_probe_hit_kind_span, now);
	row->depth = frame->depth;
	row->duration = now - frame->time;
	row->result = PT_REGS_RC(ctx);
	take_bytes(task, frame, index, &scratch->event);
	if (site->n_later)
		fetch_rest(ctx, site, scratch, frame);
	return end_row(ctx, scratch, frame->ip);
}

/* A place in code, of which there is no return: USDT. */
SEC("uprobe")
int ebrec_probe_here(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 key = bpf_get_attach_cookie(ctx);
	struct probe_scratch *scratch;
	__u64 now;
	const struct ebrec_probe_site *site = find_site(task, key);

	if (!site)
		return 0;
	now = bpf_ktime_get_ns();
	scratch = take_scratch(task->pid);
	if (!scratch)
		return 0;
	begin_row(scratch, task, site->probe, EBT_V_probe_hit_kind_instant, now);
	fetch(ctx, site, scratch, NULL);
	return end_row(ctx, scratch, 0);
}

/* --- pages that nobody has touched --- */

/* Brings in what *value points to, and follows it where it is a pointer, the nth. False: it was the
 * last. */
static __always_inline bool touch(const struct ebrec_fetch *f, __u32 n, __u64 *value)
{
	__u64 next;

	if (bpf_probe_read_user(&next, 1, (void *)*value))
		ebrec_bring_in(*value);
	if (n >= f->n_derefs || bpf_probe_read_user(&next, sizeof(next), (void *)*value))
		return false;
	*value = next;
	if (n + 1 < EBREC_PROBE_DEREFS && n + 1 < f->n_derefs)
		*value += f->deref[n];
	return true;
}

static long touch_one(__u32 i, struct fetching *a)
{
	const struct ebrec_fetch *f;
	__u64 value;

	barrier_var(i);
	if (i >= EBREC_PROBE_FETCHES || i >= a->site->n)
		return 1;
	f = &a->site->fetch[i];
	if (f->later || f->what == EBREC_FETCH_NUMBER)
		return 0;
	value = fetch_value(a->regs, f);
	/* No loop: the verifier of 6.1 wants none around a call with a callback. */
	_Static_assert(EBREC_PROBE_DEREFS == 3, "steps");
	if (touch(f, 0, &value) && touch(f, 1, &value) && touch(f, 2, &value))
		touch(f, 3, &value);
	return 0;
}

/* Runs before the program that reads: constants of a program that has just begun are often nowhere
 * in memory yet. */
SEC("uprobe.s")
int ebrec_probe_touch(struct pt_regs *ctx)
{
	__u32 key = bpf_get_attach_cookie(ctx);
	struct fetching a = { .regs = ctx };

	a.site = find_site(bpf_get_current_task_btf(), key);
	if (a.site)
		bpf_loop(EBREC_PROBE_FETCHES, touch_one, &a, 0);
	return 0;
}

/* --- stacks --- */

/* By the kernel, along frame pointers; below the function that has returned. */
static __always_inline __u32 stack_by_frame_pointers(struct pt_regs *ctx, __u64 function,
						     struct ebt_wire_stack *stack)
{
	__u64 *addresses = (void *)(stack + 1);
	long bytes;

	if (!function)
		return ebrec_user_stack(ctx, stack);
	addresses[0] = function;
	bytes = bpf_get_stack(ctx, addresses + 1, EBREC_USER_BYTES - sizeof(*addresses),
			      BPF_F_USER_STACK);
	return ebrec_stack_head(stack, (bytes > 0 ? bytes : 0) + sizeof(*addresses), 0,
				EBT_STACK_USER);
}

SEC("uprobe")
int ebrec_probe_stacks(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct probe_scratch *scratch = find_scratch(task->pid);
	struct ebt_wire_stack *stack;
	__u32 len;

	if (!config.event_stacks) /* never: it would not have been called */
		bpf_tail_call(ctx, &probe_programs, 0);
	if (!scratch)
		return 0;
	stack = &scratch->event.behind.first;
	if (config.unwind)
		len = unwind_user(task, ebrec_event_slot(), stack, false, scratch->function).stack;
	else
		len = stack_by_frame_pointers(ctx, scratch->function, stack);
	output(scratch, len);
	release_scratch(scratch);
	return 0;
}

/* --- what does not return --- */

static __always_inline void give_up(struct task_struct *task)
{
	struct probe_calls *calls = bpf_task_storage_get(&probe_calls, task, NULL, 0);
	struct probe_scratch *scratch;

	if (!calls || !calls->n)
		return;
	scratch = take_scratch(task->pid);
	if (!scratch)
		return;
	trim(task, calls, scratch, ~0ULL, STAYS_NONE, bpf_ktime_get_ns());
	release_scratch(scratch);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ebrec_probe_exit, struct task_struct *task)
{
	if (follows(task))
		give_up(task);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(ebrec_probe_exec, struct task_struct *task)
{
	if (follows(task))
		give_up(task);
	return 0;
}

/* What has not returned when the recording ends. The gate is closed. */
SEC("iter/task")
int ebrec_probe_rest(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task && ebrec_task_followed(task))
		give_up(task);
	return 0;
}
