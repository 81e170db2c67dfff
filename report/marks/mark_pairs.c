/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which begin an end belongs to; see mark_pairs.h. */
#include "report/marks/mark_pairs.h"

#include <stdlib.h>

#include "format/base/array.h"

/* A file that is made for it could make each search as long as the file. */
#define MAX_LOOKS 1024u

struct mark_open_begin {
	struct mark_place place;
	uint32_t mark, next;
};

void mark_pairs_deinit(struct mark_pairs *pairs)
{
	free(pairs->list);
	ebt_map_deinit(&pairs->stacks);
}

static bool is_same_stack(const struct mark_place *a, const struct mark_place *b)
{
	return a->owner == b->owner && a->key == b->key && (!a->key || a->name == b->name);
}

static uint64_t hash_of(const struct mark_place *place)
{
	uint64_t hash = ebt_hash_u64(0, place->owner);

	return place->key ? ebt_hash_u64(ebt_hash_u64(hash, place->name), place->key) : hash;
}

/* The newest begin of the stack that the place belongs to, from 1; 0: there is none. */
static uint32_t top_of(const struct mark_pairs *pairs, const struct mark_place *place,
		       uint64_t hash)
{
	size_t looks = 0;
	uint32_t at;

	while ((at = ebt_map_next(&pairs->stacks, hash, &looks)) != EBT_MAP_NONE) {
		if (is_same_stack(&pairs->list[at - 1].place, place))
			return at;
	}
	return 0;
}

static struct ebt_error *find_room(struct mark_pairs *pairs, uint32_t *ret)
{
	struct ebt_error *err;

	if (pairs->free) {
		*ret = pairs->free;
		pairs->free = pairs->list[*ret - 1].next;
		return NULL;
	}
	err = ebt_array_reserve(&pairs->list, pairs->n, &pairs->capacity);
	if (!err)
		*ret = (uint32_t)++pairs->n;
	return err;
}

struct ebt_error *mark_pairs_begin(struct mark_pairs *pairs, const struct mark_place *place,
				   uint32_t mark)
{
	uint64_t hash = hash_of(place);
	uint32_t top = top_of(pairs, place, hash), at;
	struct ebt_error *err;

	err = find_room(pairs, &at);
	if (err)
		return err;
	pairs->list[at - 1] = (struct mark_open_begin){ *place, mark, top };
	if (!top)
		return ebt_map_insert(&pairs->stacks, hash, at);
	ebt_map_change(&pairs->stacks, hash, top, at);
	return NULL;
}

bool mark_pairs_find(const struct mark_pairs *pairs, const struct mark_place *place)
{
	uint32_t at = top_of(pairs, place, hash_of(place));

	for (uint32_t looks = 0; at && looks < MAX_LOOKS; looks++) {
		if (pairs->list[at - 1].place.name == place->name)
			return true;
		at = pairs->list[at - 1].next;
	}
	return false;
}

bool mark_pairs_take(struct mark_pairs *pairs, const struct mark_place *place, uint32_t *ret)
{
	uint64_t hash = hash_of(place);
	uint32_t at = top_of(pairs, place, hash);
	struct mark_open_begin *begin = &pairs->list[at - 1];

	if (begin->next)
		ebt_map_change(&pairs->stacks, hash, at, begin->next);
	else
		ebt_map_remove(&pairs->stacks, hash, at);
	begin->next = pairs->free;
	pairs->free = at;
	*ret = begin->mark;
	return begin->place.name == place->name;
}
