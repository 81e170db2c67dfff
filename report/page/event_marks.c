/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs and probes say, in a page: marks and lines of logs. */
#include "report/page/events.h"

#include <inttypes.h>

#include "format/base/map.h"
#include "report/marks/model_marks.h"
#include "report/page/private.h"

/* Hits of probes whose stacks are kept until their marks come. */
#define MOST_HITS 1000000

struct marks_reader {
	struct page *page;
	struct page_events *events;
	struct ebt_map nodes; /* hit_key() to a node of the tree */
	uint64_t left_out;    /* hits whose stacks are not there */
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
	err = calltree_place(why_graph_tree(r->page->why->graph), &stack, &node);
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
static struct ebt_error *put_mark(struct marks_reader *r, const struct marks *marks,
				  const struct mark *mark)
{
	const struct mark_name *name = marks_name(marks, mark->name);
	const uint64_t thread = mark->task ? mark->task->id + 1ull : 0;
	struct page_event event = {
		.time = mark->start,
		.dur = mark_duration(mark),
		.node = node_of(r, mark),
		.flags = mark->open ? EVENT_OPEN : 0,
	};
	struct ebt_error *err =
		page_events_track(r->events, PAGE_MARK, thread << 32 | name->group_id, mark->task,
				  (struct ebt_str){ name->group, strlen(name->group) },
				  &event.track)
			?: page_events_cstr(r->events, name->name, &event.name)
			?: page_events_text(r->events, marks_message(marks, mark), &event.detail);

	return err ? err : page_events_add(r->events, PAGE_MARK, &event);
}

static struct ebt_error *put_marks(struct marks_reader *r)
{
	static const struct ebt_want want = EBT_WANT(probe_hit, task, ustack);
	const struct marks_options options = { .messages = true };
	_cleanup_(marks_destroyp) struct marks *marks = NULL;
	struct ebt_error *err = trace_read_rows(r->page->trace, &want, 1,
						TRACE_FROM_START | TRACE_TO_END, take_hit, r)
					?: marks_create(r->page->trace, &options, &marks);

	if (!err && r->left_out)
		err = trace_warn(r->page->trace,
				 "the page has the stacks of the first %d hits of probes: %" PRIu64
				 " more are left out",
				 MOST_HITS, r->left_out);
	for (size_t i = 0; !err && i < marks_n(marks); i++)
		err = put_mark(r, marks, marks_at(marks, i));
	return err;
}

struct ebt_error *page_read_marks(struct page *page, struct page_events *events)
{
	struct marks_reader r = { .page = page, .events = events };
	const struct ebt_reader *reader = trace_reader(page->trace);
	struct ebt_error *err;

	if (!ebt_reader_has_rows(reader, EBT_T_mark) &&
	    !ebt_reader_has_rows(reader, EBT_T_probe_hit))
		return NULL;
	err = put_marks(&r);
	ebt_map_deinit(&r.nodes);
	return err;
}

/* --- lines --- */

static struct ebt_error *line_text(const struct ebt_row *row, struct text *text)
{
	const struct ebt_str domain = ebt_log_domain(row), message = ebt_log_message(row);
	const uint64_t cut = ebt_log_cut(row);

	text_add(text, domain.data, domain.len);
	text_cstr(text, domain.len ? ": " : "");
	text_add(text, message.data, message.len);
	if (cut)
		text_printf(text, "… (%" PRIu64 " %s more)", cut,
			    text_plural(cut, "byte", "bytes"));
	return text_error(text);
}

/* A track a thread and origin; of lines of nobody, one a process that they name. */
static struct ebt_error *line_track(struct page_events *events, const struct ebt_row *row,
				    uint32_t *ret)
{
	const struct ebt_task *task = ebt_log_task(row);
	const uint64_t pid = task ? 0 : ebt_log_pid(row) << 1 | 1;
	const uint64_t who = task ? (uint64_t)task->id << 1 : pid;
	_cleanup_text_ struct text name = TEXT_INIT;

	text_cstr(&name, page_value_name(row, EBT_F_log_origin) ?: "unknown");
	if (pid >> 1)
		text_printf(&name, " of process %" PRIu64, pid >> 1);
	return text_error(&name)
		       ?: page_events_track(events, PAGE_LOG,
					    who << 8 | (ebt_log_origin(row) & 255), task,
					    text_str(&name), ret);
}

static struct ebt_error *take_line(void *arg, const struct ebt_row *row)
{
	struct marks_reader *r = arg;
	const uint64_t late = ebt_log_late(row), severity = ebt_log_severity(row);
	_cleanup_text_ struct text text = TEXT_INIT;
	struct page_event event = {
		.time = row->time > late ? row->time - late : 0,
		.value = (int64_t)severity,
		.flags = severity <= EBT_V_log_severity_error ? EVENT_FAILED : 0,
		.notable = severity <= EBT_V_log_severity_error,
	};
	struct ebt_error *err;

	if (!trace_overlaps(r->page->trace, event.time, event.time))
		return NULL;
	err = line_track(r->events, row, &event.track)
		      ?: page_events_cstr(r->events,
					  page_value_name(row, EBT_F_log_severity) ?: "unknown",
					  &event.name)
		      ?: line_text(row, &text)
		      ?: page_events_text(r->events, text_str(&text), &event.detail);
	return err ? err : page_events_add(r->events, PAGE_LOG, &event);
}

struct ebt_error *page_read_logs(struct page *page, struct page_events *events)
{
	struct marks_reader r = { .page = page, .events = events };

	return trace_read_table(page->trace, EBT_T_log, TRACE_TO_END, take_line, &r);
}
