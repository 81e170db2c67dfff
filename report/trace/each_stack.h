/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every stack of a trace that the filters leave, whatever table it is in. */
#ifndef REPORT_TRACE_EACH_STACK_H
#define REPORT_TRACE_EACH_STACK_H

#include "report/trace/trace.h"

struct stack_visit {
	const struct ebt_row *row;
	const struct ebt_task *task; /* whose stack it is; NULL: not known */
	uint32_t number;	     /* of the stack in the row's batch, from 0 */
	bool first_is_caller;	     /* the innermost address is a return address too */
};

typedef struct ebt_error *stack_visit_fn(void *arg, const struct stack_visit *visit);

/* flags: of trace_cursor_create(). */
struct ebt_error *each_stack(struct trace *trace, unsigned int flags, stack_visit_fn *visit,
			     void *arg);

#endif
