/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spans of time, of threads, of processes or of the whole system, and what of an interval lies in
 * them. Spans are added, then finished, then asked for; asking takes the logarithm of their number.
 */
#ifndef REPORT_BASE_SPAN_SET_H
#define REPORT_BASE_SPAN_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "report/base/names.h"

/* For whom a task's span is one. */
enum span_scope { SPAN_OF_THREAD, SPAN_OF_PROCESS, SPAN_OF_SYSTEM };

struct span_set;

/* names: needed by SPAN_OF_PROCESS; they must outlive the set. */
struct ebt_error *span_set_create(enum span_scope scope, const struct names *names,
				  struct span_set **ret);
void span_set_destroy(struct span_set *set);
DEFINE_CLEANUP(struct span_set *, span_set_destroy);

/* A span has from <= time < to; an empty span is left out. task NULL: the span is of SPAN_OF_SYSTEM
 * only. */
struct ebt_error *span_set_add(struct span_set *set, const struct ebt_task *task, uint64_t from,
			       uint64_t to, uint32_t id);

/* Call it after the last span_set_add(). merge: spans of one owner that overlap or touch become
 * one, so that no time counts twice; ids mean nothing then. */
void span_set_finish(struct span_set *set, bool merge);

/* A span, as far as it lies in the interval that was asked for. */
struct span_piece {
	uint32_t id;
	uint64_t from, to;
};
typedef struct ebt_error *span_piece_fn(void *arg, const struct span_piece *piece);

/* In order of where they begin. An interval without length is a point of time, and a piece that
 * it is in has no length. */
struct ebt_error *span_set_each(const struct span_set *set, const struct ebt_task *task,
				uint64_t from, uint64_t to, span_piece_fn *fn, void *arg);

/* Is a part of the interval, or the point of time that it is, in a span? */
bool span_set_touches(const struct span_set *set, const struct ebt_task *task, uint64_t from,
		      uint64_t to);

/* Length of the interval's parts that are in spans; of a merged set. */
uint64_t span_set_ns(const struct span_set *set, const struct ebt_task *task, uint64_t from,
		     uint64_t to);

/* Length of all spans of a merged set together. */
uint64_t span_set_total_ns(const struct span_set *set);

#endif
