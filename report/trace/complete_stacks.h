/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Complete stacks: where a row has an incomplete user stack and a dump of the memory behind it, a
 * stack that was walked to its end takes the place of the incomplete one. This happens below all
 * commands, which see complete stacks and no dumps. A command that asks for dumps sees rows as they
 * are.
 */
#ifndef REPORT_TRACE_COMPLETE_STACKS_H
#define REPORT_TRACE_COMPLETE_STACKS_H

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/read/reader.h"

struct trace;
struct complete_stacks;

/* The trace must live longer. */
struct ebt_error *complete_stacks_create(struct trace *trace, struct complete_stacks **ret);
/* Accepts NULL. */
void complete_stacks_destroy(struct complete_stacks *stacks);
DEFINE_CLEANUP(struct complete_stacks *, complete_stacks_destroy);

/* Takes note of what a cursor wants, and adds the columns that are needed for complete stacks. */
void complete_stacks_want(struct complete_stacks *stacks, struct ebt_want *want);

/* For each row that the reader gives: puts a batch with room for complete stacks in place of the
 * reader's batch. The new batch lives as long as the reader's. */
struct ebt_error *complete_stacks_row(struct complete_stacks *stacks, struct ebt_row *row);

/* For each of these rows that passes the filters: makes its stack. */
struct ebt_error *complete_stacks_make(struct complete_stacks *stacks, const struct ebt_row *row);

#endif
