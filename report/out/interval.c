/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command for each interval of a trace; see interval.h. */
#include "report/out/interval.h"

#include <inttypes.h>

#include "report/base/text.h"
#include "report/out/out.h"
#include "report/trace/trace.h"

/* More tables than anybody reads, and each takes a look at the index of the trace. */
#define MAX_INTERVALS 10000

static struct ebt_error *too_many(uint64_t span, uint64_t interval)
{
	_cleanup_text_ struct text least = TEXT_INIT;
	uint64_t ns = span / MAX_INTERVALS + 1;

	text_duration(&least, ns);
	return ebt_error_create(EBT_ERR_INVALID,
				"--interval: %" PRIu64 " intervals are too many, %d is the most: "
				"choose more than %s, or less of the trace with --from and --to",
				span / interval + 1, MAX_INTERVALS, text_get(&least));
}

static struct ebt_error *run_window(struct report *report, uint64_t from, uint64_t to,
				    unsigned int place, uint64_t shown_to)
{
	struct ebt_error *err;

	trace_set_window(report->trace, from, to, place);
	out_interval_begin(report->out, from, shown_to);
	err = report->command->fn(report);
	if (!err)
		out_interval_end(report->out);
	return err;
}

/* The last interval ends with the trace; what happened at its very end belongs to it. */
struct ebt_error *interval_run(struct report *report)
{
	uint64_t interval = report->options->interval_ns;
	uint64_t from = trace_from_ns(report->trace), to = trace_to_ns(report->trace);
	uint64_t end = trace_window_end_ns(report->trace), n;
	struct ebt_error *err = NULL;

	if (!interval)
		return report->command->fn(report);
	n = end > from ? (end - from - 1) / interval + 1 : 0;
	if (!n && from == end)
		n = 1;
	if (n > MAX_INTERVALS)
		return too_many(end - from, interval);
	if (!n)
		err = trace_warn(report->trace, "the trace ends before --from: no intervals");
	out_intervals_begin(report->out);
	for (uint64_t i = 0; !err && i < n; i++) {
		bool first = i == 0, last = i == n - 1;
		uint64_t begin = from + i * interval, next = begin + interval;

		err = run_window(report, begin, last ? to : next,
				 (first ? TRACE_FIRST_WINDOW : 0) | (last ? TRACE_LAST_WINDOW : 0),
				 last ? end : next);
	}
	if (!err)
		out_intervals_end(report->out);
	return err;
}
