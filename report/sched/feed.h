/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a trace through model_sched.h: the cursor, the bounds, the processes that were followed, and
 * the warnings on what is missing, the same for every command that works with the scheduler's
 * intervals.
 */
#ifndef REPORT_SCHED_FEED_H
#define REPORT_SCHED_FEED_H

#include <stdbool.h>
#include <stddef.h>

#include "report/sched/model_offcpu.h"
#include "report/sched/model_sched.h"
#include "report/trace/trace.h"

struct sched_feed {
	/* Functions that get the intervals of followed tasks that pass the filters by task and
	 * CPU; with `all`, every interval of followed tasks. */
	struct sched_handler handler;
	bool all;
	/* Lets only intervals of these tasks pass; NULL: those of all tasks. */
	bool (*wanted)(void *arg, const struct ebt_task *task);
	struct offcpu *offcpu; /* gets the intervals after the handler, and stacks; NULL: none */
	/* Gets each row, before the model does; NULL: not wanted. */
	struct ebt_error *(*row)(void *arg, const struct ebt_row *row);
	/* Gets each row from before the first window that the model gets; NULL: not wanted. */
	struct ebt_error *(*before)(void *arg, const struct ebt_row *row);
	/* Gets each task that passes the filters and is there when the first window begins, if that
	 * is later than the trace; NULL: not wanted. */
	struct ebt_error *(*alive)(void *arg, const struct ebt_task *task);
	void *arg;
	/* Tables that row() wants besides those of the model. */
	const struct ebt_want *wants;
	size_t n_wants;
	bool stacks; /* of switches, and for offcpu */
	bool still;  /* the command says itself where there are no switches */
};

/* The part of the trace's window in which switches are known: intervals that are open there are
 * closed at these bounds. from <= to. */
void sched_feed_bounds(const struct trace *trace, uint64_t *ret_from, uint64_t *ret_to);

/* ret_partial: only some processes were recorded. */
struct ebt_error *sched_feed_run(struct trace *trace, const struct sched_feed *feed,
				 bool *ret_partial);

/* Was there somebody who would have seen switches? Where there was not, nothing is known of
 * intervals, and none are given. */
struct ebt_error *sched_is_known(struct trace *trace, bool *ret);

/* Names of the functions where threads stopped are looked up together. */
struct ebt_error *sched_prepare_names(struct trace *trace);

/* Do the filters by task and CPU let an interval pass? UINT32_MAX: of no CPU. */
bool sched_feed_wanted(struct trace *trace, const struct ebt_task *task, uint32_t cpu);

/* CPU time that passed the filters, in percent of one CPU over the window; negative: no switches
 * were recorded. */
struct ebt_error *sched_cpu_percent(struct trace *trace, double *ret);

#endif
