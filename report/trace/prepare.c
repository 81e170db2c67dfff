/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of stacks for the symbolizer; see prepare.h. */
#include "report/trace/prepare.h"

#include "report/trace/stack_iterator.h"
#include "symbolize/symbolize.h"

static struct ebt_error *take_stack(void *arg, const struct stack_visit *v)
{
	const struct ebt_stack *stack = &v->row->batch->stacks[v->number];
	struct sym *sym = arg;

	if (v->again || !(stack->attrs & EBT_STACK_USER))
		return NULL;
	for (uint32_t i = 0; i < stack->n; i++) {
		struct ebt_error *err;

		err = sym_collect(sym, v->task, v->row->time, stack->attrs, stack->addresses[i],
				  i || v->first_is_caller);
		if (err)
			return err;
	}
	return NULL;
}

struct ebt_error *prepare_names(struct trace *trace, uint16_t id, unsigned int flags)
{
	const struct ebt_table *table = ebt_reader_table(trace_reader(trace), id);
	struct ebt_error *err;
	struct sym *sym;

	if (!table)
		return NULL;
	err = trace_sym(trace, &sym);
	if (err)
		return err;
	err = stack_iterator_recorded(trace, table, flags, take_stack, sym);
	return err ? err : sym_find_collected(sym);
}
