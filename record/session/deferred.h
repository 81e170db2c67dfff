/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deferred unwinding, of stacks that the BPF programs could not walk to the end. The threads that
 * read rings pass on the records that carry a dump. A moment later everything is known about the
 * address space at the time of the record. Then the walk is continued over the dump, and the record
 * is added to a stream, with the complete stack and without the dump.
 */
#ifndef RECORD_SESSION_DEFERRED_H
#define RECORD_SESSION_DEFERRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/write/writer.h"

struct deferred;
struct tasks;
struct unwinder;

/* Both must live longer. *ret stays NULL without an unwinder, or where it finishes no walks. */
struct ebt_error *deferred_create(struct unwinder *unwinder, struct tasks *tasks,
				  struct deferred **ret);
/* Accepts NULL. */
void deferred_destroy(struct deferred *deferred);
DEFINE_CLEANUP(struct deferred *, deferred_destroy);

/* Any thread: takes a copy of a record that has a dump. False: add it as it is. now_ns: about. */
bool deferred_take(struct deferred *deferred, const void *record, size_t len, uint64_t now_ns);

/* Walks the stacks of records that are so old that all mappings of their time are known by now; or
 * of `all`. deferred NULL: there are none. */
struct ebt_error *deferred_run(struct deferred *deferred, struct ebt_stream *stream,
			       uint64_t now_ns, bool all);

struct deferred_stats {
	uint64_t taken;
	uint64_t refused; /* there were too many at once */
	uint64_t whole;	  /* walked to their end */
};

void deferred_stats(struct deferred *deferred, struct deferred_stats *ret);

#endif
