/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits for locks: how often and how long each lock was waited for, by whom, and who had it. A lock
 * of a program is an address in a process, or a place in a file that processes share; locks of the
 * kernel are told apart by their kind and by the function that wanted one.
 */
#ifndef REPORT_SCHED_MODEL_LOCKS_H
#define REPORT_SCHED_MODEL_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/base/histogram.h"
#include "report/group/group.h"
#include "report/trace/trace.h"

struct lock_model;

enum lock_kind {
	LOCK_FUTEX,    /* of a program, made of a futex somehow: condition, semaphore, rwlock … */
	LOCK_MUTEX,    /* looks like a pthread_mutex_t of glibc */
	LOCK_PI_MUTEX, /* with priority inheritance */
	LOCK_SPIN,     /* this one and those below are of the kernel */
	LOCK_RWLOCK_READ,
	LOCK_RWLOCK_WRITE,
	LOCK_KERNEL_MUTEX,
	LOCK_RWSEM_READ,
	LOCK_RWSEM_WRITE,
	LOCK_RT_MUTEX,
	LOCK_PERCPU_READ,
	LOCK_PERCPU_WRITE,
	LOCK_SEMAPHORE,
	LOCK_N_KINDS,
};

static inline bool lock_is_kernel(enum lock_kind kind)
{
	return kind >= LOCK_SPIN;
}

/* "futex", "spinlock", … */
const char *lock_kind_name(enum lock_kind kind);

/* A thread that waited for locks of a group: a waiter; or a holder, which had one or gave it away
 * while others waited. */
struct lock_thread {
	uint32_t group;
	bool holder;
	const struct ebt_task *task; /* NULL: an interrupt, or not known */
	uint64_t count, ns;	     /* waits of it; of a holder: that others had because of it */
	uint64_t max_ns;
	uint64_t owned, woke; /* of a holder: waits that it caused, and that it ended */
};

/* What a lock is. */
struct lock {
	enum lock_kind kind;
	const struct ebt_task *task;  /* a waiter; NULL: of the kernel */
	uint64_t address, first_time; /* of a program: where, and when it was seen there */
	bool shared;		      /* it is known by its file: */
	uint32_t dev_major, dev_minor;
	uint64_t inode, offset;
	const char *caller; /* of the kernel: who wanted it; never NULL then */
};

/* Figures of a group. */
struct lock_sum {
	enum lock_kind kind;   /* of the last wait */
	struct histogram wait; /* of those that slept or spun */
	uint64_t max_at_ns;
	uint64_t at_once;  /* times that there was nothing to wait for */
	uint64_t timeouts; /* waits that ended without the lock: by time, by a signal */
	uint64_t interrupted;
	/* Where in the model's threads: waiters first, longest first. Not in those by stack. */
	uint64_t threads, n_waiters, n_holders;
};

struct lock_options {
	bool no_user, no_kernel;
};

/* The groups' own keys. */
enum { LOCK_BY_LOCK = GROUP_OWN, LOCK_BY_KIND };

/* Reads the trace into groups, whose figures are struct lock_sum. Trace and groups must outlive the
 * model. */
struct ebt_error *lock_model_create(struct trace *trace, const struct lock_options *options,
				    struct grouping *g, struct lock_model **ret);
void lock_model_destroy(struct lock_model *model);
DEFINE_CLEANUP(struct lock_model *, lock_model_destroy);

/* Who holds the lock that the thread of a row of thread_stack waits for; NULL: not known. Of the
 * row it wants task, owner and owner_by. */
const struct ebt_task *lock_owner_of_stack(const struct ebt_row *row);

/* That functions which wanted locks of the kernel have no name. */
struct ebt_error *lock_model_tell_callers(const struct lock_model *model);

/* By value of LOCK_BY_LOCK. */
const struct lock *lock_model_lock(const struct lock_model *model, uint64_t lock);
const struct lock_thread *lock_model_threads(const struct lock_model *model);

#endif
