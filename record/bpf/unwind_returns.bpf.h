/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Return addresses that the kernel has replaced: it follows a function until it returns (uretprobe)
 * by having it return to a place of its own. The real ones are in a list of the task's, that of the
 * innermost function first.
 */
#ifndef RECORD_BPF_UNWIND_RETURNS_BPF_H
#define RECORD_BPF_UNWIND_RETURNS_BPF_H

#include "record/bpf/ebt.bpf.h"

/* Of a walk: the place, 0: there is none; and the functions that it has not reached. */
struct unwind_returns {
	__u64 trampoline;
	const struct return_instance *next;
};

/* Where functions that are followed return to, as far as their stacks say; 0: not known. */
static __always_inline __u64 unwind_trampoline(const struct task_struct *task)
{
	return BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

static __always_inline void unwind_returns_begin(const struct task_struct *task,
						 struct unwind_returns *ret)
{
	ret->trampoline = unwind_trampoline(task);
	ret->next = BPF_CORE_READ(task, utask, return_instances);
}

/*
 * What was at this place of the stack, in *pc; or *pc stays, and one function is passed by: call it
 * again. False: nothing was replaced there.
 */
static __always_inline bool unwind_returns_take(struct unwind_returns *returns, __u64 place,
						__u64 *pc)
{
	const struct return_instance *instance = returns->next;
	__u64 at;

	if (!instance)
		return false;
	at = BPF_CORE_READ(instance, stack);
	if (at > place)
		return false;
	if (at == place)
		*pc = BPF_CORE_READ(instance, orig_ret_vaddr);
	else
		returns->next = BPF_CORE_READ(instance, next);
	return true;
}

#endif
