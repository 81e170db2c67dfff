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
#include "report/stacks/model_calltree.h"
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

/* A thread that waited for a lock, or that had it or gave it away while others waited. */
struct lock_person {
	uint32_t lock;
	bool holder;
	const struct ebt_task *task; /* NULL: an interrupt, or not known */
	uint64_t count, ns;	     /* waits of it; of a holder: that others had because of it */
	uint64_t max_ns;
	uint64_t owned, woke; /* of a holder: waits that it caused, and that it ended */
};

struct lock {
	enum lock_kind kind;
	const struct ebt_task *task;  /* a waiter; NULL: of the kernel */
	uint64_t address, first_time; /* of a program: where, and when it was seen there */
	bool shared;		      /* it is known by its file: */
	uint32_t dev_major, dev_minor;
	uint64_t inode, offset;
	const char *caller;    /* of the kernel: who wanted it; never NULL then */
	struct histogram wait; /* of those that slept or spun */
	uint64_t max_at_ns;
	uint64_t at_once;  /* times that there was nothing to wait for */
	uint64_t timeouts; /* waits that ended without the lock: by time, by a signal */
	uint64_t interrupted;
	size_t persons, n_waiters,
		n_holders; /* where in the model's: waiters first, longest first */
};

/* All waits at one place. */
struct lock_stack {
	enum lock_kind kind;
	uint32_t node;
	uint64_t count, ns, max_ns, max_at_ns;
};

struct lock_options {
	bool no_user, no_kernel;
	/* Kernel stacks, and with `stacks` those of users too, are placed here. */
	struct calltree *tree;
	bool stacks;
};

/* Reads the trace. Options and trace must outlive the model. */
struct ebt_error *lock_model_create(struct trace *trace, const struct lock_options *options,
				    struct lock_model **ret);
void lock_model_destroy(struct lock_model *model);
DEFINE_CLEANUP(struct lock_model *, lock_model_destroy);

const struct lock *lock_model_locks(const struct lock_model *model, size_t *ret_n);
const struct lock_person *lock_model_persons(const struct lock_model *model);
/* The longest first. */
const struct lock_stack *lock_model_stacks(const struct lock_model *model, size_t *ret_n);

#endif
