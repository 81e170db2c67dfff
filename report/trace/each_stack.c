/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every stack of a trace; see each_stack.h. */
#include "report/trace/each_stack.h"

/* Stacks of a row are of the task that its first TASK field names. */
static struct ebt_error *visit_row(const struct ebt_row *row, stack_visit_fn *visit, void *arg)
{
	const struct ebt_table *table = row->batch->table;
	struct stack_visit v = { .row = row };
	bool below_kernel = false;
	struct ebt_error *err = NULL;

	for (uint32_t f = 0; !err && f < table->n_fields; f++) {
		uint64_t value = row->batch->col[f] ? ebt_u64(row, f) : 0;
		bool user;

		if (table->fields[f].type == EBT_TYPE_TASK && !v.task)
			v.task = ebt_task(row, f);
		if (table->fields[f].type != EBT_TYPE_STACK || !value)
			continue;
		user = row->batch->stacks[value - 1].attrs & EBT_STACK_USER;
		v.number = value - 1;
		v.first_is_caller = user && below_kernel;
		err = visit(arg, &v);
		below_kernel |= !user;
	}
	return err;
}

static uint64_t wanted_columns(const struct ebt_table *table)
{
	uint64_t columns = 0;
	bool stacks = false;

	for (uint32_t f = 0; f < table->n_fields && f < EBT_MAX_FIELDS; f++) {
		if (table->fields[f].type == EBT_TYPE_STACK)
			stacks = true;
		if (table->fields[f].type == EBT_TYPE_STACK ||
		    table->fields[f].type == EBT_TYPE_TASK)
			columns |= UINT64_C(1) << f;
	}
	return stacks ? columns : 0;
}

static struct ebt_error *visit_table(struct trace *trace, unsigned int flags,
				     const struct ebt_table *table, stack_visit_fn *visit,
				     void *arg)
{
	const struct ebt_want want = { table->id, wanted_columns(table) };
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	struct ebt_error *err;
	struct ebt_row row;

	if (!want.columns)
		return NULL;
	err = trace_cursor_create(trace, &want, 1, flags, &cursor);
	while (!err) {
		err = trace_next(cursor, &row);
		if (err || !row.batch)
			break;
		err = visit_row(&row, visit, arg);
	}
	return err;
}

struct ebt_error *each_stack(struct trace *trace, unsigned int flags, stack_visit_fn *visit,
			     void *arg)
{
	struct ebt_error *err = NULL;
	const struct ebt_table *tables;
	size_t n;

	tables = ebt_reader_tables(trace_reader(trace), &n);
	for (size_t i = 0; !err && i < n; i++)
		err = visit_table(trace, flags, &tables[i], visit, arg);
	return err;
}
