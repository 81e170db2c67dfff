/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of each program of a tracepoint whose rows have stacks; see event_stack.bpf.h. */
#include "event_walk.bpf.h"

SEC("raw_tp")
int ebrec_event_stacks(void *ctx)
{
	return ebrec_event_walk(ctx);
}

char LICENSE[] SEC("license") = "GPL";
