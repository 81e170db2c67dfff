/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Matching the functions and the frames of two call trees; see model_diff.h. */
#include "report/stacks/model_diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/compare.h"

enum { BEFORE, AFTER, N_SIDES };

/* A function of one side. */
struct diff_entry {
	const char *name, *object, *base;
	double weight; /* scaled */
	uint32_t func, side;
};

struct diff_input {
	struct diff_side side;
	uint32_t *keys; /* by func: number of what it is matched with */
};

struct diff {
	struct diff_input sides[N_SIDES];
	struct diff_func *funcs;
	size_t n_funcs;
};

void diff_destroy(struct diff *diff)
{
	if (!diff)
		return;
	for (int i = 0; i < N_SIDES; i++)
		free(diff->sides[i].keys);
	free(diff->funcs);
	free(diff);
}

/* --- functions --- */

static int compare_entries(const void *pa, const void *pb)
{
	const struct diff_entry *a = pa, *b = pb;
	int order = strcmp(a->name, b->name) ?: strcmp(a->base, b->base);

	return order ?: ebt_compare(a->side, b->side) ?: ebt_compare(a->func, b->func);
}

static bool same(const struct diff_entry *a, const struct diff_entry *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->base, b->base);
}

/* One entry for each function of the tree, whether it has any weight or not. */
static struct ebt_error *add_side(const struct diff_input *side, uint32_t number, bool by_total,
				  struct diff_entry *entries, size_t *n)
{
	_cleanup_free_ struct calltree_flat *flat = NULL;
	uint32_t n_funcs;
	const struct calltree_func *funcs = calltree_funcs(side->side.tree, &n_funcs);
	struct diff_entry *first = entries + *n;
	struct ebt_error *err;
	size_t n_flat;

	err = calltree_flat(side->side.tree, &flat, &n_flat);
	if (err)
		return err;
	for (uint32_t i = 0; i < n_funcs; i++) {
		const char *slash = strrchr(funcs[i].object, '/');

		first[i] = (struct diff_entry){
			.name = funcs[i].name,
			.object = funcs[i].object,
			.base = slash ? slash + 1 : funcs[i].object,
			.func = i,
			.side = number,
		};
	}
	for (size_t i = 0; i < n_flat; i++) {
		if (funcs[flat[i].func].kind != CALLTREE_ROOT)
			first[flat[i].func].weight =
				(double)(by_total ? flat[i].total : flat[i].self) *
				side->side.scale;
	}
	*n += n_funcs;
	return NULL;
}

/* Variance of a scaled weight. */
static double variance(const struct diff_side *side, double weight)
{
	double sample = side->sample * side->scale;

	return sample > 0 ? sample * sample * (weight / sample + 1) : 0;
}

static double error_of(const struct diff *diff, double before, double after)
{
	return sqrt(variance(&diff->sides[BEFORE].side, before) +
		    variance(&diff->sides[AFTER].side, after));
}

static int compare_funcs(const void *pa, const void *pb)
{
	const struct diff_func *a = pa, *b = pb;
	double x = fabs(a->after - a->before), y = fabs(b->after - b->before);

	return ebt_compare(y, x) ?: strcmp(a->name, b->name);
}

static void merge(struct diff *diff, const struct diff_entry *entries, size_t n)
{
	uint32_t key = 0;
	size_t end;

	for (size_t i = 0; i < n; i = end, key++) {
		struct diff_func func = { .name = entries[i].name, .object = entries[i].object };

		for (end = i; end < n && same(&entries[i], &entries[end]); end++) {
			if (entries[end].side == BEFORE)
				func.before += entries[end].weight;
			else
				func.after += entries[end].weight;
			diff->sides[entries[end].side].keys[entries[end].func] = key;
		}
		func.error = error_of(diff, func.before, func.after);
		if (func.before > 0 || func.after > 0)
			diff->funcs[diff->n_funcs++] = func;
	}
}

struct ebt_error *diff_create(const struct diff_side *before, const struct diff_side *after,
			      bool by_total, struct diff **ret)
{
	_cleanup_(diff_destroyp) struct diff *diff = calloc(1, sizeof(*diff));
	_cleanup_free_ struct diff_entry *entries = NULL;
	uint32_t n_before, n_after;
	struct ebt_error *err;
	size_t n = 0;

	if (!diff)
		return &ebt_enomem;
	diff->sides[BEFORE].side = *before;
	diff->sides[AFTER].side = *after;
	calltree_funcs(before->tree, &n_before);
	calltree_funcs(after->tree, &n_after);
	diff->sides[BEFORE].keys = calloc((size_t)n_before + 1, sizeof(uint32_t));
	diff->sides[AFTER].keys = calloc((size_t)n_after + 1, sizeof(uint32_t));
	entries = calloc((size_t)n_before + n_after + 1, sizeof(*entries));
	diff->funcs = calloc((size_t)n_before + n_after + 1, sizeof(*diff->funcs));
	if (!diff->sides[BEFORE].keys || !diff->sides[AFTER].keys || !entries || !diff->funcs)
		return &ebt_enomem;
	err = add_side(&diff->sides[BEFORE], BEFORE, by_total, entries, &n)
		      ?: add_side(&diff->sides[AFTER], AFTER, by_total, entries, &n);
	if (err)
		return err;
	qsort(entries, n, sizeof(*entries), compare_entries);
	merge(diff, entries, n);
	qsort(diff->funcs, diff->n_funcs, sizeof(*diff->funcs), compare_funcs);
	*ret = take_ptr(diff);
	return NULL;
}

const struct diff_func *diff_funcs(const struct diff *diff, size_t *ret_n)
{
	*ret_n = diff->n_funcs;
	return diff->funcs;
}

bool diff_within_error(double difference, double error)
{
	return fabs(difference) < DIFF_ERRORS * error;
}

/* --- frames --- */

/* A node of a tree, as what it is matched by. */
struct frame {
	uint32_t parent, key, node;
	bool inlined;
};

static int compare_frames(const void *pa, const void *pb)
{
	const struct frame *a = pa, *b = pb;
	int order = ebt_compare(a->parent, b->parent) ?: ebt_compare(a->key, b->key);

	return order ?: ebt_compare(a->inlined, b->inlined);
}

/* All nodes but the root, sorted. */
static struct ebt_error *sort_frames(const struct diff_input *side, struct frame **ret,
				     size_t *ret_n)
{
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(side->side.tree, &n);
	struct frame *frames = calloc((size_t)n + 1, sizeof(*frames));

	if (!frames)
		return &ebt_enomem;
	for (uint32_t i = 1; i < n; i++)
		frames[i - 1] = (struct frame){ nodes[i].parent, side->keys[nodes[i].func], i,
						nodes[i].inlined };
	*ret_n = n ? n - 1 : 0;
	if (*ret_n)
		qsort(frames, *ret_n, sizeof(*frames), compare_frames);
	*ret = frames;
	return NULL;
}

/* Where the picture's nodes are in the other tree: UINT32_MAX where they are not. */
static struct ebt_error *match(const struct diff_input *picture, const struct diff_input *other,
			       uint32_t *ret)
{
	_cleanup_free_ struct frame *frames = NULL;
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(picture->side.tree, &n);
	struct ebt_error *err;
	size_t n_frames;

	err = sort_frames(other, &frames, &n_frames);
	if (err)
		return err;
	ret[0] = 0;
	for (uint32_t i = 1; i < n; i++) {
		struct frame wanted = { ret[nodes[i].parent], picture->keys[nodes[i].func], 0,
					nodes[i].inlined };
		const struct frame *found = NULL;

		if (wanted.parent != UINT32_MAX && n_frames)
			found = bsearch(&wanted, frames, n_frames, sizeof(*frames), compare_frames);
		ret[i] = found ? found->node : UINT32_MAX;
	}
	return NULL;
}

struct ebt_error *diff_nodes(const struct diff *diff, bool picture_is_after, double **ret_changes,
			     double **ret_errors)
{
	const struct diff_input *picture = &diff->sides[picture_is_after ? AFTER : BEFORE];
	const struct diff_input *other = &diff->sides[picture_is_after ? BEFORE : AFTER];
	uint32_t n, n_others;
	const struct calltree_node *nodes = calltree_nodes(picture->side.tree, &n);
	const struct calltree_node *others = calltree_nodes(other->side.tree, &n_others);
	_cleanup_free_ uint32_t *matches = calloc((size_t)n + 1, sizeof(*matches));
	_cleanup_free_ double *changes = calloc((size_t)n + 1, sizeof(*changes));
	_cleanup_free_ double *errors = calloc((size_t)n + 1, sizeof(*errors));
	struct ebt_error *err;

	if (!matches || !changes || !errors)
		return &ebt_enomem;
	err = match(picture, other, matches);
	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++) {
		double here = (double)nodes[i].total * picture->side.scale, there = 0;

		if (matches[i] < n_others)
			there = (double)others[matches[i]].total * other->side.scale;
		changes[i] = picture_is_after ? here - there : there - here;
		errors[i] = sqrt(variance(&picture->side, here) + variance(&other->side, there));
	}
	*ret_changes = take_ptr(changes);
	*ret_errors = take_ptr(errors);
	return NULL;
}
