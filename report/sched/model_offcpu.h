/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time off CPU by thread and by stack: how long, in which state, where the task had stopped, and
 * who woke it. Made from the intervals of model_sched.h; stacks go into a call tree.
 */
#ifndef REPORT_SCHED_MODEL_OFFCPU_H
#define REPORT_SCHED_MODEL_OFFCPU_H

#include <stdbool.h>
#include <stdint.h>

#include "report/sched/model_sched.h"
#include "report/stacks/model_calltree.h"

struct offcpu;

struct offcpu_options {
	uint64_t min_ns;       /* shorter intervals are left out */
	bool only;	       /* intervals of one state alone */
	enum sched_why why;    /* which */
	struct calltree *tree; /* gets the stacks, weighted with ns off CPU; NULL: none */
	/* Gets each interval with its node of the tree, which then gets no weight; or NULL. */
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

	/* Who ended most of the time, after offcpu_finish(). */
	bool woken;		      /* somebody did */
	const struct ebt_task *waker; /* NULL: an interrupt */
	uint64_t waker_ns, waker_count;
};

struct offcpu_thread {
	const struct ebt_task *task; /* NULL: nothing is known of this id */
	struct offcpu_sum sum;
	bool ran; /* it was seen on a CPU */
};

struct offcpu_stack {
	uint32_t node;	    /* of the tree */
	enum sched_why why; /* all of it */
	struct offcpu_sum sum;
};

struct ebt_error *offcpu_create(struct ebt_reader *reader, const struct offcpu_options *options,
				struct offcpu **ret);
void offcpu_destroy(struct offcpu *offcpu);

/* From the handler of a sched_model that reads stacks. */
struct ebt_error *offcpu_run(struct offcpu *offcpu, const struct sched_run *run);
struct ebt_error *offcpu_off(struct offcpu *offcpu, const struct sched_off *off);

/* A row of offcpu_stack, with all its columns. */
struct ebt_error *offcpu_stack_row(struct offcpu *offcpu, const struct ebt_row *row);

/* After sched_model_finish() or sched_model_cut(). */
struct ebt_error *offcpu_finish(struct offcpu *offcpu);

/* Then, after a cut: all figures are 0 again, but where each thread stopped last is known. */
void offcpu_next_window(struct offcpu *offcpu);

const struct offcpu_thread *offcpu_threads(const struct offcpu *offcpu, uint32_t *ret_n);
const struct offcpu_stack *offcpu_stacks(const struct offcpu *offcpu, uint32_t *ret_n);

#endif
