/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Complete stacks: where a row has an incomplete user stack and a dump of the memory behind it, a
 * stack that was walked to its end takes the place of the incomplete one. This happens below all
 * commands, which see complete stacks and no dumps. A command that asks for dumps sees rows as they
 * are.
 */
#ifndef REPORT_TRACE_COMPLETE_STACKS_H
#define REPORT_TRACE_COMPLETE_STACKS_H

#include "format/base/error.h"
#include "format/base/limits.h"
#include "format/read/reader.h"

struct trace;

#define COMPLETE_STACKS_TABLES 2 /* that have dumps */

/* All zero but for the trace, which must live longer. */
struct complete_stacks {
	struct trace *trace;
	bool wanted[COMPLETE_STACKS_TABLES];
	struct added_batch *added; /* the one asked for last is first */
	uint64_t addresses[EBT_MAX_FRAMES];
};

void complete_stacks_deinit(struct complete_stacks *stacks);

/* Takes note of what a cursor wants, and adds the columns that are needed for complete stacks. */
void complete_stacks_want(struct complete_stacks *stacks, struct ebt_want *want);

/* For each row that the reader gives: puts a batch with room for complete stacks in place of the
 * reader's batch. The new batch lives as long as the reader's. */
struct ebt_error *complete_stacks_row(struct complete_stacks *stacks, struct ebt_row *row);

/* For each of these rows that passes the filters: makes its stack. */
struct ebt_error *complete_stacks_make(struct complete_stacks *stacks, const struct ebt_row *row);

#endif
