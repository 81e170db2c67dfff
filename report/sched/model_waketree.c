/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chains of wake-ups; see model_waketree.h. */
#include "report/sched/model_waketree.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/map.h"

/* 72 bytes each. */
#define MAX_NODES (1u << 20)
/* Node 0 is above the roots. */
#define TOP 0

struct task_place {
	uint32_t node; /* where its next wake-ups belong; 0: not known */
	/* A wake-up of it that has not let it run yet. */
	bool pending, soft;
	uint32_t pending_node, pending_waker; /* 1 + id; 0: an interrupt */
};

struct waketree {
	struct waketree_node *nodes;
	uint32_t *order; /* nodes as they are shown */
	struct task_place *places;
	struct ebt_map children; /* of a node and a task */
	size_t n, capacity, n_shown, n_places;
	uint64_t left_out;
};

struct ebt_error *waketree_create(struct waketree **ret)
{
	_cleanup_(waketree_destroyp) struct waketree *tree = calloc(1, sizeof(*tree));
	struct ebt_error *err;

	if (!tree)
		return &ebt_enomem;
	err = ebt_array_reserve_zeroed(&tree->nodes, TOP, &tree->capacity);
	if (err)
		return err;
	tree->n = TOP + 1;
	*ret = take_ptr(tree);
	return NULL;
}

void waketree_destroy(struct waketree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	free(tree->order);
	free(tree->places);
	ebt_map_deinit(&tree->children);
	free(tree);
}

/* *ret is valid until the next call. */
static struct ebt_error *get_place(struct waketree *tree, const struct ebt_task *task,
				   struct task_place **ret)
{
	struct ebt_error *err;

	err = ebt_array_reserve_zeroed(&tree->places, task->id, &tree->n_places);
	if (!err)
		*ret = &tree->places[task->id];
	return err;
}

static uint32_t id_of(const struct ebt_task *task)
{
	return task ? task->id + 1 : 0;
}

/* *ret is TOP where there is no more room. */
static struct ebt_error *get_child(struct waketree *tree, uint32_t parent,
				   const struct ebt_task *task, bool again, uint32_t *ret)
{
	const uint64_t key = (uint64_t)parent << 34 | (uint64_t)id_of(task) << 1 | again;
	struct ebt_error *err;

	if (ebt_map_find(&tree->children, key, ret))
		return NULL;
	if (tree->n == MAX_NODES) {
		*ret = TOP;
		return NULL;
	}
	err = ebt_array_reserve(&tree->nodes, tree->n, &tree->capacity)
		      ?: ebt_map_add(&tree->children, key, (uint32_t)tree->n, ret);
	if (err)
		return err;
	tree->nodes[tree->n++] = (struct waketree_node){
		.task = task,
		.parent = parent,
		.depth = tree->nodes[parent].depth + 1,
		.again = again,
	};
	return NULL;
}

/* The node that wake-ups by this task stand below now. */
static struct ebt_error *node_of(struct waketree *tree, const struct ebt_task *waker, uint32_t *ret)
{
	struct task_place *place;
	struct ebt_error *err;

	if (!waker)
		return get_child(tree, TOP, NULL, false, ret);
	err = get_place(tree, waker, &place);
	if (err)
		return err;
	*ret = place->node;
	if (*ret && tree->nodes[*ret].depth < WAKETREE_DEPTH)
		return NULL;
	err = get_child(tree, TOP, waker, false, ret);
	if (!err)
		place->node = *ret;
	return err;
}

/* Those of an interrupt are of nobody's chain. */
static const struct ebt_task *waker_of(const struct ebt_row *row)
{
	return ebt_sched_waking_kind(row) == EBT_V_sched_waking_kind_by_interrupt
		       ? NULL
		       : ebt_sched_waking_waker(row);
}

struct ebt_error *waketree_waking(struct waketree *tree, const struct ebt_row *row)
{
	const struct ebt_task *wakee = ebt_sched_waking_wakee(row);
	const struct ebt_task *waker = waker_of(row);
	struct task_place *place;
	struct ebt_error *err;
	uint32_t node;

	if (!wakee || id_of(wakee) == id_of(waker))
		return NULL;
	err = node_of(tree, waker, &node) ?: get_place(tree, wakee, &place);
	if (err || place->pending)
		return err;
	place->pending = true;
	place->soft = ebt_sched_waking_kind(row) == EBT_V_sched_waking_kind_in_soft_interrupt;
	place->pending_node = node;
	place->pending_waker = id_of(waker);
	return NULL;
}

/* The same thread, maybe by another name, further up in the chain; TOP: it is not there. */
static uint32_t find_above(const struct waketree *tree, uint32_t node, const struct ebt_task *task)
{
	while (node != TOP && id_of(tree->nodes[node].task) != id_of(task))
		node = tree->nodes[node].parent;
	return node;
}

static void count(struct waketree_node *node, const struct sched_off *off, bool soft)
{
	const uint64_t since = off->whole_runnable;
	const uint64_t wait = off->end > since ? off->end - since : 0;

	node->count++;
	node->soft += soft;
	node->latency_ns += wait;
	if (wait >= node->max_ns) {
		node->max_ns = wait;
		node->max_at = off->end;
	}
}

static struct ebt_error *add(struct waketree *tree, uint32_t parent, const struct sched_off *off,
			     bool counted)
{
	const uint32_t above = find_above(tree, parent, off->task);
	struct ebt_error *err;
	uint32_t node;

	err = get_child(tree, parent, off->task, above != TOP, &node);
	if (err)
		return err;
	if (node == TOP) {
		tree->left_out += counted;
		return NULL;
	}
	tree->places[off->task->id].node = above != TOP ? above : node;
	if (counted)
		count(&tree->nodes[node], off, tree->places[off->task->id].soft);
	return NULL;
}

struct ebt_error *waketree_off(struct waketree *tree, const struct sched_off *off, bool counted)
{
	struct task_place *place;
	struct ebt_error *err = get_place(tree, off->task, &place);
	uint32_t parent;

	if (err || off->flags & SCHED_OPEN_END)
		return err;
	/* One that was pushed aside goes on in its chain. */
	if (!off->woken || !off->runnable)
		return NULL;
	if (place->pending && place->pending_waker == id_of(off->waker))
		parent = place->pending_node;
	else
		err = node_of(tree, off->waker, &parent);
	if (err)
		return err;
	tree->places[off->task->id].pending = false;
	return add(tree, parent, off, counted);
}

/* --- the order in which they are shown --- */

static int compare(const void *a, const void *b, void *arg)
{
	const struct waketree *tree = arg;
	const struct waketree_node *x = &tree->nodes[*(const uint32_t *)a];
	const struct waketree_node *y = &tree->nodes[*(const uint32_t *)b];
	int order = ebt_compare(x->parent, y->parent) ?: ebt_compare(y->below, x->below);

	return order ?: ebt_compare(x, y);
}

/* A node is made after its parent, so that sums go up from the end. */
static void sum_up(struct waketree *tree)
{
	for (size_t i = tree->n - 1; i > 0; i--) {
		struct waketree_node *node = &tree->nodes[i];

		node->below += node->count;
		tree->nodes[node->parent].below += node->below;
	}
	for (size_t i = 1; i < tree->n; i++) {
		struct waketree_node *node = &tree->nodes[i];

		node->chain_ns = tree->nodes[node->parent].chain_ns;
		if (node->count)
			node->chain_ns += node->latency_ns / node->count;
	}
}

struct ebt_error *waketree_finish(struct waketree *tree)
{
	_cleanup_free_ uint32_t *sorted = calloc(tree->n, sizeof(*sorted));
	/* Of each node's children: where the next one to be shown is in sorted. */
	_cleanup_free_ uint32_t *next = calloc(tree->n, sizeof(*next));
	uint32_t at = TOP;

	tree->order = calloc(tree->n, sizeof(*tree->order));
	if (!sorted || !next || !tree->order)
		return &ebt_enomem;
	sum_up(tree);
	for (size_t i = 1; i < tree->n; i++)
		sorted[i - 1] = (uint32_t)i;
	qsort_r(sorted, tree->n - 1, sizeof(*sorted), compare, tree);
	for (size_t i = tree->n - 1; i > 0; i--)
		next[tree->nodes[sorted[i - 1]].parent] = (uint32_t)i; /* 1 + its index */
	for (;;) {
		const uint32_t slot = next[at];
		const uint32_t child = slot && slot < tree->n ? sorted[slot - 1] : TOP;

		if (child != TOP && tree->nodes[child].parent == at && tree->nodes[child].below) {
			next[at]++;
			tree->order[tree->n_shown++] = child;
			at = child;
		} else if (at == TOP) {
			return NULL;
		} else {
			at = tree->nodes[at].parent;
		}
	}
}

size_t waketree_n(const struct waketree *tree)
{
	return tree->n_shown;
}

const struct waketree_node *waketree_node(const struct waketree *tree, size_t i)
{
	return &tree->nodes[tree->order[i]];
}

uint64_t waketree_left_out(const struct waketree *tree)
{
	return tree->left_out;
}
