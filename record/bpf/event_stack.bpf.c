/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of each program of a tracepoint whose rows have stacks; see event_stack.bpf.h. */
#include "record/bpf/event_walk.bpf.h"

/*
 * From Linux 6.13 on, programs of tracepoints have a stack for each CPU instead of the task's, as
 * the kernel does not let a program interrupt itself there. It does not look at what is called by
 * tail calls: this program is interrupted by itself, for a row of another program, and would find
 * its pointers overwritten. One that may make tail calls itself has the task's stack.
 */
SEC("raw_tp")
int ebrec_event_stacks(void *ctx)
{
	if (!config.event_stacks) /* never: it would not have been called */
		bpf_tail_call(ctx, &event_programs, 0);
	return ebrec_event_walk(ctx, 1);
}
