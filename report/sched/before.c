/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What to read before a window; see before.h. */
#include "report/sched/before.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/search.h"
#include "report/trace/losses.h"

/* Snapshots are further apart. The rows of one may be, too, on a machine with very many processes;
 * but each thread is in it once. */
#define SNAPSHOT_NS UINT64_C(9000000000)

/* One in about ten seconds: a week. Without those behind them spans are longer than they need to
 * be. */
#define MAX_CLOCKS 65536

/* What snapshots say of a task. */
struct listed {
	uint32_t last;	     /* 1 + the latest snapshot with it; 0: none */
	uint64_t time;	     /* of its row there */
	uint64_t count;	     /* how often it has left its CPU */
	bool runnable, runs; /* as far as the snapshot knows */
	/* Between which times it last left its CPU, and last became runnable or running; to 0:
	 * not since the first snapshot. */
	struct before_span left, changed;
};

struct snapshots {
	struct listed *tasks; /* by id */
	size_t n_tasks;
	uint32_t n;
	uint64_t begin;	  /* time of the first row of the first one */
	uint64_t first;	  /* of the last one */
	uint64_t told_to; /* the first one ends before */
	bool counted;	  /* the trace has counts */
	uint64_t *clocks; /* times at which clocks were read, in order */
	size_t n_clocks, clocks_capacity;
};

static void snapshots_deinit(struct snapshots *s)
{
	free(s->tasks);
	free(s->clocks);
}

static struct ebt_error *take_clock(void *arg, const struct ebt_row *row)
{
	struct snapshots *s = arg;
	struct ebt_error *err;

	if (s->n_clocks == MAX_CLOCKS)
		return NULL;
	err = ebt_array_reserve(&s->clocks, s->n_clocks, &s->clocks_capacity);
	if (!err)
		s->clocks[s->n_clocks++] = row->time;
	return err;
}

/* A row has the time at which the list was begun. What is in it may be later: as late as the next
 * reading of the clocks, which comes when the snapshot has been taken. */
static uint64_t listed_by(const struct snapshots *s, uint64_t begun)
{
	size_t at = ebt_count_first(s->n_clocks, i, s->clocks[i] <= begun);

	return at < s->n_clocks ? s->clocks[at] : UINT64_MAX;
}

static struct ebt_error *take_thread(struct snapshots *s, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_thread_task(row);
	const bool runs = ebt_thread_on_cpu(row), runnable = !ebt_thread_state(row);
	const uint64_t count = ebt_thread_nvcsw(row) + ebt_thread_nivcsw(row);
	const uint64_t listed = listed_by(s, row->time);
	struct listed *t;
	struct ebt_error *err;

	if (!task)
		return NULL;
	err = ebt_array_reserve_zeroed(&s->tasks, task->id, &s->n_tasks);
	if (err)
		return err;
	t = &s->tasks[task->id];
	if (!s->n)
		s->begin = row->time;
	if (!s->n || (t->last == s->n && row->time - s->first > SNAPSHOT_NS)) {
		s->n++;
		s->first = row->time;
	}
	if (s->n == 1)
		s->told_to = row->time + 1;
	s->counted |= count > 0;
	if (!t->last && row->time > s->begin)
		t->left = (struct before_span){ task->start_ns, listed };
	else if (t->last && count != t->count)
		t->left = (struct before_span){ t->time, listed };
	if (t->last && (runs != t->runs || runnable != t->runnable))
		t->changed = (struct before_span){ t->time, listed };
	t->last = s->n;
	t->time = row->time;
	t->count = count;
	t->runs = runs;
	t->runnable = runnable;
	return NULL;
}

static struct ebt_error *read_snapshots(struct trace *trace, uint64_t time, struct snapshots *s)
{
	static const struct ebt_want want = EBT_WANT(thread, task, state, on_cpu, nvcsw, nivcsw);
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	struct ebt_error *err =
		ebt_read_table(trace_reader(trace), EBT_T_clock, take_clock, s)
			?: trace_cursor_create_at(trace, &want, 1, 0, time, &cursor);
	struct ebt_row row;

	while (!err) {
		err = trace_next(cursor, &row);
		if (err || !row.batch)
			break;
		err = take_thread(s, &row);
	}
	return err;
}

/* Where rows were lost, a snapshot is no list of all threads, and counts are of other rows. */
static struct ebt_error *is_lossless(struct trace *trace, bool *ret)
{
	static const uint16_t tables[] = { EBT_T_thread, EBT_T_sched_switch, EBT_T_sched_waking,
					   EBT_T_task_fork };

	*ret = true;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		_cleanup_losses_ struct losses losses = { 0 };
		struct ebt_error *err = losses_load(trace_reader(trace), tables[i], &losses);

		if (err)
			return err;
		*ret &= !losses.n;
	}
	return NULL;
}

/* Of a merged trace a list may be of one recorder that followed a few processes: who is not in it
 * may well be there. */
static struct ebt_error *is_merged(struct trace *trace, bool *ret)
{
	const char *inputs;
	struct ebt_error *err = ebt_reader_meta(trace_reader(trace), "merge.inputs", &inputs);

	*ret = !err && inputs;
	return err;
}

static struct ebt_error *add(struct before *before, uint64_t from, uint64_t to)
{
	struct ebt_error *err = ebt_array_reserve(&before->spans, before->n, &before->capacity);

	if (!err && from < to)
		before->spans[before->n++] = (struct before_span){ from, to };
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct before_span *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static void join(struct before *before)
{
	size_t n = 0;

	qsort(before->spans, before->n, sizeof(*before->spans), compare);
	for (size_t i = 0; i < before->n; i++) {
		struct before_span *last = n ? &before->spans[n - 1] : NULL;

		if (!last || before->spans[i].from > last->to)
			before->spans[n++] = before->spans[i];
		else if (before->spans[i].to > last->to)
			last->to = before->spans[i].to;
	}
	before->n = n;
}

/* The beginning, which says what was there; when threads that are there did something last; and
 * all from the last snapshot on. */
static struct ebt_error *add_spans(struct before *before, const struct snapshots *s, uint64_t time)
{
	struct ebt_error *err = add(before, 0, s->told_to);

	before->there = calloc(s->n_tasks + 1, sizeof(*before->there));
	before->n_there = s->n_tasks;
	if (!before->there)
		return &ebt_enomem;
	for (size_t i = 0; !err && i < s->n_tasks; i++) {
		const struct listed *t = &s->tasks[i];

		/* Threads of the last snapshot may come before the one by which it is known. */
		before->there[i] = t->last && t->time >= s->first;
		if (before->there[i])
			err = add(before, t->left.from, t->left.to)
				      ?: add(before, t->changed.from, t->changed.to);
	}
	if (!err)
		err = add(before, s->first, UINT64_MAX);
	if (err)
		return err;
	join(before);
	before->spans[before->n - 1].to = time;
	return NULL;
}

struct ebt_error *before_plan(struct trace *trace, uint64_t time, struct before *ret)
{
	struct snapshots s = { 0 };
	bool lossless, merged;
	struct ebt_error *err = is_lossless(trace, &lossless) ?: is_merged(trace, &merged);

	*ret = (struct before){ 0 };
	if (!err && lossless && !merged)
		err = read_snapshots(trace, time, &s);
	if (!err && s.n > 1 && s.counted)
		err = add_spans(ret, &s, time);
	else if (!err)
		err = add(ret, 0, time);
	snapshots_deinit(&s);
	if (err)
		before_deinit(ret);
	return err;
}

void before_deinit(struct before *before)
{
	free(before->spans);
	free(before->there);
	*before = (struct before){ 0 };
}
