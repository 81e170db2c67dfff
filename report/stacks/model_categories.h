/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Categories of the stacks of a call tree: which one each stack belongs to, and sums. A stack
 * counts once (self) for the category of its innermost function, or of the nearest caller that
 * passes its own on, and once (total) for each category that is passed on along it.
 */
#ifndef REPORT_STACKS_MODEL_CATEGORIES_H
#define REPORT_STACKS_MODEL_CATEGORIES_H

#include "report/stacks/categories.h"

struct category_sum {
	uint64_t self, total; /* weights */
	uint64_t count;	      /* stacks of self */
};

struct tree_categories {
	uint32_t *stack; /* by node: category of a stack that ends there */
	uint32_t *up; /* by node: the node itself or its nearest caller that passes its category on;
			 0: none */
	uint32_t *own; /* by node: category that it passes on where `up` is itself */
	const struct calltree *tree;
	size_t n; /* categories */
};

void tree_categories_deinit(struct tree_categories *t);
#define _cleanup_tree_categories_ __attribute__((cleanup(tree_categories_deinit)))

/* callers: nodes have their callers as parents, so that categories may be passed on. Without it
 * each function has its own or none. */
struct ebt_error *tree_categories_make(const struct calltree *tree,
				       const struct categories *categories, bool callers,
				       struct tree_categories *ret);

/* Of the stacks that end at nodes with keep[node] (NULL: all). One entry a category; free(). */
struct ebt_error *tree_categories_sum(const struct tree_categories *t, const bool *keep,
				      struct category_sum **ret);

/* ret[node]: the stack that ends there counts for the category, as self or in total. */
struct ebt_error *tree_categories_with(const struct tree_categories *t, uint32_t category,
				       bool **ret);

#endif
