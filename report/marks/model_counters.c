/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counters did in the window; see model_counters.h. */
#include "report/marks/model_counters.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/map.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/trace/proc_texts.h"
#include "format/base/array.h"

/* Of a file that means no good: both bound the memory. */
#define MAX_COUNTERS (1u << 18)
#define MAX_TEXT     128u

#define USER	     (UINT64_C(1) << 32)

/* A counter, and what it takes to follow it. */
struct counter_state {
	struct counter counter;
	bool defined, wanted, known;
	bool user; /* a program's own: of table mark_counter */
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
	struct counter_state **list; /* pointers, as counters are handed out */
	size_t n, capacity;
	const struct counter **result;
	size_t n_result;
	struct ebt_map by_number; /* of programs' own: USER | the text that they are known by */
	struct proc_texts users;
	const struct names *names;
	bool in_window;
	uint64_t from, to;	  /* values between these times are of the window */
	uint64_t tick, last_tick; /* times when the machine's counters were read; 0: none */
	uint64_t first;		  /* beginning of what is to be shown; 0: nothing was read */
	uint64_t user_first;	  /* the same of programs' own */
};

static char *copy(struct ebt_str s)
{
	return strndup(s.data, s.len < MAX_TEXT ? s.len : MAX_TEXT);
}

static void state_destroy(struct counter_state *state)
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
	ebt_map_deinit(&model->by_number);
	proc_texts_deinit(&model->users);
	free(model);
}

/* NULL: there are too many already. */
static struct ebt_error *state_of(struct counters_model *m, uint64_t number,
				  struct counter_state **ret)
{
	struct ebt_error *err;
	uint32_t i;

	*ret = NULL;
	if (m->n == MAX_COUNTERS) {
		if (ebt_map_find(&m->by_number, number, &i))
			*ret = m->list[i];
		return NULL;
	}
	err = ebt_array_reserve(&m->list, m->n, &m->capacity);
	if (err)
		return err;
	err = ebt_map_add(&m->by_number, number, (uint32_t)m->n, &i);
	if (err)
		return err;
	if (i == m->n) {
		struct counter_state *state = calloc(1, sizeof(*state));

		if (!state)
			return &ebt_enomem;
		state->divisor = 1;
		m->list[m->n++] = state;
	}
	*ret = m->list[i];
	return NULL;
}

static struct ebt_error *set_name(struct counter *counter)
{
	const char *category_dot = *counter->category ? "." : "";
	const char *instance_dot = *counter->instance ? "." : "";

	if (asprintf(&counter->name, "%s%s%s%s%s", counter->category, category_dot,
		     counter->instance, instance_dot, counter->name) < 0)
		counter->name = NULL;
	return counter->name ? NULL : &ebt_enomem;
}

/* Takes over c->name as the last part of the name. */
static struct ebt_error *define_texts(struct counter *c)
{
	char *name = c->name;
	struct ebt_error *err;

	if (!c->category || !c->instance || !c->unit || !c->doc || !name)
		return &ebt_enomem;
	err = set_name(c);
	free(name);
	return err;
}

static bool is_wanted(const struct counters_model *m, const struct counter *c)
{
	return trace_task_wanted(m->trace, c->owner) &&
	       (!m->query->wanted || m->query->wanted(m->query->arg, c));
}

static struct ebt_error *define(struct counters_model *m, const struct ebt_row *row)
{
	struct ebt_error *err;
	struct counter_state *state;
	struct counter *c;
	uint64_t divisor;

	err = state_of(m, (uint32_t)ebt_counter_def_counter(row), &state);
	if (err || !state || state->defined)
		return err;
	c = &state->counter;
	c->category = copy(ebt_counter_def_category(row));
	c->instance = copy(ebt_counter_def_instance(row));
	c->unit = copy(ebt_counter_def_unit(row));
	c->doc = copy(ebt_counter_def_doc(row));
	c->name = copy(ebt_counter_def_name(row));
	err = define_texts(c);
	if (err)
		return err;
	state->defined = true;
	c->owner = ebt_counter_def_owner(row);
	c->cumulative = ebt_counter_def_kind(row) == EBT_V_counter_def_kind_cumulative;
	state->is_double = ebt_counter_def_type(row) == EBT_V_counter_def_type_double;
	divisor = ebt_counter_def_divisor(row);
	state->divisor = divisor ? (double)divisor : 1;
	state->wanted = is_wanted(m, c);
	return NULL;
}

/* --- programs' own --- */

/* A process's number is known by its group and name. */
static struct ebt_error *user_key(struct counters_model *m, const struct ebt_task *task,
				  const struct ebt_row *row, uint64_t *ret)
{
	struct ebt_str group = ebt_mark_counter_group(row);
	struct ebt_str name = ebt_mark_counter_name(row);
	uint64_t process = task ? names_process_key(m->names, task) : UINT64_MAX;
	_cleanup_text_ struct text key = TEXT_INIT;
	struct ebt_error *err;
	uint32_t text;

	text_add(&key, (const char *)&process, sizeof(process));
	text_add(&key, group.data, group.len < MAX_TEXT ? group.len : MAX_TEXT);
	text_addc(&key, '\0');
	text_add(&key, name.data, name.len < MAX_TEXT ? name.len : MAX_TEXT);
	if (text_error(&key))
		return text_error(&key);
	err = proc_texts_add(&m->users, text_str(&key), &text);
	if (!err)
		*ret = USER | text;
	return err;
}

static struct ebt_error *define_user(struct counters_model *m, const struct ebt_task *task,
				     const struct ebt_row *row, struct counter_state *state)
{
	_cleanup_text_ struct text instance = TEXT_INIT;
	struct counter *c = &state->counter;
	struct ebt_str comm;
	struct ebt_error *err;

	if (task) {
		comm = text_comm(names_process(m->names, task));
		text_add(&instance, comm.data, comm.len);
		text_printf(&instance, "-%" PRIu32, task->pid);
	}
	c->category = copy(ebt_mark_counter_group(row));
	c->instance = strdup(text_get(&instance));
	c->unit = strdup("");
	c->doc = copy(ebt_mark_counter_doc(row));
	c->name = copy(ebt_mark_counter_name(row));
	err = text_error(&instance) ? text_error(&instance) : define_texts(c);
	if (err)
		return err;
	c->owner = task;
	state->defined = state->user = true;
	state->divisor = 1;
	state->wanted = is_wanted(m, c);
	return NULL;
}

/* --- figures --- */

/* It was, or grew by, so much a second for so long. */
static void account(struct counter_state *state, double value, uint64_t ns)
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
static void hold(struct counter_state *state, uint64_t until)
{
	if (!state->known || until <= state->accounted)
		return;
	account(state, state->counter.cumulative ? 0 : state->value / state->divisor,
		until - state->accounted);
	state->accounted = until;
}

/* The difference of two values, exact where they are integers. */
static double growth(const struct counter_state *state, double value, uint64_t integer)
{
	if (state->is_double)
		return value < state->value ? value : value - state->value;
	return (double)(integer < state->integer ? integer : integer - state->integer);
}

/* It has grown since `from`. */
static void grow(struct counter_state *state, double delta, uint64_t from, uint64_t time)
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
	struct ebt_error *err;

	if (c->n_points && c->points[c->n_points - 1].time == time) {
		c->points[c->n_points - 1].value = value;
		return NULL;
	}
	err = ebt_array_reserve(&c->points, c->n_points, &c->capacity);
	if (err)
		return err;
	c->points[c->n_points++] = (struct out_point){ time, value };
	return NULL;
}

/* The value, and that it was another one until `before`. */
static struct ebt_error *add_points(struct counter_state *state, uint64_t before, uint64_t time,
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

static void set_value(struct counter_state *state, uint64_t bits, double *ret)
{
	if (state->is_double)
		memcpy(ret, &bits, sizeof(*ret));
	else
		*ret = state->counter.cumulative ? (double)bits : (double)(int64_t)bits;
}

/* It was another one until `before`, where that is not 0, and is this one now. */
static struct ebt_error *update(struct counters_model *m, struct counter_state *state,
				uint64_t before, uint64_t time, uint64_t bits)
{
	struct ebt_error *err = NULL;
	double value;

	set_value(state, bits, &value);
	if (!state->known)
		state->accounted = before ? before : time;
	else if (state->counter.cumulative && m->in_window)
		grow(state, growth(state, value, bits), before, time);
	else if (m->in_window)
		hold(state, time);
	if (m->query->points && m->in_window)
		err = add_points(state, before, time, value);
	state->value = value;
	state->integer = bits;
	state->time = time;
	state->known = true;
	if (m->in_window && !state->counter.cumulative)
		account(state, value / state->divisor, 0);
	return err;
}

static struct ebt_error *put(struct counters_model *m, const struct ebt_row *row)
{
	struct ebt_error *err;
	struct counter_state *state;

	err = state_of(m, (uint32_t)ebt_counter_counter(row), &state);
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
	return update(m, state, state->counter.owner ? state->time : m->last_tick, row->time,
		      (uint64_t)ebt_counter_value(row));
}

static struct ebt_error *put_user(struct counters_model *m, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_mark_counter_task(row);
	uint64_t late = ebt_mark_counter_late(row), key = 0;
	uint64_t time = row->time > late ? row->time - late : 0;
	struct ebt_error *err;
	struct counter_state *state;

	/* A row may tell much later what the value was. */
	if (m->in_window ? time < m->from || time >= m->to : time >= trace_from_ns(m->trace))
		return NULL;
	err = user_key(m, task, row, &key);
	if (!err)
		err = state_of(m, key, &state);
	if (!err && state && !state->defined)
		err = define_user(m, task, row, state);
	if (err || !state || !state->wanted)
		return err;
	state->is_double = ebt_mark_counter_type(row) == EBT_V_mark_counter_type_double;
	/* What was told later is newer, and of this window. */
	if (time < state->time)
		time = state->time;
	if (m->in_window && time < trace_from_ns(m->trace))
		time = trace_from_ns(m->trace);
	if (m->in_window)
		m->user_first = m->user_first && m->user_first < time ? m->user_first : time;
	return update(m, state, state->time, time, (uint64_t)ebt_mark_counter_value(row));
}

/* --- reading --- */

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	struct counters_model *m = arg;

	switch (row->batch->table->id) {
	case EBT_T_counter_def:
		return define(m, row);
	case EBT_T_counter:
		return put(m, row);
	}
	return put_user(m, row);
}

static const struct ebt_want wants[] = {
	{ EBT_T_counter_def, ~UINT64_C(0) },
	EBT_WANT(counter, counter, value),
	{ EBT_T_mark_counter, ~UINT64_C(0) },
};
enum { MACHINE_WANTS = 2, USER_WANT = MACHINE_WANTS };

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

static struct ebt_error *read_query(struct counters_model *m, const struct ebt_query *query)
{
	return query->to_ns ? ebt_read_rows(trace_reader(m->trace), query, take_row, m) : NULL;
}

/* What counters were when the window began. Nobody writes programs' own again at an epoch. */
static struct ebt_error *read_before(struct counters_model *m)
{
	struct ebt_query query = {
		.wants = wants,
		.n_wants = MACHINE_WANTS,
		.from_ns = look_back(m->trace),
		.to_ns = trace_from_ns(m->trace),
	};
	struct ebt_error *err = read_query(m, &query);

	query.wants = &wants[USER_WANT];
	query.n_wants = 1;
	query.from_ns = query.to_ns = 0;
	return err || !trace_has_before(m->trace)
		       ? err
		       : ebt_read_rows(trace_reader(m->trace), &query, take_row, m);
}

static uint64_t begin_of(const struct counters_model *m, const struct counter_state *state)
{
	if (state->user)
		return trace_from_ns(m->trace);
	return state->counter.owner ? state->time : m->tick;
}

static struct ebt_error *begin_window(struct counters_model *m)
{
	struct ebt_error *err = NULL;

	m->in_window = true;
	m->first = m->tick;
	for (size_t i = 0; i < m->n && !err; i++) {
		struct counter_state *state = m->list[i];

		if (!state->known)
			continue;
		state->accounted = begin_of(m, state);
		if (state->user)
			m->user_first = trace_from_ns(m->trace);
		if (m->query->points && state->wanted)
			err = add_point(&state->counter, state->accounted,
					state->value / state->divisor);
	}
	return err;
}

static struct ebt_error *read_window(struct counters_model *m)
{
	const unsigned int all = TRACE_ALL_TASKS | TRACE_ALL_CPUS;
	struct ebt_error *err = trace_read_rows(m->trace, wants, MACHINE_WANTS, all, take_row, m);

	if (err)
		return err;
	return trace_read_rows(m->trace, &wants[USER_WANT], 1,
			       all | TRACE_TO_END | (m->from ? 0 : TRACE_FROM_START), take_row, m);
}

static struct ebt_error *finish(struct counters_model *m)
{
	m->result = calloc(m->n + 1, sizeof(*m->result));
	if (!m->result)
		return &ebt_enomem;
	for (size_t i = 0; i < m->n; i++) {
		struct counter_state *state = m->list[i];

		if (!state->known || !state->wanted)
			continue;
		hold(state, state->user ? trace_window_end_ns(m->trace) : m->tick);
		state->counter.last = state->value / state->divisor;
		state->counter.delta = state->delta / state->divisor;
		m->result[m->n_result++] = &state->counter;
	}
	return NULL;
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
	/* What is told of a time before the trace is of its beginning. */
	m->from = trace_has_before(trace) ? trace_from_ns(trace) : 0;
	m->to = trace_rows_to_ns(trace);
	err = trace_names(trace, &m->names);
	if (err)
		return err;
	err = read_before(m);
	if (err)
		return err;
	err = begin_window(m);
	if (err)
		return err;
	err = read_window(m);
	if (err)
		return err;
	err = finish(m);
	if (!err)
		*ret = take_ptr(m);
	return err;
}

const struct counter *const *counters_model_all(const struct counters_model *model, size_t *ret_n)
{
	*ret_n = model->n_result;
	return model->result;
}

void counters_model_span(const struct counters_model *model, uint64_t *ret_from, uint64_t *ret_to)
{
	const uint64_t first = model->user_first,
		       end = first ? trace_window_end_ns(model->trace) : 0;

	*ret_from = first && (!model->first || first < model->first) ? first : model->first;
	*ret_to = model->tick > end ? model->tick : end;
	if (*ret_to < *ret_from)
		*ret_to = *ret_from;
}
