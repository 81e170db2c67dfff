/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the task iterator writes for each thread. */
#ifndef RECORD_BPF_TASK_ITER_H
#define RECORD_BPF_TASK_ITER_H

#include <linux/types.h>

/* As in table `thread`. */
struct ebrec_used {
	__u64 run_time, nvcsw, nivcsw, minor, major;
	__u64 read_bytes, write_bytes, rchar, wchar; /* all ones: not known */
};

struct ebrec_task {
	__u64 start; /* task_struct.start_time, CLOCK_MONOTONIC ns */
	struct ebrec_used used;
	struct ebrec_used ended; /* by threads of its process that are gone; of first threads */
	__u32 tid, pid;
	__u32 ppid; /* process id of the parent */
	__u32 uid;
	__u32 state;
	__u32 cpu;
	__u32 on_cpu;
	__u32 kernel;	  /* 1: a kernel thread */
	__u32 exit_state; /* not 0: it has ended, and waits for its parent or its other threads */
	__s32 prio, nice;
	__u32 policy, rt_priority;
	__u32 unused;
	char comm[16];
};

#endif
