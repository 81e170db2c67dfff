/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace through the scheduler's model; see feed.h. */
#include "report/sched/feed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/sched/before.h"
#include "report/trace/followed.h"
#include "report/trace/prepare.h"

#define MAX_EXTRA 4

/* Of a busy machine: what lies closer together is rather read through. */
#define CHUNK_NS UINT64_C(1000000000)

/* With --interval the windows go on where the one before has ended: a task that runs or sleeps
 * through several is known in all of them, and the trace is read once. */
struct feeding {
	struct trace_state kept;
	struct trace *trace;
	const struct sched_feed *feed;
	struct followed *followed;
	struct sched_model *model;
	struct trace_cursor *cursor;
	struct sched_handler handler;
	struct ebt_row row; /* the next one, where it has a batch */
	bool known;
	bool switches;
	bool unfiltered; /* by task or CPU */
};

static void release(struct feeding *feeding)
{
	trace_cursor_destroy(feeding->cursor);
	sched_model_destroy(feeding->model);
	followed_destroy(feeding->followed);
	feeding->cursor = NULL;
	feeding->model = NULL;
	feeding->followed = NULL;
}

static void feeding_destroy(struct trace_state *kept)
{
	release((struct feeding *)kept);
	free(kept);
}

static bool is_followed(void *arg, const struct ebt_task *task)
{
	const struct feeding *feeding = arg;

	return followed_has(feeding->followed, task);
}

static bool passes(const struct feeding *feeding, const struct ebt_task *task, uint32_t cpu)
{
	const struct sched_feed *feed = feeding->feed;

	return feeding->known &&
	       (feeding->unfiltered || sched_feed_wanted(feeding->trace, task, cpu)) &&
	       (!feed->wanted || feed->wanted(feed->arg, task));
}

static struct ebt_error *pass_run(void *arg, const struct sched_run *run)
{
	const struct sched_feed *feed = ((const struct feeding *)arg)->feed;
	struct ebt_error *err = NULL;

	if (!passes(arg, run->task, run->cpu))
		return NULL;
	if (feed->handler.run)
		err = feed->handler.run(feed->arg, run);
	return err || !feed->offcpu ? err : offcpu_run(feed->offcpu, run);
}

static struct ebt_error *pass_off(void *arg, const struct sched_off *off)
{
	const struct sched_feed *feed = ((const struct feeding *)arg)->feed;
	struct ebt_error *err = NULL;

	if (!passes(arg, off->task, off->cpu))
		return NULL;
	if (feed->handler.off)
		err = feed->handler.off(feed->arg, off);
	return err || !feed->offcpu ? err : offcpu_off(feed->offcpu, off);
}

static const struct ebt_want thread_stacks = EBT_WANT(thread_stack, task, kstack, ustack);

static struct ebt_error *create_cursor(struct trace *trace, const struct sched_feed *feed,
				       struct trace_cursor **ret)
{
	struct ebt_want wants[SCHED_MODEL_MAX_WANTS + MAX_EXTRA + 2];
	unsigned int flags = TRACE_ALL_TASKS | TRACE_ALL_CPUS | TRACE_STATE_INSIDE;
	size_t n = sched_model_wants(feed->stacks, wants);

	/* Threads that are there at the start are described just before it. */
	if (!trace_has_before(trace))
		flags |= TRACE_FROM_START;
	if (trace_has_more(trace))
		flags |= TRACE_TO_END;
	for (size_t i = 0; i < feed->n_wants && i < MAX_EXTRA; i++)
		wants[n++] = feed->wants[i];
	if (feed->offcpu && feed->stacks) {
		wants[n++] = (struct ebt_want){ EBT_T_offcpu_stack, ~UINT64_C(0) };
		wants[n++] = thread_stacks;
	}
	/* Whether a task runs follows from rows of others, too. */
	return trace_cursor_create(trace, wants, n, flags, ret);
}

/* Until when switches are known. In a file whose end is missing, other tables may go on for a
 * while: what was open at the last switch did not last until then for that. */
static uint64_t known_until(const struct trace *trace)
{
	const struct ebt_reader *reader = trace_reader(trace);
	const struct ebt_chunk_info *chunks;
	uint64_t until = 0;
	size_t n;

	if (ebt_reader_info(reader)->complete)
		return trace_end_ns(trace);
	chunks = ebt_reader_chunks(reader, &n);
	for (size_t i = 0; i < n; i++) {
		if (chunks[i].table == EBT_T_sched_switch && chunks[i].time_max > until)
			until = chunks[i].time_max;
	}
	return until;
}

void sched_feed_bounds(const struct trace *trace, uint64_t *ret_from, uint64_t *ret_to)
{
	uint64_t from = trace_from_ns(trace), to = trace_to_ns(trace), until = known_until(trace);

	/* Without --to it is one more than the last row, at which nothing is known to go on. */
	to = to < until ? to : until;
	*ret_from = from < to ? from : to;
	*ret_to = to;
}

static struct ebt_error *warn_of_gaps(struct trace *trace, const struct sched_gaps *gaps)
{
	struct ebt_error *err = NULL;

	if (gaps->lost_ns)
		err = trace_warn(trace,
				 "switches were lost during %" PRIu64 " ms: intervals are cut "
				 "there, and %" PRIu64 " that %s within may be several",
				 gaps->lost_ns / 1000000, gaps->doubtful,
				 text_plural(gaps->doubtful, "lies", "lie"));
	if (!err && gaps->broken)
		err = trace_warn_share(trace, gaps->broken, gaps->runs,
				       "%" PRIu64 " of %" PRIu64 " %s %s no beginning or no "
				       "end in the trace and %s counted as 0 ns",
				       gaps->broken, gaps->runs,
				       text_plural(gaps->runs, "run", "runs"),
				       text_plural(gaps->broken, "has", "have"),
				       text_plural(gaps->broken, "is", "are"));
	return err;
}

static const struct command_subject switches = {
	.what = "switches",
	.source = "sched",
	.tables = { EBT_T_sched_switch },
};

/* Nothing was seen of switches, or something of them is missing. */
static struct ebt_error *add_warnings(struct trace *trace, const struct feeding *feeding)
{
	struct sched_gaps gaps = sched_model_gaps(feeding->model);
	struct ebt_error *err = NULL;

	if (!feeding->switches && !feeding->feed->still)
		err = trace_warn_nothing(trace, &switches);
	return err ? err : warn_of_gaps(trace, &gaps);
}

/* --- before the first window --- */

static struct ebt_error *read_span(struct feeding *feeding, const struct before_span *span)
{
	struct ebt_want wants[SCHED_MODEL_MAX_WANTS];
	size_t n = sched_model_wants(false, wants);
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	struct ebt_error *err =
		trace_cursor_create_at(feeding->trace, wants, n, span->from, span->to, &cursor);
	struct ebt_row row;

	while (!err) {
		err = trace_next(cursor, &row);
		if (err || !row.batch)
			break;
		feeding->switches |= row.batch->table->id == EBT_T_sched_switch;
		if (feeding->feed->before)
			err = feeding->feed->before(feeding->feed->arg, &row);
		err = err ?: sched_model_row(feeding->model, &row);
	}
	return err;
}

static struct ebt_error *read_before(struct feeding *feeding, uint64_t to)
{
	_cleanup_before_ struct before before = { 0 };
	struct ebt_error *err = before_plan(feeding->trace, to, &before);

	for (size_t i = 0; !err && i < before.n; i++) {
		if (i)
			sched_model_skip(feeding->model);
		if (i && i == before.n - 1)
			sched_model_forget(feeding->model, before.there, before.n_there);
		err = read_span(feeding, &before.spans[i]);
	}
	return err;
}

/* A task that is off CPU when the window begins, and when it stopped. */
struct stop {
	uint64_t time;
	uint32_t task;
};

struct stops {
	const struct feeding *feeding;
	struct stop *list;
	size_t n, capacity;
};

static struct ebt_error *see_alive(void *arg, const struct ebt_task *task, uint64_t stopped)
{
	struct stops *stops = arg;
	const struct sched_feed *feed = stops->feeding->feed;
	struct ebt_error *err = NULL;

	if (!passes(stops->feeding, task, UINT32_MAX))
		return NULL;
	if (feed->alive)
		err = feed->alive(feed->arg, task);
	if (err || !stopped)
		return err;
	err = ebt_array_reserve(&stops->list, stops->n, &stops->capacity);
	if (!err)
		stops->list[stops->n++] = (struct stop){ stopped, task->id };
	return err;
}

static int compare_stops(const void *a, const void *b)
{
	const struct stop *x = a, *y = b;

	return ebt_compare(x->time, y->time) ?: ebt_compare(x->task, y->task);
}

/* Stacks of the first n, in the order of the rows. */
static struct ebt_error *read_stops(const struct feeding *feeding, const struct stop *stops,
				    size_t n)
{
	static const struct ebt_want want = EBT_WANT(sched_switch, cpu, prev, kstack, ustack);
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	struct ebt_error *err = trace_cursor_create_at(feeding->trace, &want, 1, stops[0].time,
						       stops[n - 1].time + 1, &cursor);
	struct ebt_row row;

	while (!err && n) {
		const struct ebt_task *prev;

		err = trace_next(cursor, &row);
		if (err || !row.batch)
			break;
		while (n && stops->time < row.time)
			stops++, n--;
		prev = ebt_sched_switch_prev(&row);
		for (size_t i = 0; prev && i < n && stops[i].time == row.time; i++) {
			if (stops[i].task == prev->id)
				err = offcpu_stopped(feeding->feed->offcpu, &row);
		}
	}
	return err;
}

/* Where they stopped. Stops that are close together are in the same chunks. */
static struct ebt_error *find_stacks(const struct feeding *feeding, const struct stops *stops)
{
	struct ebt_error *err = NULL;
	size_t n;

	for (size_t i = 0; !err && i < stops->n; i += n) {
		const struct stop *first = &stops->list[i];

		for (n = 1; i + n < stops->n && first[n].time - first->time < CHUNK_NS;)
			n++;
		err = read_stops(feeding, first, n);
	}
	return err;
}

/* Where tasks were as the recording began, for those that are there still. */
static struct ebt_error *read_told(const struct feeding *feeding, uint64_t to)
{
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	struct ebt_error *err =
		trace_cursor_create_at(feeding->trace, &thread_stacks, 1, 0, to, &cursor);
	struct ebt_row row;

	while (!err) {
		err = trace_next(cursor, &row);
		if (err || !row.batch)
			break;
		err = offcpu_told(feeding->feed->offcpu, &row);
	}
	return err;
}

/* The first window begins later than the trace: what tasks do there. */
static struct ebt_error *begin_later(struct feeding *feeding, uint64_t from, uint64_t to)
{
	const struct sched_feed *feed = feeding->feed;
	struct stops stops = { .feeding = feeding };
	struct ebt_error *err;

	sched_model_window(feeding->model, from, to);
	err = read_before(feeding, from);
	sched_model_begin(feeding->model);
	if (!err)
		err = sched_model_each(feeding->model, see_alive, &stops);
	if (!err && feed->offcpu && feed->stacks)
		err = read_told(feeding, from);
	if (!err && stops.n && feed->offcpu && feed->stacks && offcpu_has_stops(feed->offcpu)) {
		qsort(stops.list, stops.n, sizeof(*stops.list), compare_stops);
		err = find_stacks(feeding, &stops);
	}
	free(stops.list);
	return err;
}

static struct ebt_error *begin(struct trace *trace, const struct sched_feed *feed,
			       struct feeding *feeding)
{
	const struct sched_handler handler = { .run = pass_run, .off = pass_off };
	struct sched_options options = { .followed = is_followed, .arg = feeding };
	uint64_t from;
	struct ebt_error *err;

	feeding->handler = handler;
	options.handler = &feeding->handler;
	sched_feed_bounds(trace, &from, &options.to_ns);
	options.from_ns = trace_recorded_ns(trace) < from ? trace_recorded_ns(trace) : from;
	err = sched_is_known(trace, &feeding->known)
		      ?: followed_create(trace_reader(trace), &feeding->followed)
		      ?: sched_model_create(trace_reader(trace), &options, &feeding->model);
	if (!err && trace_has_before(trace))
		err = begin_later(feeding, from, options.to_ns);
	return err ? err : create_cursor(trace, feed, &feeding->cursor);
}

static struct ebt_error *pass_row(const struct feeding *feeding, const struct ebt_row *row)
{
	const struct sched_feed *feed = feeding->feed;
	struct ebt_error *err = NULL;

	if (feed->offcpu && row->batch->table->id == EBT_T_offcpu_stack)
		err = offcpu_stack_row(feed->offcpu, row);
	else if (feed->offcpu && row->batch->table->id == EBT_T_thread_stack)
		err = offcpu_told(feed->offcpu, row);
	return err || !feed->row ? err : feed->row(feed->arg, row);
}

/* Rows of the present window; the first one behind it is kept for the next. */
static struct ebt_error *feed_rows(struct trace *trace, struct feeding *feeding)
{
	uint64_t to = trace_rows_to_ns(trace);
	struct ebt_row *row = &feeding->row;

	for (;;) {
		struct ebt_error *err = NULL;

		if (!row->batch)
			err = trace_next(feeding->cursor, row);
		if (err || !row->batch || row->time >= to)
			return err;
		feeding->switches |= row->batch->table->id == EBT_T_sched_switch;
		err = pass_row(feeding, row) ?: sched_model_row(feeding->model, row);
		if (err)
			return err;
		row->batch = NULL;
	}
}

/* When the last of the threads was described that were there at the start. */
static uint64_t described_until(const struct trace *trace)
{
	size_t n;
	const struct ebt_chunk_info *chunks = ebt_reader_chunks(trace_reader(trace), &n);
	const uint64_t until = trace_recorded_ns(trace) + CHUNK_NS;
	uint64_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (chunks[i].table == EBT_T_thread && chunks[i].time_min < until &&
		    chunks[i].time_max > found)
			found = chunks[i].time_max;
	}
	return found;
}

/* What goes on at the end of a window may be told behind it: the next few rows of each CPU. */
static struct ebt_error *look_ahead(const struct feeding *feeding)
{
	struct ebt_want wants[SCHED_MODEL_AHEAD_WANTS];
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	const uint64_t described = described_until(feeding->trace);
	size_t unsettled = sched_model_unsettled(feeding->model);
	struct ebt_error *err;
	struct ebt_row row;

	if (!unsettled && trace_rows_to_ns(feeding->trace) > described)
		return NULL;
	sched_model_ahead_wants(wants);
	err = trace_cursor_create_at(feeding->trace, wants, SCHED_MODEL_AHEAD_WANTS,
				     trace_rows_to_ns(feeding->trace), 0, &cursor);
	while (!err) {
		err = trace_next(cursor, &row);
		if (err || !row.batch || (!unsettled && row.time > described))
			break;
		err = sched_model_ahead(feeding->model, &row, &unsettled);
	}
	if (!err)
		sched_model_ahead_end(feeding->model);
	return err;
}

/* Gives what is open at the end of the window. */
static struct ebt_error *end_window(const struct feeding *feeding)
{
	if (!trace_has_more(feeding->trace) && !trace_has_behind(feeding->trace))
		return sched_model_finish(feeding->model);
	return look_ahead(feeding) ?: sched_model_cut(feeding->model);
}

struct ebt_error *sched_feed_run(struct trace *trace, const struct sched_feed *feed,
				 bool *ret_partial)
{
	struct feeding *feeding = (struct feeding *)trace_kept(trace, feeding_destroy);
	struct ebt_error *err = NULL;
	uint64_t from, to;

	if (!feeding) {
		feeding = calloc(1, sizeof(*feeding));
		if (!feeding)
			return &ebt_enomem;
		feeding->kept.destroy = feeding_destroy;
		trace_keep(trace, &feeding->kept);
	}
	feeding->trace = trace;
	feeding->feed = feed;
	feeding->unfiltered =
		feed->all || !(trace_has_task_filter(trace) || trace_has_cpu_filter(trace));
	if (feeding->model) {
		sched_feed_bounds(trace, &from, &to);
		sched_model_window(feeding->model, from, to);
	} else {
		err = begin(trace, feed, feeding);
	}
	if (!err)
		err = feed_rows(trace, feeding) ?: end_window(feeding);
	if (!err && !trace_has_more(trace))
		err = add_warnings(trace, feeding);
	if (!err && feed->offcpu)
		err = offcpu_finish(feed->offcpu);
	if (!err)
		*ret_partial = followed_is_partial(feeding->followed);
	if (!trace_has_more(trace))
		release(feeding);
	return err;
}

struct ebt_error *sched_is_known(struct trace *trace, bool *ret)
{
	bool sched, offcpu;
	struct ebt_error *err = trace_source_is_on(trace, "sched", &sched)
					?: trace_source_is_on(trace, "offcpu", &offcpu);

	/* Of a thread that sleeps all the time there is no row. A trace may have rows and not say
	 * what was on. */
	*ret = !err && (sched || offcpu || trace_has_rows(trace, EBT_T_sched_switch) ||
			trace_has_rows(trace, EBT_T_offcpu_stack));
	return err;
}

struct ebt_error *sched_prepare_names(struct trace *trace)
{
	static const uint16_t tables[] = { EBT_T_sched_switch, EBT_T_offcpu_stack,
					   EBT_T_thread_stack };
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < sizeof(tables) / sizeof(tables[0]); i++)
		err = prepare_names(trace, tables[i], 0);
	return err;
}

bool sched_feed_wanted(struct trace *trace, const struct ebt_task *task, uint32_t cpu)
{
	if (trace_has_task_filter(trace) && !trace_task_wanted(trace, task))
		return false;
	if (!trace_has_cpu_filter(trace))
		return true;
	return cpu != UINT32_MAX && trace_cpu_wanted(trace, cpu);
}

/* --- CPU time --- */

static struct ebt_error *add_run(void *arg, const struct sched_run *run)
{
	uint64_t *run_ns = arg;

	*run_ns += run->end - run->start;
	return NULL;
}

struct ebt_error *sched_cpu_percent(struct trace *trace, double *ret)
{
	uint64_t run_ns = 0, from, to;
	const struct sched_feed feed = { .handler = { .run = add_run }, .arg = &run_ns };
	bool partial;
	struct ebt_error *err;

	*ret = -1;
	if (!ebt_reader_has_rows(trace_reader(trace), EBT_T_sched_switch))
		return NULL;
	err = sched_feed_run(trace, &feed, &partial);
	if (err)
		return err;
	sched_feed_bounds(trace, &from, &to);
	*ret = to > from ? 100.0 * (double)run_ns / (double)(to - from) : 0;
	return NULL;
}
