/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fetching ahead; see ahead.h. */
#include "report/trace/ahead.h"

#include <stdlib.h>

#include "format/schema/wire.h"
#include "report/trace/each_stack.h"

struct fetch_pass {
	struct sym *sym;
	const struct ebt_table *table; /* and the number of its batch that `owners` is of */
	uint64_t batch;
	const struct ebt_task **owners; /* by stack: whose it was last */
	uint32_t capacity;
};

static struct ebt_error *begin_batch(struct fetch_pass *pass, const struct ebt_batch *batch)
{
	if (pass->table == batch->table && pass->batch == batch->id)
		return NULL;
	pass->table = batch->table;
	pass->batch = batch->id;
	if (batch->n_stacks > pass->capacity) {
		const struct ebt_task **grown =
			reallocarray(pass->owners, batch->n_stacks, sizeof(*grown));

		if (!grown)
			return &ebt_enomem;
		pass->owners = grown;
		pass->capacity = batch->n_stacks;
	}
	for (uint32_t i = 0; i < batch->n_stacks; i++)
		pass->owners[i] = NULL;
	return NULL;
}

static struct ebt_error *visit(void *arg, const struct stack_visit *v)
{
	const struct ebt_stack *stack = &v->row->batch->stacks[v->number];
	struct fetch_pass *pass = arg;
	struct ebt_error *err = begin_batch(pass, v->row->batch);

	if (err || !v->task || !(stack->attrs & EBT_STACK_USER) ||
	    pass->owners[v->number] == v->task)
		return err;
	pass->owners[v->number] = v->task;
	for (uint32_t i = 0; !err && i < stack->n; i++) {
		uint32_t object;
		bool found;

		err = sym_locate(pass->sym, v->task, v->row->time, stack->addresses[i],
				 i || v->first_is_caller, &found, &object);
		if (!err && found)
			err = sym_expect(pass->sym, object);
	}
	return err;
}

struct ebt_error *ahead_fetch(struct trace *trace, struct sym *sym)
{
	struct fetch_pass pass = { .sym = sym };
	struct ebt_error *err = each_stack(trace, TRACE_QUIET, visit, &pass);

	free(pass.owners);
	return err;
}
