/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes and threads of a trace: when each began and ended and how, who started it, what it
 * ran, how it was scheduled, and what it used. Sums are since the process began, recorded or not,
 * as the kernel has them. A process that lives on has those of the last time it was looked at.
 */
#ifndef REPORT_PROCS_MODEL_PROCS_H
#define REPORT_PROCS_MODEL_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/trace/trace.h"

#define PROC_NONE    UINT32_MAX
#define PROC_UNKNOWN UINT64_MAX /* of bytes: the kernel does not count */

struct proc_used {
	bool known;
	uint64_t run_ns, nvcsw, nivcsw, minor, major;
	uint64_t read_bytes, write_bytes;
};

struct proc_sched {
	bool known;
	int32_t prio, nice;
	uint32_t policy, rt_priority;
};

struct proc_thread {
	const struct ebt_task *task;
	uint64_t start_ns, end_ns;
	bool ended;
	uint32_t exit_code;	/* as wait(2) gives it */
	uint32_t process, next; /* of the process; PROC_NONE ends them */
	struct proc_used used;
	struct proc_sched sched;
};

struct proc {
	const struct ebt_task *task;   /* its first thread; another one where that is not known */
	uint64_t start_ns, end_ns;     /* start 0: not known */
	bool ended, kernel, described; /* described: there is a row of table process */
	bool placed;		       /* and one that has its cgroup */
	uint32_t ppid;		       /* of who started it, as far as that was seen; 0: none */
	uint32_t uid, status;	       /* uid UINT32_MAX: not known; status as wait(2) gives it */
	uint32_t parent;	     /* index of a process that began before; PROC_NONE: not here */
	uint32_t forked_from;	     /* likewise, if the fork was seen */
	uint64_t forked_ns, exec_ns; /* the fork; the first exec that was seen; or 0 */
	uint32_t threads, last_thread, n_threads;
	uint32_t cmdline, exe, cgroup; /* for procs_text() */
	uint64_t mnt_ns, pid_ns, net_ns, user_ns, cgroup_ns;
	uint64_t max_rss;	     /* bytes; 0: not known */
	struct proc_used used, gone; /* all; of threads that had ended before */
	struct proc_sched sched;     /* of the first thread */
};

struct procs;

/* flags: TRACE_QUIET where users, cgroups and namespaces are of no interest, or 0. */
struct ebt_error *procs_create(struct trace *trace, unsigned int flags, struct procs **ret);
void procs_destroy(struct procs *procs);
DEFINE_CLEANUP(struct procs *, procs_destroy);

/* By time of their start. */
const struct proc *procs_all(const struct procs *procs, size_t *ret_n);
const struct proc_thread *procs_thread(const struct procs *procs, uint32_t i);

/* May have NUL inside: arguments, with one after each. */
struct ebt_str procs_text(const struct procs *procs, uint32_t text);

/* The process that a task belonged to; PROC_NONE: not known. */
uint32_t procs_of(const struct procs *procs, const struct ebt_task *task);

/* Do the filters choose it, and was it there in the window? */
bool procs_wanted(const struct procs *procs, struct trace *trace, const struct proc *proc);
bool procs_thread_wanted(struct trace *trace, const struct proc_thread *thread);

/* "other", "fifo", …; NULL: not known. */
const char *proc_policy(uint32_t policy);

#endif
