/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inside of a call tree: shared by model_calltree.c, which grows it, and calltree_views.c,
 * which reads it. */
#ifndef REPORT_STACKS_CALLTREE_PRIVATE_H
#define REPORT_STACKS_CALLTREE_PRIVATE_H

#include "format/base/arena.h"
#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "report/stacks/model_calltree.h"

/* Where a stack was placed. */
struct cached {
	uint64_t batch;
	const struct ebt_task *task;
	uint32_t kernel, user;
	uint32_t node; /* 0: an empty slot; a stack that ends at the root itself is placed each time
			*/
};

/* The user stack that was placed last, outermost address first: the next one mostly shares its
 * beginning, which then need not be looked up. */
struct path {
	uint32_t start; /* the node above it */
	uint32_t n;
	struct path_step {
		uint64_t address;
		struct sym_validity valid;
		uint32_t node; /* after it */
		bool caller;
	} * steps; /* room for EBT_MAX_FRAMES */
};

struct calltree {
	struct sym *sym;
	struct calltree_options options;

	struct calltree_node *nodes; /* in order of making: parents before children */
	struct calltree_func *funcs;
	uint32_t n_nodes, n_funcs;
	size_t nodes_capacity, funcs_capacity;
	bool borrowed_funcs; /* they belong to the tree that this is a view of */
	bool by_weight;	     /* order of children, see calltree_finish() */

	struct ebt_map children; /* nodes by parent, func and inlined */
	struct ebt_map names;	 /* funcs that are no functions, by hash of their name */
	struct ebt_arena arena;	 /* their names */
	uint32_t *by_sym;	 /* funcs by sym_func.id */
	size_t n_by_sym;
	struct ebt_map places; /* funcs by sym_func.id, line and address */

	struct cached *cache;
	struct path path;
};

/* The child of a node, made if there is none. *ret may be &parent's variable. */
struct ebt_error *calltree_child(struct calltree *tree, uint32_t parent, uint32_t func,
				 bool inlined, uint32_t *ret);

/* A tree of its own nodes with the functions of another. */
struct ebt_error *calltree_create_view(const struct calltree *tree, uint32_t func,
				       struct calltree **ret);

/* first 0: not known. */
void calltree_add_line(struct calltree_node *node, const char *file, uint32_t first, uint32_t last);

#endif
