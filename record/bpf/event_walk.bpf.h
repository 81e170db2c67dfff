/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of a row of event_stack.bpf.h: what the program does that others end with. It holds
 * the walk of user stacks, so there is one such program for each kind between which tail calls
 * work.
 */
#ifndef RECORD_BPF_EVENT_WALK_BPF_H
#define RECORD_BPF_EVENT_WALK_BPF_H

#include "record/bpf/event_stack.bpf.h"

#include "record/bpf/compat.bpf.h"
#include "record/bpf/unwind.bpf.h"

static __always_inline __u32 event_user_stack(void *ctx, struct task_struct *task,
					      struct ebt_wire_stack *stack)
{
	if (config.unwind)
		return unwind_user_again(task, ebrec_event_slot(), UNWIND_LESSON_EVENT, stack,
					 false)
			.stack;
	return ebrec_user_stack(ctx, stack);
}

/* Takes the stacks of the row that is under way, and hands it over. own: frames of the kernel stack
 * that are the program's. */
static __always_inline int ebrec_event_walk(void *ctx, __u64 own)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 *depth, klen = 0, ulen = 0;
	struct ebrec_event *event = ebrec_event_current(&depth);

	if (!event)
		return 0;
	if (event->stacks & EBREC_KSTACK)
		klen = ebrec_kernel_stack(ctx, &event->behind, own);
	/* A row within a row has the user stack of that one, whose walk may be under way. */
	if (event->stacks & EBREC_USTACK && *depth == 1 && ebrec_has_user_stack(task) &&
	    !ebrec_in_interrupt())
		ulen = event_user_stack(ctx, task, ebrec_second_stack(&event->behind, klen));
	ebrec_event_output(event, depth, klen, ulen);
	return 0;
}

#endif
