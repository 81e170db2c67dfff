/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page cache; see model_cache.h. */
#include "report/memory/model_cache.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/memory/cache_pages.h"
#include "format/base/map.h"

#define MAX_OF_A_HASH 64u
#define MAX_FILES     (1u << 30)
/* Of a row that are looked at: what a read() gets at once, 31 folios of 512 pages, is less. */
#define MAX_PAGES 16384u

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
	struct cache_file *files;
	size_t n_files, files_capacity;
	struct ebt_map by_key;
	uint64_t seed;
	struct cache_task *tasks; /* by number of the task */
	size_t n_tasks;
};

struct cache_model {
	struct trace *trace;
	struct history *history;
	struct task_groups *tasks;
	struct cache_sum *groups;
	size_t n_groups, groups_capacity;
	struct cache_sum all;
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

static bool same_key(const struct inode_key *a, const struct inode_key *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && a->generation == b->generation;
}

static struct ebt_error *file_of(struct history *h, const struct inode_key *key, uint32_t *ret)
{
	uint64_t hash = ebt_hash_u64(h->seed, key->inode);
	size_t capacity = h->files_capacity ? h->files_capacity * 2 : 64, at = 0;
	struct cache_file *files;
	struct ebt_error *err;

	hash = ebt_hash_u64(hash, (uint64_t)key->dev_major << 32 | key->dev_minor);
	hash = ebt_hash_u64(hash, key->generation);
	while ((*ret = ebt_map_next(&h->by_key, hash, &at)) != EBT_MAP_NONE) {
		if (same_key(&h->files[*ret].key, key))
			return NULL;
	}
	if (h->n_files == MAX_FILES || ebt_map_has(&h->by_key, hash, MAX_OF_A_HASH))
		return ebt_error_create(EBT_ERR_LIMIT, "too many files");
	if (h->n_files == h->files_capacity) {
		files = reallocarray(h->files, capacity, sizeof(*files));
		if (!files)
			return &ebt_enomem;
		h->files = files;
		h->files_capacity = capacity;
	}
	*ret = (uint32_t)h->n_files;
	err = ebt_map_insert(&h->by_key, hash, *ret);
	if (!err)
		h->files[h->n_files++] = (struct cache_file){ .key = *key };
	return err;
}

static struct ebt_error *state_of(struct history *h, uint32_t task, struct cache_task **ret)
{
	size_t n = h->n_tasks ? h->n_tasks : 64;
	struct cache_task *tasks;

	while (n <= task)
		n *= 2;
	if (n > h->n_tasks) {
		tasks = reallocarray(h->tasks, n, sizeof(*tasks));
		if (!tasks)
			return &ebt_enomem;
		memset(tasks + h->n_tasks, 0, (n - h->n_tasks) * sizeof(*tasks));
		h->tasks = tasks;
		h->n_tasks = n;
	}
	*ret = &h->tasks[task];
	return NULL;
}

static struct ebt_error *group_of(struct cache_model *m, const struct ebt_task *task, uint32_t *ret)
{
	struct ebt_error *err = task_groups_of(m->tasks, task, ret);
	size_t capacity = m->groups_capacity ? m->groups_capacity : 64;
	struct cache_sum *groups;

	while (capacity <= *ret)
		capacity *= 2;
	if (!err && capacity > m->groups_capacity) {
		groups = reallocarray(m->groups, capacity, sizeof(*groups));
		if (!groups)
			return &ebt_enomem;
		m->groups = groups;
		m->groups_capacity = capacity;
	}
	for (; !err && m->n_groups <= *ret; m->n_groups++)
		m->groups[m->n_groups] = (struct cache_sum){ 0 };
	return err;
}

/* --- counting --- */

/* The figures that an event changes: of its task's group, of its file, of all. */
#define COUNT(m, event, file, figure, n)                                \
	do {                                                            \
		uint64_t count_ = (n);                                  \
                                                                        \
		if ((event)->counts) {                                  \
			(m)->groups[(event)->group].figure += count_;   \
			(m)->history->files[file].sum.figure += count_; \
			(m)->all.figure += count_;                      \
		}                                                       \
	} while (0)

static void use(struct cache_model *m, const struct cache_event *e, const struct cache_range *range)
{
	uint64_t ahead, n = range->end - range->index;
	uint64_t misses = cache_pages_use(&m->history->pages, range, &ahead);

	COUNT(m, e, range->file, misses, misses);
	COUNT(m, e, range->file, ahead, ahead);
	COUNT(m, e, range->file, hits, n - misses);
}

/* The task's last read() got what it wanted, up to `end` of the same file. */
static struct ebt_error *end_read(struct cache_model *m, struct cache_task *t, uint64_t end)
{
	struct cache_event e = { .counts = t->read_counts };
	struct cache_range range = t->read;
	struct ebt_error *err = NULL;

	if (t->reading && end > range.index) {
		range.end = end < range.end ? end : range.end;
		if (e.counts)
			err = group_of(m, t->task, &e.group);
		if (!err)
			use(m, &e, &range);
	}
	t->reading = false;
	return err;
}

static struct ebt_error *count_read(struct cache_model *m, const struct cache_event *e)
{
	struct cache_task *t = e->state;
	const struct cache_range *r = &e->range;
	uint64_t demanded = cache_pages_demand(&m->history->pages, r, &e->adder);
	bool goes_on = t->reading && t->read.file == r->file && t->read.end == r->end &&
		       r->index > t->read.index;
	struct ebt_error *err;

	COUNT(m, e, r->file, demanded, demanded);
	err = end_read(m, t, goes_on ? r->index : UINT64_MAX);
	t->faulting = false;
	t->reading = true;
	t->read_counts = e->counts;
	t->read = *r;
	t->serial++;
	return err;
}

static bool inside(const struct cache_range *inner, const struct cache_range *outer)
{
	return inner->file == outer->file && inner->index >= outer->index &&
	       inner->index < outer->end;
}

/* What is not there, is added next; then the fault may come again. */
static void count_fault(struct cache_model *m, const struct cache_event *e)
{
	struct cache_task *t = e->state;

	t->serial++;
	if (t->faulting && inside(&e->range, &t->fault))
		return;
	/* The page was not mapped then, after all. */
	if (t->around && t->around_hit && inside(&e->range, &t->map))
		COUNT(m, e, e->range.file, hits, -UINT64_C(1));
	t->around = false;
	use(m, e, &e->range);
	t->faulting = true;
	t->missed = false;
	t->fault = e->range;
}

static void count_around(struct cache_model *m, const struct cache_event *e)
{
	struct cache_task *t = e->state;
	uint64_t ahead, misses = cache_pages_use(&m->history->pages, &e->range, &ahead);
	/* The fault comes again when its page has been read, and is over with this. */
	bool again = t->faulting && t->missed && inside(&t->fault, &e->range);

	/* Of pages that are not new, nobody knows how many were there and are wanted. */
	COUNT(m, e, e->range.file, misses, misses);
	COUNT(m, e, e->range.file, ahead, ahead);
	COUNT(m, e, e->range.file, hits, misses || again ? 0 : 1);
	t->faulting = false;
	t->around = true;
	t->around_hit = !misses && !again;
	t->map = e->range;
	t->serial++;
}

static struct ebt_error *count_add(struct cache_model *m, const struct cache_event *e)
{
	struct cache_task *t = e->state;
	struct ebt_error *err;

	COUNT(m, e, e->range.file, added, e->range.end - e->range.index);
	err = cache_pages_add(&m->history->pages, &e->range, &e->adder);
	/* The fault before this one was no hit. The page may go again before it is mapped. */
	if (!err && t->faulting && inside(&t->fault, &e->range)) {
		COUNT(m, e, e->range.file, demanded,
		      cache_pages_demand(&m->history->pages, &t->fault, &e->adder));
		cache_pages_use(&m->history->pages, &t->fault, NULL);
		COUNT(m, e, e->range.file, misses, !t->missed);
		COUNT(m, e, e->range.file, hits, t->missed ? 0 : -UINT64_C(1));
		t->missed = true;
	}
	return err;
}

/* Pages go, or become dirty: whatever was to be read of them has been. */
static struct ebt_error *count_change(struct cache_model *m, const struct cache_event *e,
				      bool dirty)
{
	uint64_t n = e->range.end - e->range.index, unused;
	struct ebt_error *err = end_read(m, e->state, UINT64_MAX);

	if (err)
		return err;
	unused = cache_pages_use(&m->history->pages, &e->range, NULL);
	if (dirty) {
		COUNT(m, e, e->range.file, dirtied, n);
		COUNT(m, e, e->range.file, written, unused);
	} else {
		COUNT(m, e, e->range.file, deleted, n);
	}
	return NULL;
}

static struct ebt_error *count_event(struct cache_model *m, const struct cache_event *e,
				     uint64_t kind)
{
	switch (kind) {
	case EBT_V_page_cache_kind_read:
		return count_read(m, e);
	case EBT_V_page_cache_kind_fault:
		count_fault(m, e);
		break;
	case EBT_V_page_cache_kind_fault_around:
		count_around(m, e);
		break;
	case EBT_V_page_cache_kind_add:
		return count_add(m, e);
	case EBT_V_page_cache_kind_delete:
	case EBT_V_page_cache_kind_dirty:
		return count_change(m, e, kind == EBT_V_page_cache_kind_dirty);
	}
	return NULL;
}

/* --- rows --- */

static struct ebt_error *read_event(struct cache_model *m, const struct ebt_row *row,
				    struct cache_event *ret)
{
	const struct inode_key key = {
		.inode = ebt_page_cache_inode(row),
		.dev_major = (uint32_t)ebt_page_cache_dev_major(row),
		.dev_minor = (uint32_t)ebt_page_cache_dev_minor(row),
		.generation = (uint32_t)ebt_page_cache_generation(row),
	};
	uint64_t n = ebt_page_cache_pages(row);
	struct cache_event e = { .task = ebt_page_cache_task(row) };
	uint32_t number = e.task ? e.task->id + 1 : 0;
	struct ebt_error *err;

	e.range.index = ebt_page_cache_index(row);
	n = n < MAX_PAGES ? n : MAX_PAGES;
	e.range.end = e.range.index + n < n ? UINT64_MAX : e.range.index + n;
	e.counts = row->time >= trace_from_ns(m->trace) && trace_task_wanted(m->trace, e.task) &&
		   trace_cpu_wanted(m->trace, ebt_page_cache_cpu(row));
	err = file_of(m->history, &key, &e.range.file);
	if (!err)
		err = state_of(m->history, number, &e.state);
	if (!err && e.counts)
		err = group_of(m, e.task, &e.group);
	if (err)
		return err;
	e.state->task = e.task;
	e.adder = (struct cache_adder){ number, e.state->serial };
	*ret = e;
	return NULL;
}

/* A thread that has ended reads no more: what others find then is not new. */
static struct ebt_error *take_exit(struct cache_model *m, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_task_exit_task(row);

	if (!task || task->id + 1 >= m->history->n_tasks)
		return NULL;
	return end_read(m, &m->history->tasks[task->id + 1], UINT64_MAX);
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	struct cache_model *m = arg;
	struct ebt_error *err;
	struct cache_event e;

	if (row->batch->table->id == EBT_T_task_exit)
		return take_exit(m, row);
	err = read_event(m, row, &e);
	return err ? err : count_event(m, &e, ebt_page_cache_kind(row));
}

static struct ebt_error *read_rows(struct cache_model *m, bool from_start)
{
	unsigned int flags = TRACE_ALL_TASKS | TRACE_ALL_CPUS | (from_start ? TRACE_FROM_START : 0);
	const struct ebt_want wants[] = {
		{ EBT_T_page_cache, ~UINT64_C(0) },
		{ EBT_T_task_exit, EBT_COL(task_exit, task) },
	};

	return trace_read_rows(m->trace, wants, 2, flags, take_row, m);
}

/* Reads that nothing came after. */
static struct ebt_error *end_reads(struct cache_model *m)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < m->history->n_tasks; i++)
		err = end_read(m, &m->history->tasks[i], UINT64_MAX);
	return err;
}

static struct ebt_error *begin(struct cache_model *m, bool *ret_first)
{
	struct history *h = (struct history *)trace_kept(m->trace, history_destroy);

	*ret_first = !h;
	if (!h) {
		h = calloc(1, sizeof(*h));
		if (!h)
			return &ebt_enomem;
		h->seed = ebt_hash_u64(0, (uintptr_t)h);
		h->state.destroy = history_destroy;
		trace_keep(m->trace, &h->state);
	}
	for (size_t i = 0; i < h->n_files; i++)
		h->files[i].sum = (struct cache_sum){ 0 };
	m->history = h;
	return NULL;
}

struct ebt_error *cache_model_create(struct trace *trace, bool by_thread, struct cache_model **ret)
{
	_cleanup_(cache_model_destroyp) struct cache_model *m = calloc(1, sizeof(*m));
	struct ebt_error *err;
	bool first;

	if (!m)
		return &ebt_enomem;
	m->trace = trace;
	err = task_groups_create(trace, by_thread, &m->tasks);
	if (!err)
		err = begin(m, &first);
	if (!err)
		err = read_rows(m, first);
	if (!err && !trace_has_more(trace))
		err = end_reads(m);
	if (err)
		return err;
	*ret = take_ptr(m);
	return NULL;
}

void cache_model_destroy(struct cache_model *m)
{
	if (!m)
		return;
	task_groups_destroy(m->tasks);
	free(m->groups);
	free(m);
}

const struct cache_sum *cache_model_groups(const struct cache_model *m, size_t *ret_n)
{
	*ret_n = m->n_groups;
	return m->groups;
}

const struct task_groups *cache_model_tasks(const struct cache_model *m)
{
	return m->tasks;
}

const struct cache_file *cache_model_files(const struct cache_model *m, size_t *ret_n)
{
	*ret_n = m->history->n_files;
	return m->history->files;
}

const struct cache_sum *cache_model_all(const struct cache_model *m)
{
	return &m->all;
}
