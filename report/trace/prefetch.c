/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prefetch; see prefetch.h. */
#include "report/trace/prefetch.h"

#include "format/schema/wire.h"
#include "report/trace/stack_iterator.h"

static struct ebt_error *visit(void *arg, const struct stack_visit *v)
{
	const struct ebt_stack *stack = &v->row->batch->stacks[v->number];
	struct sym *sym = arg;

	if (v->again || !v->task || !(stack->attrs & EBT_STACK_USER))
		return NULL;
	for (uint32_t i = 0; i < stack->n; i++) {
		struct ebt_error *err;
		uint32_t object;
		bool found;

		err = sym_locate(sym, v->task, v->row->time, stack->addresses[i],
				 i || v->first_is_caller, &found, &object);
		if (err)
			return err;
		if (found)
			err = sym_expect(sym, object);
		if (err)
			return err;
	}
	return NULL;
}

struct ebt_error *prefetch_files(struct trace *trace, struct sym *sym)
{
	return stack_iterator_all(trace, TRACE_QUIET, visit, sym);
}
