/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks and hits of probes, begins and ends put together; see model_marks.h. */
#include "report/marks/model_marks.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/map.h"
#include "report/marks/mark_pairs.h"
#include "report/trace/probe_args.h"
#include "report/trace/proc_texts.h"

/* A small file can claim any number of rows. */
#define MAX_MARKS (1u << 26)

/* Its begin had a key: the process ends it and not the thread. Not in what is handed out. */
#define KEYED (1u << 7)

struct marks_name {
	struct mark_name name;
	bool wanted;
};

/* All marks that the filters leave but for the window. */
struct store {
	struct trace_state state; /* first: see trace_keep() */
	struct trace *trace;
	struct marks_options options;
	uint64_t from, to; /* nothing outside is needed: from <= time < to */
	struct mark *list;
	size_t n, capacity;
	struct marks_name *names;
	size_t n_names, names_capacity;
	struct proc_texts texts, messages;
	struct ebt_map by_texts; /* group << 32 | name: index in names */
	struct mark_pairs pairs;
	struct probe_args *probes;
	struct text text;
	uint64_t *exits; /* by task id; 0: not known */
	size_t n_exits;
	uint64_t *group_exits;
	size_t n_group_exits;
	struct ebt_map by_pid;
};

struct marks {
	const struct store *store;
	uint32_t *view; /* indices; NULL: all */
	size_t n;
};

static void store_destroy(struct trace_state *state)
{
	struct store *s = (struct store *)state;

	free(s->names);
	free(s->list);
	proc_texts_deinit(&s->texts);
	proc_texts_deinit(&s->messages);
	ebt_map_deinit(&s->by_texts);
	mark_pairs_deinit(&s->pairs);
	probe_args_destroy(s->probes);
	text_deinit(&s->text);
	free(s->exits);
	free(s->group_exits);
	ebt_map_deinit(&s->by_pid);
	free(s);
}

static void store_destroyp(struct store **s)
{
	if (*s)
		store_destroy(&(*s)->state);
}

const char *mark_origin_name(unsigned int origin)
{
	static const char *const names[] = { "ebmark", "sysprof", "tp", "uprobe", "usdt", "other" };

	return names[origin < MARK_N_ORIGINS ? origin : MARK_OTHER];
}

/* --- names --- */

static struct ebt_error *is_name_wanted(const struct marks_options *o, const struct mark_name *name,
					bool *ret)
{
	_cleanup_free_ char *both = NULL;

	*ret = !o->group || !fnmatch(o->group, name->group, 0);
	if (!*ret || !o->name || !fnmatch(o->name, name->name, 0))
		return NULL;
	if (asprintf(&both, "%s/%s", name->group, name->name) < 0) {
		both = NULL;
		return &ebt_enomem;
	}
	*ret = !fnmatch(o->name, both, 0);
	return NULL;
}

static struct ebt_error *name_of(struct store *s, struct ebt_str group, struct ebt_str text,
				 uint32_t *ret)
{
	const size_t n = s->n_names;
	uint32_t group_id, text_id;
	struct ebt_error *err;
	struct marks_name *name;

	err = proc_texts_add(&s->texts, group, &group_id);
	if (err)
		return err;
	err = proc_texts_add(&s->texts, text, &text_id);
	if (err)
		return err;
	err = ebt_map_element(&s->by_texts, (uint64_t)group_id << 32 | text_id, &s->names,
			      &s->n_names, &s->names_capacity, ret);
	if (err || s->n_names == n)
		return err;
	name = &s->names[*ret];
	*name = (struct marks_name){ .name = { proc_texts_get(&s->texts, group_id).data,
					       proc_texts_get(&s->texts, text_id).data,
					       group_id } };
	return is_name_wanted(&s->options, &name->name, &name->wanted);
}

/* --- marks --- */

static bool is_wanted(const struct store *s, const struct mark *mark)
{
	const struct marks_options *o = &s->options;

	return s->names[mark->name].wanted && (!o->origins || o->origins >> mark->origin & 1) &&
	       mark->end - mark->start >= o->min_ns && mark->start < s->to &&
	       mark->end >= s->from && trace_task_wanted(s->trace, mark->task) &&
	       trace_cpu_wanted(s->trace, mark->cpu);
}

static struct ebt_error *append(struct store *s, const struct mark *mark)
{
	struct ebt_error *err;

	if (s->n == MAX_MARKS)
		return ebt_error_create(EBT_ERR_LIMIT,
					"more than %u marks: take less of the trace with --from "
					"and --to, or fewer with --name",
					MAX_MARKS);
	err = ebt_array_reserve(&s->list, s->n, &s->capacity);
	if (!err)
		s->list[s->n++] = *mark;
	return err;
}

static uint64_t before(uint64_t time, uint64_t ns)
{
	return time > ns ? time - ns : 0;
}

static struct mark_place place_of(const struct mark *mark, uint64_t key)
{
	const struct ebt_task *task = mark->task;
	uint32_t owner = UINT32_MAX;

	if (task)
		owner = !key ? task->id : task->pid ? task->pid : task->tid;
	return (struct mark_place){ owner, mark->name, key };
}

static struct ebt_error *begin(struct store *s, struct mark *mark, uint64_t key)
{
	struct mark_place place = place_of(mark, key);
	struct ebt_error *err;

	mark->open = MARK_NO_END | (key ? KEYED : 0);
	mark->end = UINT64_MAX;
	err = append(s, mark);
	return err ? err : mark_pairs_begin(&s->pairs, &place, (uint32_t)s->n - 1);
}

/* An exception may have left scopes whose ends were never told: they end here. */
static struct ebt_error *end(struct store *s, struct mark *mark, uint64_t key)
{
	const uint64_t start = trace_start_ns(s->trace), time = mark->end;
	const struct mark_place place = place_of(mark, key);
	uint32_t i;

	if (!mark_pairs_find(&s->pairs, &place)) {
		mark->open = MARK_NO_BEGIN;
		mark->start =
			mark->task && mark->task->start_ns > start ? mark->task->start_ns : start;
		if (mark->start > time)
			mark->start = time;
		return is_wanted(s, mark) ? append(s, mark) : NULL;
	}
	for (bool found = false; !found;) {
		struct mark *ended;

		found = mark_pairs_take(&s->pairs, &place, &i);
		ended = &s->list[i];
		ended->end = time > ended->start ? time : ended->start;
		ended->open = found ? 0 : MARK_CUT;
		if (found && !ended->message)
			ended->message = mark->message;
	}
	return NULL;
}

static struct ebt_error *take_mark(struct store *s, const struct ebt_row *row)
{
	uint64_t time = before(row->time, ebt_mark_late(row));
	uint64_t origin = ebt_mark_origin(row), key = ebt_mark_key(row);
	struct mark mark = {
		.start = time,
		.end = time,
		.task = ebt_mark_task(row),
		.cpu = (uint32_t)ebt_mark_cpu(row),
		.origin = origin <= MARK_SYSPROF ? (uint8_t)origin : MARK_OTHER,
	};
	struct ebt_error *err;

	err = name_of(s, ebt_mark_group(row), ebt_mark_name(row), &mark.name);
	if (err)
		return err;
	if (s->options.messages && s->names[mark.name].wanted)
		err = proc_texts_add(&s->messages, ebt_mark_message(row), &mark.message);
	if (err)
		return err;
	switch (ebt_mark_kind(row)) {
	case EBT_V_mark_kind_span:
		mark.kind = MARK_SPAN;
		mark.start = before(time, ebt_mark_duration(row));
		break;
	case EBT_V_mark_kind_begin:
		mark.kind = MARK_SPAN;
		return begin(s, &mark, key);
	case EBT_V_mark_kind_end:
		mark.kind = MARK_SPAN;
		return end(s, &mark, key);
	}
	return is_wanted(s, &mark) ? append(s, &mark) : NULL;
}

/* What the probe read, and what the function returned. */
static struct ebt_error *hit_message(struct store *s, const struct ebt_row *row,
				     const struct probe *probe, uint32_t *ret)
{
	text_clear(&s->text);
	if (probe)
		probe_args_text(probe, ebt_probe_hit_args(row), &s->text);
	if (ebt_probe_hit_kind(row) == EBT_V_probe_hit_kind_span)
		probe_result_text(probe, ebt_probe_hit_result(row), &s->text);
	if (text_error(&s->text))
		return text_error(&s->text);
	return proc_texts_add(&s->messages, text_str(&s->text), ret);
}

static struct ebt_error *hit_name(struct store *s, const struct probe *probe, uint32_t number,
				  uint32_t *ret)
{
	char text[16];

	if (probe)
		return name_of(s, ebt_str_of(probe->group), ebt_str_of(probe->name), ret);
	snprintf(text, sizeof(text), "%" PRIu32, number);
	return name_of(s, (struct ebt_str){ "probe", 5 }, ebt_str_of(text), ret);
}

static struct ebt_error *take_hit(struct store *s, const struct ebt_row *row)
{
	uint32_t number = (uint32_t)ebt_probe_hit_probe(row);
	const struct probe *probe = probe_args_find(s->probes, number);
	uint64_t kind = ebt_probe_hit_kind(row);
	struct mark mark = {
		.start = row->time,
		.end = row->time,
		.task = ebt_probe_hit_task(row),
		.cpu = (uint32_t)ebt_probe_hit_cpu(row),
		.origin = MARK_OTHER,
	};
	struct ebt_error *err;

	if (probe && probe->kind <= EBT_V_probe_kind_usdt)
		mark.origin = (uint8_t)(MARK_PROBES + probe->kind);
	err = hit_name(s, probe, number, &mark.name);
	if (err)
		return err;
	if (s->options.messages && s->names[mark.name].wanted)
		err = hit_message(s, row, probe, &mark.message);
	if (err)
		return err;
	if (kind == EBT_V_probe_hit_kind_span || kind == EBT_V_probe_hit_kind_entered) {
		mark.kind = MARK_SPAN;
		mark.start = before(row->time, ebt_probe_hit_duration(row));
	}
	/* It did not return, and was left in another way, or was too deep to be followed. */
	if (kind == EBT_V_probe_hit_kind_entered)
		mark.open = MARK_CUT;
	return is_wanted(s, &mark) ? append(s, &mark) : NULL;
}

/* --- reading --- */

static struct ebt_error *set_time(uint64_t **list, size_t *n, uint32_t i, uint64_t time)
{
	struct ebt_error *err = ebt_array_reserve_zeroed(list, i, n);

	if (!err)
		(*list)[i] = time;
	return err;
}

static struct ebt_error *take_exit(void *arg, const struct ebt_row *row)
{
	struct store *s = arg;
	const struct ebt_task *task = ebt_task_exit_task(row);
	struct ebt_error *err;
	uint32_t i;

	if (!task)
		return NULL;
	err = set_time(&s->exits, &s->n_exits, task->id, row->time);
	if (err || !ebt_task_exit_group_dead(row) || !task->pid)
		return err;
	err = ebt_map_add(&s->by_pid, task->pid, (uint32_t)s->by_pid.n, &i);
	return err ? err : set_time(&s->group_exits, &s->n_group_exits, i, row->time);
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	return row->batch->table->id == EBT_T_mark ? take_mark(arg, row) : take_hit(arg, row);
}

/* Where a mark without an end ended: with its thread or process, or with the recording. */
static uint64_t end_of(const struct store *s, const struct mark *mark)
{
	const struct ebt_task *task = mark->task;
	uint64_t time = 0;
	uint32_t i;

	if (task && mark->open & KEYED) {
		if (ebt_map_find(&s->by_pid, task->pid, &i))
			time = s->group_exits[i];
	} else if (task && task->id < s->n_exits) {
		time = s->exits[task->id];
	}
	if (!time || time < mark->start)
		time = trace_end_ns(s->trace);
	return time > mark->start ? time : mark->start;
}

static int compare(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;
	int order = ebt_compare(x->start, y->start) ?: ebt_compare(y->end, x->end);

	return order ?: ebt_compare(x->name, y->name) ?: ebt_compare(x->message, y->message);
}

static void finish(struct store *s)
{
	bool sorted = true;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct mark *mark = &s->list[i];

		if (mark->open & MARK_NO_END)
			mark->end = end_of(s, mark);
		mark->open &= (uint8_t)~KEYED;
		if (!is_wanted(s, mark))
			continue;
		s->list[n++] = *mark;
		sorted &= n < 2 || compare(&s->list[n - 2], &s->list[n - 1]) <= 0;
	}
	s->n = n;
	if (!sorted)
		qsort(s->list, s->n, sizeof(*s->list), compare);
	mark_pairs_deinit(&s->pairs);
	s->pairs = (struct mark_pairs){ 0 };
}

static struct ebt_error *warn_left_out(const struct store *s)
{
	struct ebt_error *err = NULL;

	if (s->texts.left_out)
		err = trace_warn(s->trace, "names of marks are more than 256 MiB: later ones are "
					   "left out");
	if (!err && s->messages.left_out)
		err = trace_warn(s->trace, "messages of marks are more than 256 MiB: later ones "
					   "are left out");
	return err;
}

static struct ebt_error *read_all(struct store *s)
{
	static const struct ebt_want exits[] = {
		EBT_WANT(task_exit, task, group_dead),
	};
	const uint64_t messages = s->options.messages ? EBT_COL(mark, message) : 0;
	const uint64_t args = s->options.messages ? EBT_COL(probe_hit, args) : 0;
	const struct ebt_want wants[] = {
		{ EBT_T_mark,
		  EBT_COLS(mark, cpu, task, kind, origin, duration, late, key, group, name) |
			  messages },
		{ EBT_T_probe_hit,
		  EBT_COLS(probe_hit, cpu, task, probe, kind, duration, result) | args },
	};
	struct ebt_error *err;

	err = probe_args_create(s->trace, &s->probes);
	if (err)
		return err;
	if (s->options.messages)
		err = probe_names_find(s->trace, s->probes);
	if (err)
		return err;
	err = trace_read_rows(s->trace, exits, 1, TRACE_UNFILTERED | TRACE_QUIET, take_exit, s);
	if (err)
		return err;
	err = trace_read_rows(s->trace, wants, 2, TRACE_UNFILTERED, take_row, s);
	if (err)
		return err;
	finish(s);
	return warn_left_out(s);
}

/* What lies before a trace that does not tell when it began belongs to the first window. */
static uint64_t first_time(const struct trace *trace, uint64_t from)
{
	const bool told = ebt_reader_info(trace_reader(trace))->start_told;

	return from == trace_start_ns(trace) && !told && !trace_is_part(trace) ? 0 : from;
}

static struct ebt_error *store_create(struct trace *trace, const struct marks_options *options,
				      struct store **ret)
{
	__attribute__((cleanup(store_destroyp))) struct store *s = calloc(1, sizeof(*s));
	struct ebt_error *err;

	if (!s)
		return &ebt_enomem;
	s->state.destroy = store_destroy;
	s->trace = trace;
	s->options = *options;
	s->from = first_time(trace, trace_whole_from_ns(trace));
	s->to = trace_has_more(trace) ? UINT64_MAX : trace_rows_to_ns(trace);
	err = read_all(s);
	if (err)
		return err;
	*ret = take_ptr(s);
	return NULL;
}

/* --- a window --- */

static bool is_inside(const struct mark *mark, uint64_t from, uint64_t to)
{
	return mark->start < to && (mark->end > from || mark->start >= from);
}

static struct ebt_error *make_view(struct marks *marks, struct trace *trace)
{
	const struct store *s = marks->store;
	const uint64_t from = first_time(trace, trace_from_ns(trace));
	const uint64_t to = trace_rows_to_ns(trace);
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += is_inside(&s->list[i], from, to);
	marks->n = n;
	if (n == s->n)
		return NULL;
	marks->view = calloc(n + 1, sizeof(*marks->view));
	if (!marks->view)
		return &ebt_enomem;
	n = 0;
	for (size_t i = 0; i < s->n; i++) {
		if (is_inside(&s->list[i], from, to))
			marks->view[n++] = (uint32_t)i;
	}
	return NULL;
}

struct ebt_error *marks_create(struct trace *trace, const struct marks_options *options,
			       struct marks **ret)
{
	_cleanup_(marks_destroyp) struct marks *marks = calloc(1, sizeof(*marks));
	struct store *store = (struct store *)trace_kept(trace, store_destroy);
	struct ebt_error *err = NULL;

	if (!marks)
		return &ebt_enomem;
	if (!store) {
		err = store_create(trace, options, &store);
		if (err)
			return err;
		trace_keep(trace, &store->state);
	}
	marks->store = store;
	err = make_view(marks, trace);
	if (err)
		return err;
	*ret = take_ptr(marks);
	return NULL;
}

void marks_destroy(struct marks *marks)
{
	if (!marks)
		return;
	free(marks->view);
	free(marks);
}

size_t marks_n(const struct marks *marks)
{
	return marks->n;
}

const struct mark *marks_at(const struct marks *marks, size_t i)
{
	return &marks->store->list[marks->view ? marks->view[i] : i];
}

uint32_t marks_n_names(const struct marks *marks)
{
	return (uint32_t)marks->store->n_names;
}

const struct mark_name *marks_name(const struct marks *marks, uint32_t name)
{
	return &marks->store->names[name].name;
}

struct ebt_str marks_message(const struct marks *marks, const struct mark *mark)
{
	return proc_texts_get(&marks->store->messages, mark->message);
}

struct ebt_error *marks_warn_none(struct trace *trace)
{
	const struct ebt_reader *reader = trace_reader(trace);

	if (ebt_reader_has_rows(reader, EBT_T_mark) || ebt_reader_has_rows(reader, EBT_T_probe_hit))
		return trace_warn(trace, "no marks that pass the filters");
	return trace_warn(trace,
			  "the trace has no marks: programs with ebmark.h make them "
			  "(ebrec -e mark, which is on by default), those that speak "
			  "Sysprof's protocol (-e sysprof), and probes (-e uprobe:PATH:FUNCTION, "
			  "-e usdt:PATH:PROVIDER:NAME, -e tp:CATEGORY:NAME)");
}
