/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where each thread is that is followed: its state, kernel stack and the registers that it left
 * user space with. Nobody is stopped for it, so of a thread that runs there is neither. User stacks
 * are walked by whoever reads this (record/session/thread_stacks.c).
 */
#include "record/bpf/compat.bpf.h"
#include "record/bpf/stack.bpf.h"
#include "record/bpf/thread_stack.h"

/* One for all: an iterator that is read twice at a time would mix them up. */
struct ebrec_thread_stack thread_row __weak = {};
__u64 thread_addresses[EBREC_MAX_FRAMES] __weak = {};

/* CLOCK_MONOTONIC ns: later ones get no kernel stack, which takes longer than the rest. */
__u64 thread_stacks_until __weak = 0;

/* As its CPU's run queue has it: of the last tick, switch or wake-up. Tasks know their run queue
 * where they are scheduled by groups, as distributions have it. */
static __always_inline __u64 scheduler_clock(const struct task_struct *task)
{
	const struct cfs_rq *rq = NULL;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(rq->rq))
		return 0;
	return BPF_CORE_READ(task, se.cfs_rq, rq, clock);
}

static __always_inline void fill_times(struct ebrec_thread_stack *row,
				       const struct task_struct *task)
{
	row->arrival = row->queued = 0;
	row->clock = scheduler_clock(bpf_get_current_task_btf());
	if (bpf_core_field_exists(task->sched_info.last_arrival)) {
		row->arrival = task->sched_info.last_arrival;
		row->queued = task->sched_info.last_queued;
	}
	row->run = ebrec_charged(task);
}

static __always_inline void fill_registers(struct ebrec_thread_stack *row, struct task_struct *task)
{
	const struct pt_regs___kernel *regs = (const void *)bpf_task_pt_regs(task);
	__u64 *r = row->registers;

	r[0] = regs->ax;
	r[1] = regs->dx;
	r[2] = regs->cx;
	r[3] = regs->bx;
	r[4] = regs->si;
	r[5] = regs->di;
	r[6] = regs->bp;
	r[7] = regs->sp;
	r[8] = regs->r8;
	r[9] = regs->r9;
	r[10] = regs->r10;
	r[11] = regs->r11;
	r[12] = regs->r12;
	r[13] = regs->r13;
	r[14] = regs->r14;
	r[15] = regs->r15;
	row->pc = regs->ip;
	row->fsbase = task->thread.fsbase;
	row->call = (__s64)regs->orig_ax >= 0 ? (__s64)regs->orig_ax : -1;
	/* As in unwind_begin() of unwind.bpf.h. */
	row->caller = row->call >= 0 && regs->cx == regs->ip;
	row->compat = row->call >= 0 && task->thread_info.status & TS_COMPAT;
}

SEC("iter/task")
int ebrec_thread_stack(struct bpf_iter__task *ctx)
{
	struct ebrec_thread_stack *row = &thread_row;
	struct task_struct *task = ctx->task;
	long n = 0;

	if (!task || !ebrec_task_followed(task))
		return 0;
	row->time = bpf_ktime_get_ns();
	row->start = task->start_time;
	row->switches = task->nvcsw + task->nivcsw;
	row->tid = task->pid;
	row->pid = task->tgid;
	bpf_probe_read_kernel(row->comm, sizeof(row->comm), task->comm);
	row->state = ebrec_task_state(task) | task->exit_state;
	row->on_cpu = task->on_cpu;
	row->user = ebrec_has_user_stack(task) && !task->exit_state;
	row->namespaced = task->thread_pid->level != 0;
	row->call = -1;
	row->caller = row->compat = 0;
	fill_times(row, task);
	if (row->user && !row->on_cpu)
		fill_registers(row, task);
	if (!row->on_cpu && row->time < thread_stacks_until)
		n = bpf_get_task_stack(task, thread_addresses, sizeof(thread_addresses), 0);
	if (n < 0 || n > (long)sizeof(thread_addresses))
		n = 0;
	row->n = n / sizeof(__u64);
	bpf_seq_write(ctx->meta->seq, row, sizeof(*row));
	if (n)
		bpf_seq_write(ctx->meta->seq, thread_addresses, n);
	return 0;
}
