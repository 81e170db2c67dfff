/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every stack of a trace; see stack_iterator.h. */
#include "report/trace/stack_iterator.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"

struct last_visit {
	const struct ebt_task *task;
	bool visited, first_is_caller;
};

struct stack_iterator {
	stack_visit_fn *visit;
	void *arg;
	const struct ebt_table *table; /* and the number of its batch that `last` is of */
	uint64_t batch;
	struct last_visit *last; /* by stack */
	size_t capacity;
};

static struct ebt_error *begin_batch(struct stack_iterator *it, const struct ebt_batch *batch)
{
	struct ebt_error *err;

	it->table = batch->table;
	it->batch = batch->id;
	err = ebt_array_reserve(&it->last, batch->n_stacks, &it->capacity);
	if (!err)
		memset(it->last, 0, batch->n_stacks * sizeof(*it->last));
	return err;
}

static struct ebt_error *visit_stack(struct stack_iterator *it, struct stack_visit *v)
{
	const struct ebt_batch *batch = v->row->batch;
	struct last_visit *last;
	struct ebt_error *err;

	v->new_batch = it->table != batch->table || it->batch != batch->id;
	if (v->new_batch) {
		err = begin_batch(it, batch);
		if (err)
			return err;
	}
	last = &it->last[v->number];
	v->again = last->visited && last->task == v->task &&
		   last->first_is_caller == v->first_is_caller;
	*last = (struct last_visit){ v->task, true, v->first_is_caller };
	return it->visit(it->arg, v);
}

/* Stacks of a row are of the task that its first TASK field names. */
static struct ebt_error *visit_row(void *arg, const struct ebt_row *row)
{
	const struct ebt_table *table = row->batch->table;
	struct stack_visit v = { .row = row };
	bool below_kernel = false;

	for (uint32_t f = 0; f < table->n_fields && f < EBT_MAX_FIELDS; f++) {
		uint64_t value = row->batch->col[f] ? ebt_u64(row, f) : 0;
		struct ebt_error *err;
		bool user;

		if (table->fields[f].type == EBT_TYPE_TASK && !v.task)
			v.task = ebt_task(row, f);
		if (table->fields[f].type != EBT_TYPE_STACK || !value)
			continue;
		user = row->batch->stacks[value - 1].attrs & EBT_STACK_USER;
		v.number = (uint32_t)value - 1;
		v.first_is_caller = user && below_kernel;
		err = visit_stack(arg, &v);
		if (err)
			return err;
		below_kernel |= !user;
	}
	return NULL;
}

/* Who asks for dumps gets stacks as they were recorded. */
static uint64_t wanted_columns(const struct ebt_table *table, bool dumps)
{
	uint64_t columns = 0;
	bool stacks = false;

	for (uint32_t f = 0; f < table->n_fields && f < EBT_MAX_FIELDS; f++) {
		bool stack = table->fields[f].type == EBT_TYPE_STACK;

		stacks |= stack;
		if (stack || table->fields[f].type == EBT_TYPE_TASK ||
		    (dumps && !strcmp(table->fields[f].name, "udump")))
			columns |= UINT64_C(1) << f;
	}
	return stacks ? columns : 0;
}

static struct ebt_error *visit_table(struct trace *trace, const struct ebt_table *table, bool dumps,
				     unsigned int flags, stack_visit_fn *visit, void *arg)
{
	const struct ebt_want want = { table->id, wanted_columns(table, dumps) };
	struct stack_iterator it = { .visit = visit, .arg = arg };
	struct ebt_error *err;

	if (!want.columns)
		return NULL;
	err = trace_read_rows(trace, &want, 1, flags, visit_row, &it);
	free(it.last);
	return err;
}

struct ebt_error *stack_iterator_all(struct trace *trace, unsigned int flags, stack_visit_fn *visit,
				     void *arg)
{
	const struct ebt_table *tables;
	size_t n;

	tables = ebt_reader_tables(trace_reader(trace), &n);
	for (size_t i = 0; i < n; i++) {
		struct ebt_error *err = visit_table(trace, &tables[i], false, flags, visit, arg);

		if (err)
			return err;
	}
	return NULL;
}

struct ebt_error *stack_iterator_recorded(struct trace *trace, const struct ebt_table *table,
					  unsigned int flags, stack_visit_fn *visit, void *arg)
{
	return visit_table(trace, table, true, flags, visit, arg);
}
