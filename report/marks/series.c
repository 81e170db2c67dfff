/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks of one name over time: how long each took, how long after the one before it began, and,
 * where it is known how often it should come, how much too late that was.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "report/base/figures.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/marks/counter_plot.h"
#include "report/marks/arrange.h"
#include "report/marks/views.h"
#include "report/out/histogram.h"
#include "format/base/array.h"

#define NO_GAP UINT64_MAX

/* The late ones are counted from 1 us to 10 s, by powers of ten. */
#define N_STEPS 8

struct series {
	struct report *report;
	const struct marks *marks;
	uint64_t expect; /* 0: nothing */
	uint64_t *gaps;	 /* of each mark, since the one before it began; NO_GAP: it is the first */
	uint64_t late[N_STEPS];
	uint64_t n_gaps, missed; /* how many would have fitted between two that are too far apart */
};

static void series_deinit(struct series *s)
{
	free(s->gaps);
}

/* --- gaps --- */

struct previous {
	struct marks_groups groups;
	uint64_t *starts; /* of the latest of each group */
	size_t n, capacity;
};

static void previous_deinit(struct previous *previous)
{
	marks_groups_deinit(&previous->groups);
	free(previous->starts);
}

static struct ebt_error *gap_of(struct previous *previous, const struct names *names,
				const struct mark *mark, uint64_t *ret)
{
	uint32_t i;
	struct ebt_error *err = marks_groups_find(&previous->groups, names, mark, &i);

	if (err)
		return err;
	err = ebt_array_reserve(&previous->starts, i, &previous->capacity);
	if (err)
		return err;
	*ret = NO_GAP;
	if (i < previous->n)
		*ret = mark->start - previous->starts[i];
	else
		previous->n++;
	previous->starts[i] = mark->start;
	return NULL;
}

static void count_gap(struct series *s, uint64_t gap)
{
	uint64_t step = 1000, periods;

	s->n_gaps++;
	if (!s->expect)
		return;
	for (size_t i = 0; i < N_STEPS; i++, step *= 10)
		s->late[i] += gap > s->expect && gap - s->expect > step;
	periods = gap / s->expect + (gap % s->expect >= s->expect - s->expect / 2);
	s->missed += periods > 1 ? periods - 1 : 0;
}

/* When a mark began is not known where its begin is not. */
static struct ebt_error *find_gaps(struct series *s, const struct names *names)
{
	__attribute__((cleanup(previous_deinit))) struct previous previous = { 0 };
	const size_t n = marks_n(s->marks);

	s->gaps = calloc(n + 1, sizeof(*s->gaps));
	if (!s->gaps)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++) {
		const struct mark *mark = marks_at(s->marks, i);
		struct ebt_error *err = NULL;

		s->gaps[i] = NO_GAP;
		if (!(mark->open & MARK_NO_BEGIN))
			err = gap_of(&previous, names, mark, &s->gaps[i]);
		if (err)
			return err;
		if (s->gaps[i] != NO_GAP)
			count_gap(s, s->gaps[i]);
	}
	return NULL;
}

/* --- one by one --- */

static struct out_value late_text(struct text *text, bool known, int64_t late)
{
	if (!known)
		return out_null();
	text_clear(text);
	text_addc(text, late < 0 ? '-' : '+');
	text_duration(text, late < 0 ? -(uint64_t)late : (uint64_t)late);
	return out_str(text_str(text));
}

#define MARKS(X)                                                                            \
	X("time_ns", "START", OUT_TIME, out_u64(mark->start))                               \
	X("duration_ns", "DURATION", OUT_DURATION, out_u64_if(!blank, mark_duration(mark))) \
	X("gap_ns", "GAP", OUT_DURATION, out_u64_if(gap != NO_GAP, gap))                    \
	X("late_ns", NULL, OUT_I64, timed ? out_i64(late) : out_null(), OUT_DETAIL)         \
	X("late_text", "LATE", OUT_STRING, late_text(late_cell, timed, late),               \
	  OUT_TEXT_ONLY | OUT_RIGHT)                                                        \
	MARKS_COLUMNS(X)

static struct ebt_error *put(const struct series *s, size_t i, struct text *process,
			     struct text *late_cell)
{
	const struct marks *marks = s->marks;
	const struct mark *mark = marks_at(marks, i);
	const struct mark_name *name = marks_name(marks, mark->name);
	bool blank = mark->kind != MARK_SPAN && out_format(s->report->out) == FORMAT_TABLE;
	bool timed = s->gaps[i] != NO_GAP && s->expect;
	uint64_t gap = s->gaps[i];
	int64_t late = (int64_t)(gap - s->expect);
	struct ebt_error *err = out_row(s->report->out, 0, OUT_VALUES(MARKS));

	if (err)
		return err;
	return text_error(late_cell) ? text_error(late_cell) : text_error(process);
}

static struct ebt_error *put_marks(const struct series *s)
{
	_cleanup_text_ struct text process = TEXT_INIT, late = TEXT_INIT;
	const struct options *o = s->report->options;
	struct out_table table = OUT_TABLE_OF("rows", MARKS, .flags = OUT_KEEP_ORDER);
	size_t n = marks_n(s->marks);

	if (!o->sort && o->top && o->top < n)
		n = o->top;
	if (!o->sort && n > MARKS_MAX_KEPT)
		table.flags |= OUT_STREAM;
	return out_rows(s->report->out, &table, n, i, put(s, i, &process, &late));
}

/* --- all together --- */

#define FIGURES(X)                                             \
	X("what", "", OUT_STRING, out_cstr(what))              \
	X("count", "COUNT", OUT_U64, out_u64(f.n))             \
	X("min_ns", "MIN", OUT_DURATION, out_u64(f.min))       \
	X("mean_ns", "AVG", OUT_DURATION, out_u64(f.mean))     \
	X("median_ns", "P50", OUT_DURATION, out_u64(f.median)) \
	X("p90_ns", "P90", OUT_DURATION, out_u64(f.p90))       \
	X("p99_ns", "P99", OUT_DURATION, out_u64(f.p99))       \
	X("max_ns", "MAX", OUT_DURATION, out_u64(f.max))

static struct ebt_error *put_figures(const struct series *s, const char *what, uint64_t *list,
				     size_t n)
{
	const struct figures f = figures_of(list, n);

	return n ? out_row(s->report->out, 0, OUT_VALUES(FIGURES)) : NULL;
}

/* Fills the list with durations, or gaps, that are known. */
static size_t collect(const struct series *s, bool gaps, uint64_t *list)
{
	size_t n = 0;

	for (size_t i = 0; i < marks_n(s->marks); i++) {
		const struct mark *mark = marks_at(s->marks, i);

		if (gaps && s->gaps[i] != NO_GAP)
			list[n++] = s->gaps[i];
		if (!gaps && mark->kind == MARK_SPAN && !mark->open)
			list[n++] = mark_duration(mark);
	}
	return n;
}

static struct ebt_error *put_all_figures(const struct series *s, uint64_t *list)
{
	const struct out_table table =
		OUT_TABLE_OF("figures", FIGURES, .flags = OUT_FIXED | OUT_KEEP_ORDER);
	struct ebt_error *err;

	out_printf(s->report->out, "\n");
	err = out_begin(s->report->out, &table);
	if (err)
		return err;
	err = put_figures(s, "duration", list, collect(s, false, list));
	if (err)
		return err;
	err = put_figures(s, "gap", list, collect(s, true, list));
	return err ? err : out_end(s->report->out);
}

#define LATE(X)                                              \
	X("over_ns", "LATE-BY", OUT_DURATION, out_u64(step)) \
	X("count", "COUNT", OUT_U64, out_u64(s->late[i]))    \
	X("percent", "%", OUT_PERCENT, out_f64(share))

static struct ebt_error *put_late(const struct series *s)
{
	const struct out_table table =
		OUT_TABLE_OF("late", LATE, .flags = OUT_FIXED | OUT_KEEP_ORDER);
	struct ebt_error *err;
	uint64_t step = 1000;

	if (!s->expect)
		return NULL;
	out_printf(s->report->out, "\n");
	err = out_begin(s->report->out, &table);
	for (size_t i = 0; i < N_STEPS && !err; i++, step *= 10) {
		double share = s->n_gaps ? (double)s->late[i] * 100 / (double)s->n_gaps : 0;

		err = out_row(s->report->out, 0, OUT_VALUES(LATE));
		if (!s->late[i])
			break;
	}
	if (!err)
		err = out_end(s->report->out);
	if (!err && out_json(s->report->out)) {
		json_put(out_json(s->report->out), "expect_ns", u64, s->expect);
		json_put(out_json(s->report->out), "missed", u64, s->missed);
	}
	if (!err && s->missed)
		out_printf(s->report->out, "%" PRIu64 " more would have fitted between them.\n",
			   s->missed);
	return err;
}

static struct ebt_error *put_histogram(const struct series *s, const char *key, const char *title,
				       const uint64_t *list, size_t n)
{
	struct histogram h = { 0 };
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < n && !err; i++)
		err = histogram_add(&h, list[i]);
	if (!err && n) {
		out_printf(s->report->out, "\n");
		err = out_histogram(s->report->out, key, title, &h, OUT_DURATION);
	}
	histogram_deinit(&h);
	return err;
}

/* --- drawn --- */

/* What was last, until there is something new. */
static void add_points(const struct series *s, bool gaps, struct counter *counter)
{
	for (size_t i = 0; i < marks_n(s->marks); i++) {
		const struct mark *mark = marks_at(s->marks, i);
		uint64_t value = gaps ? s->gaps[i] : mark_duration(mark);

		if (value == NO_GAP || (!gaps && (mark->kind != MARK_SPAN || mark->open)))
			continue;
		counter->points[counter->n_points++] =
			(struct out_point){ mark->start, (double)value / 1e9 };
	}
}

static struct ebt_error *plot(const struct series *s, bool gaps, const char *name)
{
	const size_t n = marks_n(s->marks);
	_cleanup_free_ struct out_point *points = calloc(n + 1, sizeof(*points));
	struct counter counter = { .name = (char *)name, .unit = (char *)"s", .points = points };
	const struct counter *const list = &counter;
	uint64_t from = trace_from_ns(s->report->trace), to = trace_to_ns(s->report->trace);

	if (!points)
		return &ebt_enomem;
	add_points(s, gaps, &counter);
	if (counter.n_points < 2)
		return NULL;
	if (from < points[0].time)
		from = points[0].time;
	if (to > points[counter.n_points - 1].time)
		to = points[counter.n_points - 1].time;
	out_printf(s->report->out, "\n");
	return counter_plot(s->report->out, s->report->trace, from, to, &list, 1);
}

static struct ebt_error *put_summary(const struct series *s)
{
	_cleanup_free_ uint64_t *list = calloc(marks_n(s->marks) + 1, sizeof(*list));
	struct ebt_error *err;

	if (!list)
		return &ebt_enomem;
	err = put_all_figures(s, list);
	if (err)
		return err;
	err = put_late(s);
	if (err)
		return err;
	if (out_format(s->report->out) == FORMAT_TABLE)
		err = plot(s, false, "duration");
	if (err)
		return err;
	if (out_format(s->report->out) == FORMAT_TABLE)
		err = plot(s, true, "gap");
	if (err)
		return err;
	err = put_histogram(s, "durations", "Durations:", list, collect(s, false, list));
	return err ? err
		   : put_histogram(s, "gaps", "From one beginning to the next:", list,
				   collect(s, true, list));
}

struct ebt_error *marks_series(struct report *report, const struct marks *marks)
{
	__attribute__((cleanup(series_deinit))) struct series s = {
		.report = report,
		.marks = marks,
		.expect = options_u64(report->options, "expect", 0),
	};
	const struct names *names;
	struct ebt_error *err;

	err = trace_names(report->trace, &names);
	if (err)
		return err;
	err = find_gaps(&s, names);
	if (err)
		return err;
	err = put_marks(&s);
	return err ? err : put_summary(&s);
}
