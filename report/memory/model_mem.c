/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of the kernel; see model_mem.h. */
#include "report/memory/model_mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/map.h"

#define MAX_CACHES    65536u
#define KMALLOC_LARGE 8192u /* beyond it, kmalloc takes pages */
#define MAX_ORDER     20u   /* 4 GiB: what a trace may claim of one block */
#define NO_GROUP      UINT32_MAX

struct mem_reading {
	struct mem_model *model;
	struct trace *trace;
	struct grouping *g;
	unsigned int keys;	   /* what it is grouped by */
	struct mem_figures others; /* of what is in no group */
	struct ebt_map by_name;	   /* hash of a name */
	uint64_t from;
	uint64_t page_size;
};

/* --- whose --- */

static struct mem_figures *figures_of(struct mem_reading *r, uint32_t group)
{
	return group == NO_GROUP ? &r->others : grouping_figures(r->g, group);
}

/* What an interrupt did is nobody's. */
static bool is_wanted(const struct mem_reading *r, const struct ebt_task *task, uint64_t cpu)
{
	return trace_task_wanted(r->trace, task) && trace_cpu_wanted(r->trace, cpu);
}

/* Of an allocation; where the stack matters only at the end, mem_stacks.c looks for it. */
static struct ebt_error *group_of(const struct mem_reading *r, const struct calltree_stack *stack,
				  uint32_t cache, uint32_t *ret)
{
	struct group_row row = { .task = stack->task, .own = { cache } };
	struct ebt_error *err = NULL;

	if (r->keys & 1u << GROUP_STACK)
		err = grouping_place(r->g, stack, &row.node);
	return err ? err : grouping_find(r->g, &row, ret);
}

static struct ebt_error *add_cache(struct mem_model *m, struct ebt_str name)
{
	struct ebt_error *err = ebt_array_reserve(&m->caches, m->n_caches, &m->caches_capacity);

	if (err)
		return err;
	name.data = strndup(name.data, name.len);
	if (!name.data)
		return &ebt_enomem;
	m->caches[m->n_caches++] = name;
	return NULL;
}

/* A name ends at a NUL, if a trace has one in it. */
static struct ebt_error *cache_of(struct mem_reading *r, struct ebt_str name, uint32_t *ret)
{
	struct mem_model *m = r->model;
	struct ebt_error *err;
	uint64_t hash;
	size_t at = 0;

	if (m->n_caches == MAX_CACHES)
		name = (struct ebt_str){ "(others)", 8 };
	name.len = strnlen(name.data, name.len);
	hash = ebt_hash_bytes(0, name.data, name.len);
	while ((*ret = ebt_map_next(&r->by_name, hash, &at)) != EBT_MAP_NONE) {
		if (ebt_str_equal(m->caches[*ret], name))
			return NULL;
	}
	*ret = (uint32_t)m->n_caches;
	err = add_cache(m, name);
	return err ? err : ebt_map_insert(&r->by_name, hash, *ret);
}

/* What serves a kmalloc is named by its size. */
static struct ebt_error *cache_of_row(struct mem_reading *r, const struct ebt_row *row,
				      uint64_t bytes, uint32_t *ret)
{
	struct ebt_str name = ebt_kmem_alloc_cache(row);
	char made[32];

	if (!name.len) {
		if (bytes > KMALLOC_LARGE)
			snprintf(made, sizeof(made), "kmalloc-large");
		else
			snprintf(made, sizeof(made), "kmalloc-%u", (unsigned int)bytes);
		name = ebt_str_of(made);
	}
	return cache_of(r, name, ret);
}

/* --- sums --- */

static double waste_of(const struct live_block *block)
{
	if (block->bytes <= block->requested)
		return 0;
	return (double)(block->bytes - block->requested) * block->weight;
}

static void sum_allocated(struct mem_sum *sum, const struct live_block *block, double count)
{
	sum->allocated_count += count * block->weight;
	sum->allocated_bytes += (double)block->bytes * block->weight;
	sum->waste_bytes += waste_of(block);
}

static void sum_freed(struct mem_sum *sum, const struct live_block *block, double count)
{
	sum->freed_count += count * block->weight;
	sum->freed_bytes += (double)block->bytes * block->weight;
}

static void sum_live(struct mem_sum *sum, const struct live_block *block, double count)
{
	double bytes = (double)block->bytes, w = block->weight;

	sum->live_count += count * w;
	sum->live_bytes += bytes * w;
	sum->live_waste_bytes += waste_of(block);
	sum->live_variance += w * (w - 1) * bytes * bytes;
}

static double pages_of(const struct live_block *block)
{
	return (double)(UINT64_C(1) << block->order);
}

/* --- allocations and frees --- */

static bool counts(const struct mem_reading *r, const struct ebt_row *row)
{
	return row->time >= r->from;
}

static void free_object(struct mem_reading *r, struct live_block *block, const struct ebt_row *row)
{
	if (counts(r, row))
		sum_freed(&figures_of(r, block->group)->objects, block, 1);
	live_set_remove(&r->model->objects, block);
}

static void free_pages(struct mem_reading *r, struct live_block *block, const struct ebt_row *row)
{
	if (counts(r, row))
		sum_freed(&figures_of(r, block->group)->pages, block, pages_of(block));
	live_set_remove(&r->model->pages, block);
}

/* How many allocations of this size one that was sampled stands for. */
static double weight_of(struct mem_reading *r, uint64_t rate, uint64_t bytes)
{
	if (rate)
		r->model->rate = rate;
	return bytes && rate > bytes ? (double)rate / (double)bytes : 1;
}

static struct ebt_error *keep(struct mem_reading *r, struct live_set *set,
			      const struct live_block *block)
{
	if (set->n == LIVE_SET_MAX) {
		r->model->untracked++;
		return NULL;
	}
	return live_set_add(set, block);
}

static struct ebt_error *group_of_object(struct mem_reading *r, const struct ebt_row *row,
					 const struct ebt_task *task, struct live_block *block)
{
	struct calltree_stack stack = { .batch = row->batch, .task = task, .time = row->time };
	struct ebt_error *err = NULL;
	uint32_t cache = 0;

	if (r->keys & 1u << GROUP_STACK) {
		stack.kernel = ebt_kmem_alloc_kstack_id(row);
		stack.user = ebt_kmem_alloc_ustack_id(row);
	}
	if (r->keys & MEM_BY_CACHE)
		err = cache_of_row(r, row, block->bytes, &cache);
	return err ? err : group_of(r, &stack, cache, &block->group);
}

static struct ebt_error *on_object(struct mem_reading *r, const struct ebt_row *row)
{
	struct mem_model *m = r->model;
	struct live_block block = {
		.key = ebt_kmem_alloc_address(row),
		.origin = ebt_kmem_alloc_address(row),
		.time = row->time,
		.bytes = ebt_kmem_alloc_bytes(row),
		.requested = ebt_kmem_alloc_requested(row),
	};
	const struct ebt_task *task =
		ebt_kmem_alloc_interrupt(row) ? NULL : ebt_kmem_alloc_task(row);
	struct live_block *old = live_set_find(&m->objects, block.key);
	struct ebt_error *err;

	if (old) {
		m->unseen++;
		free_object(r, old, row);
	}
	if (!is_wanted(r, task, ebt_kmem_alloc_cpu(row)))
		return NULL;
	err = group_of_object(r, row, task, &block);
	if (err)
		return err;
	block.weight = weight_of(r, ebt_kmem_alloc_rate(row), block.bytes);
	m->allocations++;
	if (counts(r, row))
		sum_allocated(&figures_of(r, block.group)->objects, &block, 1);
	return keep(r, &m->objects, &block);
}

/* Of which cache it was, nobody knows. */
static struct ebt_error *unknown_free(struct mem_reading *r, const struct ebt_row *row,
				      const struct ebt_task *task, uint64_t cpu)
{
	const struct group_row group_row = { .task = task };
	struct ebt_error *err;
	uint32_t group;

	if (!counts(r, row) || !is_wanted(r, task, cpu) || r->keys & MEM_BY_CACHE)
		return NULL;
	err = grouping_find(r->g, &group_row, &group);
	if (!err)
		figures_of(r, group)->unknown_frees++;
	return err;
}

static struct ebt_error *on_object_freed(struct mem_reading *r, const struct ebt_row *row)
{
	struct live_block *block = live_set_find(&r->model->objects, ebt_kmem_free_address(row));

	if (!block)
		return unknown_free(r, row,
				    ebt_kmem_free_interrupt(row) ? NULL : ebt_kmem_free_task(row),
				    ebt_kmem_free_cpu(row));
	free_object(r, block, row);
	return NULL;
}

/* --- pages --- */

/* Takes a piece out of a larger block: what is left of it are halves of halves. */
static struct ebt_error *cut_block(struct mem_reading *r, struct live_block *found, uint64_t page,
				   uint32_t order, const struct ebt_row *row)
{
	struct live_set *set = &r->model->pages;
	struct live_block rest = *found, *piece;
	struct ebt_error *err = NULL;

	live_set_remove(set, found);
	while (!err && rest.order > order) {
		struct live_block other;

		rest.order--;
		rest.bytes /= 2;
		rest.requested = rest.bytes;
		other = rest;
		if (page >= rest.key + (UINT64_C(1) << rest.order))
			rest.key += UINT64_C(1) << rest.order;
		else
			other.key += UINT64_C(1) << rest.order;
		if (!live_set_find(set, other.key))
			err = keep(r, set, &other);
	}
	if (!err && !live_set_find(set, rest.key))
		err = keep(r, set, &rest);
	piece = live_set_find(set, rest.key);
	if (!err && piece)
		free_pages(r, piece, row);
	return err;
}

/* The block that these pages are part of, or NULL. */
static struct live_block *find_around(const struct live_set *set, uint64_t page, uint32_t order)
{
	struct live_block *block;

	for (uint32_t o = order; o <= MAX_ORDER && set->n; o++) {
		block = live_set_find(set, page & ~((UINT64_C(1) << o) - 1));
		if (block && block->order >= o)
			return block;
	}
	return NULL;
}

/* Frees what is live of these pages; tells whether anything was. */
static struct ebt_error *take_pages(struct mem_reading *r, uint64_t page, uint32_t order,
				    const struct ebt_row *row, bool *ret)
{
	struct live_set *set = &r->model->pages;
	struct live_block *block;
	uint64_t n;

	*ret = true;
	order = order > MAX_ORDER ? MAX_ORDER : order;
	block = find_around(set, page, order);
	if (block)
		return cut_block(r, block, page, order, row);
	*ret = false;
	/* Or pieces were put together. No more of them than are live. */
	n = order && set->n ? UINT64_C(1) << order : 0;
	for (uint64_t i = 0; i < n && i < 1024; i++) {
		block = live_set_find(set, page + i);
		if (block) {
			*ret = true;
			free_pages(r, block, row);
		}
	}
	return NULL;
}

/* Pages are of no cache. */
static struct ebt_error *group_of_pages(const struct mem_reading *r, const struct ebt_row *row,
					const struct ebt_task *task, uint32_t *ret)
{
	struct calltree_stack stack = { .batch = row->batch, .task = task, .time = row->time };

	*ret = NO_GROUP;
	if (r->keys & MEM_BY_CACHE)
		return NULL;
	if (r->keys & 1u << GROUP_STACK) {
		stack.kernel = ebt_page_alloc_kstack_id(row);
		stack.user = ebt_page_alloc_ustack_id(row);
	}
	return group_of(r, &stack, 0, ret);
}

static struct ebt_error *on_pages(struct mem_reading *r, const struct ebt_row *row)
{
	struct mem_model *m = r->model;
	uint64_t order = ebt_page_alloc_order(row);
	struct live_block block = {
		.key = ebt_page_alloc_page(row),
		.origin = ebt_page_alloc_page(row),
		.time = row->time,
		.order = order > MAX_ORDER ? MAX_ORDER : (uint32_t)order,
	};
	const struct ebt_task *task =
		ebt_page_alloc_interrupt(row) ? NULL : ebt_page_alloc_task(row);
	bool old;
	struct ebt_error *err = take_pages(r, block.key, block.order, row, &old);

	m->unseen += old;
	if (err || !is_wanted(r, task, ebt_page_alloc_cpu(row)))
		return err;
	err = group_of_pages(r, row, task, &block.group);
	if (err)
		return err;
	block.bytes = block.requested = r->page_size << block.order;
	block.weight = weight_of(r, ebt_page_alloc_rate(row), block.bytes);
	m->allocations++;
	if (counts(r, row))
		sum_allocated(&figures_of(r, block.group)->pages, &block, pages_of(&block));
	return keep(r, &m->pages, &block);
}

static struct ebt_error *on_pages_freed(struct mem_reading *r, const struct ebt_row *row)
{
	uint64_t order = ebt_page_free_order(row);
	bool known;
	struct ebt_error *err =
		take_pages(r, ebt_page_free_page(row),
			   order > MAX_ORDER ? MAX_ORDER : (uint32_t)order, row, &known);

	if (err || known)
		return err;
	return unknown_free(r, row, ebt_page_free_interrupt(row) ? NULL : ebt_page_free_task(row),
			    ebt_page_free_cpu(row));
}

/* --- what processes and the machine use --- */

/* NULL figures: nobody wants to know. */
static struct ebt_error *process_of(const struct mem_reading *r, const struct ebt_task *task,
				    struct mem_figures **ret)
{
	const struct group_row row = { .task = task };
	struct ebt_error *err;
	uint32_t group;

	*ret = NULL;
	if (r->keys != 1u << GROUP_PROCESS || !task || !trace_task_wanted(r->trace, task))
		return NULL;
	err = grouping_find(r->g, &row, &group);
	if (!err)
		*ret = grouping_figures(r->g, group);
	return err;
}

static void new_rss(struct mem_figures *process)
{
	uint64_t rss = mem_rss(process);

	process->has_rss = true;
	if (rss > process->rss_peak)
		process->rss_peak = rss;
}

static struct ebt_error *on_rss(struct mem_reading *r, const struct ebt_row *row)
{
	uint64_t kind = ebt_rss_stat_kind(row);
	struct mem_figures *process;
	struct ebt_error *err;

	if (kind >= MEM_RSS_KINDS)
		return NULL;
	err = process_of(r, ebt_rss_stat_task(row), &process);
	if (err || !process)
		return err;
	process->rss[kind] = ebt_rss_stat_bytes(row);
	process->vm_size = ebt_rss_stat_vm_size(row);
	new_rss(process);
	return NULL;
}

static struct ebt_error *on_status(struct mem_reading *r, const struct ebt_row *row)
{
	struct mem_figures *process;
	struct ebt_error *err = process_of(r, ebt_process_memory_task(row), &process);

	if (err || !process)
		return err;
	process->rss[EBT_V_rss_stat_kind_file] = ebt_process_memory_rss_file(row);
	process->rss[EBT_V_rss_stat_kind_anon] = ebt_process_memory_rss_anon(row);
	process->rss[EBT_V_rss_stat_kind_swap] = ebt_process_memory_swap(row);
	process->rss[EBT_V_rss_stat_kind_shmem] = ebt_process_memory_rss_shmem(row);
	process->vm_size = ebt_process_memory_vm_size(row);
	new_rss(process);
	return NULL;
}

static void on_system(struct mem_model *m, const struct ebt_row *row)
{
	uint64_t swap = ebt_meminfo_swap_total(row);
	uint64_t swap_free = ebt_meminfo_swap_free(row);

	m->last = (struct mem_system){
		.time = row->time,
		.total = ebt_meminfo_total(row),
		.free = ebt_meminfo_free(row),
		.available = ebt_meminfo_available(row),
		.cached = ebt_meminfo_cached(row),
		.anon = ebt_meminfo_anon(row),
		.slab = ebt_meminfo_slab(row),
		.slab_unreclaimable = ebt_meminfo_slab_unreclaimable(row),
		.page_tables = ebt_meminfo_page_tables(row),
		.swap_used = swap > swap_free ? swap - swap_free : 0,
	};
	if (!m->first.time)
		m->first = m->last;
}

/* --- all rows --- */

static struct ebt_error *on_row(void *arg, const struct ebt_row *row)
{
	struct mem_reading *r = arg;

	switch (row->batch->table->id) {
	case EBT_T_kmem_alloc:
		return on_object(r, row);
	case EBT_T_kmem_free:
		return on_object_freed(r, row);
	case EBT_T_page_alloc:
		return on_pages(r, row);
	case EBT_T_page_free:
		return on_pages_freed(r, row);
	case EBT_T_rss_stat:
		return on_rss(r, row);
	case EBT_T_process_memory:
		return on_status(r, row);
	case EBT_T_meminfo:
		on_system(r->model, row);
	}
	return NULL;
}

static struct ebt_error *read_rows(struct mem_reading *r)
{
	struct ebt_want wants[] = {
		EBT_WANT(kmem_alloc, cpu, task, address, requested, bytes, rate, interrupt),
		{ EBT_T_kmem_free, ~UINT64_C(0) },
		EBT_WANT(page_alloc, cpu, task, page, rate, order, interrupt),
		{ EBT_T_page_free, ~UINT64_C(0) },
		{ EBT_T_rss_stat, ~UINT64_C(0) },
		{ EBT_T_process_memory, ~UINT64_C(0) },
		{ EBT_T_meminfo, ~UINT64_C(0) },
	};

	if (r->keys & MEM_BY_CACHE)
		wants[0].columns |= EBT_COL(kmem_alloc, cache);
	if (r->keys & 1u << GROUP_STACK) {
		wants[0].columns |= EBT_COLS(kmem_alloc, kstack, ustack);
		wants[2].columns |= EBT_COLS(page_alloc, kstack, ustack);
	}
	return trace_read_rows(r->trace, wants, sizeof(wants) / sizeof(wants[0]),
			       TRACE_ALL_TASKS | TRACE_ALL_CPUS | TRACE_FROM_START, on_row, r);
}

static void sum_all_live(struct mem_reading *r)
{
	const struct mem_model *m = r->model;

	for (size_t i = 0; i < m->objects.n; i++) {
		const struct live_block *block = &m->objects.blocks[i];

		sum_live(&figures_of(r, block->group)->objects, block, 1);
	}
	for (size_t i = 0; i < m->pages.n; i++) {
		const struct live_block *block = &m->pages.blocks[i];

		sum_live(&figures_of(r, block->group)->pages, block, pages_of(block));
	}
}

/* Of the recorded machine. */
static struct ebt_error *find_page_size(struct trace *trace, uint64_t *ret)
{
	const char *text = NULL;
	struct ebt_error *err = ebt_reader_meta(trace_reader(trace), "host.page_size", &text);
	uint64_t size = !err && text ? strtoull(text, NULL, 10) : 0;

	*ret = size >= 4096 && size <= 65536 ? size : 4096;
	return err;
}

struct ebt_error *mem_model_read(struct mem_model *m, struct trace *trace, struct grouping *g)
{
	struct mem_reading r = {
		.model = m,
		.trace = trace,
		.g = g,
		.keys = grouping_keys(g),
		.from = trace_from_ns(trace),
	};
	struct ebt_error *err = find_page_size(trace, &r.page_size);

	if (!err)
		err = read_rows(&r);
	ebt_map_deinit(&r.by_name);
	if (!err)
		sum_all_live(&r);
	return err;
}

void mem_model_deinit(struct mem_model *m)
{
	for (size_t i = 0; i < m->n_caches; i++)
		free((char *)m->caches[i].data);
	free(m->caches);
	live_set_deinit(&m->objects);
	live_set_deinit(&m->pages);
}

uint64_t mem_rss(const struct mem_figures *figures)
{
	return figures->rss[EBT_V_rss_stat_kind_file] + figures->rss[EBT_V_rss_stat_kind_anon] +
	       figures->rss[EBT_V_rss_stat_kind_shmem];
}
