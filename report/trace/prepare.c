/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of stacks for the symbolizer; see prepare.h. */
#include "report/trace/prepare.h"

#include "format/schema/wire.h"
#include "report/trace/stack_iterator.h"
#include "symbolize/symbolize.h"

struct addresses {
	struct sym *sym;
	bool prefetch; /* only the files that hold them */
	/* The last stack: the next one mostly shares its beginning, and nothing is told twice. */
	uint64_t last[EBT_MAX_FRAMES];
	uint32_t n;
	uint32_t pid;
};

/* How many of the outermost addresses the last stack had, too. */
static uint32_t count_shared(const struct addresses *a, const struct ebt_task *task,
			     const struct ebt_stack *stack)
{
	uint32_t n = 0;

	if (!task || task->pid != a->pid)
		return 0;
	while (n < a->n && n < stack->n && stack->addresses[stack->n - 1 - n] == a->last[n])
		n++;
	/* The innermost address is no return address. */
	return n == a->n || n == stack->n ? n - !!n : n;
}

static void remember(struct addresses *a, const struct ebt_task *task,
		     const struct ebt_stack *stack, uint32_t shared)
{
	a->pid = task ? task->pid : 0;
	for (a->n = shared; a->n < stack->n; a->n++)
		a->last[a->n] = stack->addresses[stack->n - 1 - a->n];
}

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
	struct addresses *a = arg;
	struct ebt_error *err = NULL;
	uint32_t shared;

	if (v->again || !(stack->attrs & EBT_STACK_USER))
		return NULL;
	shared = count_shared(a, v->task, stack);
	remember(a, v->task, stack, shared);
	for (uint32_t i = 0; !err && i < stack->n - shared; i++) {
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
