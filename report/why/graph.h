/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The execution graph: what each thread did at each moment, who ended each wait, and who started
 * each thread, by the intervals of report/sched/model_sched.h and the stacks where threads stopped;
 * and what they waited for (objects.h).
 *
 * A thread is a list of spells in the order of time, 48 bytes for each time that it ran.
 */
#ifndef REPORT_WHY_GRAPH_H
#define REPORT_WHY_GRAPH_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "report/base/names.h"
#include "report/sched/wait_reason.h"
#include "report/stacks/model_calltree.h"
#include "report/trace/trace.h"

#define WHY_NOBODY UINT32_MAX
#define WHY_NO_CPU UINT16_MAX

/* Who ended a wait. */
enum why_wake {
	WHY_WAKE_UNSEEN, /* no row says it */
	WHY_WAKE_TASK,
	WHY_WAKE_INTERRUPT,
	/* The task that ran may have asked for it, as who sends to its own machine. */
	WHY_WAKE_SOFT_INTERRUPT,
};

/* Off the CPUs, and then on one. Times in ns of CLOCK_MONOTONIC; stop <= runnable <= start <= end.
 */
struct why_spell {
	uint64_t stop;	   /* start, where it was not seen off the CPUs */
	uint64_t runnable; /* since when it only waited for a CPU; 0: not known, or it never was */
	uint64_t start;
	uint64_t end;	    /* start, where it was not seen on a CPU */
	uint32_t waker;	    /* task id; WHY_NOBODY */
	uint32_t node;	    /* of the graph's tree: where it stopped; 0: not known */
	uint32_t object;    /* what it waited for: of why_graph_objects() */
	uint16_t cpu;	    /* that it ran on, or waited for; WHY_NO_CPU: not known */
	uint8_t reason : 5; /* enum wait_reason */
	/* Where the trace begins and ends, or rows were lost: it began before that, or lasted
	 * longer. Of the time off the CPUs; the end of the run where it ran. */
	uint8_t open_start : 1, open_end : 1;
	uint8_t doubtful : 1; /* rows were lost meanwhile: it may have been several */
	uint8_t why : 4;      /* enum sched_why */
	uint8_t wake : 2;     /* enum why_wake */
	uint8_t ran : 1;      /* it was seen on a CPU, be it for no time */
	uint8_t lasts : 1;    /* beyond what is known: nobody has ended it */
};
static_assert(sizeof(struct why_spell) == 48, "there are as many as switches");
static_assert(WAIT_N_REASONS <= 32, "it has five bits");

struct why_thread {
	const struct ebt_task *task; /* NULL: nothing is known of this id */
	struct why_spell *spells;
	size_t n, capacity;
	uint64_t born;	 /* when its fork was seen; 0: it was not */
	uint64_t ended;	 /* when it left its CPU for good; 0: it did not */
	uint32_t parent; /* task id of who forked it; WHY_NOBODY */
	bool kernel;
};

struct why_graph;
struct why_objects;

/* Of the window of the trace, which must outlive the graph; forks are those of all of it.
 * no_stacks: it has neither stacks nor objects, and of waits only what states tell. */
struct ebt_error *why_graph_create(struct trace *trace, bool no_stacks, struct why_graph **ret);
void why_graph_destroy(struct why_graph *graph);
DEFINE_CLEANUP(struct why_graph *, why_graph_destroy);

/* The time in which switches are known. from <= to. */
void why_graph_bounds(const struct why_graph *graph, uint64_t *ret_from, uint64_t *ret_to);

/* By task id. */
const struct why_thread *why_graph_threads(const struct why_graph *graph, uint32_t *ret_n);

/* What a thread was called last; "": nothing is known of it. */
struct ebt_str why_thread_name(const struct why_graph *graph, const struct names *names,
			       uint32_t task);

/* The last spell that began before this time: index + 1; 0: there is none. */
size_t why_thread_at(const struct why_thread *thread, uint64_t time);

/* By name. */
const struct why_objects *why_graph_objects(const struct why_graph *graph);

/* Of the stacks; without weights. */
struct calltree *why_graph_tree(const struct why_graph *graph);

#endif
