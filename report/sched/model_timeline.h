/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who ran on each CPU, in equal slices of time: for pictures as wide as a terminal. The model keeps
 * one entry for each slice and CPU, and some candidates for the slice that a CPU is in.
 */
#ifndef REPORT_SCHED_MODEL_TIMELINE_H
#define REPORT_SCHED_MODEL_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/sched/model_sched.h"

struct timeline_slice {
	const struct ebt_task *task; /* that ran longest; NULL: none that is wanted */
	uint64_t task_ns;
	uint64_t busy_ns; /* of all tasks */
	bool other;	  /* the longest was a task that is not wanted */
};

struct cpu_timeline;

/* from < to. */
struct ebt_error *timeline_create(uint64_t from_ns, uint64_t to_ns, uint32_t slices,
				  struct cpu_timeline **ret);
void timeline_destroy(struct cpu_timeline *timeline);

/* Takes the runs of a CPU in order of time. wanted false: the run counts as busy time, but nobody
 * is named. */
struct ebt_error *timeline_run(struct cpu_timeline *timeline, const struct sched_run *run,
			       bool wanted);
void timeline_finish(struct cpu_timeline *timeline);

uint32_t timeline_n_slices(const struct cpu_timeline *timeline);
uint32_t timeline_n_cpus(const struct cpu_timeline *timeline);
/* The slices of a CPU; NULL: nothing is known of it. */
const struct timeline_slice *timeline_cpu(const struct cpu_timeline *timeline, uint32_t cpu);
/* Where slice i begins, relative to from_ns. */
uint64_t timeline_slice_start(const struct cpu_timeline *timeline, uint32_t i);

#endif
