/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of each task and each CPU, summed from the intervals of model_sched.h. Sums take what
 * is known of open intervals; averages, percentiles and maxima take complete intervals only, those
 * that began in an earlier window as a whole.
 */
#ifndef REPORT_SCHED_MODEL_SCHEDSTAT_H
#define REPORT_SCHED_MODEL_SCHEDSTAT_H

#include <stdbool.h>
#include <stdint.h>

#include "report/base/histogram.h"
#include "report/sched/model_sched.h"

struct schedstat_task {
	const struct ebt_task *task; /* NULL: nothing is known of this id */
	uint64_t run_ns;	     /* on a CPU: as the kernel charged it, else between switches */
	uint64_t wait_ns;	     /* runnable without a CPU */
	uint64_t blocked_ns[SCHED_N_WHYS];
	uint64_t voluntary, involuntary, migrations;
	struct histogram latency;
	uint64_t runs, runs_ns, max_run_ns; /* complete ones */
	uint64_t max_latency_at;	    /* when the longest wait ended */
	bool max_doubtful;		    /* rows were lost during it */
	bool ran, open;			    /* open: some interval has an unknown end */
	/* sum_exec_runtime when the trace begins and when the task ends. The kernel begins to count
	 * when it queues a task for an idle CPU, not when that CPU has woken up. The former is
	 * UINT64_MAX of a task that has run since it was read. */
	uint64_t kernel_before_ns, kernel_ns;
	bool kernel_before_known, kernel_known;
};

struct schedstat_cpu {
	bool seen;
	uint64_t busy_ns, switches;
};

struct schedstat {
	struct schedstat_task *tasks; /* by ebt_task.id */
	struct schedstat_cpu *cpus;
	size_t n_tasks, n_cpus, cpus_capacity;
	struct histogram
		run; /* of all tasks together: a histogram for each would take much memory */
};

void schedstat_deinit(struct schedstat *stat);

struct ebt_error *schedstat_run(struct schedstat *stat, const struct sched_run *run);
struct ebt_error *schedstat_off(struct schedstat *stat, const struct sched_off *off);

/* A row of sched_switch: counts for its CPU. */
struct ebt_error *schedstat_switch(struct schedstat *stat, uint64_t cpu);
/* Whom a row of thread, task_fork or task_exit tells of; NULL: no such row. */
const struct ebt_task *schedstat_kernel_task(const struct ebt_row *row);
/* What the kernel counted, from rows of thread, task_fork and task_exit; others are passed over. */
struct ebt_error *schedstat_kernel(struct schedstat *stat, const struct ebt_row *row);
/* A task ran before the trace begins, but after the kernel's count was read. */
struct ebt_error *schedstat_ran_before(struct schedstat *stat, const struct ebt_task *task);
/* A row of sched_migrate. */
struct ebt_error *schedstat_migrate(struct schedstat *stat, const struct ebt_task *task);

#endif
