/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks one by one, in order of their beginning. */
#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#include "report/base/text.h"
#include "report/marks/arrange.h"
#include "report/marks/views.h"

#define MARKS(X)                                                                               \
	X("time_ns", "START", OUT_TIME, out_u64(mark->start), OUT_BEGINS)                      \
	X("duration_ns", "DURATION", OUT_DURATION, out_u64_if(!blank, mark_duration(mark)),    \
	  OUT_ENDS)                                                                            \
	X("cpu", "CPU", OUT_U64, out_u64_if(mark->cpu != UINT32_MAX, mark->cpu), OUT_OPTIONAL) \
	MARKS_COLUMNS(X)                                                                       \
	X("origin", NULL, OUT_STRING, out_cstr(mark_origin_name(mark->origin)), OUT_DETAIL)    \
	X("kind", NULL, OUT_STRING, out_cstr(mark_kind_name(mark)), OUT_DETAIL)

/* Which marks come in which order: all of them by start, but for --sort and --top. */
struct mark_order {
	const struct marks *marks;
	uint32_t *by_duration; /* NULL: by start */
	bool backwards;	       /* from the last to the first */
	bool done;	       /* there is no need to sort once more */
	size_t n;
};

static bool is_sort(const struct options *o, const char *name)
{
	return o->sort && !strncasecmp(o->sort, name, strlen(name)) &&
	       (!o->sort[strlen(name)] || !strcasecmp(o->sort + strlen(name), "_ns"));
}

/* By start and by duration, marks need not be rows to be sorted: millions of them fit. */
static struct ebt_error *order_init(struct mark_order *order, const struct options *o)
{
	bool duration = is_sort(o, "duration");
	size_t n;

	order->n = marks_n(order->marks);
	order->done = !o->sort || duration || is_sort(o, "time") || is_sort(o, "start");
	if (o->sort && order->done)
		order->backwards = duration == o->sort_reverse;
	if (order->done && o->top && o->top < order->n)
		order->n = o->top;
	return duration ? marks_longest(order->marks, false, &order->by_duration, &n) : NULL;
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

struct out_value marks_process(const struct ebt_task *task, struct text *text)
{
	struct ebt_str comm;

	if (!task)
		return out_null();
	comm = text_comm(task->comm);
	text_clear(text);
	text_add(text, comm.data, comm.len);
	text_printf(text, task->pid == task->tid ? " (%" PRIu32 ")" : " (%" PRIu32 "/%" PRIu32 ")",
		    task->pid, task->tid);
	return out_str(text_str(text));
}

static struct ebt_error *put(struct report *report, const struct marks *marks,
			     const struct mark *mark, struct text *process)
{
	const struct mark_name *name = marks_name(marks, mark->name);
	bool blank = mark->kind == MARK_INSTANT && out_format(report->out) == FORMAT_TABLE;
	struct ebt_error *err = out_row(report->out, 0, OUT_VALUES(MARKS));

	return err ? err : text_error(process);
}

static void order_deinit(struct mark_order *order)
{
	free(order->by_duration);
}

struct ebt_error *marks_table(struct report *report, const struct marks *marks)
{
	__attribute__((cleanup(order_deinit))) struct mark_order order = { .marks = marks };
	_cleanup_text_ struct text text = TEXT_INIT;
	struct out_table table = OUT_TABLE_OF("rows", MARKS, .flags = OUT_KEEP_ORDER);
	struct ebt_error *err = order_init(&order, report->options);

	if (err)
		return err;
	if (order.done && order.n > MARKS_MAX_KEPT)
		table.flags |= OUT_STREAM;
	return out_rows(report->out, &table, order.n, i,
			put(report, marks, order_at(&order, i), &text));
}
