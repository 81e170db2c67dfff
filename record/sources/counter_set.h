/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The numbers of source `counter`: what they are and what they were when last read. Readers
 * (counter_text.c, counter_sensor.c) put values in, counter.c writes those that changed.
 */
#ifndef RECORD_SOURCES_COUNTER_SET_H
#define RECORD_SOURCES_COUNTER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/write/writer.h"

/* counter_def.kind, in short for the tables of counters. */
enum counter_kind {
	COUNTER_GAUGE = EBT_V_counter_def_kind_gauge,
	COUNTER_CUMULATIVE = EBT_V_counter_def_kind_cumulative,
};

/* What counters have in common that differ in the instance. */
struct counter_class {
	const char *name, *unit, *doc;
	enum counter_kind kind;
	uint32_t divisor; /* what is stored is so many times the unit */
	uint32_t factor;  /* and so many times what the kernel says */
};

/* No counter: there are too many. */
#define COUNTER_NONE	 UINT32_MAX

#define COUNTER_INSTANCE 48

struct counter_set;

struct ebt_error *counter_set_create(struct counter_set **ret);
/* Accepts NULL. */
void counter_set_destroy(struct counter_set *set);

/*
 * Adds a counter for each of n classes; *ret is the first of them, or COUNTER_NONE where no more
 * fit. The category and the strings of the classes must live as long as the set; the instance is
 * copied, and cut where it is too long.
 */
struct ebt_error *counter_set_add(struct counter_set *set, const char *category,
				  const char *instance, const struct counter_class *classes,
				  size_t n, uint32_t *ret);

/* What the kernel says. */
void counter_set_put(struct counter_set *set, uint32_t counter, uint64_t value);

/* Writes values that are not as written before, and once a row of `lost` where some had no room.
 * again: all, and what they are, for a new epoch. A cumulative counter that came after the first
 * call began at zero. */
struct ebt_error *counter_set_emit(struct counter_set *set, struct ebt_stream *stream,
				   uint64_t time_ns, bool again);

#endif
