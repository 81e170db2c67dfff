/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures of tasks and CPUs; see model_schedstat.h. */
#include "report/sched/model_schedstat.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"

/* As in model_sched.c: larger numbers are no CPUs. */
#define MAX_CPUS 65536u

void schedstat_deinit(struct schedstat *stat)
{
	for (uint32_t i = 0; i < stat->n_tasks; i++)
		histogram_deinit(&stat->tasks[i].latency);
	histogram_deinit(&stat->run);
	free(stat->tasks);
	free(stat->cpus);
	memset(stat, 0, sizeof(*stat));
}

static struct ebt_error *get_task(struct schedstat *stat, const struct ebt_task *task,
				  struct schedstat_task **ret)
{
	struct ebt_error *err;

	err = ebt_array_reserve_zeroed(&stat->tasks, task->id, &stat->n_tasks);
	if (err)
		return err;
	*ret = &stat->tasks[task->id];
	(*ret)->task = task;
	return NULL;
}

/* *ret is NULL for what is no CPU. */
static struct ebt_error *get_cpu(struct schedstat *stat, uint64_t cpu, struct schedstat_cpu **ret)
{
	struct ebt_error *err;

	if (cpu >= MAX_CPUS) {
		*ret = NULL;
		return NULL;
	}
	err = ebt_array_reserve_zeroed(&stat->cpus, cpu, &stat->cpus_capacity);
	if (err)
		return err;
	if (cpu >= stat->n_cpus)
		stat->n_cpus = cpu + 1;
	*ret = &stat->cpus[cpu];
	(*ret)->seen = true;
	return NULL;
}

/* What the kernel charged for the first so many ns of a run. The shares of all parts of a run, in
 * whichever windows they are, are the charge, to the nanosecond. */
static uint64_t charged_until(const struct sched_run *run, uint64_t ns)
{
	const uint64_t whole = run->whole_end - run->whole_start;

	if (ns >= whole)
		return run->charge;
	return (uint64_t)((unsigned __int128)run->charge * ns / whole);
}

static uint64_t charged(const struct sched_run *run)
{
	const uint64_t until = charged_until(run, run->end - run->whole_start);

	if (run->start == run->whole_start)
		return until;
	return until - charged_until(run, run->start - run->whole_start);
}

struct ebt_error *schedstat_run(struct schedstat *stat, const struct sched_run *run)
{
	uint64_t ns = run->end - run->start;
	uint64_t whole = run->end - run->whole_start;
	struct schedstat_task *task;
	struct schedstat_cpu *cpu;
	struct ebt_error *err;

	err = get_task(stat, run->task, &task) ?: get_cpu(stat, run->cpu, &cpu);
	if (err)
		return err;
	task->ran = true;
	task->run_ns += run->charge ? charged(run) : ns;
	if (cpu)
		cpu->busy_ns += ns;
	if (run->row && run->voluntary)
		task->voluntary++;
	else if (run->row)
		task->involuntary++;
	task->open |= sched_is_open(run->flags);
	if (!sched_is_complete(run->flags))
		return NULL;
	task->runs++;
	task->runs_ns += whole;
	task->max_run_ns = whole > task->max_run_ns ? whole : task->max_run_ns;
	return histogram_add(&stat->run, whole);
}

struct ebt_error *schedstat_off(struct schedstat *stat, const struct sched_off *off)
{
	uint64_t runnable = off->runnable ? off->runnable : off->end;
	uint64_t wait = off->end - runnable;
	struct schedstat_task *task;
	struct ebt_error *err;

	err = get_task(stat, off->task, &task);
	if (err)
		return err;
	task->wait_ns += wait;
	task->blocked_ns[off->why] += runnable - off->start;
	task->open |= sched_is_open(off->flags);
	/* A wait is complete where its own beginning and end were seen. */
	if (!off->runnable || off->flags & SCHED_OPEN_END ||
	    (!sched_is_complete(off->flags) && !off->woken))
		return NULL;
	wait = off->end - off->whole_runnable;
	if (wait >= task->latency.max) {
		task->max_latency_at = off->end;
		task->max_doubtful = off->flags & SCHED_DOUBTFUL;
	}
	return histogram_add(&task->latency, wait);
}

struct ebt_error *schedstat_switch(struct schedstat *stat, uint64_t cpu)
{
	struct schedstat_cpu *c;
	struct ebt_error *err = get_cpu(stat, cpu, &c);

	if (!err && c)
		c->switches++;
	return err;
}

struct ebt_error *schedstat_migrate(struct schedstat *stat, const struct ebt_task *task)
{
	struct schedstat_task *t;
	struct ebt_error *err = get_task(stat, task, &t);

	if (!err)
		t->migrations++;
	return err;
}

const struct ebt_task *schedstat_kernel_task(const struct ebt_row *row)
{
	switch (row->batch->table->id) {
	case EBT_T_thread:
		return ebt_thread_task(row);
	case EBT_T_task_fork:
		return ebt_task_fork_child(row);
	case EBT_T_task_exit:
		return ebt_task_exit_task(row);
	default:
		return NULL;
	}
}

struct ebt_error *schedstat_kernel(struct schedstat *stat, const struct ebt_row *row)
{
	const struct ebt_task *task = schedstat_kernel_task(row);
	unsigned int id = row->batch->table->id;
	struct schedstat_task *t;
	struct ebt_error *err;

	if (!task)
		return NULL;
	err = get_task(stat, task, &t);
	if (err)
		return err;
	if (id == EBT_T_task_exit) {
		t->kernel_ns = ebt_task_exit_run_time(row);
		t->kernel_known = t->kernel_before_known && t->kernel_ns >= t->kernel_before_ns;
	} else if (!t->kernel_before_known) {
		t->kernel_before_ns = id == EBT_T_thread ? ebt_thread_run_time(row) : 0;
		t->kernel_before_known = true;
	}
	return NULL;
}

struct ebt_error *schedstat_ran_before(struct schedstat *stat, const struct ebt_task *task)
{
	struct schedstat_task *t;
	struct ebt_error *err = get_task(stat, task, &t);

	if (err)
		return err;
	t->kernel_before_ns = UINT64_MAX;
	t->kernel_before_known = true;
	return NULL;
}
