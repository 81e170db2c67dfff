/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sources `sched` and `offcpu`: who runs, who wakes whom, who moves, and where a task stopped.
 * Everything runs with interrupts off, often with a run queue's lock held: no allocation, no
 * hash map, no wake-up beyond the batched ones of ebt.bpf.h.
 */
#include "record/bpf/compat.bpf.h"
#include "record/bpf/switch_stack.bpf.h"

struct switch_record {
	struct ebt_wire_sched_switch row;
	struct ebrec_stacks_dump behind;
};

/* One for each CPU is enough: a CPU cannot switch tasks while it switches tasks. */
EBREC_CPU_ARRAY(switch_scratch, 1, struct switch_record);

/* With --min-block: the row that is written if the block turns out long enough. Zero time: none.
 * It has no room for a dump, as each task has one. */
struct offcpu_record {
	struct ebt_wire_offcpu_stack row;
	struct ebrec_stacks stacks;
};

/* Room for as many entries as stacks have if nobody asks for more. */
struct offcpu_record_small {
	__u64 bytes[(sizeof(struct offcpu_record) -
		     (EBREC_MAX_STACK - 2 * EBREC_MAX_FRAMES) * sizeof(__u64)) /
		    sizeof(__u64)];
};

EBREC_TASK_STORAGE(offcpu_storage, struct offcpu_record);

EBREC_TASK_STORAGE(offcpu_storage_small, struct offcpu_record_small);

#define OFFCPU_IS_SMALL (config.max_entries <= 2 * EBREC_MAX_FRAMES)

static __always_inline struct offcpu_record *offcpu_record(const struct task_struct *task,
							   __u64 flags)
{
	if (OFFCPU_IS_SMALL)
		return bpf_task_storage_get(&offcpu_storage_small, (void *)task, NULL, flags);
	return bpf_task_storage_get(&offcpu_storage, (void *)task, NULL, flags);
}

static __always_inline __u32 append_stacks(void *ctx, const struct task_struct *prev,
					   struct ebrec_stacks *stacks, __u32 off,
					   struct ebt_ref *kstack, struct ebt_ref *ustack,
					   struct ebt_ref *udump)
{
	const struct pt_regs___kernel *regs = (const void *)bpf_task_pt_regs((void *)prev);
	__u32 klen = ebrec_switch_kstack(ctx, prev, regs, stacks);
	struct ebrec_lengths user = {};

	if (ebrec_has_user_stack(prev))
		user = ebrec_switch_ustack(prev, regs, ebrec_second_stack(stacks, klen), !!udump);
	ebrec_refer(kstack, ustack, off, klen, user.stack);
	if (udump)
		ebrec_refer_dump(udump, off + klen + user.stack, user.dump);
	return klen + user.stack + user.dump;
}

static __always_inline void fill_switch(struct ebt_wire_sched_switch *row,
					const struct ebrec_switch *s, __u32 cpu)
{
	row->cpu = cpu;
	row->prev = s->prev->pid;
	row->next = s->next->pid;
	row->prev_state = s->prev_state;
	row->preempt = s->preempt;
	row->unused = 0;
	row->prev_run = ebrec_charged(s->prev);
}

static __always_inline void emit_switch(const struct ebrec_switch *s, __u64 now, __u32 cpu)
{
	struct ebt_wire_sched_switch *row;
	__u64 flags;

	row = ebrec_reserve(EBREC_SLOT_EVENT(cpu), EBT_T_sched_switch, sizeof(*row), now, &flags);
	if (!row)
		return;
	fill_switch(row, s, cpu);
	row->kstack = row->ustack = row->udump = (struct ebt_ref){};
	bpf_ringbuf_submit(row, flags);
}

static __always_inline void emit_switch_with_stacks(void *ctx, const struct ebrec_switch *s,
						    __u64 now, __u32 cpu)
{
	struct switch_record *record = ebrec_entry(&switch_scratch);
	__u32 len = sizeof(record->row);

	if (!record)
		return;
	fill_switch(&record->row, s, cpu);
	len += append_stacks(ctx, s->prev, &record->behind.stacks, len, &record->row.kstack,
			     &record->row.ustack, &record->row.udump);
	if (len > sizeof(*record)) /* for the verifier */
		return;
	ebrec_output(EBREC_SLOT_EVENT(cpu), EBT_T_sched_switch, &record->row.head, len, now);
}

/* --min-block: prev stops now, keep where. */
static __always_inline void hold_stack(void *ctx, const struct task_struct *prev, __u64 now)
{
	struct offcpu_record *held = offcpu_record(prev, 0);
	__u32 len = sizeof(held->row);

	if (!held) {
		ebrec_count_no_storage(EBT_T_offcpu_stack);
		return;
	}
	len += append_stacks(ctx, prev, &held->stacks, len, &held->row.kstack, &held->row.ustack,
			     NULL);
	held->row.head.len = len;
	held->row.head.time = now;
}

/* --min-block: next runs again. */
static __always_inline void release_stack(const struct task_struct *next, __u64 now, __u32 cpu)
{
	struct offcpu_record *held = offcpu_record(next, 0);
	__u64 since;
	__u32 len;

	if (!held || !held->row.head.time)
		return;
	since = held->row.head.time;
	held->row.head.time = 0;
	len = held->row.head.len;
	if (now - since < config.min_block || len < sizeof(held->row))
		return;
	/* Or both bounds become a test of one difference, which tells 6.1's verifier nothing. */
	barrier_var(len);
	if (len > (OFFCPU_IS_SMALL ? sizeof(struct offcpu_record_small) : sizeof(*held)))
		return;
	held->row.cpu = cpu;
	held->row.task = next->pid;
	held->row.duration = now - since;
	ebrec_output(EBREC_SLOT_EVENT(cpu), EBT_T_offcpu_stack, &held->row.head, len, now);
	held->row.head.time = 0;
}

/* task_struct.__state of a task that will not run again. */
#define TASK_DEAD 0x80

static __always_inline void emit_end(const struct task_struct *task, __u64 now)
{
	struct ebt_wire_task_end *row;
	__u64 flags;

	row = ebrec_reserve_event(EBT_T_task_end, sizeof(*row), now, &flags);
	if (!row)
		return;
	row->task = task->pid;
	row->run_time = task->se.sum_exec_runtime;
	row->nvcsw = task->nvcsw;
	row->nivcsw = task->nivcsw;
	bpf_ringbuf_submit(row, flags);
}

SEC("tp_btf/sched_switch")
int ebrec_sched_switch(__u64 *ctx)
{
	struct ebrec_switch s = ebrec_switch_args(ctx);
	bool prev_followed, next_followed;
	__u64 now;
	__u32 cpu;

	if (!gate)
		return 0;
	prev_followed = ebrec_task_followed(s.prev);
	next_followed = ebrec_task_followed(s.next);
	if (!prev_followed && !next_followed)
		return 0;
	now = bpf_ktime_get_ns();
	cpu = bpf_get_smp_processor_id();
	if (config.min_block) {
		if (next_followed)
			release_stack(s.next, now, cpu);
		if (prev_followed)
			hold_stack(ctx, s.prev, now);
	}
	if (config.stacks && prev_followed)
		emit_switch_with_stacks(ctx, &s, now, cpu);
	else
		emit_switch(&s, now, cpu);
	if (prev_followed && s.prev_state & TASK_DEAD)
		emit_end(s.prev, now);
	return 0;
}

/* A soft interrupt may do what the task asked for, as delivering what it sent
 * to this machine; with a timer or a device it has nothing to do. */
static __always_inline __u32 waking_kind(void)
{
	__u32 level = ebrec_level();

	if (!level)
		return EBT_V_sched_waking_kind_waking;
	return level == 1 ? EBT_V_sched_waking_kind_in_soft_interrupt
			  : EBT_V_sched_waking_kind_by_interrupt;
}

/* What it sent to this machine is delivered before the call returns: whom that wakes, the task
 * woke. An interrupt of a program leaves no number of a call there. */
static __always_inline __u64 call_of(const struct task_struct *task)
{
	const struct pt_regs___kernel *regs = (const void *)bpf_task_pt_regs((void *)task);
	__s64 nr = regs->orig_ax;

	if (task->flags & PF_KTHREAD || task->thread_info.status & TS_COMPAT || nr < 0)
		return 0;
	return nr + 1;
}

static __always_inline int waking(const struct task_struct *wakee, __u32 kind)
{
	const struct task_struct *waker = bpf_get_current_task_btf();
	struct ebt_wire_sched_waking *row;
	__u64 flags;

	if (!gate)
		return 0;
	/* That the recorder is woken is its own doing, and would make a record of each wake-up. */
	if (!ebrec_task_followed(wakee) && (ebrec_is_self(wakee) || !ebrec_task_followed(waker)))
		return 0;
	row = ebrec_reserve_event(EBT_T_sched_waking, sizeof(*row), bpf_ktime_get_ns(), &flags);
	if (!row)
		return 0;
	row->waker = waker->pid;
	row->wakee = wakee->pid;
	row->kind = kind == EBT_V_sched_waking_kind_waking ? waking_kind() : kind;
	row->call = row->kind == EBT_V_sched_waking_kind_in_soft_interrupt ? call_of(waker) : 0;
	bpf_ringbuf_submit(row, flags);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(ebrec_sched_waking, struct task_struct *task)
{
	return waking(task, EBT_V_sched_waking_kind_waking);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(ebrec_sched_wakeup_new, struct task_struct *task)
{
	return waking(task, EBT_V_sched_waking_kind_new);
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(ebrec_sched_migrate_task, struct task_struct *task, int dest_cpu)
{
	struct ebt_wire_sched_migrate *row;
	__u64 flags;

	if (!gate || !ebrec_task_followed(task))
		return 0;
	row = ebrec_reserve_event(EBT_T_sched_migrate, sizeof(*row), bpf_ktime_get_ns(), &flags);
	if (!row)
		return 0;
	row->task = task->pid;
	row->orig_cpu = ebrec_task_cpu(task);
	row->dest_cpu = dest_cpu;
	bpf_ringbuf_submit(row, flags);
	return 0;
}

/*
 * --min-block: memory for each task is made here and by the fork program, where the kernel may
 * allocate; in sched_switch, under a run queue's lock, it may not.
 */
SEC("iter/task")
int ebrec_offcpu_prepare(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task && ebrec_task_followed(task))
		offcpu_record(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return 0;
}

SEC("tp_btf/task_newtask")
int BPF_PROG(ebrec_offcpu_newtask, struct task_struct *task)
{
	if (gate && ebrec_task_followed(bpf_get_current_task_btf()))
		offcpu_record(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return 0;
}
