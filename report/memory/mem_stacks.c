/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of outstanding memory; see mem_stacks.h. */
#include "report/memory/mem_stacks.h"

#include <stdlib.h>

#include "format/base/compare.h"
#include "format/base/search.h"

struct places {
	struct trace *trace;
	struct grouping *g;
	bool pages;
	const struct live_block **blocks; /* outstanding, in order of time and origin */
	size_t n_blocks, at;		  /* at: the one that is added */
};

static int compare(uint64_t time, uint64_t origin, const struct live_block *block)
{
	return ebt_compare(time, block->time) ?: ebt_compare(origin, block->origin);
}

static int compare_blocks(const void *a, const void *b)
{
	const struct live_block *const *x = a, *const *y = b;

	return compare((*x)->time, (*x)->origin, *y);
}

/* The blocks that are old enough. */
static struct ebt_error *choose(struct places *p, const struct live_set *set, uint64_t until)
{
	p->blocks = calloc(set->n + 1, sizeof(*p->blocks));
	if (!p->blocks)
		return &ebt_enomem;
	for (size_t i = 0; i < set->n; i++) {
		if (set->blocks[i].time <= until)
			p->blocks[p->n_blocks++] = &set->blocks[i];
	}
	qsort(p->blocks, p->n_blocks, sizeof(p->blocks[0]), compare_blocks);
	return NULL;
}

/* The first block of this allocation, or n_blocks. */
static size_t find_first(const struct places *p, uint64_t time, uint64_t origin)
{
	size_t n = ebt_count_first(p->n_blocks, i, compare(time, origin, p->blocks[i]) > 0);

	return n < p->n_blocks && !compare(time, origin, p->blocks[n]) ? n : p->n_blocks;
}

static struct ebt_error *add_block(void *arg, void *figures, uint32_t id)
{
	struct mem_left *left = &((struct mem_figures *)figures)->left;
	const struct places *p = arg;
	const struct live_block *block = p->blocks[p->at];
	double count = p->pages ? (double)(UINT64_C(1) << block->order) : 1;

	(void)id;
	if (!left->last || block->time < left->first)
		left->first = block->time;
	if (block->time > left->last)
		left->last = block->time;
	left->bytes += (double)block->bytes * block->weight;
	left->count += count * block->weight;
	return NULL;
}

static struct ebt_error *on_row(void *arg, const struct ebt_row *row)
{
	struct places *p = arg;
	uint64_t origin = p->pages ? ebt_page_alloc_page(row) : ebt_kmem_alloc_address(row);
	bool interrupt = p->pages ? ebt_page_alloc_interrupt(row) : ebt_kmem_alloc_interrupt(row);
	size_t i = find_first(p, row->time, origin);
	struct calltree_stack at = { .batch = row->batch, .time = row->time };
	struct group_row group = { 0 };
	struct ebt_error *err;

	if (i == p->n_blocks)
		return NULL;
	if (!interrupt)
		at.task = p->pages ? ebt_page_alloc_task(row) : ebt_kmem_alloc_task(row);
	at.kernel = p->pages ? ebt_page_alloc_kstack_id(row) : ebt_kmem_alloc_kstack_id(row);
	at.user = p->pages ? ebt_page_alloc_ustack_id(row) : ebt_kmem_alloc_ustack_id(row);
	group.task = at.task;
	err = grouping_place(p->g, &at, &group.node);
	for (p->at = i;
	     !err && p->at < p->n_blocks && !compare(row->time, origin, p->blocks[p->at]); p->at++)
		err = grouping_add_stack(p->g, &group, add_block, p);
	return err;
}

static struct ebt_error *read_rows(struct places *p)
{
	const struct ebt_want objects =
		EBT_WANT(kmem_alloc, task, address, interrupt, kstack, ustack);
	const struct ebt_want pages = EBT_WANT(page_alloc, task, page, interrupt, kstack, ustack);

	return trace_read_rows(p->trace, p->pages ? &pages : &objects, 1,
			       TRACE_ALL_TASKS | TRACE_ALL_CPUS | TRACE_FROM_START, on_row, p);
}

struct ebt_error *mem_stacks_read(struct trace *trace, const struct mem_model *model,
				  const struct mem_stacks_options *options, struct grouping *g)
{
	struct places p = { .trace = trace, .g = g, .pages = options->pages };
	uint64_t end = trace_to_ns(trace);
	struct ebt_error *err;

	err = choose(&p, options->pages ? &model->pages : &model->objects,
		     end > options->min_age ? end - options->min_age : 0);
	if (!err && p.n_blocks)
		err = read_rows(&p);
	free(p.blocks);
	return err;
}
