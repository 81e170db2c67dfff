/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of outstanding memory; see mem_stacks.h. */
#include "report/memory/mem_stacks.h"

#include <stdlib.h>

#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "format/base/array.h"

struct places {
	struct trace *trace;
	struct calltree *tree;
	bool pages;
	const struct live_block **blocks; /* outstanding, in order of time and origin */
	size_t n_blocks;
	struct ebt_map by_node;
	struct mem_stack *stacks;
	size_t n, capacity;
};

static int compare(uint64_t time, uint64_t origin, const struct live_block *block)
{
	if (time != block->time)
		return time < block->time ? -1 : 1;
	return origin < block->origin ? -1 : origin > block->origin;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct live_block *const *x = a, *const *y = b;

	return compare((*x)->time, (*x)->origin, *y);
}

static int compare_stacks(const void *a, const void *b)
{
	const struct mem_stack *x = a, *y = b;

	if (x->live_bytes != y->live_bytes)
		return x->live_bytes > y->live_bytes ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
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
	size_t low = 0, high = p->n_blocks;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(time, origin, p->blocks[middle]) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->n_blocks && !compare(time, origin, p->blocks[low]) ? low : p->n_blocks;
}

static struct ebt_error *stack_of(struct places *p, uint32_t node, struct mem_stack **ret)
{
	struct ebt_error *err;
	uint32_t i;

	err = ebt_array_reserve(&p->stacks, p->n, &p->capacity);
	if (!err)
		err = ebt_map_add(&p->by_node, node, (uint32_t)p->n, &i);
	if (err)
		return err;
	if (i == p->n)
		p->stacks[p->n++] = (struct mem_stack){ .node = node, .first = UINT64_MAX };
	*ret = &p->stacks[i];
	return NULL;
}

static void add_block(const struct places *p, const struct live_block *block,
		      struct mem_stack *stack)
{
	double count = p->pages ? (double)(UINT64_C(1) << block->order) : 1;

	stack->live_bytes += (double)block->bytes * block->weight;
	stack->live_count += count * block->weight;
	if (block->time < stack->first)
		stack->first = block->time;
	if (block->time > stack->last)
		stack->last = block->time;
}

static struct ebt_error *on_row(void *arg, const struct ebt_row *row)
{
	struct places *p = arg;
	uint64_t origin = p->pages ? ebt_page_alloc_page(row) : ebt_kmem_alloc_address(row);
	bool interrupt = p->pages ? ebt_page_alloc_interrupt(row) : ebt_kmem_alloc_interrupt(row);
	size_t i = find_first(p, row->time, origin);
	struct calltree_stack at = { .batch = row->batch, .time = row->time };
	struct mem_stack *stack;
	struct ebt_error *err;
	uint32_t node;

	if (i == p->n_blocks)
		return NULL;
	if (!interrupt)
		at.task = p->pages ? ebt_page_alloc_task(row) : ebt_kmem_alloc_task(row);
	at.kernel = p->pages ? ebt_page_alloc_kstack_id(row) : ebt_kmem_alloc_kstack_id(row);
	at.user = p->pages ? ebt_page_alloc_ustack_id(row) : ebt_kmem_alloc_ustack_id(row);
	err = calltree_place(p->tree, &at, &node);
	if (!err)
		err = stack_of(p, node, &stack);
	if (err)
		return err;
	for (; i < p->n_blocks && !compare(row->time, origin, p->blocks[i]); i++)
		add_block(p, p->blocks[i], stack);
	return NULL;
}

static struct ebt_error *read_rows(struct places *p)
{
	const struct ebt_want objects = { EBT_T_kmem_alloc, EBT_COL(kmem_alloc, task) |
								    EBT_COL(kmem_alloc, address) |
								    EBT_COL(kmem_alloc, interrupt) |
								    EBT_COL(kmem_alloc, kstack) |
								    EBT_COL(kmem_alloc, ustack) };
	const struct ebt_want pages = { EBT_T_page_alloc, EBT_COL(page_alloc, task) |
								  EBT_COL(page_alloc, page) |
								  EBT_COL(page_alloc, interrupt) |
								  EBT_COL(page_alloc, kstack) |
								  EBT_COL(page_alloc, ustack) };

	return trace_read_rows(p->trace, p->pages ? &pages : &objects, 1,
			       TRACE_ALL_TASKS | TRACE_ALL_CPUS | TRACE_FROM_START, on_row, p);
}

struct ebt_error *mem_stacks_read(struct trace *trace, const struct mem_model *model,
				  const struct mem_stacks_options *options, struct calltree *tree,
				  struct mem_stack **ret, size_t *ret_n)
{
	struct places p = { .trace = trace, .tree = tree, .pages = options->pages };
	uint64_t end = trace_to_ns(trace);
	struct ebt_error *err;

	err = choose(&p, options->pages ? &model->pages : &model->objects,
		     end > options->min_age ? end - options->min_age : 0);
	if (!err && p.n_blocks)
		err = read_rows(&p);
	free(p.blocks);
	ebt_map_deinit(&p.by_node);
	if (err) {
		free(p.stacks);
		return err;
	}
	if (p.n)
		qsort(p.stacks, p.n, sizeof(p.stacks[0]), compare_stacks);
	*ret = p.stacks;
	*ret_n = p.n;
	return NULL;
}
