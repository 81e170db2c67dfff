/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs and probes say: marks and lines of logs. */
#include "report/events/private.h"

#include <inttypes.h>

#include "format/base/map.h"
#include "report/marks/model_marks.h"

/* Hits of probes whose stacks are kept until their marks come. */
#define MOST_HITS 1000000

struct marks_reader {
	struct trace *trace;
	const struct event_sink *sink;
	struct ebt_map nodes; /* hit_key() to a node of the sink */
	uint64_t left_out;    /* hits whose stacks are not there */
	struct text name, detail;
};

/* --- marks --- */

/* A thread is at one place at a time. */
static uint64_t hit_key(uint64_t time, const struct ebt_task *task)
{
	return ebt_hash_u64(ebt_hash_u64(0, time), task ? task->id : UINT64_MAX);
}

static struct ebt_error *take_hit(void *arg, const struct ebt_row *row)
{
	struct marks_reader *r = arg;
	const struct calltree_stack stack = { row->batch, ebt_probe_hit_task(row), row->time, 0,
					      ebt_probe_hit_ustack_id(row) };
	struct ebt_error *err;
	uint32_t node, was;

	if (!stack.user)
		return NULL;
	if (r->nodes.n >= MOST_HITS) {
		r->left_out++;
		return NULL;
	}
	err = r->sink->place(r->sink->arg, &stack, &node);
	return err ? err : ebt_map_add(&r->nodes, hit_key(row->time, stack.task), node, &was);
}

static uint32_t node_of(const struct marks_reader *r, const struct mark *mark)
{
	uint32_t node = 0;

	if (mark->origin >= MARK_PROBES &&
	    ebt_map_find(&r->nodes, hit_key(mark->end, mark->task), &node))
		return node;
	return 0;
}

/* A track a thread and group. */
static struct ebt_error *give_mark(struct marks_reader *r, const struct marks *marks,
				   const struct mark *mark)
{
	const struct mark_name *name = marks_name(marks, mark->name);
	const struct event event = {
		.kind = EVENT_MARK,
		.time = mark->start,
		.dur = mark_duration(mark),
		.task = mark->task,
		.track = event_thread_key(mark->task) << 32 | name->group_id,
		.track_name = ebt_str_of(name->group),
		.name = ebt_str_of(name->name),
		.detail = marks_message(marks, mark),
		.node = node_of(r, mark),
		.flags = mark->open ? EVENT_OPEN : 0,
	};

	return event_give(r->sink, &event);
}

static struct ebt_error *place_hits(struct marks_reader *r)
{
	static const struct ebt_want want = EBT_WANT(probe_hit, task, ustack);
	struct ebt_error *err =
		trace_read_rows(r->trace, &want, 1, TRACE_FROM_START | TRACE_TO_END, take_hit, r);

	if (!err && r->left_out)
		err = trace_warn(r->trace,
				 "the stacks of the first %d hits of probes are there: those of "
				 "%" PRIu64 " more are left out",
				 MOST_HITS, r->left_out);
	return err;
}

static struct ebt_error *give_marks(struct marks_reader *r)
{
	const struct marks_options options = { .messages = true };
	_cleanup_(marks_destroyp) struct marks *marks = NULL;
	struct ebt_error *err = r->sink->place ? place_hits(r) : NULL;

	err = err ?: marks_create(r->trace, &options, &marks);
	for (size_t i = 0; !err && i < marks_n(marks); i++)
		err = give_mark(r, marks, marks_at(marks, i));
	return err;
}

struct ebt_error *events_read_marks(struct trace *trace, const struct event_sink *sink)
{
	struct marks_reader r = { .trace = trace, .sink = sink };
	const struct ebt_reader *reader = trace_reader(trace);
	struct ebt_error *err;

	if (!ebt_reader_has_rows(reader, EBT_T_mark) &&
	    !ebt_reader_has_rows(reader, EBT_T_probe_hit))
		return NULL;
	err = give_marks(&r);
	ebt_map_deinit(&r.nodes);
	return err;
}

/* --- lines --- */

static void write_line(const struct ebt_row *row, struct text *text)
{
	const struct ebt_str domain = ebt_log_domain(row), message = ebt_log_message(row);
	const uint64_t cut = ebt_log_cut(row);

	text_clear(text);
	text_add(text, domain.data, domain.len);
	text_cstr(text, domain.len ? ": " : "");
	text_add(text, message.data, message.len);
	if (cut)
		text_printf(text, "… (%" PRIu64 " %s more)", cut,
			    text_plural(cut, "byte", "bytes"));
}

/* A track a thread and origin; of lines of nobody, one a process that they name. */
static void line_track(const struct ebt_row *row, struct text *text, struct event *event)
{
	const struct ebt_task *task = ebt_log_task(row);
	const uint64_t pid = task ? 0 : ebt_log_pid(row) << 1 | 1;
	const uint64_t who = task ? (uint64_t)task->id << 1 : pid;

	text_clear(text);
	text_cstr(text, ebt_row_value_name(row, EBT_F_log_origin) ?: "unknown");
	if (pid >> 1)
		text_printf(text, " of process %" PRIu64, pid >> 1);
	event->task = task;
	event->track = who << 8 | (ebt_log_origin(row) & 255);
	event->track_name = text_str(text);
}

static struct ebt_error *take_line(void *arg, const struct ebt_row *row)
{
	struct marks_reader *r = arg;
	const uint64_t late = ebt_log_late(row), severity = ebt_log_severity(row);
	const bool failed = severity <= EBT_V_log_severity_error;
	struct event event = {
		.kind = EVENT_LOG,
		.time = row->time > late ? row->time - late : 0,
		.value = (int64_t)severity,
		.name = ebt_str_of(ebt_row_value_name(row, EBT_F_log_severity) ?: "unknown"),
		.flags = failed ? EVENT_FAILED : 0,
		.notable = failed,
	};

	if (!trace_overlaps(r->trace, event.time, event.time))
		return NULL;
	line_track(row, &r->name, &event);
	write_line(row, &r->detail);
	event.detail = text_str(&r->detail);
	return text_error(&r->name) ?: text_error(&r->detail) ?: event_give(r->sink, &event);
}

struct ebt_error *events_read_logs(struct trace *trace, const struct event_sink *sink)
{
	struct marks_reader r = { .trace = trace, .sink = sink };
	struct ebt_error *err = trace_read_table(trace, EBT_T_log, TRACE_TO_END, take_line, &r);

	text_deinit(&r.name);
	text_deinit(&r.detail);
	return err;
}
