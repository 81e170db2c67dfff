/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time off CPU: how long, in which state, where the task had stopped, and who woke it. Made from
 * the intervals of model_sched.h. Whoever wants to group them takes each; who does not gets sums by
 * thread, and a call tree.
 */
#ifndef REPORT_SCHED_MODEL_OFFCPU_H
#define REPORT_SCHED_MODEL_OFFCPU_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "report/sched/model_sched.h"
#include "report/stacks/model_calltree.h"

struct offcpu;

struct offcpu_options {
	uint64_t min_ns;       /* shorter intervals are left out */
	bool only;	       /* intervals of one state alone */
	enum sched_why why;    /* which */
	struct calltree *tree; /* gets the stacks, weighted with ns off CPU; NULL: none */
	/* Gets each interval with its node of the tree (0 without one). The tree gets no weight
	 * then, and there are no sums by thread. Or NULL. */
	struct ebt_error *(*take)(void *arg, const struct sched_off *off, uint32_t node);
	void *arg;
};

/* Figures of intervals that belong together. */
struct offcpu_sum {
	uint64_t total_ns;		/* from where it stopped until it ran again */
	uint64_t wait_ns;		/* of that: runnable, waiting for a CPU */
	uint64_t count, max_ns, max_at; /* max_at: when the longest ended */
	uint64_t min_ns;
	uint64_t why_ns[SCHED_N_WHYS]; /* total_ns by the reason for which it stopped */
	uint64_t open;		       /* intervals whose beginning or end is not in the trace */
	uint64_t doubtful;

	/* Who ended most of the time, of offcpu_wakers_add(). */
	bool woken;		      /* somebody did */
	const struct ebt_task *waker; /* NULL: an interrupt */
	uint64_t waker_ns, waker_count;
};

void offcpu_sum_add(struct offcpu_sum *sum, const struct sched_off *off);

/* A waker, and a sum that it is among. */
struct offcpu_pair {
	uint64_t ns, count;
};

/* All zero: empty. */
struct offcpu_wakers {
	struct ebt_map by_pair;
	struct offcpu_pair *pairs;
	size_t n, capacity;
};

/* owner: a number of the sum. */
struct ebt_error *offcpu_wakers_add(struct offcpu_wakers *wakers, uint32_t owner,
				    const struct sched_off *off, struct offcpu_sum *sum);
void offcpu_wakers_deinit(struct offcpu_wakers *wakers);

struct offcpu_thread {
	const struct ebt_task *task; /* NULL: nothing is known of this id */
	struct offcpu_sum sum;
};

struct ebt_error *offcpu_create(struct ebt_reader *reader, const struct offcpu_options *options,
				struct offcpu **ret);
void offcpu_destroy(struct offcpu *offcpu);
DEFINE_CLEANUP(struct offcpu *, offcpu_destroy);

/* From the handler of a sched_model that reads stacks. */
struct ebt_error *offcpu_run(struct offcpu *offcpu, const struct sched_run *run);
struct ebt_error *offcpu_off(struct offcpu *offcpu, const struct sched_off *off);

/* A row of sched_switch from before the first window, with its stacks: the stop of a task that is
 * off CPU since then. */
struct ebt_error *offcpu_stopped(struct offcpu *offcpu, const struct ebt_row *row);
/* Are the stacks of intervals in such rows? */
bool offcpu_has_stops(const struct offcpu *offcpu);

/* A row of thread_stack: where a task is, which tells for the interval that it is in if nothing
 * else does. */
struct ebt_error *offcpu_told(struct offcpu *offcpu, const struct ebt_row *row);

/* A row of offcpu_stack, with all its columns. */
struct ebt_error *offcpu_stack_row(struct offcpu *offcpu, const struct ebt_row *row);

/* After sched_model_finish() or sched_model_cut(). After a cut, the next window can follow. */
struct ebt_error *offcpu_finish(struct offcpu *offcpu);

const struct offcpu_thread *offcpu_threads(const struct offcpu *offcpu, uint32_t *ret_n);

#endif
