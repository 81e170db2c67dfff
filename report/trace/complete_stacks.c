/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Batches with finished stacks; see complete_stacks.h. Such a batch has one more stack for each row
 * with a dump, which the row refers to. How many there are is known before the first row is given,
 * as others keep arrays of that size; the stacks themselves are made when their row is given.
 */
#include "report/trace/complete_stacks.h"

#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "format/schema/wire.h"
#include "report/trace/trace.h"
#include "symbolize/symbolize.h"

/* Of stacks of a batch; a file could make them many. What is beyond stays partial. */
#define MAX_ADDRESSES (4u << 20)

struct row_layout {
	uint16_t table;
	unsigned int task, ustack, udump;
};

static const struct row_layout layouts[COMPLETE_STACKS_TABLES] = {
	{ EBT_T_sample, EBT_F_sample_task, EBT_F_sample_ustack, EBT_F_sample_udump },
	{ EBT_T_sched_switch, EBT_F_sched_switch_prev, EBT_F_sched_switch_ustack,
	  EBT_F_sched_switch_udump },
};

/* A batch of the reader, with stacks added. */
struct added_batch {
	struct added_batch *next;
	struct ebt_batch batch;
	const struct ebt_batch *original;
	struct ebt_stack *stacks; /* those of the reader, then ours; NULL: there are no dumps */
	uint64_t *column;	  /* ustack */
	uint64_t n_addresses;
	uint32_t first; /* of our stacks */
	uint32_t given; /* rows */
};

static void added_destroy(struct added_batch *a)
{
	for (uint32_t i = a->first; a->stacks && i < a->batch.n_stacks; i++)
		free((void *)a->stacks[i].addresses);
	free(a->stacks);
	free(a->column);
	free(a);
}

void complete_stacks_deinit(struct complete_stacks *c)
{
	while (c->added) {
		struct added_batch *a = c->added;

		c->added = a->next;
		added_destroy(a);
	}
}

void complete_stacks_want(struct complete_stacks *c, struct ebt_want *want)
{
	for (size_t i = 0; i < COMPLETE_STACKS_TABLES; i++) {
		const struct row_layout *l = &layouts[i];

		if (l->table != want->table || !(want->columns >> l->ustack & 1) ||
		    want->columns >> l->udump & 1)
			continue;
		c->wanted[i] = true;
		want->columns |= UINT64_C(1) << l->udump | UINT64_C(1) << l->task;
	}
}

static const struct row_layout *layout_of(const struct complete_stacks *c,
					  const struct ebt_batch *batch)
{
	for (size_t i = 0; i < COMPLETE_STACKS_TABLES; i++) {
		if (c->wanted[i] && layouts[i].table == batch->table->id)
			return &layouts[i];
	}
	return NULL;
}

/* Room for n stacks more. Until they are made they have no addresses. */
static struct ebt_error *add_stacks(struct added_batch *a, const struct row_layout *l, uint32_t n)
{
	const struct ebt_batch *batch = a->original;
	uint32_t k = batch->n_stacks;
	struct ebt_stack *stacks;

	a->column = malloc((size_t)batch->rows * sizeof(*a->column));
	stacks = calloc((size_t)k + n, sizeof(*stacks));
	a->stacks = stacks;
	if (!stacks || !a->column)
		return &ebt_enomem;
	if (k)
		memcpy(stacks, batch->stacks, k * sizeof(*stacks));
	memcpy(a->column, batch->col[l->ustack], batch->rows * sizeof(*a->column));
	for (uint32_t i = 0; i < batch->rows; i++) {
		if (!batch->col[l->udump][i] || !a->column[i])
			continue;
		stacks[k].attrs = batch->stacks[a->column[i] - 1].attrs;
		a->column[i] = ++k;
	}
	a->batch.stacks = stacks;
	a->batch.n_stacks = k;
	a->batch.col[l->ustack] = a->column;
	return NULL;
}

static struct ebt_error *add_batch(struct complete_stacks *c, const struct row_layout *l,
				   const struct ebt_batch *batch)
{
	struct added_batch *a = calloc(1, sizeof(*a));
	uint32_t n = 0;

	if (!a)
		return &ebt_enomem;
	a->original = batch;
	a->batch = *batch;
	a->first = batch->n_stacks;
	a->next = c->added;
	c->added = a;
	for (uint32_t i = 0; i < batch->rows; i++)
		n += batch->col[l->udump][i] && batch->col[l->ustack][i];
	return n ? add_stacks(a, l, n) : NULL;
}

/* Moves what belongs to this batch to the front; drops batches of which all rows were given. */
static bool find_batch(struct complete_stacks *c, const struct ebt_batch *batch)
{
	for (struct added_batch **p = &c->added; *p;) {
		struct added_batch *a = *p;

		if (a->batch.id == batch->id) {
			*p = a->next;
			a->next = c->added;
			c->added = a;
			return true;
		}
		if (a->given < a->batch.rows) {
			p = &a->next;
			continue;
		}
		*p = a->next;
		added_destroy(a);
	}
	return false;
}

struct ebt_error *complete_stacks_row(struct complete_stacks *c, struct ebt_row *row)
{
	const struct row_layout *l = layout_of(c, row->batch);
	struct ebt_error *err;

	if (!l)
		return NULL;
	if (!find_batch(c, row->batch)) {
		err = add_batch(c, l, row->batch);
		if (err)
			return err;
	}
	c->added->given++;
	if (c->added->stacks)
		row->batch = &c->added->batch;
	return NULL;
}

struct ebt_error *complete_stacks_make(struct complete_stacks *c, const struct ebt_row *row)
{
	struct added_batch *a = c->added;
	struct ebt_row original = *row;
	const struct row_layout *l;
	struct ebt_stack made;
	struct ebt_error *err;
	uint64_t *addresses;
	struct sym *sym;

	if (!a || row->batch != &a->batch)
		return NULL;
	l = layout_of(c, row->batch);
	if (a->column[row->i] <= a->first)
		return NULL;
	original.batch = a->original;
	err = trace_sym(c->trace, &sym);
	if (err)
		return err;
	err = sym_unwind_deferred(sym, ebt_task(&original, l->task), row->time,
				  ebt_stack(&original, l->ustack), ebt_str(&original, l->udump),
				  c->addresses, &made);
	if (err)
		return err;
	if (made.n > MAX_ADDRESSES - a->n_addresses)
		made.n = 0;
	addresses = malloc(((size_t)made.n + 1) * sizeof(*addresses));
	if (!addresses)
		return &ebt_enomem;
	if (made.n)
		memcpy(addresses, made.addresses, made.n * sizeof(*addresses));
	a->n_addresses += made.n;
	a->stacks[a->column[row->i] - 1] = (struct ebt_stack){ made.attrs, made.n, addresses };
	return NULL;
}
