/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU time of the window; see cpu_time.h. */
#include "report/sched/cpu_time.h"

#include "report/sched/feed.h"

struct cpu_time {
	struct trace *trace;
	uint64_t run_ns;
};

static struct ebt_error *on_run(void *arg, const struct sched_run *run)
{
	struct cpu_time *c = arg;

	if (sched_feed_wanted(c->trace, run->task, run->cpu))
		c->run_ns += run->end - run->start;
	return NULL;
}

static struct ebt_error *on_off(void *arg, const struct sched_off *off)
{
	(void)arg;
	(void)off;
	return NULL;
}

struct ebt_error *cpu_time_percent(struct trace *trace, double *ret)
{
	struct cpu_time c = { .trace = trace };
	const struct sched_feed feed = {
		.handler = { .run = on_run, .off = on_off },
		.arg = &c,
	};
	uint64_t from, to;
	bool partial;
	struct ebt_error *err;

	*ret = -1;
	if (!ebt_reader_has_rows(trace_reader(trace), EBT_T_sched_switch))
		return NULL;
	err = sched_feed_run(trace, &feed, &partial);
	if (err)
		return err;
	sched_feed_bounds(trace, &from, &to);
	*ret = to > from ? 100.0 * (double)c.run_ns / (double)(to - from) : 0;
	return NULL;
}
