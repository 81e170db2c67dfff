/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows whose user stack is not whole, but which have a dump of the rest, with the stack that
 * follows from it: below all commands, which see whole stacks and no dumps. A command that asks
 * for dumps sees rows as they are.
 */
#ifndef REPORT_TRACE_WHOLE_H
#define REPORT_TRACE_WHOLE_H

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/read/reader.h"

struct trace;
struct whole;

/* The trace must live longer. */
struct ebt_error *whole_create(struct trace *trace, struct whole **ret);
/* Accepts NULL. */
void whole_destroy(struct whole *whole);
DEFINE_CLEANUP(struct whole *, whole_destroy);

/* Takes note of what a cursor wants, and adds what is needed beside. */
void whole_want(struct whole *whole, struct ebt_want *want);

/* For each row that the reader gives: puts a batch with room for whole stacks in place of the
 * reader's. It lives as long as that. */
struct ebt_error *whole_row(struct whole *whole, struct ebt_row *row);

/* For each of these rows that somebody will look at: makes its stack. */
struct ebt_error *whole_make(struct whole *whole, const struct ebt_row *row);

#endif
