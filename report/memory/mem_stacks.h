/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where outstanding memory was allocated: a second pass over the allocations, since only the stacks
 * of what is left at the end are worth their names.
 */
#ifndef REPORT_MEMORY_MEM_STACKS_H
#define REPORT_MEMORY_MEM_STACKS_H

#include "report/memory/model_mem.h"

struct mem_stacks_options {
	bool pages;	  /* pages instead of objects */
	uint64_t min_age; /* ns; younger ones are left out */
};

/* Counts into g's groups by stack. */
struct ebt_error *mem_stacks_read(struct trace *trace, const struct mem_model *model,
				  const struct mem_stacks_options *options, struct grouping *g);

#endif
