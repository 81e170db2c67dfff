/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU time of the window; see cpu_time.h. */
#include "report/sched/cpu_time.h"

#include "report/sched/feed.h"

static struct ebt_error *on_run(void *arg, const struct sched_run *run)
{
	uint64_t *run_ns = arg;

	*run_ns += run->end - run->start;
	return NULL;
}

struct ebt_error *cpu_time_percent(struct trace *trace, double *ret)
{
	uint64_t run_ns = 0, from, to;
	const struct sched_feed feed = { .handler = { .run = on_run }, .arg = &run_ns };
	bool partial;
	struct ebt_error *err;

	*ret = -1;
	if (!ebt_reader_has_rows(trace_reader(trace), EBT_T_sched_switch))
		return NULL;
	err = sched_feed_run(trace, &feed, &partial);
	if (err)
		return err;
	sched_feed_bounds(trace, &from, &to);
	*ret = to > from ? 100.0 * (double)run_ns / (double)(to - from) : 0;
	return NULL;
}
