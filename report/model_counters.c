/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counters did in the window; see model_counters.h. */
#include "model_counters.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index_map.h"

/* Of a file that means no good: both bound the memory. */
#define MAX_COUNTERS (1u << 18)
#define MAX_TEXT     128u

enum { KIND_CUMULATIVE = 1, TYPE_DOUBLE = 1 };

/* A counter, and what it takes to follow it. */
struct state {
	struct counter counter;
	uint32_t number;
	bool defined, wanted, known;
	bool is_double;
	double divisor;
	double value;	    /* as stored, when last written */
	uint64_t integer;   /* the same, exact where it is not a double */
	uint64_t time;	    /* of the last row */
	uint64_t accounted; /* figures are complete up to here */
	double delta;	    /* as stored */
};

struct counters_model {
	struct trace *trace;
	const struct counters_query *query;
	struct state **list; /* pointers, as counters are handed out */
	size_t n, capacity;
	const struct counter **result;
	size_t n_result;
	struct index_map by_number;
	bool in_window;
	uint64_t tick, last_tick; /* times when the machine's counters were read; 0: none */
	uint64_t first;		  /* beginning of what is to be shown; 0: nothing was read */
};

static char *copy(struct ebt_str s)
{
	return strndup(s.data, s.len < MAX_TEXT ? s.len : MAX_TEXT);
}

static void state_destroy(struct state *state)
{
	free(state->counter.name);
	free(state->counter.category);
	free(state->counter.instance);
	free(state->counter.unit);
	free(state->counter.doc);
	free(state->counter.points);
	free(state);
}

void counters_model_destroy(struct counters_model *model)
{
	if (!model)
		return;
	for (size_t i = 0; i < model->n; i++)
		state_destroy(model->list[i]);
	free(model->list);
	free(model->result);
	index_map_deinit(&model->by_number);
	free(model);
}

/* NULL: there are too many already. */
static struct ebt_error *state_of(struct counters_model *m, uint32_t number, struct state **ret)
{
	struct ebt_error *err;
	uint32_t i;

	*ret = NULL;
	if (m->n == MAX_COUNTERS) {
		if (index_map_find(&m->by_number, number, &i))
			*ret = m->list[i];
		return NULL;
	}
	if (m->n == m->capacity) {
		size_t capacity = m->capacity ? m->capacity * 2 : 256;
		struct state **grown = reallocarray(m->list, capacity, sizeof(*grown));

		if (!grown)
			return &ebt_enomem;
		m->list = grown;
		m->capacity = capacity;
	}
	err = index_map_add(&m->by_number, number, (uint32_t)m->n, &i);
	if (err)
		return err;
	if (i == m->n) {
		struct state *state = calloc(1, sizeof(*state));

		if (!state)
			return &ebt_enomem;
		state->number = number;
		state->divisor = 1;
		m->list[m->n++] = state;
	}
	*ret = m->list[i];
	return NULL;
}

static struct ebt_error *set_name(struct counter *counter)
{
	const char *dot = *counter->instance ? "." : "";

	if (asprintf(&counter->name, "%s%s%s.%s", counter->category, dot, counter->instance,
		     counter->name) < 0)
		counter->name = NULL;
	return counter->name ? NULL : &ebt_enomem;
}

static struct ebt_error *define(struct counters_model *m, const struct ebt_row *row)
{
	struct ebt_error *err;
	struct state *state;
	struct counter *c;
	uint64_t divisor;
	char *name;

	err = state_of(m, (uint32_t)ebt_u64(row, EBT_F_counter_def_counter), &state);
	if (err || !state || state->defined)
		return err;
	c = &state->counter;
	c->category = copy(ebt_str(row, EBT_F_counter_def_category));
	c->instance = copy(ebt_str(row, EBT_F_counter_def_instance));
	c->unit = copy(ebt_str(row, EBT_F_counter_def_unit));
	c->doc = copy(ebt_str(row, EBT_F_counter_def_doc));
	c->name = name = copy(ebt_str(row, EBT_F_counter_def_name));
	if (!c->category || !c->instance || !c->unit || !c->doc || !name)
		return &ebt_enomem;
	err = set_name(c);
	free(name);
	if (err)
		return err;
	state->defined = true;
	c->owner = ebt_task(row, EBT_F_counter_def_owner);
	c->cumulative = ebt_u64(row, EBT_F_counter_def_kind) == KIND_CUMULATIVE;
	state->is_double = ebt_u64(row, EBT_F_counter_def_type) == TYPE_DOUBLE;
	divisor = ebt_u64(row, EBT_F_counter_def_divisor);
	state->divisor = divisor ? (double)divisor : 1;
	state->wanted = trace_task_wanted(m->trace, c->owner) &&
			(!m->query->wanted || m->query->wanted(m->query->arg, c));
	return NULL;
}

/* --- figures --- */

/* It was, or grew by, so much a second for so long. */
static void account(struct state *state, double value, uint64_t ns)
{
	struct counter *c = &state->counter;

	if (!c->any || value < c->min)
		c->min = value;
	if (!c->any || value > c->max)
		c->max = value;
	c->any = true;
	c->sum += value * (double)ns;
	c->ns += ns;
}

/* The value is as it was before until this time. */
static void hold(struct state *state, uint64_t until)
{
	if (!state->known || until <= state->accounted)
		return;
	account(state, state->counter.cumulative ? 0 : state->value / state->divisor,
		until - state->accounted);
	state->accounted = until;
}

/* The difference of two values, exact where they are integers. */
static double growth(const struct state *state, double value, uint64_t integer)
{
	if (state->is_double)
		return value < state->value ? value : value - state->value;
	return (double)(integer < state->integer ? integer : integer - state->integer);
}

/* It has grown since `from`. */
static void grow(struct state *state, double delta, uint64_t from, uint64_t time)
{
	state->delta += delta;
	hold(state, from);
	if (time <= state->accounted)
		return;
	account(state, delta / state->divisor * 1e9 / (double)(time - state->accounted),
		time - state->accounted);
	state->accounted = time;
}

static struct ebt_error *add_point(struct counter *c, uint64_t time, double value)
{
	if (c->n_points && c->points[c->n_points - 1].time == time) {
		c->points[c->n_points - 1].value = value;
		return NULL;
	}
	if (c->n_points == c->capacity) {
		size_t capacity = c->capacity ? c->capacity * 2 : 16;
		struct out_point *grown = reallocarray(c->points, capacity, sizeof(*grown));

		if (!grown)
			return &ebt_enomem;
		c->points = grown;
		c->capacity = capacity;
	}
	c->points[c->n_points++] = (struct out_point){ time, value };
	return NULL;
}

/* The value, and that it was another one until `before`. */
static struct ebt_error *add_points(struct state *state, uint64_t before, uint64_t time,
				    double value)
{
	struct counter *c = &state->counter;
	struct ebt_error *err = NULL;

	/* It has just come, and what it began with is not of this time. */
	if (c->n_points == 1 && c->points[0].time == time && before)
		c->points[0].time = before;
	if (c->n_points && c->points[c->n_points - 1].time < before)
		err = add_point(c, before, state->value / state->divisor);
	return err ? err : add_point(c, time, value / state->divisor);
}

static void set_value(struct state *state, uint64_t bits, double *ret)
{
	if (state->is_double)
		memcpy(ret, &bits, sizeof(*ret));
	else
		*ret = state->counter.cumulative ? (double)bits : (double)(int64_t)bits;
}

static struct ebt_error *put(struct counters_model *m, const struct ebt_row *row)
{
	uint64_t bits = ebt_u64(row, EBT_F_counter_value), before;
	struct ebt_error *err;
	struct state *state;
	double value;

	err = state_of(m, (uint32_t)ebt_u64(row, EBT_F_counter_counter), &state);
	if (err || !state)
		return err;
	if (!state->counter.owner && row->time != m->tick) {
		m->last_tick = m->tick;
		m->tick = row->time;
	}
	if (!m->first)
		m->first = row->time;
	if (state->defined && !state->wanted)
		return NULL;
	before = state->counter.owner ? state->time : m->last_tick;
	set_value(state, bits, &value);
	if (!state->known)
		state->accounted = !state->counter.owner && before ? before : row->time;
	else if (state->counter.cumulative && m->in_window)
		grow(state, growth(state, value, bits), before, row->time);
	else if (m->in_window)
		hold(state, row->time);
	if (m->query->points && m->in_window)
		err = add_points(state, before, row->time, value);
	state->value = value;
	state->integer = bits;
	state->time = row->time;
	state->known = true;
	if (m->in_window && !state->counter.cumulative)
		account(state, value / state->divisor, 0);
	return err;
}

/* --- reading --- */

static struct ebt_error *take_row(struct counters_model *m, const struct ebt_row *row)
{
	return row->batch->table->id == EBT_T_counter_def ? define(m, row) : put(m, row);
}

static const struct ebt_want wants[] = {
	{ EBT_T_counter_def, ~UINT64_C(0) },
	{ EBT_T_counter, EBT_COL(counter, counter) | EBT_COL(counter, value) },
};

/*
 * A time before the window from which on all counters are written once more: that is done when an
 * epoch begins. The epoch before that of the window is taken, as what is at the end of one may be
 * in chunks of the next.
 */
static uint64_t look_back(const struct trace *trace)
{
	uint64_t from = trace_from_ns(trace), found = 0;
	uint32_t epoch = 0;
	size_t n;
	const struct ebt_chunk_info *chunks = ebt_reader_chunks(trace_reader(trace), &n);

	for (size_t i = 0; i < n; i++) {
		if (chunks[i].table == EBT_T_counter && chunks[i].time_min <= from &&
		    chunks[i].epoch > epoch)
			epoch = chunks[i].epoch;
	}
	for (size_t i = 0; i < n && epoch > 1; i++) {
		if (chunks[i].table == EBT_T_counter && chunks[i].epoch == epoch - 1 &&
		    (!found || chunks[i].time_min < found))
			found = chunks[i].time_min;
	}
	return found;
}

/* What counters were when the window began. */
static struct ebt_error *read_before(struct counters_model *m)
{
	const struct ebt_query query = {
		.wants = wants,
		.n_wants = 2,
		.from_ns = look_back(m->trace),
		.to_ns = trace_from_ns(m->trace),
	};
	struct ebt_cursor *cursor;
	struct ebt_error *err;
	struct ebt_row row;

	if (!query.to_ns)
		return NULL;
	err = ebt_cursor_create(trace_reader(m->trace), &query, &cursor);
	if (err)
		return err;
	while (!(err = ebt_cursor_next(cursor, &row)) && row.batch) {
		err = take_row(m, &row);
		if (err)
			break;
	}
	ebt_cursor_destroy(cursor);
	return err;
}

static struct ebt_error *begin_window(struct counters_model *m)
{
	struct ebt_error *err = NULL;

	m->in_window = true;
	m->first = m->tick;
	for (size_t i = 0; i < m->n && !err; i++) {
		struct state *state = m->list[i];

		if (!state->known)
			continue;
		state->accounted = state->counter.owner ? state->time : m->tick;
		if (m->query->points && state->wanted)
			err = add_point(&state->counter, state->accounted,
					state->value / state->divisor);
	}
	return err;
}

static struct ebt_error *read_window(struct counters_model *m)
{
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	struct ebt_error *err;
	struct ebt_row row;

	err = trace_cursor_create(m->trace, wants, 2, TRACE_ALL_TASKS, &cursor);
	while (!err) {
		err = trace_next(cursor, &row);
		if (err || !row.batch)
			return err;
		err = take_row(m, &row);
	}
	return err;
}

static struct ebt_error *finish(struct counters_model *m)
{
	struct ebt_error *err = NULL;

	m->result = calloc(m->n + 1, sizeof(*m->result));
	if (!m->result)
		return &ebt_enomem;
	for (size_t i = 0; i < m->n; i++) {
		struct state *state = m->list[i];

		if (!state->known || !state->wanted)
			continue;
		hold(state, m->tick);
		state->counter.last = state->value / state->divisor;
		state->counter.delta = state->delta / state->divisor;
		m->result[m->n_result++] = &state->counter;
	}
	return err;
}

struct ebt_error *counters_model_create(struct trace *trace, const struct counters_query *query,
					struct counters_model **ret)
{
	_cleanup_(counters_model_destroyp) struct counters_model *m = calloc(1, sizeof(*m));
	struct ebt_error *err;

	if (!m)
		return &ebt_enomem;
	m->trace = trace;
	m->query = query;
	err = read_before(m);
	if (!err)
		err = begin_window(m);
	if (!err)
		err = read_window(m);
	if (!err)
		err = finish(m);
	if (err)
		return err;
	*ret = take_ptr(m);
	return NULL;
}

const struct counter *const *counters_model_all(const struct counters_model *model, size_t *ret_n)
{
	*ret_n = model->n_result;
	return model->result;
}

void counters_model_span(const struct counters_model *model, uint64_t *ret_from, uint64_t *ret_to)
{
	*ret_from = model->first;
	*ret_to = model->tick > model->first ? model->tick : model->first;
}
