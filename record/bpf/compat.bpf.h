/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Differences between kernels, one helper each. */
#ifndef RECORD_BPF_COMPAT_BPF_H
#define RECORD_BPF_COMPAT_BPF_H

#include "record/bpf/ebt.bpf.h"

/* The CPU whose run queue the task is on. 5.16 moved task_struct.cpu to thread_info. */
static __always_inline __u32 ebrec_task_cpu(const struct task_struct *task)
{
	return bpf_core_field_exists(task->cpu) ? task->cpu : task->thread_info.cpu;
}

/* 5.14 renamed state to __state and made it 32 bits wide. */
static __always_inline __u32 ebrec_task_state(const struct task_struct *task)
{
	return bpf_core_field_exists(task->state) ? task->state : task->__state;
}

struct pcpu_hot___count {
	int preempt_count;
} __attribute__((preserve_access_index));

/* preempt_count: serving a soft interrupt, in an interrupt, in an NMI (include/linux/preempt.h). */
#define EBREC_COUNT_INTERRUPT 0x00ff0100

/*
 * preempt_count of this CPU; 0 where the kernel does not let us know. The count is a variable of
 * the CPU, for which not every kernel keeps a symbol; where it is follows from where the CPU's run
 * queue is, which the task knows.
 */
static __always_inline __u32 ebrec_preempt_count(void)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	__s64 offset = config.preempt_count;
	const void *rq;
	__u32 count;

	if (!config.preempt_count)
		return 0;
	/* 6.2 to 6.14: in a struct. */
	if (bpf_core_type_exists(struct pcpu_hot___count))
		offset += bpf_core_field_offset(struct pcpu_hot___count, preempt_count);
	rq = BPF_CORE_READ(task, se.cfs_rq, rq);
	return bpf_probe_read_kernel(&count, sizeof(count), rq + offset) ? 0 : count;
}

/* Is what runs here an interrupt, so that the current task has nothing to do with it? False where
 * the kernel does not let us know. */
static __always_inline bool ebrec_in_interrupt(void)
{
	return ebrec_preempt_count() & EBREC_COUNT_INTERRUPT;
}

/* What runs here: 0: a task, 1: a soft interrupt, 2: an interrupt, 3: an NMI. */
#define EBREC_LEVELS 4

static __always_inline __u32 ebrec_level(void)
{
	__u32 count = ebrec_preempt_count();

	return count & 0x00f00000 ? 3 : count & 0x000f0000 ? 2 : count & 0x00000100 ? 1 : 0;
}

/* MAX_RT_PRIO: real-time and deadline tasks are below, also those that inherited it. */
#define EBREC_FIRST_FAIR_PRIO 100
#define EBREC_POLICY_EXT      7

/*
 * What the kernel charges a task with for its last run, as it leaves the CPU or after that. It has
 * done so just before the tracepoint; only the fair class remembers what the sum was when the run
 * began. Nothing, where the scheduler's clock stands still between its ticks, is 1 ns here: 0 is
 * what is not known.
 */
static __always_inline __u64 ebrec_charged(const struct task_struct *task)
{
	__u64 ns;

	if (!task->pid || task->prio < EBREC_FIRST_FAIR_PRIO || task->policy == EBREC_POLICY_EXT)
		return 0;
	ns = task->se.sum_exec_runtime - task->se.prev_sum_exec_runtime;
	return ns ? ns : 1;
}

struct ebrec_switch {
	const struct task_struct *prev, *next;
	__u32 prev_state;
	bool preempt;
};

/*
 * Arguments of tracepoint sched_switch. Until 5.17 prev's state is read from prev. 5.18 passes it,
 * as it may have changed by now, first before prev, then at the end.
 */
static __always_inline struct ebrec_switch ebrec_switch_args(const __u64 *ctx)
{
	struct ebrec_switch s = { .preempt = ctx[0] };

	if (config.switch_args == EBREC_SWITCH_STATE_PREV_NEXT) {
		s.prev_state = ctx[1];
		s.prev = (const void *)ctx[2];
		s.next = (const void *)ctx[3];
		return s;
	}
	s.prev = (const void *)ctx[1];
	s.next = (const void *)ctx[2];
	if (config.switch_args == EBREC_SWITCH_PREV_NEXT_STATE)
		s.prev_state = ctx[3];
	else
		s.prev_state = ebrec_task_state(s.prev);
	return s;
}

#endif
