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
struct sym_frames;
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

/* What is needed of a table to tell whose its stacks are: the first field that is a task, and
 * `udump`; -1: none. */
struct sql_stack_fields {
	int task, dump;
};
struct sql_stack_fields sql_stack_fields(const struct ebt_table *table);
/* Columns of a table without which its stacks have no names; 0: it has none. */
uint64_t sql_stack_wants(const struct ebt_table *table);
/* A stack of a row; the table may be another one's, of the same name. */
struct sql_stack sql_stack_of(const struct ebt_row *row, const struct sql_stack_fields *fields,
			      const struct ebt_stack *stack);

/* How many there are so far; their numbers. */
size_t sql_stacks_n(const struct sql_stacks *stacks);
int64_t sql_stacks_at(const struct sql_stacks *stacks, size_t i);
bool sql_stacks_find(const struct sql_stacks *stacks, int64_t number, size_t *ret);

/* Calls for each address, from the outermost to the innermost. */
typedef struct ebt_error *sql_place_fn(void *arg, const struct sym_frames *frames);
struct ebt_error *sql_stacks_walk(const struct sql_stacks *stacks, struct sym *sym, size_t i,
				  sql_place_fn *take, void *arg);

/* Names of functions from the outermost to the innermost, with ; between them as in
 * `ebreport folded`. *ret_found: is it a number of this trace? */
struct ebt_error *sql_stacks_folded(const struct sql_stacks *stacks, struct sym *sym,
				    int64_t number, struct text *to, bool *ret_found);

#endif
