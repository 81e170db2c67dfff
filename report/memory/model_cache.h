/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page cache: which pages were there when somebody wanted them.
 *
 * A page that is added is new until somebody uses it, or writes to it. The first use of a new page
 * is a miss, since it had to be read for that, just then or ahead; any other use is a hit. It was
 * read just then if the task's next lookup behind the addition, or the fault before it, wants that
 * page; else it was read ahead. The kernel tells of a read() when the pages have been found, and
 * again for what is left of the same read(), so each row stands for the pages up to the next one's
 * beginning. Around a fault it maps pages that are there, up to 16: new ones are used by that.
 */
#ifndef REPORT_MEMORY_MODEL_CACHE_H
#define REPORT_MEMORY_MODEL_CACHE_H

#include <stdint.h>

#include "report/trace/inode_paths.h"
#include "report/trace/task_groups.h"
#include "report/trace/trace.h"

/* All in pages. */
struct cache_sum {
	uint64_t hits, misses; /* together: lookups */
	uint64_t ahead;	       /* misses that had been read ahead */
	uint64_t added;
	uint64_t demanded, written; /* of those added: just wanted; to be written to */
	uint64_t deleted, dirtied;
};

struct cache_file {
	struct inode_key key;
	struct cache_sum sum; /* by tasks that pass the filters */
};

struct cache_model;

struct ebt_error *cache_model_create(struct trace *trace, bool by_thread, struct cache_model **ret);
void cache_model_destroy(struct cache_model *model);
DEFINE_CLEANUP(struct cache_model *, cache_model_destroy);

/* Of processes or threads, in the order of cache_model_tasks(). */
const struct cache_sum *cache_model_groups(const struct cache_model *model, size_t *ret_n);
const struct task_groups *cache_model_tasks(const struct cache_model *model);
const struct cache_file *cache_model_files(const struct cache_model *model, size_t *ret_n);
const struct cache_sum *cache_model_all(const struct cache_model *model);

/* Pages that were read ahead and not wanted at once. */
static inline uint64_t cache_readahead(const struct cache_sum *sum)
{
	return sum->added > sum->demanded + sum->written ? sum->added - sum->demanded - sum->written
							 : 0;
}

#endif
