/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who ran on each CPU, in equal slices of time: lanes of text as wide as a terminal, a line a CPU,
 * a letter a slice. There is one entry for each slice and CPU, and some candidates for the slice
 * that a CPU is in.
 */
#ifndef REPORT_SCHED_TIMELINE_H
#define REPORT_SCHED_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "report/out/out.h"
#include "report/sched/model_sched.h"

struct cpu_timeline;

/* from < to; width: of the terminal, 0: there is none. */
struct ebt_error *timeline_create(uint64_t from_ns, uint64_t to_ns, unsigned int width,
				  struct cpu_timeline **ret);
void timeline_destroy(struct cpu_timeline *timeline);
DEFINE_CLEANUP(struct cpu_timeline *, timeline_destroy);

/* Takes the runs of a CPU in order of time. wanted false: the run counts as busy time, but nobody
 * is named. */
struct ebt_error *timeline_run(struct cpu_timeline *timeline, const struct sched_run *run,
			       bool wanted);

/* After the last run. partial: other processes may have run where nothing is shown. */
struct ebt_error *timeline_put(struct cpu_timeline *timeline, struct out *out, struct trace *trace,
			       bool partial);

#endif
