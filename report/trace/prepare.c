/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of stacks for the symbolizer; see prepare.h. */
#include "report/trace/prepare.h"

#include "format/schema/wire.h"
#include "report/trace/stack_iterator.h"
#include "symbolize/symbolize.h"

struct addresses {
	struct sym *sym;
	bool prefetch; /* only the files that hold them */
};

static struct ebt_error *expect_file(struct sym *sym, const struct stack_visit *v, uint64_t address,
				     bool caller)
{
	struct ebt_error *err;
	uint32_t object;
	bool found;

	if (!v->task)
		return NULL;
	err = sym_locate(sym, v->task, v->row->time, address, caller, &found, &object);
	return err || !found ? err : sym_expect(sym, object);
}

static struct ebt_error *take_stack(void *arg, const struct stack_visit *v)
{
	const struct ebt_stack *stack = &v->row->batch->stacks[v->number];
	const struct addresses *a = arg;
	struct ebt_error *err = NULL;

	if (v->again || !(stack->attrs & EBT_STACK_USER))
		return NULL;
	for (uint32_t i = 0; !err && i < stack->n; i++) {
		bool caller = i || v->first_is_caller;

		err = a->prefetch ? expect_file(a->sym, v, stack->addresses[i], caller)
				  : sym_collect(a->sym, v->task, v->row->time, stack->attrs,
						stack->addresses[i], caller);
	}
	return err;
}

struct ebt_error *prepare_names(struct trace *trace, uint16_t id, unsigned int flags)
{
	const struct ebt_table *table = ebt_reader_table(trace_reader(trace), id);
	struct addresses a = { 0 };
	struct ebt_error *err;

	if (!table)
		return NULL;
	err = trace_sym(trace, &a.sym);
	if (err)
		return err;
	err = stack_iterator_recorded(trace, table, flags, take_stack, &a);
	return err ? err : sym_find_collected(a.sym);
}

struct ebt_error *prefetch_files(struct trace *trace, struct sym *sym)
{
	return stack_iterator_all(trace, TRACE_QUIET, take_stack,
				  &(struct addresses){ .sym = sym, .prefetch = true });
}
