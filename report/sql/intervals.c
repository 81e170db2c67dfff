/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables `sched` and `thread_state`: intervals of model_sched.h, in the order in which they end. */
#include <stdlib.h>

#include "format/base/array.h"
#include "report/sched/model_sched.h"
#include "report/sql/made.h"
#include "report/trace/followed.h"

struct spell {
	const struct ebt_task *task, *waker;
	uint64_t start, end;
	const char *state; /* NULL: not known */
	uint32_t cpu;	   /* UINT32_MAX: of none */
	bool open;	   /* it goes on where the trace ends */
	bool interrupt;	   /* that woke it */
};

struct intervals {
	struct sql_source *source;
	struct sched_handler handler;
	struct followed *followed;
	struct sched_model *model;
	struct ebt_cursor *cursor;
	uint64_t from, until; /* of what is asked, and of what is known */
	uint64_t read_from;
	struct spell *list; /* that are complete */
	size_t n, at, capacity;
	int64_t id;
	bool runs_only, finished;
};

/* As Linux calls them, and Perfetto. */
static const char *const states[SCHED_N_WHYS] = {
	[SCHED_RUNNABLE] = "R+", [SCHED_SLEEP] = "S",	  [SCHED_DISK] = "D", [SCHED_IDLE] = "I",
	[SCHED_STOPPED] = "T",	 [SCHED_NEW] = "Created", [SCHED_DEAD] = "X",
};

static bool is_followed(void *arg, const struct ebt_task *task)
{
	return followed_has(((const struct intervals *)arg)->followed, task);
}

/* Read is a bit more than what is asked for: a thread may be woken just before it stops. */
#define LEAD_NS 10000000

/* What begins before the time that is asked for may lack its beginning. */
static struct ebt_error *add(struct intervals *v, const struct spell *spell)
{
	struct ebt_error *err;

	if (spell->start < v->from)
		return NULL;
	err = ebt_array_reserve(&v->list, v->n, &v->capacity);
	if (!err)
		v->list[v->n++] = *spell;
	return err;
}

static bool is_open(const struct intervals *v, unsigned int flags, uint64_t end)
{
	return flags & SCHED_OPEN_END && end >= v->until;
}

static struct ebt_error *add_run(void *arg, const struct sched_run *run)
{
	struct intervals *v = arg;
	struct spell spell = { .task = run->task,
			       .start = run->start,
			       .end = run->end,
			       .cpu = run->cpu,
			       .state = "Running",
			       .open = is_open(v, run->flags, run->end) };

	if (v->runs_only)
		spell.state = run->flags & SCHED_OPEN_END ? NULL : states[run->why];
	return add(v, &spell);
}

static struct ebt_error *add_off(void *arg, const struct sched_off *off)
{
	struct intervals *v = arg;
	const bool waits = off->runnable && off->runnable <= off->end;
	struct spell spell = { .task = off->task,
			       .start = off->start,
			       .end = waits ? off->runnable : off->end,
			       .cpu = UINT32_MAX,
			       .state = states[off->why],
			       .open = !waits && is_open(v, off->flags, off->end) };
	struct ebt_error *err = NULL;

	/* It could have gone on all the time, where these are one. */
	if (!waits || off->runnable > off->start)
		err = add(v, &spell);
	if (err || !waits)
		return err;
	spell.start = off->runnable;
	spell.end = off->end;
	spell.open = is_open(v, off->flags, off->end);
	if (off->why != SCHED_RUNNABLE)
		spell.state = "R";
	if (off->woken) {
		spell.waker = off->waker;
		spell.interrupt = off->waking == EBT_V_sched_waking_kind_by_interrupt ||
				  off->waking == EBT_V_sched_waking_kind_in_soft_interrupt;
	}
	return add(v, &spell);
}

static void intervals_end(void *rows)
{
	struct intervals *v = rows;

	ebt_cursor_destroy(v->cursor);
	sched_model_destroy(v->model);
	followed_destroy(v->followed);
	free(v->list);
	free(v);
}

/* In a file whose end is missing, other tables may go on for a while. */
static uint64_t known_until(struct ebt_reader *reader)
{
	const struct ebt_reader_info *info = ebt_reader_info(reader);
	const struct ebt_chunk_info *chunks;
	uint64_t until = 0;
	size_t n;

	if (info->complete)
		return info->end_ns;
	chunks = ebt_reader_chunks(reader, &n);
	for (size_t i = 0; i < n; i++) {
		if (chunks[i].table == EBT_T_sched_switch && chunks[i].time_max > until)
			until = chunks[i].time_max;
	}
	return until < info->end_ns ? until : info->end_ns;
}

static struct ebt_error *start(struct intervals *v, uint64_t begin)
{
	struct ebt_reader *reader = v->source->reader;
	struct ebt_want wants[SCHED_MODEL_MAX_WANTS];
	const struct ebt_query query = {
		.wants = wants,
		.n_wants = sched_model_wants(false, wants),
		.from_ns = v->read_from,
	};
	const struct sched_options options = {
		.from_ns = v->read_from > begin ? v->read_from : begin,
		.to_ns = v->until,
		.followed = is_followed,
		.handler = &v->handler,
		.arg = v,
	};

	v->handler = (struct sched_handler){ .run = add_run, .off = v->runs_only ? NULL : add_off };
	if (!ebt_reader_has_rows(reader, EBT_T_sched_switch) || options.from_ns > v->until) {
		v->finished = true;
		return NULL;
	}
	return followed_create(reader, &v->followed)
		       ?: sched_model_create(reader, &options, &v->model)
		       ?: ebt_cursor_create(reader, &query, &v->cursor);
}

static struct ebt_error *begin(struct sql_source *source, const struct sql_made_query *query,
			       bool runs_only, void **ret)
{
	const struct ebt_reader_info *info = ebt_reader_info(source->reader);
	struct intervals *v = calloc(1, sizeof(*v));
	struct ebt_error *err;

	if (!v)
		return &ebt_enomem;
	v->source = source;
	v->runs_only = runs_only;
	v->until = known_until(source->reader);
	v->from = query->from > info->start_ns ? query->from : 0;
	v->read_from = v->from > LEAD_NS ? v->from - LEAD_NS : 0;
	err = start(v, info->start_ns < v->until ? info->start_ns : v->until);
	if (err)
		intervals_end(v);
	else
		*ret = v;
	return err;
}

static struct ebt_error *begin_runs(struct sql_source *source, const struct sql_made_query *query,
				    void **ret)
{
	return begin(source, query, true, ret);
}

static struct ebt_error *begin_states(struct sql_source *source, const struct sql_made_query *query,
				      void **ret)
{
	return begin(source, query, false, ret);
}

static struct ebt_error *intervals_next(void *rows, bool *ret_more)
{
	struct intervals *v = rows;
	struct ebt_error *err = NULL;
	struct ebt_row row;

	if (v->at < v->n)
		v->at++;
	if (v->at == v->n)
		v->at = v->n = 0;
	while (!err && !v->n && !v->finished) {
		err = ebt_cursor_next(v->cursor, &row);
		if (err)
			return err;
		v->finished = !row.batch;
		err = row.batch ? sched_model_row(v->model, &row) : sched_model_finish(v->model);
	}
	v->id++;
	*ret_more = !err && v->n;
	return err;
}

static void put_task(sqlite3_context *context, const struct ebt_task *task, int part)
{
	if (!task || (part == 2 && !task->pid))
		return; /* NULL */
	if (part == 3)
		sqlite3_result_text64(context, task->comm.data ? task->comm.data : "",
				      task->comm.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	else
		sqlite3_result_int64(context, part == 0	  ? task->id
					      : part == 1 ? task->tid
							  : task->pid);
}

/* What both have: id, ts, dur, cpu, utid, state, tid, pid, comm. */
static void put_common(const struct intervals *v, sqlite3_context *context, int i)
{
	const struct spell *spell = &v->list[v->at];

	if (i == 0)
		sqlite3_result_int64(context, v->id);
	else if (i == 1)
		sqlite3_result_int64(context, sql_made_time(v->source, spell->start));
	else if (i == 2)
		sqlite3_result_int64(context,
				     spell->open ? -1 : (int64_t)(spell->end - spell->start));
	else if (i == 3 && spell->cpu != UINT32_MAX)
		sqlite3_result_int64(context, spell->cpu);
	else if (i == 4)
		put_task(context, spell->task, 0);
	else if (i == 5 && spell->state)
		sqlite3_result_text(context, spell->state, -1, SQLITE_STATIC);
	else if (i > 5)
		put_task(context, spell->task, i - 5);
}

static void put_run(const void *rows, sqlite3_context *context, int i)
{
	/* Behind the first nine: priority, which is not known, and ucpu. */
	if (i != 9)
		put_common(rows, context, i == 10 ? 3 : i);
}

static void put_state(const void *rows, sqlite3_context *context, int i)
{
	const struct intervals *v = rows;
	const struct spell *spell = &v->list[v->at];

	if (i < 9)
		put_common(v, context, i);
	else if (i == 9)
		put_task(context, spell->waker, 0);
	else if (i == 10 && (spell->waker || spell->interrupt))
		sqlite3_result_int64(context, spell->interrupt);
	else if (i == 14)
		put_common(v, context, 3);
}

const struct sql_made sql_made_sched = {
	.name = "sched",
	.columns =
		"id INTEGER, ts INTEGER, dur INTEGER, cpu INTEGER, utid INTEGER, end_state TEXT, "
		"tid INTEGER, pid INTEGER, comm TEXT, priority INTEGER, ucpu INTEGER",
	.n = 11,
	.ts = 1,
	.begin = begin_runs,
	.next = intervals_next,
	.column = put_run,
	.end = intervals_end,
};

/* Of what Perfetto has besides, nothing is known. */
const struct sql_made sql_made_states = {
	.name = "thread_state",
	.columns = "id INTEGER, ts INTEGER, dur INTEGER, cpu INTEGER, utid INTEGER, state TEXT, "
		   "tid INTEGER, pid INTEGER, comm TEXT, waker_utid INTEGER, irq_context INTEGER, "
		   "waker_id INTEGER, io_wait INTEGER, blocked_function TEXT, ucpu INTEGER",
	.n = 15,
	.ts = 1,
	.begin = begin_states,
	.next = intervals_next,
	.column = put_state,
	.end = intervals_end,
};
