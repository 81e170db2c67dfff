/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why something took as long as it did: the critical path of a thread (path.h), and what its time
 * went to. The figures of all causes together are the time of the path, to the nanosecond: samples
 * share out what is on a CPU, and who had the CPU what is on the run queue.
 */
#ifndef REPORT_WHY_MODEL_WHY_H
#define REPORT_WHY_MODEL_WHY_H

#include "report/why/path.h"

#define WHY_NO_FUNC UINT32_MAX

struct why_cause {
	uint32_t task; /* whose time */
	uint8_t kind;  /* enum why_kind */
	uint8_t what;  /* WHY_WAIT: enum wait_reason; WHY_UNKNOWN: enum why_gap */
	uint8_t wake;  /* WHY_WAIT: enum why_wake */
	/* WHY_RUNQUEUE: who had the CPU; WHY_WAIT: who was seen to end it; or WHY_NOBODY. */
	uint32_t other;
	uint32_t func;	 /* of the tree: where it ran, or who called for the wait; WHY_NO_FUNC */
	uint32_t object; /* of the graph: what it waited for */
	uint64_t ns, count, max_ns; /* count: of segments; of WHY_CPU of samples, without max_ns */
};

struct why {
	struct trace *trace;
	struct why_graph *graph;
	struct why_path path;
	uint64_t from, to;	  /* the window of the trace */
	uint32_t task;		  /* of which it is */
	struct why_cause *causes; /* the longest first */
	size_t n_causes, capacity, merge_at;
	uint64_t samples; /* in segments on a CPU */
	bool weighs;	  /* the tree of the graph gets the time of the path */
	uint64_t run_ns;  /* of all threads meanwhile */
};

enum why_flags {
	WHY_WHOLE = 1 << 0, /* whatever the window is */
	/* The tree of the graph gets the time of the path, below each stack a leaf for the kind. */
	WHY_TREE = 1 << 1,
};

/* Of the present window of the trace, which must outlive the model: of the command that was
 * recorded, or of whom the filters by task choose; of several the first thread of that process that
 * was there longest. */
struct ebt_error *why_create(struct trace *trace, unsigned int flags, struct why **ret);
void why_destroy(struct why *why);
DEFINE_CLEANUP(struct why *, why_destroy);

/* Of one segment; without who had the CPU meanwhile, and where it ran. */
struct why_cause why_cause_of(const struct why *why, const struct why_segment *segment);

const struct ebt_task *why_task(const struct why *why, uint32_t id); /* NULL: WHY_NOBODY */

#endif
