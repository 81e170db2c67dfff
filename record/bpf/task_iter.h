/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the task iterator writes for each thread. <linux/types.h> must come first. */
#ifndef EBREC_TASK_ITER_H
#define EBREC_TASK_ITER_H

struct ebrec_task {
	__u64 start; /* task_struct.start_time, CLOCK_MONOTONIC ns */
	__u64 run_time;
	__u32 tid, pid;
	__u32 ppid; /* process id of the parent */
	__u32 uid;
	__u32 state;
	__u32 cpu;
	__u32 on_cpu;
	__u32 kernel;	  /* 1: a kernel thread */
	__u32 exit_state; /* not 0: it has ended, and waits for its parent or its other threads */
	__u32 unused;
	char comm[16];
};

#endif
