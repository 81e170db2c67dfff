/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where outstanding memory was allocated: a second pass over the allocations, since only the stacks
 * of what is left at the end are worth their names.
 */
#ifndef REPORT_MEMORY_MEM_STACKS_H
#define REPORT_MEMORY_MEM_STACKS_H

#include "report/memory/model_mem.h"
#include "report/stacks/model_calltree.h"

struct mem_stack {
	uint32_t node; /* of the tree */
	double live_bytes, live_count;
	uint64_t first, last; /* times of the oldest and the newest allocation */
};

struct mem_stacks_options {
	bool pages;	  /* pages instead of objects */
	uint64_t min_age; /* ns; younger ones are left out */
};

/* Those with most bytes first. Free *ret with free(). */
struct ebt_error *mem_stacks_read(struct trace *trace, const struct mem_model *model,
				  const struct mem_stacks_options *options, struct calltree *tree,
				  struct mem_stack **ret, size_t *ret_n);

#endif
