/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which view of marks is asked for; see choice.h. */
#include "report/marks/choice.h"

const char *const marks_scopes[] = { "thread", "process", "system", NULL };

static unsigned int n_views(const struct options *o)
{
	return options_flag(o, "waterfall") + options_flag(o, "chart") +
	       (options_string(o, "around") != NULL);
}

/* One view, and with it only what it knows. */
static struct ebt_error *check_options(const struct report *report)
{
	const struct options *o = report->options;
	bool picture = options_flag(o, "chart") || options_flag(o, "flame");
	bool around = options_string(o, "around") != NULL;
	unsigned int forms = options_flag(o, "flame") + options_flag(o, "folded") +
			     (options_u64(o, "slowest", 0) != 0);

	if (n_views(o) > 1)
		return ebt_error_create(EBT_ERR_INVALID,
					"--waterfall, --chart and --around exclude each other");
	if (forms > around || (!around && options_string(o, "around-scope")))
		return ebt_error_create(EBT_ERR_INVALID,
					"--around-scope, --slowest, --flame and --folded go with "
					"--around NAME, and of the last three one at a time");
	if (around && options_string(o, "name"))
		return ebt_error_create(EBT_ERR_INVALID,
					"--around names the marks: leave out --name");
	if ((picture || options_flag(o, "folded")) && o->format != FORMAT_TABLE)
		return ebt_error_create(EBT_ERR_INVALID,
					"--chart, --flame and --folded have a form of their own: "
					"use them without --json and --csv");
	if (picture && out_is_terminal(report->out))
		return ebt_error_create(EBT_ERR_INVALID,
					"a picture does not go to a terminal: name a file with -o "
					"FILE");
	if (o->interval_ns && n_views(o))
		return ebt_error_create(EBT_ERR_INVALID,
					"--interval is for tables of marks: --waterfall, --chart "
					"and --around are of a whole window");
	return NULL;
}

struct ebt_error *marks_choose_view(struct report *report, struct marks_options *query,
				    marks_view_fn **view)
{
	const struct options *o = report->options;
	struct ebt_error *err = check_options(report);

	if (err)
		return err;
	if (n_views(o) && *view != marks_table)
		return ebt_error_create(EBT_ERR_INVALID,
					"--summary, --series, --waterfall, --chart and --around "
					"exclude each other");
	if (options_flag(o, "waterfall"))
		*view = marks_waterfall;
	if (options_flag(o, "chart"))
		*view = marks_chart;
	if (options_string(o, "around")) {
		query->name = options_string(o, "around");
		*view = marks_around;
	}
	return NULL;
}

void marks_extent(const struct trace *trace, const struct marks *marks, uint64_t *ret_from,
		  uint64_t *ret_to)
{
	uint64_t from = UINT64_MAX, to = 0;

	for (size_t i = 0; i < marks_n(marks); i++) {
		const struct mark *mark = marks_at(marks, i);

		from = mark->start < from ? mark->start : from;
		to = mark->end > to ? mark->end : to;
	}
	if (from < trace_from_ns(trace))
		from = trace_from_ns(trace);
	if (to > trace_to_ns(trace))
		to = trace_to_ns(trace);
	if (!marks_n(marks)) {
		from = trace_from_ns(trace);
		to = trace_to_ns(trace);
	}
	if (from >= to) {
		from = from < UINT64_MAX ? from : UINT64_MAX - 1;
		to = from + 1;
	}
	*ret_from = from;
	*ret_to = to;
}
