/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters of a trace in its window: what each was, and how fast it grew. Numbers of the machine
 * are read together, and a row is written for those that changed only: one without a row at a
 * time when others have one is known to have been the same. Programs' own (table mark_counter) are
 * a process's: its name and id are the instance, and they hold until they are told again.
 */
#ifndef REPORT_MARKS_MODEL_COUNTERS_H
#define REPORT_MARKS_MODEL_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "report/out/out.h"
#include "report/trace/trace.h"

struct counter {
	char *name; /* category, instance and name, with dots between */
	char *category, *instance, *unit, *doc;
	const struct ebt_task *owner; /* NULL: the machine */
	bool cumulative;

	/* Of the values; of a cumulative counter: of its rates, in units a second. */
	bool any;	 /* there are such */
	double min, max; /* between two readings */
	double sum;	 /* times ns */
	uint64_t ns;	 /* what `sum` is over */
	double last;	 /* the value at the end */
	double delta;	 /* from beginning to end; where it began anew, from zero */

	struct out_point *points; /* rows of the window, the value that it began with first */
	size_t n_points, capacity;
};

/* How fast a cumulative counter grew between two readings, in units a second. Where it began anew
 * it has grown from zero. */
static inline double counter_rate(const struct out_point *from, const struct out_point *to)
{
	const double grown = to->value < from->value ? to->value : to->value - from->value;

	return to->time > from->time ? grown * 1e9 / (double)(to->time - from->time) : 0;
}

struct counters_model;

/* Which counters are wanted; NULL: all. points: they are kept, too. */
struct counters_query {
	bool (*wanted)(void *arg, const struct counter *counter);
	void *arg;
	bool points;
};

struct ebt_error *counters_model_create(struct trace *trace, const struct counters_query *query,
					struct counters_model **ret);
/* Accepts NULL. */
void counters_model_destroy(struct counters_model *model);
DEFINE_CLEANUP(struct counters_model *, counters_model_destroy);

/* In the order of their numbers in the file. Belongs to the model. */
const struct counter *const *counters_model_all(const struct counters_model *model, size_t *ret_n);

/* First and last time that there is anything to show of; equal: nothing. */
void counters_model_span(const struct counters_model *model, uint64_t *ret_from, uint64_t *ret_to);

#endif
