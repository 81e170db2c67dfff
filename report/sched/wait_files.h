/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What threads waited for when they were off CPU: the file, socket or pipe of the system call that
 * each interval lies in, or the call. By tables `syscall`, `syscall_arg`, `fd` and, of calls that
 * the recording saw one end of, `thread_stack`. Prints nothing.
 *
 * A call is known when it has returned: intervals are kept until then, at most WAIT_FILES_KEPT.
 */
#ifndef REPORT_SCHED_WAIT_FILES_H
#define REPORT_SCHED_WAIT_FILES_H

#include "report/sched/model_sched.h"
#include "report/trace/trace.h"

#define WAIT_FILES_KEPT (1u << 20) /* 80 MB */

/* Numbers of what is none. */
enum {
	WAIT_NOT_KNOWN, /* which call it was, or that there was none */
	WAIT_PREEMPTED, /* it did not wait, but for a CPU */
	WAIT_NO_CALL,	/* in none: in a page fault, or a thread of the kernel */
	WAIT_FIRST_FILE,
};

/* Gets each interval, once. node: as it was given. */
typedef struct ebt_error *wait_file_fn(void *arg, const struct sched_off *off, uint32_t node,
				       uint32_t file);

struct wait_files;

/* Of the window of the trace, which must outlive it. Warns where it has no descriptors. */
struct ebt_error *wait_files_create(struct trace *trace, wait_file_fn *fn, void *arg,
				    struct wait_files **ret);
void wait_files_destroy(struct wait_files *waits);
DEFINE_CLEANUP(struct wait_files *, wait_files_destroy);

/* Intervals in order of their ends. */
struct ebt_error *wait_files_off(struct wait_files *waits, const struct sched_off *off,
				 uint32_t node);
/* After the last one. */
struct ebt_error *wait_files_finish(struct wait_files *waits);

/* "/etc/hostname", "pipe:[17]", "[futex]", "(not known)". Until the next interval. */
struct ebt_str wait_files_name(const struct wait_files *waits, uint32_t file);

#endif
