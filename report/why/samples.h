/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When each thread was sampled, and where. */
#ifndef REPORT_WHY_SAMPLES_H
#define REPORT_WHY_SAMPLES_H

#include "report/why/graph.h"

struct why_sample {
	uint64_t time; /* CLOCK_MONOTONIC ns */
	uint32_t node; /* of the graph's tree */
};

/* Of a thread, in the order of time. */
struct why_samples {
	struct why_sample *list;
	size_t n, capacity;
};

/* Of the window of the trace: *ret by task id, as many as the graph has threads. 16 bytes a sample.
 */
struct ebt_error *why_samples_read(struct trace *trace, const struct why_graph *graph,
				   struct why_samples **ret);
/* n: of threads. Accepts NULL. */
void why_samples_free(struct why_samples *samples, uint32_t n);

/* The first one at this time or later. */
size_t why_samples_from(const struct why_samples *samples, uint64_t time);

#endif
