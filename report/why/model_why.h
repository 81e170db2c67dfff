/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why something took as long as it did: the critical path of a thread (path.h), and what its time
 * went to. The figures of all causes together are the time of the path, to the nanosecond: samples
 * share out what is on a CPU, and who had the CPU what is on the run queue.
 */
#ifndef REPORT_WHY_MODEL_WHY_H
#define REPORT_WHY_MODEL_WHY_H

#include "report/cli/options.h"
#include "report/why/parallel.h"
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
	uint32_t node;	 /* of the tree: of `func`, where most of it was; 0: not known */
	uint64_t node_ns;
	uint64_t ns, count, max_ns; /* count: of segments; of WHY_CPU of samples, without max_ns */
};

/* Where a thread ran, on the path. */
struct why_place {
	uint32_t task, node; /* of the tree */
	uint64_t samples, ns;
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
	struct why_place *places;
	size_t n_places, places_capacity;
	bool weighs; /* the tree of the graph gets the time of the path */
	struct why_parallel parallel;
};

struct why_options {
	bool whole; /* whatever the window is */
	bool tree;  /* the tree of the graph gets the time of the path, below each stack a leaf for
		     * the kind */
	bool no_stacks;	    /* of causes only the kind is known */
	bool quiet;	    /* that there is no command is not said */
	const char *around; /* glob of marks: of the longest such span, where it began; or NULL */
};

/* Of the present window of the trace, which must outlive the model: of the command that was
 * recorded, or of whom the filters by task choose; of several the first thread of that process that
 * was there longest. The trace then looks at all that the graph has, which is more than the window:
 * a replay reads the samples of that. Who reads anything else calls trace_look_at() first. */
struct ebt_error *why_create(struct trace *trace, const struct why_options *options,
			     struct why **ret);

/* The error where the window has more switches than there is memory for. */
struct ebt_error *why_check_size(const struct trace *trace);

/* For a report of something else: of the whole trace and the command that was recorded, as long as
 * that takes no longer than the rest. *ret NULL: it would, or there is none, or a part of the time
 * was asked for. */
struct ebt_error *why_create_quick(struct trace *trace, const struct options *options,
				   bool no_stacks, struct why **ret);
void why_destroy(struct why *why);
DEFINE_CLEANUP(struct why *, why_destroy);

/* Of one segment; without who had the CPU meanwhile, and where it ran. */
struct why_cause why_cause_of(const struct why_graph *graph, const struct why_segment *segment);

/* Of the segments that waited for a CPU: who had that how long; WHY_NOBODY: nobody who was
 * recorded. What a segment gets is its time, in any number of calls, with those of other segments
 * between. */
typedef struct ebt_error *why_queue_fn(void *arg, const struct why_segment *segment, uint32_t other,
				       uint64_t ns);
struct ebt_error *why_each_queue(const struct why *why, why_queue_fn *fn, void *arg);

/* Of all threads, while it lasted. */
uint64_t why_run_ns(const struct why *why);

/* Of a node; WHY_NO_FUNC: it is none. */
uint32_t why_func(const struct calltree *tree, uint32_t node);

/* The error where a glob fits no span. */
struct ebt_error *why_no_span(const char *option, const char *name);

const struct ebt_task *why_task(const struct why *why, uint32_t id); /* NULL: WHY_NOBODY */

#endif
