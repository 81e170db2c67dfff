/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of stacks for the symbolizer; see prepare.h. */
#include "report/trace/prepare.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "symbolize/symbolize.h"

/* Who had a stack of the batch last; the same stack of another row of his is passed over. */
struct owner {
	const struct ebt_task *task;
	bool caller;
};

struct prepare_pass {
	struct sym *sym;
	uint64_t batch;
	bool any_batch;
	struct owner *owners;
	uint32_t n_owners;
};

static struct ebt_error *begin_batch(struct prepare_pass *pass, const struct ebt_batch *batch)
{
	if (pass->any_batch && pass->batch == batch->id)
		return NULL;
	pass->any_batch = true;
	pass->batch = batch->id;
	if (batch->n_stacks > pass->n_owners) {
		struct owner *grown = reallocarray(pass->owners, batch->n_stacks, sizeof(*grown));

		if (!grown)
			return &ebt_enomem;
		pass->owners = grown;
		pass->n_owners = batch->n_stacks;
	}
	if (batch->n_stacks)
		memset(pass->owners, 0, batch->n_stacks * sizeof(*pass->owners));
	return NULL;
}

/* first_is_caller: the innermost address is a return address too. */
static struct ebt_error *take_stack(struct prepare_pass *pass, const struct ebt_row *row,
				    uint64_t number, const struct ebt_task *task,
				    bool first_is_caller)
{
	const struct ebt_stack *stack = &row->batch->stacks[number - 1];
	struct owner *owner = &pass->owners[number - 1];
	struct ebt_error *err = NULL;

	if (!(stack->attrs & EBT_STACK_USER) ||
	    (owner->task == task && owner->caller == first_is_caller))
		return NULL;
	*owner = (struct owner){ task, first_is_caller };
	for (uint32_t i = 0; !err && i < stack->n; i++)
		err = sym_collect(pass->sym, task, row->time, stack->attrs, stack->addresses[i],
				  i || first_is_caller);
	return err;
}

/* Stacks of a row are of the task that its first TASK field names. */
static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	struct prepare_pass *pass = arg;
	const struct ebt_table *table = row->batch->table;
	const struct ebt_task *task = NULL;
	bool below_kernel = false;
	struct ebt_error *err;

	err = begin_batch(pass, row->batch);
	for (uint32_t f = 0; !err && f < table->n_fields && f < EBT_MAX_FIELDS; f++) {
		uint64_t value = row->batch->col[f] ? ebt_u64(row, f) : 0;

		if (table->fields[f].type == EBT_TYPE_TASK && !task)
			task = ebt_task(row, f);
		if (table->fields[f].type != EBT_TYPE_STACK || !value)
			continue;
		err = take_stack(pass, row, value, task, below_kernel);
		below_kernel |= !(row->batch->stacks[value - 1].attrs & EBT_STACK_USER);
	}
	return err;
}

/* Stacks, their owners, and dumps, so that nobody takes the time to finish stacks by them. */
static uint64_t wanted_columns(const struct ebt_table *table)
{
	uint64_t columns = 0;

	for (uint32_t f = 0; f < table->n_fields && f < EBT_MAX_FIELDS; f++) {
		if (table->fields[f].type == EBT_TYPE_STACK ||
		    table->fields[f].type == EBT_TYPE_TASK ||
		    !strcmp(table->fields[f].name, "udump"))
			columns |= UINT64_C(1) << f;
	}
	return columns;
}

static struct ebt_error *take_table(struct trace *trace, const struct ebt_table *table,
				    unsigned int flags)
{
	const struct ebt_want want = { table->id, wanted_columns(table) };
	struct prepare_pass pass = { 0 };
	struct ebt_error *err;

	err = trace_sym(trace, &pass.sym);
	if (!err)
		err = trace_read_rows(trace, &want, 1, flags, take_row, &pass);
	free(pass.owners);
	return err ? err : sym_find_collected(pass.sym);
}

struct ebt_error *prepare_names(struct trace *trace, uint16_t table, unsigned int flags)
{
	const struct ebt_table *tables;
	struct ebt_error *err = NULL;
	size_t n;

	tables = ebt_reader_tables(trace_reader(trace), &n);
	for (size_t i = 0; !err && i < n; i++) {
		if (tables[i].id == table)
			err = take_table(trace, &tables[i], flags);
	}
	return err;
}
