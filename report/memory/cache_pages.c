/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of pages; see cache_pages.h. */
#include "report/memory/cache_pages.h"

#include <stdlib.h>

/* What a trace may make us remember: 2 TiB of page cache. */
#define MAX_CHUNKS (1u << 23)

struct cache_chunk {
	uint64_t fresh;	   /* added, and not used yet */
	uint64_t demanded; /* of these: wanted by who added them */
	uint64_t last;	   /* of these: added by: */
	struct cache_adder adder;
};

/* A walk over the chunks of a range. */
struct pages_walk {
	uint64_t page, end;
	uint64_t key;
	uint64_t mask; /* pages of the chunk that are in the range */
};

static bool next_chunk(struct pages_walk *w, uint32_t file)
{
	uint64_t from = w->page % 64, n = 64 - from;

	if (w->page >= w->end)
		return false;
	if (n > w->end - w->page)
		n = w->end - w->page;
	w->key = (uint64_t)file << 34 | ((w->page / 64) & ((UINT64_C(1) << 34) - 1));
	w->mask = (n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1) << from;
	w->page += n;
	return true;
}

static struct cache_chunk *find(const struct cache_pages *pages, uint64_t key)
{
	uint32_t i;

	return ebt_map_find(&pages->by_key, key, &i) ? &pages->chunks[i] : NULL;
}

/* NULL where there are too many. */
static struct ebt_error *make(struct cache_pages *pages, uint64_t key, struct cache_chunk **ret)
{
	struct ebt_error *err;
	uint32_t i;

	*ret = pages->n == MAX_CHUNKS ? find(pages, key) : NULL;
	if (pages->n == MAX_CHUNKS)
		return NULL;
	err = ebt_map_element(&pages->by_key, key, &pages->chunks, &pages->n, &pages->capacity, &i);
	if (!err)
		*ret = &pages->chunks[i];
	return err;
}

void cache_pages_deinit(struct cache_pages *pages)
{
	free(pages->chunks);
	ebt_map_deinit(&pages->by_key);
}

static bool same(const struct cache_adder *a, const struct cache_adder *b)
{
	return a->task == b->task && a->serial == b->serial;
}

struct ebt_error *cache_pages_add(struct cache_pages *pages, const struct cache_range *range,
				  const struct cache_adder *adder)
{
	struct pages_walk w = { .page = range->index, .end = range->end };
	struct ebt_error *err = NULL;
	struct cache_chunk *chunk;

	while (!err && next_chunk(&w, range->file)) {
		err = make(pages, w.key, &chunk);
		if (err || !chunk)
			continue;
		if (!same(&chunk->adder, adder))
			chunk->last = 0;
		chunk->adder = *adder;
		chunk->fresh |= w.mask;
		chunk->last |= w.mask;
		chunk->demanded &= ~w.mask;
	}
	return err;
}

uint64_t cache_pages_demand(struct cache_pages *pages, const struct cache_range *range,
			    const struct cache_adder *adder)
{
	struct pages_walk w = { .page = range->index, .end = range->end };
	uint64_t n = 0;

	while (next_chunk(&w, range->file)) {
		struct cache_chunk *chunk = find(pages, w.key);
		uint64_t found;

		if (!chunk || !same(&chunk->adder, adder))
			continue;
		found = chunk->last & chunk->fresh & ~chunk->demanded & w.mask;
		chunk->demanded |= found;
		n += (uint64_t)__builtin_popcountll(found);
	}
	return n;
}

uint64_t cache_pages_use(struct cache_pages *pages, const struct cache_range *range,
			 uint64_t *ret_ahead)
{
	struct pages_walk w = { .page = range->index, .end = range->end };
	uint64_t n = 0, ahead = 0;

	while (next_chunk(&w, range->file)) {
		struct cache_chunk *chunk = find(pages, w.key);
		uint64_t found = chunk ? chunk->fresh & w.mask : 0;

		if (!found)
			continue;
		chunk->fresh &= ~found;
		n += (uint64_t)__builtin_popcountll(found);
		ahead += (uint64_t)__builtin_popcountll(found & ~chunk->demanded);
	}
	if (ret_ahead)
		*ret_ahead = ahead;
	return n;
}
