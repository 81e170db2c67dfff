/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of the kernel, what of it is outstanding, and the resident memory of processes. A free
 * belongs to whoever allocated. What is live at the end of the window was allocated at any time
 * since the recording began; what is counted as allocated and freed happened in the window.
 */
#ifndef REPORT_MEMORY_MODEL_MEM_H
#define REPORT_MEMORY_MODEL_MEM_H

#include "report/base/live_set.h"
#include "report/group/group.h"
#include "report/trace/trace.h"

/* Counts are not whole where allocations were sampled: each stands for `weight`. */
struct mem_sum {
	double allocated_count, freed_count, live_count;
	double allocated_bytes, freed_bytes, live_bytes;
	double waste_bytes, live_waste_bytes; /* given − requested */
	double live_variance;		      /* of live_bytes, as an estimate */
};

#define MEM_RSS_KINDS (EBT_V_rss_stat_kind_shmem + 1)

/* Figures of a group. */
struct mem_figures {
	struct mem_sum objects, pages;
	uint64_t unknown_frees; /* of what nobody is known to have allocated; 0 by cache */

	/* Of groups that are processes. */
	bool has_rss;
	uint64_t rss[MEM_RSS_KINDS], rss_peak, vm_size;

	/* Of groups by stack: what is left at the end. */
	struct mem_left {
		double bytes, count;
		uint64_t first, last; /* when the oldest and the newest were allocated */
	} left;
};

/* Its first own key. */
#define MEM_BY_CACHE (1u << GROUP_OWN)

/* A row of meminfo. */
struct mem_system {
	uint64_t time;
	uint64_t total, free, available, cached, anon, slab, slab_unreclaimable, page_tables;
	uint64_t swap_used;
};

/* All zero before it is read. */
struct mem_model {
	struct ebt_str *caches; /* names; numbers are values of the own key */
	size_t n_caches, caches_capacity;
	struct live_set objects, pages;
	struct mem_system first, last; /* time 0: not there */
	uint64_t rate;		       /* bytes; 0: everything was recorded */
	uint64_t unseen;	       /* frees that show only as the address is used again */
	uint64_t untracked;	       /* allocations that did not fit into the sets */
	uint64_t allocations;
};

/* Figures go into g, by whichever keys. */
struct ebt_error *mem_model_read(struct mem_model *model, struct trace *trace, struct grouping *g);
void mem_model_deinit(struct mem_model *model);

/* rss of the kinds that are in memory. */
uint64_t mem_rss(const struct mem_figures *figures);

#endif
