/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of the kernel by process and by cache, what of it is outstanding, and the resident memory
 * of processes. A free belongs to whoever allocated. What is live at the end of the window was
 * allocated at any time since the recording began; what is counted as allocated and freed happened
 * in the window. Prints nothing.
 */
#ifndef REPORT_MEMORY_MODEL_MEM_H
#define REPORT_MEMORY_MODEL_MEM_H

#include "report/base/live_set.h"
#include "report/trace/task_groups.h"
#include "report/trace/trace.h"

/* Counts are not whole where allocations were sampled: each stands for `weight`. */
struct mem_sum {
	double allocated_count, freed_count, live_count;
	double allocated_bytes, freed_bytes, live_bytes;
	double waste_bytes, live_waste_bytes; /* given − requested */
	double live_variance;		      /* of live_bytes, as an estimate */
};

#define MEM_RSS_KINDS (EBT_V_rss_stat_kind_shmem + 1)

struct mem_process {
	struct mem_sum objects, pages;
	uint64_t unknown_frees; /* by this process, of what nobody is known to have allocated */
	uint64_t rss[MEM_RSS_KINDS], rss_peak, vm_size;
	bool has_rss;
};

struct mem_cache {
	char *name;
	struct mem_sum sum;
};

/* A row of meminfo. */
struct mem_system {
	uint64_t time;
	uint64_t total, free, available, cached, anon, slab, slab_unreclaimable, page_tables;
	uint64_t swap_used;
};

struct mem_model {
	struct task_groups *groups;
	struct mem_process *processes; /* one for each group; NULL tasks: interrupts */
	size_t n_processes;
	struct mem_cache *caches;
	size_t n_caches;
	struct live_set objects, pages;
	struct mem_system first, last; /* time 0: not there */
	uint64_t rate;		       /* bytes; 0: everything was recorded */
	uint64_t unseen;	       /* frees that show only as the address is used again */
	uint64_t untracked;	       /* allocations that did not fit into the sets */
	uint64_t unknown_frees;
	uint64_t allocations;
};

struct ebt_error *mem_model_create(struct trace *trace, struct mem_model **ret);
void mem_model_destroy(struct mem_model *model);
DEFINE_CLEANUP(struct mem_model *, mem_model_destroy);

/* rss of the kinds that are in memory. */
uint64_t mem_process_rss(const struct mem_process *process);

#endif
