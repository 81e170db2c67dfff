/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stack iterator: every stack of a trace that the filters leave, whatever table it is in. */
#ifndef REPORT_TRACE_STACK_ITERATOR_H
#define REPORT_TRACE_STACK_ITERATOR_H

#include "report/trace/trace.h"

struct stack_visit {
	const struct ebt_row *row;
	const struct ebt_task *task; /* whose stack it is; NULL: not known */
	uint32_t number;	     /* of the stack in the row's batch, from 0 */
	bool first_is_caller;	     /* the innermost address is a return address too */
	bool new_batch;		     /* the visit before was of a stack of another batch */
	bool again; /* the last visit of this stack had this task and this first_is_caller */
};

typedef struct ebt_error *stack_visit_fn(void *arg, const struct stack_visit *visit);

/* Calls visit() for each stack. flags: of trace_cursor_create(). */
struct ebt_error *stack_iterator_all(struct trace *trace, unsigned int flags, stack_visit_fn *visit,
				     void *arg);

/* The same for one table, with stacks as they were recorded: stacks that have a dump are not
 * completed, which takes time. */
struct ebt_error *stack_iterator_recorded(struct trace *trace, const struct ebt_table *table,
					  unsigned int flags, stack_visit_fn *visit, void *arg);

#endif
