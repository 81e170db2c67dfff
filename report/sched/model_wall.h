/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wall-clock time of threads, all of it in integer nanoseconds: on a CPU, waiting for one, and off
 * CPU by the reason. What a thread spent comes from switches and is exact; where it was on a CPU
 * comes from samples, which share out the time that the switches tell: the weights of its stacks
 * add up to it.
 */
#ifndef REPORT_SCHED_MODEL_WALL_H
#define REPORT_SCHED_MODEL_WALL_H

#include <stdbool.h>
#include <stdint.h>

#include "report/base/span_set.h"
#include "report/stacks/model_calltree.h"
#include "report/trace/trace.h"

enum wall_kind {
	WALL_CPU,
	WALL_RUNQUEUE,	/* woken, and waiting for a CPU */
	WALL_PREEMPTED, /* runnable, and stopped for another task */
	WALL_SLEEP,
	WALL_LOCK, /* WAIT_LOCK of wait_reason.h */
	WALL_DISK, /* uninterruptible, but for locks */
	WALL_OTHER,
	WALL_N_KINDS,
};

/* "cpu", "runqueue", … as in options and JSON. */
const char *wall_kind_name(enum wall_kind kind);

struct wall_thread {
	const struct ebt_task *task; /* NULL: nothing is known of this id */
	uint64_t from, to;	     /* its lifetime within the window */
	uint64_t ns[WALL_N_KINDS];
	uint64_t join_ns; /* of WALL_SLEEP: until another thread ended */
	uint64_t samples;
	uint32_t top;  /* node of the tree that is the thread, if that is by thread; 0: none */
	uint64_t open; /* intervals whose beginning or end is not in the trace */
	bool idle;     /* see wall_options.hide_idle */
};

/* A thread did the same thing between these times. */
struct wall_interval {
	enum wall_kind kind;
	uint64_t from, to;
	uint32_t node;
};

struct wall_options {
	enum calltree_roots roots;
	unsigned int only; /* bit n: kind n goes into the tree; 0: all */
	const char *under; /* glob: stacks without such a function stay out of the tree; or NULL */
	/* Leaves threads out of the tree that only wait for work: of such a thread's lifetime less
	 * than 1 % is on a CPU or waiting for one, in kinds other than SLEEP, or a wait for the end
	 * of another thread. */
	bool hide_idle;
	bool no_recorder;  /* what the recorder did itself stays out of the tree */
	bool figures_only; /* the tree stays without leaves */
	/* Only the part of a thread's time that lies in these merged spans counts; NULL: all of
	 * it. */
	const struct span_set *within;
	/* Functions that get each interval and each sample before `within` cuts them; or NULL.
	 * `node` is where the thread was; 0: not known, as with intervals on a CPU. */
	struct ebt_error *(*interval)(void *arg, const struct ebt_task *task,
				      const struct wall_interval *interval);
	struct ebt_error *(*sample)(void *arg, const struct ebt_task *task, uint64_t time,
				    uint32_t node);
	void *arg;
};

struct wall;

/* The trace must outlive the model. */
struct ebt_error *wall_create(struct trace *trace, const struct wall_options *options,
			      struct wall **ret);
void wall_destroy(struct wall *wall);
DEFINE_CLEANUP(struct wall *, wall_destroy);

/* Reads the present window of the trace, through its filters. It may be called again for later
 * windows only with figures_only: figures then begin at zero, and the model still knows what
 * threads wait for. */
struct ebt_error *wall_read(struct wall *wall);

/* Does the trace tell of switches? Without them all times but those of life are 0 and mean nothing.
 */
bool wall_is_known(const struct wall *wall);

/* By ebt_task.id. */
const struct wall_thread *wall_threads(const struct wall *wall, uint32_t *ret_n);

/* Finished, with a leaf below each stack for each kind of time that it took. */
const struct calltree *wall_tree(const struct wall *wall);

/* Is the node such a leaf, and of which kind? */
bool wall_is_leaf(const struct wall *wall, uint32_t node, enum wall_kind *ret);

/* Sums of a thread. */
uint64_t wall_runqueue_ns(const struct wall_thread *thread); /* PREEMPTED included */
uint64_t wall_off_ns(const struct wall_thread *thread);	     /* without the time on a run queue */
uint64_t wall_lifetime_ns(const struct wall_thread *thread); /* within the window */
double wall_coverage(
	const struct wall_thread *thread); /* % of its lifetime: on CPU, run queue and off CPU */

#endif
