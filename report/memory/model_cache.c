/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page cache; see model_cache.h. */
#include "report/memory/model_cache.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/map.h"

/* What a trace may make us remember: 2 TiB of page cache. */
#define MAX_CHUNKS (1u << 23)
#define MAX_FILES  (1u << 30)
/* Of a row that are looked at: what a read() gets at once, 31 folios of 512 pages, is less. */
#define MAX_PAGES 16384u

/* --- which pages of files are new, 64 pages an entry --- */

/* All zero is empty. */
struct cache_pages {
	struct cache_chunk *chunks;
	size_t n, capacity;
	struct ebt_map by_key;
};

/* Pages of a file, its number in a list of the caller's. end is not among them. */
struct cache_range {
	uint32_t file;
	uint64_t index, end;
};

/* Who added pages: what a task did between two of its lookups. */
struct cache_adder {
	uint32_t task, serial;
};

struct cache_chunk {
	uint64_t fresh;	   /* added, and not used yet */
	uint64_t demanded; /* of these: wanted by who added them */
	uint64_t last;	   /* of these: added by: */
	struct cache_adder adder;
};

/* A walk over the chunks of a range. */
struct pages_walk {
	uint64_t page, end;
	uint64_t key;
	uint64_t mask; /* pages of the chunk that are in the range */
};

static bool next_chunk(struct pages_walk *w, uint32_t file)
{
	uint64_t from = w->page % 64, n = 64 - from;

	if (w->page >= w->end)
		return false;
	if (n > w->end - w->page)
		n = w->end - w->page;
	w->key = (uint64_t)file << 34 | ((w->page / 64) & ((UINT64_C(1) << 34) - 1));
	w->mask = (n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1) << from;
	w->page += n;
	return true;
}

static struct cache_chunk *find(const struct cache_pages *pages, uint64_t key)
{
	uint32_t i;

	return ebt_map_find(&pages->by_key, key, &i) ? &pages->chunks[i] : NULL;
}

/* NULL where there are too many. */
static struct ebt_error *make(struct cache_pages *pages, uint64_t key, struct cache_chunk **ret)
{
	struct ebt_error *err;
	uint32_t i;

	*ret = pages->n == MAX_CHUNKS ? find(pages, key) : NULL;
	if (pages->n == MAX_CHUNKS)
		return NULL;
	err = ebt_map_element(&pages->by_key, key, &pages->chunks, &pages->n, &pages->capacity, &i);
	if (!err)
		*ret = &pages->chunks[i];
	return err;
}

static void cache_pages_deinit(struct cache_pages *pages)
{
	free(pages->chunks);
	ebt_map_deinit(&pages->by_key);
}

static bool same(const struct cache_adder *a, const struct cache_adder *b)
{
	return a->task == b->task && a->serial == b->serial;
}

/* They are new. */
static struct ebt_error *cache_pages_add(struct cache_pages *pages, const struct cache_range *range,
					 const struct cache_adder *adder)
{
	struct pages_walk w = { .page = range->index, .end = range->end };
	struct ebt_error *err = NULL;
	struct cache_chunk *chunk;

	while (!err && next_chunk(&w, range->file)) {
		err = make(pages, w.key, &chunk);
		if (err || !chunk)
			continue;
		if (!same(&chunk->adder, adder))
			chunk->last = 0;
		chunk->adder = *adder;
		chunk->fresh |= w.mask;
		chunk->last |= w.mask;
		chunk->demanded &= ~w.mask;
	}
	return err;
}

/* Those that this one has added are wanted. Returns how many. */
static uint64_t cache_pages_demand(struct cache_pages *pages, const struct cache_range *range,
				   const struct cache_adder *adder)
{
	struct pages_walk w = { .page = range->index, .end = range->end };
	uint64_t n = 0;

	while (next_chunk(&w, range->file)) {
		struct cache_chunk *chunk = find(pages, w.key);
		uint64_t found;

		if (!chunk || !same(&chunk->adder, adder))
			continue;
		found = chunk->last & chunk->fresh & ~chunk->demanded & w.mask;
		chunk->demanded |= found;
		n += (uint64_t)__builtin_popcountll(found);
	}
	return n;
}

/* They are new no more. Returns how many were; *ret_ahead: of these, how many nobody had demanded;
 * may be NULL. */
static uint64_t cache_pages_use(struct cache_pages *pages, const struct cache_range *range,
				uint64_t *ret_ahead)
{
	struct pages_walk w = { .page = range->index, .end = range->end };
	uint64_t n = 0, ahead = 0;

	while (next_chunk(&w, range->file)) {
		struct cache_chunk *chunk = find(pages, w.key);
		uint64_t found = chunk ? chunk->fresh & w.mask : 0;

		if (!found)
			continue;
		chunk->fresh &= ~found;
		n += (uint64_t)__builtin_popcountll(found);
		ahead += (uint64_t)__builtin_popcountll(found & ~chunk->demanded);
	}
	if (ret_ahead)
		*ret_ahead = ahead;
	return n;
}

/* --- what goes on --- */

/* What a task did last. */
struct cache_task {
	const struct ebt_task *task; /* NULL: not known */
	uint32_t serial;	     /* of its lookups */
	bool reading, faulting, around;
	bool read_counts;	       /* as that of the event */
	bool missed;		       /* the page of the fault had to be read */
	bool around_hit;	       /* it has been counted as one */
	struct cache_range read;       /* not counted yet */
	struct cache_range fault, map; /* counted */
};

/* What goes on from one window to the next. */
struct history {
	struct trace_state state;
	struct cache_pages pages;
	struct inode_key *files;
	size_t n_files, files_capacity;
	struct ebt_map by_key;
	struct cache_task *tasks; /* by number of the task */
	size_t n_tasks;
};

struct reading {
	struct trace *trace;
	struct history *history;
	struct grouping *g;
	struct cache_sum others; /* of what does not count */
};

/* A row, and whose figures it changes. */
struct cache_event {
	const struct ebt_task *task;
	struct cache_task *state;
	struct cache_adder adder;
	struct cache_range range;
	bool counts; /* it is in the window, and passes the filters */
	uint32_t group;
};

static void history_destroy(struct trace_state *state)
{
	struct history *h = (struct history *)state;

	cache_pages_deinit(&h->pages);
	ebt_map_deinit(&h->by_key);
	free(h->files);
	free(h->tasks);
	free(h);
}

static struct ebt_error *file_of(struct history *h, const struct inode_key *key, uint32_t *ret)
{
	uint64_t hash = inode_key_hash(0, key);
	struct ebt_error *err;
	size_t at = 0;

	while ((*ret = ebt_map_next(&h->by_key, hash, &at)) != EBT_MAP_NONE) {
		if (inode_key_equal(&h->files[*ret], key))
			return NULL;
	}
	if (h->n_files == MAX_FILES)
		return ebt_error_create(EBT_ERR_LIMIT, "too many files");
	err = ebt_array_reserve(&h->files, h->n_files, &h->files_capacity);
	if (err)
		return err;
	*ret = (uint32_t)h->n_files;
	h->files[h->n_files++] = *key;
	return ebt_map_insert(&h->by_key, hash, *ret);
}

static struct ebt_error *group_of(const struct reading *r, const struct ebt_task *task,
				  uint32_t file, uint32_t *ret)
{
	const struct group_row row = { .task = task, .file = r->history->files[file] };

	return grouping_find(r->g, &row, ret);
}

/* --- counting --- */

/* The figures that an event changes. */
static struct cache_sum *sum_of(struct reading *r, const struct cache_event *e)
{
	return e->counts ? grouping_figures(r->g, e->group) : &r->others;
}

static void use(struct reading *r, const struct cache_event *e, const struct cache_range *range)
{
	struct cache_sum *sum = sum_of(r, e);
	uint64_t ahead, misses = cache_pages_use(&r->history->pages, range, &ahead);

	sum->misses += misses;
	sum->ahead += ahead;
	sum->hits += range->end - range->index - misses;
}

/* The task's last read() got what it wanted, up to `end` of the same file. */
static struct ebt_error *end_read(struct reading *r, struct cache_task *t, uint64_t end)
{
	struct cache_event e = { .counts = t->read_counts };
	struct cache_range range = t->read;
	struct ebt_error *err = NULL;

	if (t->reading && end > range.index) {
		range.end = end < range.end ? end : range.end;
		if (e.counts)
			err = group_of(r, t->task, range.file, &e.group);
		if (!err)
			use(r, &e, &range);
	}
	t->reading = false;
	return err;
}

static struct ebt_error *count_read(struct reading *r, const struct cache_event *e)
{
	struct cache_task *t = e->state;
	const struct cache_range *range = &e->range;
	bool goes_on = t->reading && t->read.file == range->file && t->read.end == range->end &&
		       range->index > t->read.index;
	struct ebt_error *err;

	sum_of(r, e)->demanded += cache_pages_demand(&r->history->pages, range, &e->adder);
	err = end_read(r, t, goes_on ? range->index : UINT64_MAX);
	t->faulting = false;
	t->reading = true;
	t->read_counts = e->counts;
	t->read = *range;
	t->serial++;
	return err;
}

static bool inside(const struct cache_range *inner, const struct cache_range *outer)
{
	return inner->file == outer->file && inner->index >= outer->index &&
	       inner->index < outer->end;
}

/* What is not there, is added next; then the fault may come again. */
static void count_fault(struct reading *r, const struct cache_event *e)
{
	struct cache_task *t = e->state;

	t->serial++;
	if (t->faulting && inside(&e->range, &t->fault))
		return;
	/* The page was not mapped then, after all. */
	if (t->around && t->around_hit && inside(&e->range, &t->map))
		sum_of(r, e)->hits--;
	t->around = false;
	use(r, e, &e->range);
	t->faulting = true;
	t->missed = false;
	t->fault = e->range;
}

static void count_around(struct reading *r, const struct cache_event *e)
{
	struct cache_sum *sum = sum_of(r, e);
	struct cache_task *t = e->state;
	uint64_t ahead, misses = cache_pages_use(&r->history->pages, &e->range, &ahead);
	/* The fault comes again when its page has been read, and is over with this. */
	bool again = t->faulting && t->missed && inside(&t->fault, &e->range);

	/* Of pages that are not new, nobody knows how many were there and are wanted. */
	sum->misses += misses;
	sum->ahead += ahead;
	sum->hits += !misses && !again;
	t->faulting = false;
	t->around = true;
	t->around_hit = !misses && !again;
	t->map = e->range;
	t->serial++;
}

static struct ebt_error *count_add(struct reading *r, const struct cache_event *e)
{
	struct cache_pages *pages = &r->history->pages;
	struct cache_sum *sum = sum_of(r, e);
	struct cache_task *t = e->state;
	struct ebt_error *err;

	sum->added += e->range.end - e->range.index;
	err = cache_pages_add(pages, &e->range, &e->adder);
	if (err || !t->faulting || !inside(&t->fault, &e->range))
		return err;
	/* The fault before this one was no hit. The page may go again before it is mapped. */
	sum->demanded += cache_pages_demand(pages, &t->fault, &e->adder);
	cache_pages_use(pages, &t->fault, NULL);
	sum->misses += !t->missed;
	sum->hits -= !t->missed;
	t->missed = true;
	return NULL;
}

/* Pages go, or become dirty: whatever was to be read of them has been. */
static struct ebt_error *count_change(struct reading *r, const struct cache_event *e, bool dirty)
{
	uint64_t n = e->range.end - e->range.index, unused;
	struct ebt_error *err = end_read(r, e->state, UINT64_MAX);

	if (err)
		return err;
	unused = cache_pages_use(&r->history->pages, &e->range, NULL);
	sum_of(r, e)->dirtied += dirty ? n : 0;
	sum_of(r, e)->written += dirty ? unused : 0;
	sum_of(r, e)->deleted += dirty ? 0 : n;
	return NULL;
}

static struct ebt_error *count_event(struct reading *r, const struct cache_event *e, uint64_t kind)
{
	switch (kind) {
	case EBT_V_page_cache_kind_read:
		return count_read(r, e);
	case EBT_V_page_cache_kind_fault:
		count_fault(r, e);
		break;
	case EBT_V_page_cache_kind_fault_around:
		count_around(r, e);
		break;
	case EBT_V_page_cache_kind_add:
		return count_add(r, e);
	case EBT_V_page_cache_kind_delete:
	case EBT_V_page_cache_kind_dirty:
		return count_change(r, e, kind == EBT_V_page_cache_kind_dirty);
	}
	return NULL;
}

/* --- rows --- */

static struct ebt_error *read_event(struct reading *r, const struct ebt_row *row,
				    struct cache_event *ret)
{
	const struct inode_key key = INODE_KEY(page_cache, row);
	uint64_t n = ebt_page_cache_pages(row);
	struct cache_event e = { .task = ebt_page_cache_task(row) };
	uint32_t number = e.task ? e.task->id + 1 : 0;
	struct ebt_error *err;

	e.range.index = ebt_page_cache_index(row);
	n = n < MAX_PAGES ? n : MAX_PAGES;
	e.range.end = e.range.index + n < n ? UINT64_MAX : e.range.index + n;
	e.counts = row->time >= trace_from_ns(r->trace) && trace_task_wanted(r->trace, e.task) &&
		   trace_cpu_wanted(r->trace, ebt_page_cache_cpu(row));
	err = file_of(r->history, &key, &e.range.file);
	if (err)
		return err;
	err = ebt_array_reserve_zeroed(&r->history->tasks, number, &r->history->n_tasks);
	if (!err && e.counts)
		err = group_of(r, e.task, e.range.file, &e.group);
	if (err)
		return err;
	e.state = &r->history->tasks[number];
	e.state->task = e.task;
	e.adder = (struct cache_adder){ number, e.state->serial };
	*ret = e;
	return NULL;
}

/* A thread that has ended reads no more: what others find then is not new. */
static struct ebt_error *take_exit(struct reading *r, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_task_exit_task(row);

	if (!task || task->id + 1 >= r->history->n_tasks)
		return NULL;
	return end_read(r, &r->history->tasks[task->id + 1], UINT64_MAX);
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	struct reading *r = arg;
	struct ebt_error *err;
	struct cache_event e;

	if (row->batch->table->id == EBT_T_task_exit)
		return take_exit(r, row);
	err = read_event(r, row, &e);
	return err ? err : count_event(r, &e, ebt_page_cache_kind(row));
}

static struct ebt_error *read_rows(struct reading *r, bool from_start)
{
	unsigned int flags = TRACE_ALL_TASKS | TRACE_ALL_CPUS | (from_start ? TRACE_FROM_START : 0);
	const struct ebt_want wants[] = {
		{ EBT_T_page_cache, ~UINT64_C(0) },
		EBT_WANT(task_exit, task),
	};

	return trace_read_rows(r->trace, wants, 2, flags, take_row, r);
}

/* Reads that nothing came after. */
static struct ebt_error *end_reads(struct reading *r)
{
	for (size_t i = 0; i < r->history->n_tasks; i++) {
		struct ebt_error *err = end_read(r, &r->history->tasks[i], UINT64_MAX);

		if (err)
			return err;
	}
	return NULL;
}

struct ebt_error *cache_read(struct trace *trace, struct grouping *g)
{
	struct history *h = (struct history *)trace_kept(trace, history_destroy);
	struct reading r = { .trace = trace, .history = h, .g = g };
	struct ebt_error *err;

	if (!h) {
		r.history = calloc(1, sizeof(*h));
		if (!r.history)
			return &ebt_enomem;
		r.history->state.destroy = history_destroy;
		trace_keep(trace, &r.history->state);
	}
	err = read_rows(&r, !h);
	return err || trace_has_more(trace) ? err : end_reads(&r);
}
