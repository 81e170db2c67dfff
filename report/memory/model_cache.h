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

#include "report/group/group.h"
#include "report/trace/trace.h"

/* All in pages. */
struct cache_sum {
	uint64_t hits, misses; /* together: lookups */
	uint64_t ahead;	       /* misses that had been read ahead */
	uint64_t added;
	uint64_t demanded, written; /* of those added: just wanted; to be written to */
	uint64_t deleted, dirtied;
};

/* Counts into groups, whose figures are struct cache_sum: of tasks, of files. What is known of
 * pages goes on from one window to the next. */
struct ebt_error *cache_read(struct trace *trace, struct grouping *g);

/* Pages that were read ahead and not wanted at once. */
static inline uint64_t cache_readahead(const struct cache_sum *sum)
{
	return sum->added > sum->demanded + sum->written ? sum->added - sum->demanded - sum->written
							 : 0;
}

#endif
