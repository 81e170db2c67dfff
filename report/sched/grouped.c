/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport sched --by: figures of threads, added up; see views.h. */
#include <inttypes.h>

#include "report/group/group.h"
#include "report/out/histogram.h"
#include "report/procs/model_procs.h"
#include "report/sched/views.h"

struct sched_sum {
	uint64_t threads, run_ns, wait_ns, voluntary, involuntary, migrations;
	struct histogram latency;
	const struct ebt_task *task; /* one of them */
	bool ran;
};

struct sched_view {
	const struct procs *procs;
	bool all;
};

static struct ebt_error *merge(void *to, const void *from)
{
	const struct sched_sum *f = from;
	struct sched_sum *t = to;

	t->threads += f->threads;
	t->run_ns += f->run_ns;
	t->wait_ns += f->wait_ns;
	t->voluntary += f->voluntary;
	t->involuntary += f->involuntary;
	t->migrations += f->migrations;
	t->ran |= f->ran;
	t->task = f->task;
	return histogram_merge(&t->latency, &f->latency);
}

static struct ebt_error *add_thread(void *arg, void *figures, uint32_t id)
{
	const struct schedstat_task *task = arg;
	const struct sched_sum sum = {
		1,
		task->run_ns,
		task->wait_ns,
		task->voluntary,
		task->involuntary,
		task->migrations,
		task->latency,
		task->task,
		task->ran,
	};

	(void)id;
	return merge(figures, &sum);
}

static void deinit(void *figures)
{
	struct sched_sum *sum = figures;

	histogram_deinit(&sum->latency);
}

static bool is_silent(const struct sched_sum *sum)
{
	return !sum->ran && !sum->wait_ns;
}

static bool hidden(const struct grouping *g, const void *figures)
{
	const struct sched_view *v = grouping_arg(g);

	return is_silent(figures) && !v->all;
}

/* --- columns --- */

/* NULL: not known. */
static const struct proc_sched *sched_of(const struct grouping *g, const struct sched_sum *sum)
{
	const struct sched_view *v = grouping_arg(g);
	uint32_t i = procs_of(v->procs, sum->task);
	const struct proc_sched *sched;
	size_t n;

	if (i == PROC_NONE)
		return NULL;
	sched = &procs_all(v->procs, &n)[i].sched;
	return sched->known && proc_policy(sched->policy) ? sched : NULL;
}

#define SUMS(X)                                                                        \
	X("thread_count", "THREADS", OUT_U64, out_u64(sum->threads), OUT_OPTIONAL)     \
	X("cpu_percent", "CPU-%", OUT_PERCENT,                                         \
	  runnable > 0 ? out_f64(100.0 * (double)sum->run_ns / runnable) : out_null()) \
	X("run_ns", "RUN", OUT_DURATION, out_u64(sum->run_ns), OUT_SORT)               \
	X("wait_ns", "RUNQUEUE", OUT_DURATION, out_u64(sum->wait_ns))

/* Only a process has one priority. */
#define PRIORITY(X)                                                                         \
	X("prio", "PRIO", OUT_I64, sched ? out_i64(sched->prio) : out_null())               \
	X("nice", "NICE", OUT_I64, sched ? out_i64(sched->nice) : out_null(), OUT_OPTIONAL) \
	X("policy", "POLICY", OUT_STRING,                                                   \
	  sched ? out_cstr(proc_policy(sched->policy)) : out_null(), OUT_OPTIONAL)

#define COUNTS(X)                                                                       \
	X("switches_voluntary", "VOL", OUT_U64, out_u64(sum->voluntary))                \
	X("switches_involuntary", "INVOL", OUT_U64, out_u64(sum->involuntary))          \
	X("migrations", "MIGR", OUT_U64, out_u64(sum->migrations), OUT_OPTIONAL)        \
	X("latency_avg_ns", "LAT-AVG", OUT_DURATION, out_average(&sum->latency))        \
	X("latency_p99_ns", "LAT-P99", OUT_DURATION, out_percentile(&sum->latency, 99), \
	  OUT_OPTIONAL)                                                                 \
	X("latency_max_ns", "LAT-MAX", OUT_DURATION, out_maximum(&sum->latency))

#define OF_PROCESS(X) SUMS(X) PRIORITY(X) COUNTS(X)
#define OF_OTHERS(X)  SUMS(X) COUNTS(X)

static void put_process(const struct grouping *g, const void *figures, struct out_value *values)
{
	const struct sched_sum *sum = figures;
	const struct proc_sched *sched = sched_of(g, sum);
	const double runnable = (double)sum->run_ns + (double)sum->wait_ns;

	GROUP_PUT(values, OF_PROCESS);
}

static void put_others(const struct grouping *g, const void *figures, struct out_value *values)
{
	const struct sched_sum *sum = figures;
	const double runnable = (double)sum->run_ns + (double)sum->wait_ns;

	(void)g;
	GROUP_PUT(values, OF_OTHERS);
}

static const struct group_columns of_process = GROUP_COLUMNS(OF_PROCESS, put_process);
static const struct group_columns of_others = GROUP_COLUMNS(OF_OTHERS, put_others);

static const struct group_table table = {
	.keys = GROUP_TASK_KEYS,
	.by = "process",
	.of_tasks = true,
	.columns = &of_others,
	.size = sizeof(struct sched_sum),
	.merge = merge,
	.deinit = deinit,
	.hidden = hidden,
};

static struct ebt_error *add_threads(struct grouping *g, const struct schedstat *stat)
{
	for (size_t i = 0; i < stat->n_tasks; i++) {
		struct schedstat_task *task = &stat->tasks[i];
		struct ebt_error *err;

		if (!task->task)
			continue;
		err = grouping_add(g, &(struct group_row){ .task = task->task }, add_thread, task);
		if (err)
			return err;
	}
	return NULL;
}

struct ebt_error *sched_grouped(struct report *report, const struct schedstat *stat, bool all)
{
	_cleanup_(grouping_destroyp) struct grouping *g = NULL;
	_cleanup_(procs_destroyp) struct procs *procs = NULL;
	struct sched_view v = { .all = all };
	size_t silent = 0;
	struct ebt_error *err;

	err = procs_create(report->trace, 0, &procs);
	if (err)
		return err;
	v.procs = procs;
	err = grouping_create(report, &table, &v, NULL, &g);
	if (err)
		return err;
	if (grouping_keys(g) == 1u << GROUP_PROCESS)
		grouping_set_columns(g, &of_process);
	err = add_threads(g, stat) ?: grouping_put(g);
	for (uint32_t i = 0; !all && i < grouping_n(g); i++)
		silent += is_silent(grouping_figures(g, i));
	if (!err && silent)
		out_printf(report->out, "%zu %s never ran (--all shows them).\n", silent,
			   grouping_keys(g) == 1u << GROUP_PROCESS ? "processes" : "groups");
	return err;
}
