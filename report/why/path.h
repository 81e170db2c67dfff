/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The critical path: from the end of a thread back to the beginning of the window, through whoever
 * was waited for. Where a thread waited, and another one ended that, the path goes on with what the
 * other one did until then: a thread that comes to a wait earlier makes nothing faster. Each
 * nanosecond is in one segment.
 *
 * The models are the execution graph and critical path of F. Giraldeau and M. Dagenais, "Wait
 * Analysis of Distributed Systems Using Kernel Tracing", IEEE TPDS 27(8), 2016. Threads of the
 * kernel work for whoever waits for them: there the path goes on with that thread, no later than
 * where it began to wait.
 */
#ifndef REPORT_WHY_PATH_H
#define REPORT_WHY_PATH_H

#include "report/why/graph.h"

enum why_kind {
	WHY_CPU,
	WHY_RUNQUEUE, /* runnable, without a CPU */
	WHY_WAIT,     /* for what is no thread of the trace: segment.spell->reason */
	WHY_UNKNOWN,
};

/* Why nothing is known. */
enum why_gap {
	WHY_GAP_NONE,
	WHY_GAP_LOST,	/* no row tells what the thread did: they were lost, or left out */
	WHY_GAP_BEFORE, /* the thread is not in the trace as early as that */
	WHY_GAP_WAKING, /* no row tells who ended the wait */
};

/* A thread that waits for what another one does, maybe while somebody waits for it. */
struct why_waiter {
	uint32_t parent; /* who waits for this one meanwhile: of why_path.waiters; 0: nobody */
	uint32_t task;
	uint32_t object; /* of the graph's objects */
	uint8_t reason;	 /* enum wait_reason */
};

/* Until the next one begins: behind the last one of a path stands one that begins where it ends. */
struct why_segment {
	uint64_t from;
	uint32_t task;	 /* whose */
	uint32_t waiter; /* of why_path.waiters: who waits for `task` all this time; 0: nobody */
	uint32_t spell;	 /* 1 + the number of a spell of `task`; 0: none, of some WHY_UNKNOWN */
	uint8_t kind;	 /* enum why_kind */
	uint8_t gap;	 /* enum why_gap; of WHY_UNKNOWN */
};
static_assert(sizeof(struct why_segment) == 24, "there are as many as switches");

static inline uint64_t why_segment_to(const struct why_segment *segment)
{
	return segment[1].from;
}

static inline uint64_t why_segment_ns(const struct why_segment *segment)
{
	return segment[1].from - segment->from;
}

struct why_path {
	struct why_segment *segments; /* in the order of time, without gaps from `from` to `to` */
	size_t n, capacity;
	struct why_waiter
		*waiters; /* each with the same parents once; the first stands for nobody */
	size_t n_waiters, waiters_capacity;
	uint64_t from, to;
};

/* NULL: none. */
const struct why_spell *why_segment_spell(const struct why_graph *graph,
					  const struct why_segment *segment);

/* Of a thread until `to`, and no further back than `from`. Where it waits at that time, the path is
 * that to the end of the wait. Of a thread that no switch tells of it is empty, at `to`. */
struct ebt_error *why_path_find(const struct why_graph *graph, uint32_t task, uint64_t from,
				uint64_t to, struct why_path *ret);
void why_path_deinit(struct why_path *path);

#endif
