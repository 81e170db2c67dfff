/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that are live; see live_set.h. */
#include "report/base/live_set.h"

#include <stdlib.h>

void live_set_deinit(struct live_set *set)
{
	free(set->blocks);
	free(set->slots);
	*set = (struct live_set){ 0 };
}

/* Addresses are multiples of something, and come in runs. */
static size_t home(const struct live_set *set, uint64_t key)
{
	key ^= key >> 33;
	key *= UINT64_C(0xff51afd7ed558ccd);
	key ^= key >> 33;
	return (size_t)key & (set->n_slots - 1);
}

/* The slot of the key, or the free one where it would be. */
static size_t find_slot(const struct live_set *set, uint64_t key)
{
	size_t i = home(set, key);

	while (set->slots[i] && set->blocks[set->slots[i] - 1].key != key)
		i = (i + 1) & (set->n_slots - 1);
	return i;
}

struct live_block *live_set_find(const struct live_set *set, uint64_t key)
{
	uint32_t index = set->n_slots ? set->slots[find_slot(set, key)] : 0;

	return index ? &set->blocks[index - 1] : NULL;
}

static struct ebt_error *grow_slots(struct live_set *set)
{
	size_t n = set->n_slots ? set->n_slots * 2 : 1024;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return &ebt_enomem;
	free(set->slots);
	set->slots = slots;
	set->n_slots = n;
	for (size_t i = 0; i < set->n; i++)
		set->slots[find_slot(set, set->blocks[i].key)] = (uint32_t)i + 1;
	return NULL;
}

struct ebt_error *live_set_add(struct live_set *set, const struct live_block *block)
{
	struct ebt_error *err;

	if (set->n >= LIVE_SET_MAX)
		return ebt_error_create(EBT_ERR_LIMIT, "more than %u blocks are live",
					LIVE_SET_MAX);
	if (set->n * 2 >= set->n_slots) {
		err = grow_slots(set);
		if (err)
			return err;
	}
	if (set->n == set->capacity) {
		size_t capacity = set->capacity ? set->capacity * 2 : 512;
		struct live_block *grown = reallocarray(set->blocks, capacity, sizeof(*grown));

		if (!grown)
			return &ebt_enomem;
		set->blocks = grown;
		set->capacity = capacity;
	}
	set->blocks[set->n] = *block;
	set->slots[find_slot(set, block->key)] = (uint32_t)++set->n;
	return NULL;
}

/* Later entries of the run that began before the hole move up, so that they are still found. */
static void close_hole(struct live_set *set, size_t hole)
{
	size_t mask = set->n_slots - 1;

	for (size_t i = (hole + 1) & mask; set->slots[i]; i = (i + 1) & mask) {
		size_t wanted = home(set, set->blocks[set->slots[i] - 1].key);

		if (((i - wanted) & mask) >= ((i - hole) & mask)) {
			set->slots[hole] = set->slots[i];
			hole = i;
		}
	}
	set->slots[hole] = 0;
}

void live_set_remove(struct live_set *set, struct live_block *block)
{
	size_t index = (size_t)(block - set->blocks);

	close_hole(set, find_slot(set, block->key));
	if (index != --set->n) {
		*block = set->blocks[set->n];
		/* The last one is found by its key yet: its slot names its old place. */
		for (size_t i = home(set, block->key);; i = (i + 1) & (set->n_slots - 1)) {
			if (set->slots[i] == set->n + 1) {
				set->slots[i] = (uint32_t)index + 1;
				break;
			}
		}
	}
}
