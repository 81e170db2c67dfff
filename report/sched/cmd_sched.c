/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport sched`: what the scheduler did with each task and each CPU. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/base/names.h"
#include "report/cli/command.h"
#include "report/group/group.h"
#include "report/out/histogram.h"
#include "report/sched/feed.h"
#include "report/sched/model_schedstat.h"
#include "report/sched/timeline.h"
#include "report/sched/views.h"

struct sched_command {
	struct trace *trace;
	struct schedstat stat;
	struct cpu_timeline *timeline; /* NULL: not asked for */
	bool known;		       /* somebody would have seen switches */
};

/* --- reading --- */

static struct ebt_error *on_run(void *arg, const struct sched_run *run)
{
	struct sched_command *c = arg;

	if (!c->timeline)
		return schedstat_run(&c->stat, run);
	return trace_cpu_wanted(c->trace, run->cpu)
		       ? timeline_run(c->timeline, run,
				      sched_feed_wanted(c->trace, run->task, run->cpu))
		       : NULL;
}

static struct ebt_error *on_off(void *arg, const struct sched_off *off)
{
	struct sched_command *c = arg;

	return c->timeline ? NULL : schedstat_off(&c->stat, off);
}

static struct ebt_error *on_switch(struct sched_command *c, const struct ebt_row *row)
{
	uint64_t cpu = ebt_sched_switch_cpu(row);
	const struct ebt_task *prev = ebt_sched_switch_prev(row);

	if (!trace_cpu_wanted(c->trace, cpu))
		return NULL;
	if (trace_has_task_filter(c->trace) && !trace_task_wanted(c->trace, prev) &&
	    !trace_task_wanted(c->trace, ebt_sched_switch_next(row)))
		return NULL;
	return schedstat_switch(&c->stat, cpu);
}

static struct ebt_error *on_row(void *arg, const struct ebt_row *row)
{
	struct sched_command *c = arg;
	const struct ebt_task *task;
	uint64_t cpu;

	switch (row->batch->table->id) {
	case EBT_T_sched_switch:
		return on_switch(c, row);
	case EBT_T_sched_migrate:
		task = ebt_sched_migrate_task(row);
		cpu = ebt_sched_migrate_dest_cpu(row);
		if (!task || !sched_feed_wanted(c->trace, task, (uint32_t)cpu))
			return NULL;
		return schedstat_migrate(&c->stat, task);
	default:
		if (!c->known || !trace_task_wanted(c->trace, schedstat_kernel_task(row)))
			return NULL;
		return schedstat_kernel(&c->stat, row);
	}
}

/* Is it the whole recording? Then what the kernel counts has been read a little before. */
static bool is_whole(const struct trace *trace)
{
	return !trace_is_part(trace) && trace_from_ns(trace) == trace_start_ns(trace) &&
	       trace_to_ns(trace) > trace_end_ns(trace) && !trace_has_cpu_filter(trace);
}

static struct ebt_error *on_row_before(void *arg, const struct ebt_row *row)
{
	struct sched_command *c = arg;
	const struct ebt_task *task;

	if (!c->known || !is_whole(c->trace))
		return NULL;
	task = row->batch->table->id == EBT_T_sched_switch ? ebt_sched_switch_next(row)
							   : schedstat_kernel_task(row);
	if (!task || !trace_task_wanted(c->trace, task))
		return NULL;
	return row->batch->table->id == EBT_T_sched_switch ? schedstat_ran_before(&c->stat, task)
							   : schedstat_kernel(&c->stat, row);
}

/* --- tables --- */

#define TASKS(X)                                                                                   \
	X("tid", "TID", OUT_U64, out_u64(task->task->tid), OUT_KEY)                                \
	X("pid", "PID", OUT_U64, out_u64(task->task->pid), OUT_KEY, 102)                           \
	X("comm", "COMM", OUT_STRING, out_str(names_task(names, task->task)), OUT_FLEX | OUT_KEY)  \
	X("run_ns", "RUN", OUT_DURATION, out_u64(task->run_ns), OUT_SORT | OUT_ADDS)               \
	X("wait_ns", "RUNQUEUE", OUT_DURATION, out_u64(task->wait_ns), OUT_ADDS)                   \
	X("switches_voluntary", "VOL", OUT_U64, out_u64(task->voluntary), OUT_ADDS)                \
	X("switches_involuntary", "INVOL", OUT_U64, out_u64(task->involuntary), OUT_ADDS)          \
	X("migrations", "MIGR", OUT_U64, out_u64(task->migrations), OUT_ADDS, 85)                  \
	X("latency_avg_ns", "LAT-AVG", OUT_DURATION, out_average(latency), OUT_MEAN,               \
	  .of = "latency_p50_ns")                                                                  \
	X("latency_p50_ns", "LAT-P50", OUT_DURATION, out_percentile(latency, 50), OUT_SPREAD, 112, \
	  .percent = 50)                                                                           \
	X("latency_p99_ns", "LAT-P99", OUT_DURATION, out_percentile(latency, 99), OUT_SPREAD,      \
	  .of = "latency_p50_ns", .percent = 99)                                                   \
	X("latency_max_ns", "LAT-MAX", OUT_DURATION, out_maximum(latency), OUT_PEAK)               \
	X("latency_max_at_ns", "LAT-MAX-AT", OUT_TIME, out_u64_if(waited, task->max_latency_at),   \
	  OUT_AT | OUT_LAST, 95, .of = "latency_max_ns")                                           \
	X("latency_max_doubtful", "?", OUT_BOOL, out_u64_if(waited, task->max_doubtful),           \
	  OUT_DETAIL | OUT_AT | OUT_LAST, .of = "latency_max_ns")                                  \
	X("latency_count", "WAITS", OUT_U64, out_u64(latency->count), OUT_DETAIL | OUT_ADDS)       \
	X("run_avg_ns", "RUN-AVG", OUT_DURATION,                                                   \
	  ran ? out_u64(task->runs_ns / task->runs) : out_null(), 0, 132)                          \
	X("run_max_ns", "RUN-MAX", OUT_DURATION, out_u64_if(ran, task->max_run_ns), OUT_PEAK, 132) \
	X("sleep_ns", "SLEEP", OUT_DURATION, out_u64(task->blocked_ns[SCHED_SLEEP]), OUT_DETAIL)   \
	X("disk_ns", "DISK", OUT_DURATION, out_u64(task->blocked_ns[SCHED_DISK]), OUT_DETAIL)      \
	X("blocked_other_ns", "OTHER", OUT_DURATION, out_u64(other), OUT_DETAIL)                   \
	X("kernel_run_ns", "KERNEL", OUT_DURATION,                                                 \
	  out_u64_if(kernel, task->kernel_ns - task->kernel_before_ns), OUT_DETAIL)                \
	X("open", "OPEN", OUT_BOOL, out_u64(task->open), OUT_DETAIL)

/* whole: no part of the trace was left out, so that the kernel's figures are of the same time. */
static struct ebt_error *put_task(struct out *out, const struct schedstat_task *task,
				  const struct names *names, bool whole)
{
	const struct histogram *latency = &task->latency;
	bool waited = latency->count > 0, ran = task->runs > 0;
	bool kernel = whole && task->kernel_known;
	uint64_t other = 0;

	for (int why = SCHED_DISK + 1; why < SCHED_N_WHYS; why++)
		other += task->blocked_ns[why];
	return out_row(out, 0, OUT_VALUES(TASKS));
}

static struct ebt_error *put_tasks(struct sched_command *c, struct out *out, bool all)
{
	const struct out_table table = OUT_TABLE_OF("rows", TASKS);
	const struct names *names;
	const bool whole = is_whole(c->trace);
	uint64_t silent = 0;
	struct ebt_error *err;

	err = trace_names(c->trace, &names) ?:
	      trace_find_kernel_threads(c->trace) ?:
	      out_begin(out, &table);
	for (uint32_t i = 0; !err && i < c->stat.n_tasks; i++) {
		const struct schedstat_task *task = &c->stat.tasks[i];

		if (!task->task || trace_leaves_out(c->trace, task->task))
			continue;
		/* Off CPU throughout: of a whole system, those would be most of the rows. */
		if (!task->ran && !task->wait_ns && !all)
			silent++;
		else
			err = put_task(out, task, names, whole);
	}
	if (!err)
		err = out_end(out);
	if (!err && silent)
		out_printf(out, "%" PRIu64 " %s never ran (--all shows %s).\n", silent,
			   text_plural(silent, "thread", "threads"),
			   text_plural(silent, "it", "them"));
	return err;
}

#define CPUS(X)                                                                             \
	X("cpu", "CPU", OUT_U64, out_u64(i), OUT_KEY)                                       \
	X("busy_ns", "BUSY", OUT_DURATION, out_u64(cpu->busy_ns), OUT_ADDS)                 \
	X("busy_percent", "BUSY-%", OUT_PERCENT, out_f64(share), OUT_RATE, .of = "busy_ns") \
	X("switches", "SWITCHES", OUT_U64, out_u64(cpu->switches), OUT_ADDS)

static struct ebt_error *put_cpus(struct sched_command *c, struct out *out, bool partial)
{
	const struct out_table table = OUT_TABLE_OF(
		"cpus", CPUS,
		.title =
			partial ? "\nCPUs (time of recorded processes, others are not in the trace)"
				: "\nCPUs",
		.flags = OUT_FIXED | OUT_KEEP_ORDER);
	uint64_t from, to;
	double span;
	struct ebt_error *err;

	sched_feed_bounds(c->trace, &from, &to);
	span = (double)(to - from);
	err = out_begin(out, &table);
	for (uint32_t i = 0; !err && i < c->stat.n_cpus; i++) {
		const struct schedstat_cpu *cpu = &c->stat.cpus[i];
		double share = span > 0 ? 100.0 * (double)cpu->busy_ns / span : 0;

		if (cpu->seen)
			err = out_row(out, 0, OUT_VALUES(CPUS));
	}
	return err ? err : out_end(out);
}

/* --- histograms --- */

static struct ebt_error *put_histograms(struct sched_command *c, struct out *out)
{
	struct histogram latency = { 0 };
	struct ebt_error *err = NULL;

	for (uint32_t i = 0; !err && i < c->stat.n_tasks; i++)
		err = histogram_merge(&latency, &c->stat.tasks[i].latency);
	if (!err)
		err = out_histogram(out, "latency_histogram", "\nRun-queue latency", &latency,
				    OUT_DURATION);
	if (!err)
		err = out_histogram(out, "run_histogram", "\nTime on CPU at a stretch",
				    &c->stat.run, OUT_DURATION);
	histogram_deinit(&latency);
	return err;
}

/* --- the command --- */

static struct ebt_error *prepare_timeline(struct report *report, struct sched_command *c)
{
	uint64_t from, to;

	if (!options_flag(report->options, "timeline"))
		return NULL;
	if (out_format(report->out) != FORMAT_TABLE)
		return ebt_error_create(EBT_ERR_INVALID,
					"--timeline is text: use it without --json and --csv");
	if (report->options->interval_ns)
		return ebt_error_create(
			EBT_ERR_INVALID,
			"--timeline shows time by itself: --interval does not apply");
	sched_feed_bounds(report->trace, &from, &to);
	if (to == from)
		return NULL;
	return timeline_create(from, to, out_width(report->out), &c->timeline);
}

/* The table of threads has more to say of each. */
static bool by_thread(const struct options *o)
{
	const char *by = options_string(o, "by");

	return !by || !strcmp(by, "thread") || !strcmp(by, "task");
}

static struct ebt_error *put_rows(struct report *report, struct sched_command *c)
{
	const bool all = options_flag(report->options, "all");

	return by_thread(report->options) ? put_tasks(c, report->out, all)
					  : sched_grouped(report, &c->stat, all);
}

static struct ebt_error *check_options(const struct options *o)
{
	if (options_flag(o, "tree") && (options_string(o, "by") || options_flag(o, "histogram") ||
					options_flag(o, "timeline")))
		return ebt_error_create(EBT_ERR_INVALID, "--tree does not go with --by, "
							 "--histogram and --timeline");
	if (options_flag(o, "irq") && (options_string(o, "by") || options_flag(o, "histogram") ||
				       options_flag(o, "timeline") || options_flag(o, "tree")))
		return ebt_error_create(EBT_ERR_INVALID, "--irq does not go with --by, "
							 "--histogram, --timeline and --tree");
	if (options_flag(o, "tree") && o->sort)
		return ebt_error_create(EBT_ERR_INVALID,
					"--tree has those with most wake-ups first: --sort does "
					"not apply");
	return NULL;
}

static struct ebt_error *run_sched(struct report *report)
{
	static const struct ebt_want wants[] = {
		EBT_WANT(sched_migrate, task, dest_cpu),
	};
	struct sched_command c = { .trace = report->trace };
	struct sched_feed feed = {
		.handler = { .run = on_run, .off = on_off },
		.row = on_row,
		.before = on_row_before,
		.arg = &c,
		.wants = wants,
		.n_wants = 1,
	};
	_cleanup_(timeline_destroyp) struct cpu_timeline *timeline = NULL;
	struct out *out = report->out;
	bool partial;
	struct ebt_error *err;

	err = check_options(report->options);
	if (!err && options_flag(report->options, "tree"))
		return sched_tree(report);
	if (!err && options_flag(report->options, "irq"))
		return sched_irq(report);
	if (!err)
		err = prepare_timeline(report, &c);
	timeline = c.timeline;
	feed.all = timeline != NULL;
	if (!err)
		err = sched_is_known(report->trace, &c.known)
			      ?: sched_feed_run(report->trace, &feed, &partial);
	if (!err && timeline) {
		err = timeline_put(timeline, out, report->trace, partial);
	} else if (!err) {
		err = put_rows(report, &c) ?: put_cpus(&c, out, partial);
		if (!err && options_flag(report->options, "histogram"))
			err = put_histograms(&c, out);
	}
	schedstat_deinit(&c.stat);
	return err;
}

static const struct option_def sched_options[] = {
	GROUP_BY_OPTION("thread"),
	{ "by-process", OPTION_GONE, NULL, "--by process" },
	{ "tree", OPTION_FLAG, NULL, "instead: who woke whom, and how long that took" },
	{ "irq", OPTION_FLAG, NULL, "instead: time that interrupts took, timers, work items" },
	{ "histogram", OPTION_FLAG, NULL, "also: distribution of run-queue latency and run time" },
	{ "timeline", OPTION_FLAG, NULL, "instead: who ran on each CPU over time" },
	{ "all", OPTION_FLAG, NULL, "also threads that never ran" },
	{ 0 },
};

static const char help[] =
	"A row for each thread. RUN: on a CPU. RUNQUEUE: it waited for one. VOL: it\n"
	"stopped because it had to wait, INVOL: because another was to run. MIGR: moved\n"
	"to another CPU. LAT: from when it was woken or preempted until it ran; LAT-MAX-AT\n"
	"says when the longest ended, in seconds after the start. A run or wait that\n"
	"began before or lasts beyond the recording counts in RUN and RUNQUEUE, not in\n"
	"averages and maxima. A narrow terminal gets fewer columns.\n"
	"\n"
	"RUN is what the kernel charged, as in /proc/PID/sched; for a task that is woken\n"
	"onto an idle CPU that includes the time in which the CPU wakes up. Averages, the\n"
	"maximum and the histogram are of times between switches. kernel_run_ns in JSON\n"
	"and CSV is the kernel's sum for threads that ended, to compare with.\n"
	"\n"
	"--by process and others: CPU-% is RUN of RUN and RUNQUEUE: 100 %, it never waited.\n"
	"PRIO is the kernel's, lower ones first. --histogram is of the threads that are\n"
	"chosen: with --pid, of one process.\n"
	"\n"
	"--tree: a thread stands below the one that woke it, in the chain by which that one\n"
	"had been woken itself. LAT-TOTAL: how long it waited for a CPU then, which is what\n"
	"this hop added; CHAIN-AVG: those on the way here, added up. `again`: it stands\n"
	"further up already, where its next wake-ups are. [interrupt]: a timer or a\n"
	"device. Chains begin there, or with a thread that ran already. soft_count in JSON:\n"
	"in a soft interrupt, where the waker may have sent something to this machine.\n"
	"Those of more than 24 hops go on as new ones. --top counts the first threads;\n"
	"--pid leaves what it woke or was woken by.\n"
	"\n"
	"--irq, of a trace with `-e irq`: TOTAL is the time of handlers without interrupts\n"
	"that came meanwhile; TAKEN, of that, what running threads waited; DELAY, from when\n"
	"a soft interrupt was raised until it began. Entry and exit of the kernel are not\n"
	"in it, nor is what ksoftirqd does for itself.\n"
	"\n"
	"  ebreport sched --tree --top 3 t.ebt\n"
	"  ebreport sched --by container t.ebt\n"
	"  ebreport sched --sort latency_max_ns --top 10 t.ebt\n"
	"  ebreport sched --timeline --from 2s --to 2.1s t.ebt\n";

const struct command command_sched = {
	.name = "sched",
	.fn = run_sched,
	.summary = "run time, waits and switches of each task; how busy CPUs were",
	.elsewhere = "timehist runqlat",
	.help = help,
	.options = sched_options,
	.page_options = (const char *const[]){ "irq", NULL },
};
