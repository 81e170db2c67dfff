/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who ran on each CPU in slices of time; see model_timeline.h. */
#include "report/sched/model_timeline.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"

/* Lanes below this number are drawn; nobody looks at more. */
#define MAX_CPUS 1024u

/* Tasks that are told apart within one slice; when more run, the one with least is forgotten. */
#define CANDIDATES 16

struct slice_candidate {
	const struct ebt_task *task; /* NULL: those that are not wanted */
	uint64_t ns;
};

struct lane {
	struct timeline_slice *slices;
	uint32_t at; /* the slice that candidates are of */
	uint32_t n;
	struct slice_candidate candidates[CANDIDATES];
};

struct cpu_timeline {
	uint64_t from, to;
	uint32_t n_slices;
	size_t n_cpus;
	struct lane **lanes; /* by CPU; NULL: nothing known */
};

struct ebt_error *timeline_create(uint64_t from_ns, uint64_t to_ns, uint32_t slices,
				  struct cpu_timeline **ret)
{
	struct cpu_timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline)
		return &ebt_enomem;
	timeline->from = from_ns;
	timeline->to = to_ns;
	timeline->n_slices = slices;
	*ret = timeline;
	return NULL;
}

void timeline_destroy(struct cpu_timeline *timeline)
{
	if (!timeline)
		return;
	for (uint32_t i = 0; i < timeline->n_cpus; i++) {
		if (timeline->lanes[i])
			free(timeline->lanes[i]->slices);
		free(timeline->lanes[i]);
	}
	free(timeline->lanes);
	free(timeline);
}

uint64_t timeline_slice_start(const struct cpu_timeline *timeline, uint32_t i)
{
	unsigned __int128 span = timeline->to - timeline->from;

	return (uint64_t)(span * i / timeline->n_slices);
}

static struct ebt_error *get_lane(struct cpu_timeline *timeline, uint32_t cpu, struct lane **ret)
{
	struct ebt_error *err;
	struct lane *lane;

	err = ebt_array_reserve_zeroed(&timeline->lanes, cpu, &timeline->n_cpus);
	if (err)
		return err;
	if (!timeline->lanes[cpu]) {
		lane = calloc(1, sizeof(*lane));
		if (!lane)
			return &ebt_enomem;
		lane->slices = calloc(timeline->n_slices, sizeof(*lane->slices));
		if (!lane->slices) {
			free(lane);
			return &ebt_enomem;
		}
		timeline->lanes[cpu] = lane;
	}
	*ret = timeline->lanes[cpu];
	return NULL;
}

static void close_slice(struct lane *lane)
{
	struct timeline_slice *slice = &lane->slices[lane->at];

	for (uint32_t i = 0; i < lane->n; i++) {
		const struct slice_candidate *c = &lane->candidates[i];

		if (c->ns <= slice->task_ns)
			continue;
		slice->task_ns = c->ns;
		slice->task = c->task;
		slice->other = !c->task;
	}
	lane->n = 0;
}

static void add_to_slice(struct lane *lane, uint32_t at, const struct ebt_task *task, uint64_t ns)
{
	struct slice_candidate *least = NULL;

	if (at != lane->at) {
		close_slice(lane);
		lane->at = at;
	}
	lane->slices[at].busy_ns += ns;
	for (uint32_t i = 0; i < lane->n; i++) {
		struct slice_candidate *c = &lane->candidates[i];

		if (task && c->task ? c->task->id == task->id : c->task == task) {
			c->ns += ns;
			return;
		}
		if (!least || c->ns < least->ns)
			least = c;
	}
	if (lane->n < CANDIDATES)
		lane->candidates[lane->n++] = (struct slice_candidate){ task, ns };
	else if (ns > least->ns)
		*least = (struct slice_candidate){ task, ns };
}

struct ebt_error *timeline_run(struct cpu_timeline *timeline, const struct sched_run *run,
			       bool wanted)
{
	uint64_t start = run->start > timeline->from ? run->start - timeline->from : 0;
	uint64_t span = timeline->to - timeline->from;
	uint64_t end = run->end > timeline->from ? run->end - timeline->from : 0;
	struct lane *lane;
	struct ebt_error *err;

	if (run->cpu >= MAX_CPUS)
		return NULL;
	err = get_lane(timeline, run->cpu, &lane);
	if (err)
		return err;
	end = end < span ? end : span;
	while (start < end) {
		uint32_t at = (uint32_t)((unsigned __int128)start * timeline->n_slices / span);
		uint64_t next = timeline_slice_start(timeline, at + 1);

		/* The first nanosecond that is in the next slice, whichever way it was rounded. */
		if (next <= start)
			next = start + 1;
		next = next < end ? next : end;
		add_to_slice(lane, at, wanted ? run->task : NULL, next - start);
		start = next;
	}
	return NULL;
}

void timeline_finish(struct cpu_timeline *timeline)
{
	for (uint32_t i = 0; i < timeline->n_cpus; i++) {
		if (timeline->lanes[i])
			close_slice(timeline->lanes[i]);
	}
}

uint32_t timeline_n_cpus(const struct cpu_timeline *timeline)
{
	return (uint32_t)timeline->n_cpus;
}

const struct timeline_slice *timeline_cpu(const struct cpu_timeline *timeline, uint32_t cpu)
{
	return timeline->lanes[cpu] ? timeline->lanes[cpu]->slices : NULL;
}

uint32_t timeline_n_slices(const struct cpu_timeline *timeline)
{
	return timeline->n_slices;
}
