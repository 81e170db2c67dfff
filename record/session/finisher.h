/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finishing stacks that the BPF programs could not walk whole. Whoever reads a ring hands over
 * the records that carry a dump; a moment later, when everything is known about the address space
 * at the time of the record, the walk is gone on with, and the record added to a stream with the
 * whole stack and without the dump.
 */
#ifndef RECORD_SESSION_FINISHER_H
#define RECORD_SESSION_FINISHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/write/writer.h"

struct finisher;
struct tasks;
struct unwinder;

/* Both must live longer. */
struct ebt_error *finisher_create(struct unwinder *unwinder, struct tasks *tasks,
				  struct finisher **ret);
/* Accepts NULL. */
void finisher_destroy(struct finisher *finisher);
DEFINE_CLEANUP(struct finisher *, finisher_destroy);

/* Any thread: takes a copy of a record that has a dump. False: add it as it is. now_ns: about. */
bool finisher_take(struct finisher *finisher, const void *record, size_t len, uint64_t now_ns);

/* Finishes what was taken, and is so old that nothing more will be heard of its time; or `all`. */
struct ebt_error *finisher_run(struct finisher *finisher, struct ebt_stream *stream,
			       uint64_t now_ns, bool all);

struct finisher_stats {
	uint64_t taken;
	uint64_t refused; /* there were too many at once */
	uint64_t whole;	  /* that the walk finished */
};

void finisher_stats(struct finisher *finisher, struct finisher_stats *ret);

#endif
