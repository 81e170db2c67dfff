/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that are live; see live_set.h. */
#include "report/base/live_set.h"

#include <stdlib.h>

#include "format/base/array.h"

void live_set_deinit(struct live_set *set)
{
	free(set->blocks);
	ebt_map_deinit(&set->places);
	*set = (struct live_set){ 0 };
}

struct live_block *live_set_find(const struct live_set *set, uint64_t key)
{
	uint32_t i;

	return ebt_map_find(&set->places, key, &i) ? &set->blocks[i] : NULL;
}

struct ebt_error *live_set_add(struct live_set *set, const struct live_block *block)
{
	struct ebt_error *err;

	if (set->n >= LIVE_SET_MAX)
		return ebt_error_create(EBT_ERR_LIMIT, "more than %u blocks are live",
					LIVE_SET_MAX);
	err = ebt_array_reserve(&set->blocks, set->n, &set->capacity);
	if (err)
		return err;
	err = ebt_map_insert(&set->places, block->key, (uint32_t)set->n);
	if (err)
		return err;
	set->blocks[set->n++] = *block;
	return NULL;
}

void live_set_remove(struct live_set *set, struct live_block *block)
{
	uint32_t i = (uint32_t)(block - set->blocks), last = (uint32_t)--set->n;

	ebt_map_remove(&set->places, block->key, i);
	if (i == last)
		return;
	*block = set->blocks[last];
	ebt_map_change(&set->places, block->key, last, i);
}
