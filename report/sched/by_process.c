/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport sched --by-process: figures of threads, added up; see views.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/out/histogram.h"
#include "report/out/out.h"
#include "report/procs/model_procs.h"
#include "report/sched/views.h"
#include "report/trace/task_groups.h"

struct process_sums {
	uint64_t run_ns, wait_ns, voluntary, involuntary, migrations;
	struct histogram latency;
	uint32_t threads;
	bool ran;
};

static void free_sums(struct process_sums *sums, size_t n)
{
	for (size_t i = 0; sums && i < n; i++)
		histogram_deinit(&sums[i].latency);
	free(sums);
}

static struct ebt_error *add(struct process_sums *sum, const struct schedstat_task *task)
{
	sum->run_ns += task->run_ns;
	sum->wait_ns += task->wait_ns;
	sum->voluntary += task->voluntary;
	sum->involuntary += task->involuntary;
	sum->migrations += task->migrations;
	sum->ran |= task->ran;
	sum->threads++;
	return histogram_merge(&sum->latency, &task->latency);
}

static const struct out_column columns[] = {
	{ "pid", "PID", OUT_U64, 0 },
	{ "comm", "COMM", OUT_STRING, OUT_FLEX },
	{ "thread_count", "THREADS", OUT_U64, OUT_OPTIONAL },
	{ "cpu_percent", "CPU-%", OUT_PERCENT, 0 },
	{ "run_ns", "RUN", OUT_DURATION, OUT_SORT },
	{ "wait_ns", "WAIT", OUT_DURATION, 0 },
	{ "prio", "PRIO", OUT_I64, 0 },
	{ "nice", "NICE", OUT_I64, OUT_OPTIONAL },
	{ "policy", "POLICY", OUT_STRING, OUT_OPTIONAL },
	{ "switches_voluntary", "VOL", OUT_U64, 0 },
	{ "switches_involuntary", "INVOL", OUT_U64, 0 },
	{ "migrations", "MIGR", OUT_U64, OUT_OPTIONAL },
	{ "latency_avg_ns", "LAT-AVG", OUT_DURATION, 0 },
	{ "latency_p99_ns", "P99", OUT_DURATION, OUT_OPTIONAL },
	{ "latency_max_ns", "MAX", OUT_DURATION, 0 },
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static struct ebt_error *put(struct out *out, const struct process_sums *sum,
			     const struct ebt_task *task, struct ebt_str name,
			     const struct proc_sched *sched)
{
	const double runnable = (double)sum->run_ns + (double)sum->wait_ns;
	const char *policy = sched && sched->known ? proc_policy(sched->policy) : NULL;

	return out_row(out, 0,
		       (struct out_value[]){
			       out_u64(task->pid),
			       out_str(name),
			       out_u64(sum->threads),
			       runnable > 0 ? out_f64(100.0 * (double)sum->run_ns / runnable)
					    : out_null(),
			       out_u64(sum->run_ns),
			       out_u64(sum->wait_ns),
			       policy ? out_i64(sched->prio) : out_null(),
			       policy ? out_i64(sched->nice) : out_null(),
			       out_cstr_if(policy),
			       out_u64(sum->voluntary),
			       out_u64(sum->involuntary),
			       out_u64(sum->migrations),
			       out_average(&sum->latency),
			       out_percentile(&sum->latency, 99),
			       out_maximum(&sum->latency),
		       });
}

static struct ebt_error *put_all(struct report *report, const struct process_sums *sums,
				 const struct task_groups *groups, const struct procs *procs,
				 bool all)
{
	static const struct out_table table = { .key = "rows",
						.columns = columns,
						.n_columns = N_COLUMNS };
	struct out *out = report->out;
	struct ebt_error *err = out_begin(out, &table);
	size_t n, n_procs, silent = 0;
	const struct proc *list = procs_all(procs, &n_procs);

	n = task_groups_n(groups);
	for (size_t i = 0; !err && i < n; i++) {
		const struct ebt_task *task = task_groups_task(groups, i);
		const uint32_t proc = task ? procs_of(procs, task) : PROC_NONE;

		if (!task)
			continue;
		if (!sums[i].ran && !sums[i].wait_ns && !all)
			silent++;
		else
			err = put(out, &sums[i], task, task_groups_name(groups, i),
				  proc == PROC_NONE ? NULL : &list[proc].sched);
	}
	if (!err)
		err = out_end(out);
	if (!err && silent)
		out_printf(out, "%zu processes never ran (--all shows them).\n", silent);
	return err;
}

struct ebt_error *sched_by_process(struct report *report, const struct schedstat *stat, bool all)
{
	_cleanup_(task_groups_destroyp) struct task_groups *groups = NULL;
	_cleanup_(procs_destroyp) struct procs *procs = NULL;
	/* No more processes than threads. */
	struct process_sums *sums = calloc((size_t)stat->n_tasks + 1, sizeof(*sums));
	struct ebt_error *err = sums ? NULL : &ebt_enomem;

	if (!err)
		err = task_groups_create(report->trace, false, &groups);
	if (!err)
		err = procs_create(report->trace, &procs);
	for (uint32_t i = 0; !err && i < stat->n_tasks; i++) {
		uint32_t group;

		if (!stat->tasks[i].task)
			continue;
		err = task_groups_of(groups, stat->tasks[i].task, &group);
		if (!err)
			err = add(&sums[group], &stat->tasks[i]);
	}
	if (!err)
		err = put_all(report, sums, groups, procs, all);
	free_sums(sums, (size_t)stat->n_tasks + 1);
	return err;
}
