/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks one by one, in order of their beginning. */
#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#include "report/base/text.h"
#include "report/marks/views.h"

enum {
	COL_TIME,
	COL_DURATION,
	COL_CPU,
	COL_PID,
	COL_TID,
	COL_PROCESS,
	COL_GROUP,
	COL_NAME,
	COL_MESSAGE,
	COL_OPEN,
	COL_COMM,
	COL_ORIGIN,
	COL_KIND,
	N_COLUMNS,
};

static const struct out_column columns[N_COLUMNS] = {
	[COL_TIME] = { "time_ns", "START", OUT_TIME, 0 },
	[COL_DURATION] = { "duration_ns", "DURATION", OUT_DURATION, 0 },
	[COL_CPU] = { "cpu", "CPU", OUT_U64, OUT_OPTIONAL },
	[COL_PID] = { "pid", NULL, OUT_U64, OUT_DETAIL },
	[COL_TID] = { "tid", NULL, OUT_U64, OUT_DETAIL },
	[COL_PROCESS] = { "process", "PROCESS", OUT_STRING, OUT_TEXT_ONLY | OUT_FLEX },
	[COL_GROUP] = { "group", "GROUP", OUT_STRING, OUT_FLEX },
	[COL_NAME] = { "name", "NAME", OUT_STRING, OUT_FLEX },
	[COL_MESSAGE] = { "message", "MESSAGE", OUT_STRING, OUT_FLEX },
	[COL_OPEN] = { "incomplete", "OPEN", OUT_STRING, OUT_OPTIONAL },
	[COL_COMM] = { "comm", NULL, OUT_STRING, OUT_DETAIL },
	[COL_ORIGIN] = { "origin", NULL, OUT_STRING, OUT_DETAIL },
	[COL_KIND] = { "kind", NULL, OUT_STRING, OUT_DETAIL },
};

/* Which marks come in which order: all of them by start, but for --sort and --top. */
struct mark_order {
	const struct marks *marks;
	uint32_t *by_duration; /* NULL: by start */
	bool backwards;	       /* from the last to the first */
	bool done;	       /* there is no need to sort once more */
	size_t n;
};

static int compare(const void *a, const void *b, void *arg)
{
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	uint64_t x = mark_duration(marks_at(arg, i)), y = mark_duration(marks_at(arg, k));

	return x != y ? (x < y ? 1 : -1) : (i > k) - (i < k);
}

static bool is_sort(const struct options *o, const char *name)
{
	return o->sort && !strncasecmp(o->sort, name, strlen(name)) &&
	       (!o->sort[strlen(name)] || !strcasecmp(o->sort + strlen(name), "_ns"));
}

/* By start and by duration, marks need not be rows to be sorted: millions of them fit. */
static struct ebt_error *order_init(struct mark_order *order, const struct options *o)
{
	bool duration = is_sort(o, "duration");

	order->n = marks_n(order->marks);
	order->done = !o->sort || duration || is_sort(o, "time") || is_sort(o, "start");
	if (o->sort && order->done)
		order->backwards = duration == o->sort_reverse;
	if (duration) {
		order->by_duration = calloc(order->n + 1, sizeof(*order->by_duration));
		if (!order->by_duration)
			return &ebt_enomem;
		for (size_t i = 0; i < order->n; i++)
			order->by_duration[i] = (uint32_t)i;
		qsort_r(order->by_duration, order->n, sizeof(*order->by_duration), compare,
			(void *)order->marks);
	}
	if (order->done && o->top && o->top < order->n)
		order->n = o->top;
	return NULL;
}

static const struct mark *order_at(const struct mark_order *order, size_t i)
{
	if (order->backwards)
		i = marks_n(order->marks) - 1 - i;
	return marks_at(order->marks, order->by_duration ? order->by_duration[i] : i);
}

struct out_value marks_open_text(const struct mark *mark)
{
	if (mark->open & MARK_NO_BEGIN)
		return out_cstr("no begin");
	if (mark->open & MARK_NO_END)
		return out_cstr("no end");
	return mark->open ? out_cstr("cut") : out_null();
}

void marks_process_text(const struct ebt_task *task, struct text *text)
{
	const struct ebt_str comm = text_comm(task->comm);

	text_clear(text);
	text_add(text, comm.data, comm.len);
	text_printf(text, task->pid == task->tid ? " (%" PRIu32 ")" : " (%" PRIu32 "/%" PRIu32 ")",
		    task->pid, task->tid);
}

static void set_task(const struct ebt_task *task, struct text *text, struct out_value *values)
{
	marks_process_text(task, text);
	values[COL_PROCESS] = out_str(text_str(text));
	values[COL_PID] = out_u64(task->pid);
	values[COL_TID] = out_u64(task->tid);
	values[COL_COMM] = out_str(task->comm);
}

static struct ebt_error *put(struct report *report, const struct marks *marks,
			     const struct mark *mark, struct text *text)
{
	const struct mark_name *name = marks_name(marks, mark->name);
	bool blank = mark->kind == MARK_INSTANT && out_format(report->out) == FORMAT_TABLE;
	struct out_value values[N_COLUMNS] = { [0 ... N_COLUMNS - 1] = { .null = true } };

	values[COL_TIME] = out_u64(mark->start);
	values[COL_DURATION] = blank ? out_null() : out_u64(mark_duration(mark));
	values[COL_CPU] = mark->cpu == UINT32_MAX ? out_null() : out_u64(mark->cpu);
	if (mark->task)
		set_task(mark->task, text, values);
	values[COL_GROUP] = out_cstr(name->group);
	values[COL_NAME] = out_cstr(name->name);
	values[COL_MESSAGE] = out_str(marks_message(marks, mark));
	values[COL_OPEN] = marks_open_text(mark);
	values[COL_ORIGIN] = out_cstr(mark_origin_name(mark->origin));
	values[COL_KIND] = out_cstr(mark->kind == MARK_SPAN ? "span" : "instant");
	return text_error(text) ? text_error(text) : out_row(report->out, 0, values);
}

static void order_deinit(struct mark_order *order)
{
	free(order->by_duration);
}

struct ebt_error *marks_table(struct report *report, const struct marks *marks)
{
	__attribute__((cleanup(order_deinit))) struct mark_order order = { .marks = marks };
	_cleanup_text_ struct text text = TEXT_INIT;
	struct out_table table = OUT_TABLE("rows", columns, .flags = OUT_KEEP_ORDER);
	struct ebt_error *err = order_init(&order, report->options);

	if (err)
		return err;
	if (order.done && order.n > MARKS_MAX_KEPT)
		table.flags |= OUT_STREAM;
	return out_rows(report->out, &table, order.n, i,
			put(report, marks, order_at(&order, i), &text));
}
