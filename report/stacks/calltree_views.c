/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be read off a call tree: totals, flat figures, callers and callees of a function. */
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "report/stacks/calltree_private.h"

/* --- totals and order --- */

struct node_order {
	uint64_t weight; /* 0 where that does not matter */
	uint32_t parent, rank, node;
	bool inlined;
};

static int compare_order(const void *a, const void *b)
{
	const struct node_order *x = a, *y = b;
	int order = ebt_compare(x->parent, y->parent) ?: ebt_compare(y->weight, x->weight);

	order = order ?: ebt_compare(x->rank, y->rank) ?: ebt_compare(x->inlined, y->inlined);
	return order ?: ebt_compare(x->node, y->node);
}

static int compare_names(const void *a, const void *b, void *arg)
{
	const struct calltree_func *funcs = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strcmp(funcs[x].name, funcs[y].name);

	return order ? order : x < y ? -1 : x > y;
}

/* ret[func]: place of its name among those of the tree. A view may be of few of its functions. */
static struct ebt_error *rank_funcs(const struct calltree *tree, uint32_t **ret)
{
	_cleanup_free_ uint32_t *sorted = calloc(tree->n_nodes, sizeof(*sorted));
	_cleanup_free_ uint32_t *ranks = calloc(tree->n_funcs, sizeof(*ranks));
	uint32_t n = 0;

	if (!sorted || !ranks)
		return &ebt_enomem;
	for (uint32_t i = 1; i < tree->n_nodes; i++) {
		uint32_t func = tree->nodes[i].func;

		if (!ranks[func])
			sorted[n++] = func;
		ranks[func] = 1;
	}
	qsort_r(sorted, n, sizeof(*sorted), compare_names, tree->funcs);
	for (uint32_t i = 0; i < n; i++)
		ranks[sorted[i]] = i;
	*ret = take_ptr(ranks);
	return NULL;
}

static struct ebt_error *link_children(struct calltree *tree)
{
	_cleanup_free_ struct node_order *order = calloc(tree->n_nodes, sizeof(*order));
	_cleanup_free_ uint32_t *ranks = NULL;
	struct ebt_error *err;

	if (!order)
		return &ebt_enomem;
	err = rank_funcs(tree, &ranks);
	if (err)
		return err;
	for (uint32_t i = 1; i < tree->n_nodes; i++)
		order[i] = (struct node_order){ tree->by_weight ? tree->nodes[i].total : 0,
						tree->nodes[i].parent, ranks[tree->nodes[i].func],
						i, tree->nodes[i].inlined };
	qsort(order + 1, tree->n_nodes - 1, sizeof(*order), compare_order);
	for (uint32_t i = 0; i < tree->n_nodes; i++)
		tree->nodes[i].child = tree->nodes[i].sibling = 0;
	for (uint32_t i = tree->n_nodes; i-- > 1;) {
		struct calltree_node *parent = &tree->nodes[order[i].parent];

		tree->nodes[order[i].node].sibling = parent->child;
		parent->child = order[i].node;
	}
	return NULL;
}

struct ebt_error *calltree_finish(struct calltree *tree)
{
	for (uint32_t i = 0; i < tree->n_nodes; i++) {
		tree->nodes[i].total = tree->nodes[i].self;
		tree->nodes[i].stacks = tree->nodes[i].count;
	}
	for (uint32_t i = tree->n_nodes; i-- > 1;) {
		struct calltree_node *parent = &tree->nodes[tree->nodes[i].parent];

		parent->total += tree->nodes[i].total;
		parent->stacks += tree->nodes[i].stacks;
	}
	return link_children(tree);
}

/* --- flat --- */

struct flat_state {
	struct calltree_flat *flat; /* by func */
	uint32_t *open;		    /* by func: how often it is on the path to the node */
	uint64_t *heaviest;	    /* by func: total of the node that its lines are from */
};

/* Of nodes that weigh the same: their order follows names, which another copy of the trace may not
 * have. */
static bool is_earlier(const struct calltree_node *node, const struct calltree_flat *flat)
{
	return !flat->file || node->line_first < flat->line_first ||
	       (node->line_first == flat->line_first && node->line_last < flat->line_last);
}

static void enter(const struct calltree *tree, struct flat_state *state, uint32_t index)
{
	const struct calltree_node *node = &tree->nodes[index];
	struct calltree_flat *flat = &state->flat[node->func];

	flat->self += node->self;
	flat->count += node->count;
	flat->inlined &= node->inlined;
	if (state->open[node->func]++ == 0) {
		flat->total += node->total;
		flat->stacks += node->stacks;
	}
	if (node->file &&
	    (node->total > state->heaviest[node->func] ||
	     (node->total == state->heaviest[node->func] && is_earlier(node, flat)))) {
		state->heaviest[node->func] = node->total;
		flat->file = node->file;
		flat->line_first = node->line_first;
		flat->line_last = node->line_last;
	}
}

/* Depth first without recursion: a stack is as deep as the file says. */
static void walk(const struct calltree *tree, struct flat_state *state)
{
	uint32_t at = tree->nodes[0].child;

	while (at) {
		enter(tree, state, at);
		if (tree->nodes[at].child) {
			at = tree->nodes[at].child;
			continue;
		}
		while (at) {
			state->open[tree->nodes[at].func]--;
			if (tree->nodes[at].sibling)
				break;
			at = tree->nodes[at].parent;
		}
		at = tree->nodes[at].sibling;
	}
}

static int compare_flat(const void *a, const void *b, void *arg)
{
	const struct calltree_func *funcs = arg;
	const struct calltree_flat *x = a, *y = b;
	int order = ebt_compare(y->total, x->total) ?: ebt_compare(y->self, x->self);

	return order ?: strcmp(funcs[x->func].name, funcs[y->func].name);
}

struct ebt_error *calltree_flat(const struct calltree *tree, struct calltree_flat **ret,
				size_t *ret_n)
{
	_cleanup_free_ struct calltree_flat *flat = calloc(tree->n_funcs, sizeof(*flat));
	_cleanup_free_ uint32_t *open = calloc(tree->n_funcs, sizeof(*open));
	_cleanup_free_ uint64_t *heaviest = calloc(tree->n_funcs, sizeof(*heaviest));
	struct flat_state state = { flat, open, heaviest };
	size_t n = 0;

	if (!flat || !open || !heaviest)
		return &ebt_enomem;
	for (uint32_t i = 0; i < tree->n_funcs; i++) {
		flat[i].func = i;
		flat[i].inlined = true;
	}
	walk(tree, &state);
	for (uint32_t i = 1; i < tree->n_funcs; i++) {
		if (flat[i].total && tree->funcs[i].kind != CALLTREE_ROOT)
			flat[n++] = flat[i];
	}
	qsort_r(flat, n, sizeof(*flat), compare_flat, tree->funcs);
	*ret = take_ptr(flat);
	*ret_n = n;
	return NULL;
}

/* --- callers and callees --- */

struct ebt_error *calltree_create_view(const struct calltree *tree, uint32_t func,
				       struct calltree **ret)
{
	_cleanup_(calltree_destroyp) struct calltree *view = calloc(1, sizeof(*view));
	struct ebt_error *err;

	if (!view)
		return &ebt_enomem;
	view->borrowed_funcs = true;
	view->funcs = tree->funcs;
	view->n_funcs = tree->n_funcs;
	err = ebt_array_reserve_zeroed(&view->nodes, 0, &view->nodes_capacity);
	if (err)
		return err;
	view->n_nodes = 1;
	view->nodes[0].func = func;
	*ret = take_ptr(view);
	return NULL;
}

static void merge_node(struct calltree *view, uint32_t into, const struct calltree_node *from)
{
	struct calltree_node *node = &view->nodes[into];

	node->self += from->self;
	node->count += from->count;
	calltree_add_line(node, from->file, from->line_first, from->line_last);
}

uint32_t calltree_next(const struct calltree_node *nodes, uint32_t at, uint32_t top)
{
	if (nodes[at].child)
		return nodes[at].child;
	while (at != top && !nodes[at].sibling)
		at = nodes[at].parent;
	return at == top ? 0 : nodes[at].sibling;
}

/* Everything below the occurrence, which stands for the root of the view. */
static struct ebt_error *merge_callees(const struct calltree *tree, struct calltree *view,
				       uint32_t *place, uint32_t top)
{
	uint32_t at = top;

	place[top] = 0;
	merge_node(view, 0, &tree->nodes[top]);
	while ((at = calltree_next(tree->nodes, at, top))) {
		struct ebt_error *err;

		err = calltree_child(view, place[tree->nodes[at].parent], tree->nodes[at].func,
				     tree->nodes[at].inlined, &place[at]);
		if (err)
			return err;
		merge_node(view, place[at], &tree->nodes[at]);
	}
	return NULL;
}

/* From the occurrence up to the root of the tree. */
static struct ebt_error *merge_callers(const struct calltree *tree, struct calltree *view,
				       uint32_t from)
{
	uint32_t at = from, node = 0;

	calltree_add_line(&view->nodes[0], tree->nodes[at].file, tree->nodes[at].line_first,
			  tree->nodes[at].line_last);
	while (at && tree->nodes[at].parent) {
		struct ebt_error *err;

		at = tree->nodes[at].parent;
		err = calltree_child(view, node, tree->nodes[at].func, tree->nodes[at].inlined,
				     &node);
		if (err)
			return err;
		calltree_add_line(&view->nodes[node], tree->nodes[at].file,
				  tree->nodes[at].line_first, tree->nodes[at].line_last);
	}
	view->nodes[node].self += tree->nodes[from].total;
	view->nodes[node].count += tree->nodes[from].stacks;
	return NULL;
}

struct ebt_error *calltree_focus(const struct calltree *tree, uint32_t func,
				 enum calltree_view which, struct calltree **ret)
{
	_cleanup_(calltree_destroyp) struct calltree *view = NULL;
	_cleanup_free_ uint32_t *place = calloc(tree->n_nodes, sizeof(*place));
	_cleanup_free_ bool *inside = calloc(tree->n_nodes, sizeof(*inside));
	struct ebt_error *err;

	if (!place || !inside)
		return &ebt_enomem;
	err = calltree_create_view(tree, func, &view);
	if (err)
		return err;
	for (uint32_t i = 1; i < tree->n_nodes; i++) {
		/* Recursion: the outermost occurrence has all that is below it. */
		inside[i] = inside[tree->nodes[i].parent];
		if (inside[i] || tree->nodes[i].func != func)
			continue;
		inside[i] = true;
		if (which == CALLTREE_CALLERS)
			err = merge_callers(tree, view, i);
		else
			err = merge_callees(tree, view, place, i);
		if (err)
			return err;
	}
	err = calltree_finish(view);
	if (!err)
		*ret = take_ptr(view);
	return err;
}

struct ebt_error *calltree_branch(const struct calltree *tree, uint32_t node, struct calltree **ret)
{
	_cleanup_(calltree_destroyp) struct calltree *view = NULL;
	_cleanup_free_ uint32_t *place = calloc(tree->n_nodes, sizeof(*place));
	struct ebt_error *err;

	if (!place)
		return &ebt_enomem;
	err = calltree_create_view(tree, tree->nodes[node].func, &view)
		      ?: merge_callees(tree, view, place, node);
	if (err)
		return err;
	err = calltree_finish(view);
	if (!err)
		*ret = take_ptr(view);
	return err;
}
