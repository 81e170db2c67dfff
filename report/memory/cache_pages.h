/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which pages of files are new in the page cache; see model_cache.h. 64 pages an entry. */
#ifndef REPORT_MEMORY_CACHE_PAGES_H
#define REPORT_MEMORY_CACHE_PAGES_H

#include <stdint.h>

#include "format/base/error.h"
#include "format/base/map.h"

/* All zero is empty. */
struct cache_pages {
	struct cache_chunk *chunks;
	size_t n, capacity;
	struct ebt_map by_key;
};

/* Pages of a file, its number in a list of the caller's. end is not among them. */
struct cache_range {
	uint32_t file;
	uint64_t index, end;
};

/* Who added pages: what a task did between two of its lookups. */
struct cache_adder {
	uint32_t task, serial;
};

void cache_pages_deinit(struct cache_pages *pages);

/* They are new. */
struct ebt_error *cache_pages_add(struct cache_pages *pages, const struct cache_range *range,
				  const struct cache_adder *adder);
/* Those that this one has added are wanted. Returns how many. */
uint64_t cache_pages_demand(struct cache_pages *pages, const struct cache_range *range,
			    const struct cache_adder *adder);
/* They are new no more. Returns how many were; *ret_ahead: of these, how many nobody had demanded;
 * may be NULL. */
uint64_t cache_pages_use(struct cache_pages *pages, const struct cache_range *range,
			 uint64_t *ret_ahead);

#endif
