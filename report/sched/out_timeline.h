/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lanes of text: a line a CPU, a letter a slice of time, and what the letters stand for. */
#ifndef REPORT_SCHED_OUT_TIMELINE_H
#define REPORT_SCHED_OUT_TIMELINE_H

#include <stdbool.h>

#include "report/out/out.h"
#include "report/sched/model_timeline.h"

/* Slices that fit beside the label of a lane. */
uint32_t out_timeline_slices(unsigned int width);

/* partial: other processes may have run where nothing is shown. */
struct ebt_error *out_timeline(struct out *out, struct trace *trace,
			       const struct cpu_timeline *timeline, bool partial);

#endif
