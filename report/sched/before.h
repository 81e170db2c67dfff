/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which rows tell what threads do at a time, without all rows before it. Snapshots, which are
 * written about every ten seconds, list the threads and how often each has left its CPU. A thread
 * that has not done so between two of them does then what it did, so that the rows between these
 * have nothing to say of it.
 */
#ifndef REPORT_SCHED_BEFORE_H
#define REPORT_SCHED_BEFORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/trace/trace.h"

struct before_span {
	uint64_t from, to; /* from <= time < to */
};

struct before {
	struct before_span *spans; /* in order and apart from each other; the last one is the end */
	size_t n, capacity;
	/* By task: was it there when the last span begins? NULL: the spans are all rows. */
	bool *there;
	size_t n_there;
};

struct ebt_error *before_plan(struct trace *trace, uint64_t time, struct before *ret);
void before_deinit(struct before *before);
#define _cleanup_before_ __attribute__((cleanup(before_deinit)))

#endif
