/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Switches summed up; see model_summary.h. */
#include "report/system/model_summary.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "report/sched/feed.h"

static struct ebt_error *process_of(struct summary *s, const struct ebt_task *task,
				    struct summary_process **ret)
{
	uint32_t i;
	struct ebt_error *err = group_tasks_of(&s->groups, task, &i);

	if (err)
		return err;
	err = ebt_array_reserve_zeroed(&s->processes, i, &s->processes_capacity);
	if (!err)
		*ret = &s->processes[i];
	return err;
}

/* Is this the first run of the thread? */
static struct ebt_error *first_run(struct summary *s, const struct ebt_task *task, bool *ret)
{
	struct ebt_error *err = ebt_array_reserve_zeroed(&s->ran, task->id, &s->ran_capacity);

	if (err)
		return err;
	*ret = !s->ran[task->id];
	s->ran[task->id] = true;
	return NULL;
}

static struct ebt_error *on_run(void *arg, const struct sched_run *run)
{
	struct summary *s = arg;
	struct summary_process *process;
	struct ebt_error *err;
	bool first;

	err = process_of(s, run->task, &process) ?: first_run(s, run->task, &first);
	if (err)
		return err;
	process->threads += first;
	process->run_ns += run->end - run->start;
	if (run->why == SCHED_DEAD && run->task->tid == run->task->pid)
		process->end_ns = run->end;
	s->run_ns += run->end - run->start;
	return NULL;
}

static struct ebt_error *on_off(void *arg, const struct sched_off *off)
{
	struct summary *s = arg;
	uint64_t ns = off->end - off->start;

	if (!s->off_count || ns < s->off_min_ns)
		s->off_min_ns = ns;
	if (ns > s->off_max_ns)
		s->off_max_ns = ns;
	s->off_ns += ns;
	s->off_count++;
	return NULL;
}

struct ebt_error *summary_read(struct trace *trace, struct summary *ret)
{
	static const struct offcpu_options options = { 0 };
	_cleanup_summary_ struct summary s = { 0 };
	struct sched_feed feed = { .handler = { .run = on_run, .off = on_off }, .arg = &s };
	bool partial;
	struct ebt_error *err;

	sched_feed_bounds(trace, &s.from_ns, &s.to_ns);
	err = sched_is_known(trace, &s.known)
		      ?: group_tasks_init(&s.groups, trace, GROUP_PROCESS)
		      ?: offcpu_create(trace_reader(trace), &options, &s.offcpu);
	if (err)
		return err;
	feed.offcpu = s.offcpu;
	err = sched_feed_run(trace, &feed, &partial);
	if (err)
		return err;
	for (size_t i = 0; i < s.groups.n && i < s.processes_capacity; i++)
		s.processes[i].task = s.groups.tasks[i];
	*ret = s;
	s = (struct summary){ 0 };
	return NULL;
}

void summary_deinit(struct summary *s)
{
	group_tasks_deinit(&s->groups);
	offcpu_destroy(s->offcpu);
	free(s->processes);
	free(s->ran);
}

size_t summary_n_processes(const struct summary *s)
{
	size_t n = s->groups.n;

	return n < s->processes_capacity ? n : s->processes_capacity;
}
