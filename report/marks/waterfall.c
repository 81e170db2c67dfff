/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks in order of time, a line each: nested, with a bar that says when. */
#include <inttypes.h>
#include <stdlib.h>

#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/marks/arrange.h"
#include "report/marks/views.h"

#define DEFAULT_WIDTH 100
#define MAX_OPEN      32 /* spans around a mark that are counted */
#define MAX_INDENT    16

/* Spans of a thread that the next mark may be in. */
struct around_it {
	uint64_t ends[MAX_OPEN];
	unsigned int n;
};

struct waterfall {
	struct report *report;
	const struct marks *marks;
	const struct names *names;
	bool *shown; /* by mark; NULL: all */
	uint64_t from, to;
	uint32_t slices; /* of the bars */
	struct around_it *threads;
	size_t n_threads, threads_capacity;
	struct ebt_map thread_at; /* by task id */
};

/* --- nesting --- */

static struct ebt_error *thread_of(struct waterfall *w, const struct ebt_task *task,
				   struct around_it **ret)
{
	uint64_t id = task ? task->id : UINT32_MAX;
	struct ebt_error *err;
	uint32_t i;

	err = ebt_map_element(&w->thread_at, id, &w->threads, &w->n_threads, &w->threads_capacity,
			      &i);
	if (!err)
		*ret = &w->threads[i];
	return err;
}

/* How many spans of its thread this one is wholly in. Marks come in order of their start. */
static struct ebt_error *find_depth(struct waterfall *w, const struct mark *mark, unsigned int *ret)
{
	struct around_it *thread;
	struct ebt_error *err = thread_of(w, mark->task, &thread);
	unsigned int n = 0, depth = 0;

	if (err)
		return err;
	for (unsigned int i = 0; i < thread->n; i++) {
		if (thread->ends[i] <= mark->start)
			continue;
		depth += thread->ends[i] >= mark->end;
		thread->ends[n++] = thread->ends[i];
	}
	if (mark->kind == MARK_SPAN && n < MAX_OPEN)
		thread->ends[n++] = mark->end;
	thread->n = n;
	*ret = depth;
	return NULL;
}

/* --- lines --- */

static uint32_t slice_of(const struct waterfall *w, uint64_t ns)
{
	uint64_t at = ns > w->from ? ns - w->from : 0;
	double share = (double)at / (double)(w->to - w->from);
	uint32_t slice = (uint32_t)((share < 1 ? share : 1) * w->slices);

	return slice < w->slices ? slice : w->slices - 1;
}

static void make_bar(const struct waterfall *w, const struct mark *mark, struct text *bar)
{
	uint32_t first = slice_of(w, mark->start), last = slice_of(w, mark->end);
	bool begins = mark->start >= w->from && !(mark->open & MARK_NO_BEGIN);
	bool ends = mark->end <= w->to && !(mark->open & MARK_NO_END);

	for (uint32_t i = 0; i < first; i++)
		text_addc(bar, ' ');
	if (mark->kind == MARK_INSTANT)
		text_addc(bar, '*');
	else if (first == last)
		text_addc(bar, '|');
	else {
		text_addc(bar, begins ? '[' : '=');
		for (uint32_t i = first + 1; i < last; i++)
			text_addc(bar, '=');
		text_addc(bar, ends ? ']' : '=');
	}
}

#define MARKS(X)                                                                                 \
	X("time_ns", "START", OUT_TIME, out_u64(mark->start))                                    \
	X("duration_ns", "DURATION", OUT_DURATION,                                               \
	  out_u64_if(mark->kind == MARK_SPAN, mark_duration(mark)))                              \
	X("level", NULL, OUT_U64, out_u64(depth), OUT_DETAIL)                                    \
	X("cpu", NULL, OUT_U64, out_u64_if(mark->cpu != UINT32_MAX, mark->cpu), OUT_DETAIL)      \
	X("pid", NULL, OUT_U64, out_pid(mark->task), OUT_DETAIL)                                 \
	X("tid", NULL, OUT_U64, out_tid(mark->task), OUT_DETAIL)                                 \
	X("comm", NULL, OUT_STRING,                                                              \
	  mark->task ? out_str(names_task(w->names, mark->task)) : out_null(), OUT_DETAIL)       \
	X("process", "PROCESS", OUT_STRING, marks_process(mark->task, &process),                 \
	  OUT_TEXT_ONLY | OUT_FLEX)                                                              \
	X("group", NULL, OUT_STRING, out_cstr(name->group), OUT_DETAIL)                          \
	X("name", NULL, OUT_STRING, out_cstr(name->name), OUT_DETAIL)                            \
	X("message", NULL, OUT_STRING, out_str(marks_message(w->marks, mark)), OUT_DETAIL)       \
	X("kind", NULL, OUT_STRING, out_cstr(mark_kind_name(mark)), OUT_DETAIL)                  \
	X("origin", NULL, OUT_STRING, out_cstr(mark_origin_name(mark->origin)), OUT_DETAIL)      \
	X("open", NULL, OUT_BOOL, out_u64(mark->open != 0), OUT_DETAIL)                          \
	X("mark", mark_header, OUT_STRING, out_cstr(text_get(&label)), OUT_TEXT_ONLY | OUT_FLEX) \
	X("bar", axis, OUT_STRING, out_cstr(text_get(&bar)), OUT_TEXT_ONLY)

static struct ebt_error *put_mark(const struct waterfall *w, const struct mark *mark,
				  unsigned int depth)
{
	const struct mark_name *name = marks_name(w->marks, mark->name);
	_cleanup_text_ struct text label = TEXT_INIT, process = TEXT_INIT, bar = TEXT_INIT;
	struct ebt_error *err;

	text_printf(&label, "%*s%s%s%s", (int)(depth < MAX_INDENT ? depth : MAX_INDENT) * 2, "",
		    name->group, name->group[0] ? "/" : "", name->name);
	make_bar(w, mark, &bar);
	err = out_row(w->report->out, 0, OUT_VALUES(MARKS));
	if (err)
		return err;
	return text_error(&label) || text_error(&process) || text_error(&bar) ? &ebt_enomem : NULL;
}

/* When the bars begin, and what a step is. */
static void make_axis(const struct waterfall *w, struct text *axis)
{
	const double length = (double)(w->to - w->from);
	const uint64_t offset = w->from - trace_start_ns(w->report->trace);

	for (uint32_t i = 0; i + 12 <= w->slices; i += 20) {
		_cleanup_text_ struct text label = TEXT_INIT;

		text_cstr(&label, "|");
		text_duration(&label, offset + (uint64_t)(length * i / (double)w->slices));
		while (text_columns(text_get(axis), axis->len) < i && !axis->failed)
			text_addc(axis, ' ');
		text_cstr(axis, text_get(&label));
	}
	while (text_columns(text_get(axis), axis->len) < w->slices && !axis->failed)
		text_addc(axis, ' ');
}

/* --- the longest --- */

/* --top: the longest ones, but in order of time. */
static struct ebt_error *choose(struct waterfall *w, uint64_t top)
{
	size_t n = marks_n(w->marks);
	_cleanup_free_ uint32_t *longest = NULL;
	struct ebt_error *err;

	if (!top || top >= n)
		return NULL;
	w->shown = calloc(n, sizeof(*w->shown));
	if (!w->shown)
		return &ebt_enomem;
	err = marks_longest(w->marks, false, &longest, &n);
	for (size_t i = 0; !err && i < top; i++)
		w->shown[longest[i]] = true;
	return err;
}

static struct ebt_error *put_table(struct waterfall *w, const char *axis)
{
	const bool kept =
		w->shown || w->report->options->sort || marks_n(w->marks) <= MARKS_MAX_KEPT;
	/* Columns of rows that nobody has seen yet are as wide as their header. */
	const char *mark_header = kept ? "MARK" : "MARK                        ";
	const struct out_table table =
		OUT_TABLE_OF("rows", MARKS, .flags = kept ? OUT_KEEP_ORDER : OUT_STREAM);
	struct ebt_error *err;

	err = out_begin(w->report->out, &table);
	for (size_t i = 0; !err && i < marks_n(w->marks); i++) {
		const struct mark *mark = marks_at(w->marks, i);
		unsigned int depth;

		err = find_depth(w, mark, &depth);
		if (!err && (!w->shown || w->shown[i]))
			err = put_mark(w, mark, depth);
	}
	return err ? err : out_end(w->report->out);
}

static void put_legend(struct out *out)
{
	out_printf(out, "\n");
	out_fill(
		out, "", 2,
		"[===]  a span, and |  one that is shorter than a column; *  an instant; without [ "
		"or ]: it began before, or ended behind");
}

struct ebt_error *marks_waterfall(struct report *report, const struct marks *marks)
{
	unsigned int width = out_width(report->out) ? out_width(report->out) : DEFAULT_WIDTH;
	struct waterfall w = { .report = report, .marks = marks };
	const size_t n = marks_n(marks), top = report->options->top;
	_cleanup_text_ struct text axis = TEXT_INIT;
	struct ebt_error *err = trace_names(report->trace, &w.names);

	w.slices = width > 90 ? width * 2 / 5 : 32;
	marks_extent(report->trace, marks, &w.from, &w.to);
	make_axis(&w, &axis);
	if (!err)
		err = text_error(&axis);
	if (!err)
		err = choose(&w, top);
	if (!err)
		err = put_table(&w, text_get(&axis));
	if (!err && n)
		put_legend(report->out);
	if (!err && top && top < n)
		out_printf(report->out, "The %zu longest of %zu (--top).\n", top, n);
	ebt_map_deinit(&w.thread_at);
	free(w.threads);
	free(w.shown);
	return err;
}
