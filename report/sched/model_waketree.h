/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who woke whom: chains of wake-ups as a tree. A thread stands below the one that woke it, in the
 * chain that this one had been woken by itself: below A, B has the wake-ups of B by A, and below B
 * are those that B did then. Each has how long the woken thread waited for a CPU, which is what
 * that hop added. Roots are interrupts, and threads of which nobody knows what set them going.
 *
 * A thread that is woken by one further down its own chain closes a circle: that is counted in a
 * leaf there, marked `again`, and its next wake-ups where it stood before.
 */
#ifndef REPORT_SCHED_MODEL_WAKETREE_H
#define REPORT_SCHED_MODEL_WAKETREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "report/sched/model_sched.h"

/* Chains that are longer begin anew. */
#define WAKETREE_DEPTH 24

struct waketree_node {
	const struct ebt_task *task; /* NULL: an interrupt */
	uint32_t parent;
	uint32_t depth; /* from 1; 0: the node above the roots */
	bool again;
	uint64_t count; /* wake-ups; of roots 0 */
	uint64_t soft;	/* of these, in soft interrupts: the waker may not be the cause */
	uint64_t latency_ns, max_ns, max_at;
	uint64_t below;	   /* count of this and of all below it */
	uint64_t chain_ns; /* mean latencies from the root to here, added up */
};

struct waketree;

struct ebt_error *waketree_create(struct waketree **ret);
void waketree_destroy(struct waketree *tree);
DEFINE_CLEANUP(struct waketree *, waketree_destroy);

/* A row of sched_waking, before the scheduler's model has it. */
struct ebt_error *waketree_waking(struct waketree *tree, const struct ebt_row *row);

/* An interval off CPU that ended. counted: the filters let it pass. */
struct ebt_error *waketree_off(struct waketree *tree, const struct sched_off *off, bool counted);

/* Call it after the last row. Nodes without any wake-up, in them and below them, go. */
struct ebt_error *waketree_finish(struct waketree *tree);

/* Depth first, those with most wake-ups first. */
size_t waketree_n(const struct waketree *tree);
const struct waketree_node *waketree_node(const struct waketree *tree, size_t i);

/* Wake-ups that found no room in the tree. */
uint64_t waketree_left_out(const struct waketree *tree);

#endif
