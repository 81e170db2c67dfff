/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks that rows of a trace have had, by the numbers that columns have: an address is a name only
 * together with whose it was, and when. Each is kept once: 8 bytes an address, 64 a stack.
 */
#ifndef REPORT_SQL_STACKS_H
#define REPORT_SQL_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/rows.h"

struct sql_stacks;
struct sym;
struct text;

void sql_stacks_destroy(struct sql_stacks *stacks);

/* A stack as its row has it. */
struct sql_stack {
	const struct ebt_task *task; /* whose; NULL: nobody's */
	uint64_t time;
	struct ebt_stack stack;
	struct ebt_str dump; /* udump, of a user stack */
	bool below_kernel;   /* a user stack whose first address called the kernel */
};

/* *stacks is made when it is first needed. The number is the same for the same addresses of a
 * process, in all traces; those of the kernel are the same in all processes. */
struct ebt_error *sql_stacks_number(struct sql_stacks **stacks, const struct sql_stack *stack,
				    int64_t *ret);

/* Names of functions from the outermost to the innermost, with ; between them as in
 * `ebreport folded`. *ret_found: is it a number of this trace? */
struct ebt_error *sql_stacks_folded(const struct sql_stacks *stacks, struct sym *sym,
				    int64_t number, struct text *to, bool *ret_found);

#endif
