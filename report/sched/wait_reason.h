/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a thread waited for, by the functions in which it stopped: the innermost one that is known
 * decides.
 */
#ifndef REPORT_SCHED_WAIT_REASON_H
#define REPORT_SCHED_WAIT_REASON_H

#include <stdint.h>

#include "report/sched/model_sched.h"
#include "report/stacks/model_calltree.h"

enum wait_reason {
	WAIT_DISK,
	WAIT_LOCK,	/* a futex that is none of the next two, or a lock of the kernel */
	WAIT_CONDITION, /* a condition variable */
	WAIT_THREAD,	/* the end of another thread of the process */
	WAIT_FILE_LOCK, /* flock, fcntl */
	WAIT_SEMAPHORE, /* of System V; those of POSIX are futexes */
	WAIT_QUEUE,	/* messages of System V or POSIX */
	WAIT_PIPE,
	WAIT_NETWORK,
	WAIT_POLL, /* any of several: poll, select, epoll, io_uring */
	WAIT_CHILD,
	WAIT_TIMER,
	WAIT_TERMINAL,
	WAIT_SIGNAL,
	WAIT_MEMORY, /* until some is free */
	WAIT_KERNEL, /* for another part of the kernel */
	WAIT_STOPPED,
	WAIT_FREEZE,   /* until a file system is thawed */
	WAIT_RECORDER, /* a command for the recording to begin; never of wait_reason_of() */
	WAIT_UNKNOWN,
	WAIT_N_REASONS,
};

/* "disk", "lock", …, as in JSON; and in a sentence. */
const char *wait_reason_name(enum wait_reason reason);
const char *wait_reason_text(enum wait_reason reason);

/* Of two frames of the kernel: does who stops in `inner`, which `caller` called, wait for a file
 * system to be thawed? */
bool wait_is_freeze(const char *inner, const char *caller);

/* node: where it stopped; 0: not known. */
enum wait_reason wait_reason_of(const struct calltree *tree, uint32_t node, enum sched_why why);

#endif
