/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Differences between kernels, one helper each. Names with three underscores are flavours: CO-RE
 * takes `struct task_struct___old` for `struct task_struct` of a kernel that looks like it.
 */
#ifndef EBREC_COMPAT_BPF_H
#define EBREC_COMPAT_BPF_H

#include "ebt.bpf.h"

struct task_struct___cpu {
	unsigned int cpu;
} __attribute__((preserve_access_index));

struct task_struct___state {
	long state;
} __attribute__((preserve_access_index));

/* The CPU whose run queue the task is on. 5.16 moved task_struct.cpu to thread_info. */
static __always_inline __u32 ebrec_task_cpu(const struct task_struct *task)
{
	const struct task_struct___cpu *old = (const void *)task;

	if (bpf_core_field_exists(old->cpu))
		return old->cpu;
	return task->thread_info.cpu;
}

/* 5.14 renamed state to __state and made it 32 bits wide. */
static __always_inline __u32 ebrec_task_state(const struct task_struct *task)
{
	const struct task_struct___state *old = (const void *)task;

	if (bpf_core_field_exists(old->state))
		return old->state;
	return task->__state;
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
