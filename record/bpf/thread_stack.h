/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What iterator ebrec_thread_stack writes for each thread that is followed. */
#ifndef RECORD_BPF_THREAD_STACK_H
#define RECORD_BPF_THREAD_STACK_H

#include <linux/types.h>

#include "format/schema/wire.h"

/* Its kernel stack follows: n addresses, the innermost first. */
struct ebrec_thread_stack {
	__u64 time; /* CLOCK_MONOTONIC ns */
	/* The scheduler's clock, ns: at `time` or up to a tick before; then as this thread got a
	 * CPU last, and as it began to wait for one. 0: not known, or it does not. */
	__u64 clock, arrival, queued;
	__u64 run;	/* for how long it had that CPU, as charged to it; 0: not known */
	__u64 start;	/* task_struct.start_time */
	__u64 switches; /* away from it, so far */
	__u64 pc, registers[EBT_DUMP_X86_REGISTERS]; /* of user space, where `user` */
	__u64 fsbase;				     /* of user space, where `user` */
	__s64 call;				     /* system call, -1: none */
	__u32 tid, pid;
	__u32 state; /* with exit_state */
	__u32 on_cpu;
	__u32 user;	  /* 1: it has a user stack */
	__u32 caller;	  /* 1: pc is a return address, as it is behind a call */
	__u32 compat;	  /* 1: the call is of the 32-bit ABI */
	__u32 namespaced; /* 1: of a pid namespace, whose tids others do not have */
	__u32 unused;
	__u32 n;
	char comm[16];
};

#endif
