/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many threads were on CPUs at once, and which one of a critical path was there alone. */
#ifndef REPORT_WHY_PARALLEL_H
#define REPORT_WHY_PARALLEL_H

#include "report/why/path.h"

struct why_parallel {
	uint64_t *ns; /* by the number of threads on CPUs */
	size_t n;
	uint64_t *alone_ns; /* by task id: it was on the path, and no other thread on a CPU */
	uint32_t n_threads;
};

/* In the time of the path. Threads of the kernel count as well. Memory: 24 bytes a thread. */
struct ebt_error *why_parallel_find(const struct why_graph *graph, const struct why_path *path,
				    struct why_parallel *ret);
void why_parallel_deinit(struct why_parallel *parallel);

#endif
