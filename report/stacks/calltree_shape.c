/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other stacks of a call tree; see calltree_shape.h. */
#include "report/stacks/calltree_shape.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "report/stacks/calltree_private.h"

struct pattern {
	regex_t regex;
	bool used;
	bool *matches; /* by func */
};

struct shaping {
	const struct calltree *tree;
	const struct calltree_shape *shape;
	bool *selected; /* by node: its stacks are wanted; NULL: all are */
	uint32_t *path; /* of the stack at hand, the innermost frame first */
	size_t path_capacity;
};

bool calltree_is_shaped(const struct calltree_shape *shape)
{
	return shape->focus || shape->ignore || shape->keep || shape->no_recorder ||
	       shape->no_libraries || shape->bottom_up || shape->by_weight;
}

static struct ebt_error *compile(struct pattern *pattern, const char *text,
				 const struct calltree *tree)
{
	char why[128];
	int r;

	r = regcomp(&pattern->regex, text, REG_EXTENDED | REG_NOSUB);
	if (r) {
		regerror(r, &pattern->regex, why, sizeof(why));
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is not a regular expression: %s",
					text, why);
	}
	pattern->used = true;
	pattern->matches = calloc(tree->n_funcs, sizeof(*pattern->matches));
	if (!pattern->matches)
		return &ebt_enomem;
	for (uint32_t i = 0; i < tree->n_funcs; i++)
		pattern->matches[i] = tree->funcs[i].kind != CALLTREE_ROOT &&
				      !regexec(&pattern->regex, tree->funcs[i].name, 0, NULL, 0);
	return NULL;
}

static void pattern_deinit(struct pattern *pattern)
{
	if (pattern->used)
		regfree(&pattern->regex);
	free(pattern->matches);
}

/* selected[node] stays where whether such a function is on the way from the root is `wanted`. */
static struct ebt_error *select_by(const struct calltree *tree, const char *text, bool wanted,
				   bool *selected)
{
	__attribute__((cleanup(pattern_deinit))) struct pattern pattern = { 0 };
	_cleanup_free_ bool *found = NULL;
	struct ebt_error *err;

	if (!text)
		return NULL;
	err = compile(&pattern, text, tree);
	if (err)
		return err;
	found = calloc(tree->n_nodes, sizeof(*found));
	if (!found)
		return &ebt_enomem;
	/* Parents come before their children. */
	for (uint32_t i = 0; i < tree->n_nodes; i++) {
		if (i)
			found[i] = found[tree->nodes[i].parent] ||
				   pattern.matches[tree->nodes[i].func];
		selected[i] = selected[i] && found[i] == wanted;
	}
	return NULL;
}

struct ebt_error *calltree_select(const struct calltree *tree, const struct calltree_shape *shape,
				  bool **ret)
{
	_cleanup_free_ bool *selected = NULL;
	struct ebt_error *err;

	if (!shape->focus && !shape->ignore && !shape->keep && !shape->no_recorder) {
		*ret = NULL;
		return NULL;
	}
	selected = malloc(tree->n_nodes * sizeof(*selected));
	if (!selected)
		return &ebt_enomem;
	for (uint32_t i = 0; i < tree->n_nodes; i++)
		selected[i] = (!shape->keep || shape->keep[i]) &&
			      !(shape->no_recorder && tree->nodes[i].recorder);
	err = select_by(tree, shape->focus, true, selected);
	if (err)
		return err;
	err = select_by(tree, shape->ignore, false, selected);
	if (!err)
		*ret = take_ptr(selected);
	return err;
}

static bool is_first(const struct calltree *tree, uint32_t node)
{
	return tree->funcs[tree->nodes[node].func].kind == CALLTREE_ROOT;
}

static bool is_system(const struct calltree_func *func, const struct calltree_node *node)
{
	enum calltree_kind kind = node->inlined ? CALLTREE_INLINED : func->kind;

	return func->kind == CALLTREE_KERNEL || kind == CALLTREE_LIBRARY ||
	       strncmp(func->object, "/usr/", 5) == 0;
}

/* Frames of the stack that ends at a node, without the first one where that is no function. */
static struct ebt_error *take_path(struct shaping *s, uint32_t node, uint32_t *ret_n,
				   uint32_t *ret_first)
{
	const struct calltree *tree = s->tree;
	struct ebt_error *err;
	uint32_t n = 0;

	for (; node && !is_first(tree, node); node = tree->nodes[node].parent) {
		const struct calltree_node *at = &tree->nodes[node];

		if (s->shape->no_libraries && is_system(&tree->funcs[at->func], at))
			continue;
		err = ebt_array_reserve(&s->path, n, &s->path_capacity);
		if (err)
			return err;
		s->path[n++] = node;
	}
	*ret_n = n;
	*ret_first = node;
	return NULL;
}

/* Frames that are said once, where they stand several times one below the other. */
#define LONGEST_CYCLE 8

/* Where the last frames are the same as those before them, which stand for both then. */
static void fold(const struct shaping *s, struct calltree *view, uint32_t *node)
{
	uint32_t before = *node;

	for (unsigned int length = 1; s->shape->fold && length <= LONGEST_CYCLE; length++) {
		uint32_t a = *node, b;
		unsigned int same = 0;

		before = view->nodes[before].parent;
		for (b = before; b && same < length && view->nodes[a].func == view->nodes[b].func;
		     same++) {
			a = view->nodes[a].parent;
			b = view->nodes[b].parent;
		}
		if (same == length) {
			*node = before;
			view->nodes[before].recursive = true;
			return;
		}
		if (!before)
			return;
	}
}

static struct ebt_error *add_frame(struct shaping *s, struct calltree *view, uint32_t frame,
				   uint32_t *node)
{
	const struct calltree_node *from = &s->tree->nodes[frame];
	struct ebt_error *err;

	/* Inlined into another than its parent, it would be a lie. */
	err = calltree_child(view, *node, from->func, from->inlined && !s->shape->bottom_up, node);
	if (!err)
		calltree_add_line(&view->nodes[*node], from->file, from->line_first,
				  from->line_last);
	return err;
}

static struct ebt_error *add_stack(struct shaping *s, struct calltree *view, uint32_t at)
{
	const struct calltree_node *end = &s->tree->nodes[at];
	uint32_t node = 0, n, first;
	struct ebt_error *err;

	if (!end->count || (s->selected && !s->selected[at]))
		return NULL;
	err = take_path(s, at, &n, &first);
	if (!err && first && s->tree->nodes[first].parent) /* its process, where that is a thread */
		err = add_frame(s, view, s->tree->nodes[first].parent, &node);
	if (err)
		return err;
	if (first)
		err = add_frame(s, view, first, &node);
	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++) {
		err = add_frame(s, view, s->path[s->shape->bottom_up ? i : n - 1 - i], &node);
		if (err)
			return err;
		fold(s, view, &node);
	}
	view->nodes[node].self += end->self;
	view->nodes[node].count += end->count;
	return NULL;
}

static struct ebt_error *reshape(struct shaping *s, struct calltree **ret)
{
	_cleanup_(calltree_destroyp) struct calltree *view = NULL;
	struct ebt_error *err;

	err = calltree_select(s->tree, s->shape, &s->selected)
		      ?: calltree_create_view(s->tree, s->tree->nodes[0].func, &view);
	if (err)
		return err;
	view->by_weight = s->shape->by_weight;
	for (uint32_t i = 0; i < s->tree->n_nodes; i++) {
		err = add_stack(s, view, i);
		if (err)
			return err;
	}
	err = calltree_finish(view);
	if (!err)
		*ret = take_ptr(view);
	return err;
}

struct ebt_error *calltree_reshape(const struct calltree *tree, const struct calltree_shape *shape,
				   struct calltree **ret)
{
	struct shaping s = { .tree = tree, .shape = shape };
	struct ebt_error *err = reshape(&s, ret);

	free(s.selected);
	free(s.path);
	return err;
}
