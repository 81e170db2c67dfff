/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys to indices; see index_map.h. */
#include "report/base/index_map.h"

#include <stdlib.h>

void index_map_deinit(struct index_map *map)
{
	free(map->slots);
	*map = (struct index_map){ 0 };
}

static size_t hash(uint64_t key, size_t capacity)
{
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (capacity - 1);
}

/* The slot of a key, or the free one where it would be. */
static struct index_map_slot *find_slot(const struct index_map *map, uint64_t key)
{
	size_t i = hash(key, map->capacity);

	while (map->slots[i].value && map->slots[i].key != key)
		i = (i + 1) & (map->capacity - 1);
	return &map->slots[i];
}

static struct ebt_error *grow(struct index_map *map)
{
	struct index_map grown = { .n = map->n,
				   .capacity = map->capacity ? map->capacity * 2 : 256 };

	grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return &ebt_enomem;
	for (size_t i = 0; i < map->capacity; i++) {
		if (map->slots[i].value)
			*find_slot(&grown, map->slots[i].key) = map->slots[i];
	}
	free(map->slots);
	*map = grown;
	return NULL;
}

struct ebt_error *index_map_add(struct index_map *map, uint64_t key, uint32_t next, uint32_t *ret)
{
	struct index_map_slot *slot;
	struct ebt_error *err;

	if (map->n * 2 >= map->capacity) {
		err = grow(map);
		if (err)
			return err;
	}
	slot = find_slot(map, key);
	if (!slot->value) {
		slot->key = key;
		slot->value = next + 1;
		map->n++;
	}
	*ret = slot->value - 1;
	return NULL;
}

bool index_map_find(const struct index_map *map, uint64_t key, uint32_t *ret)
{
	const struct index_map_slot *slot;

	if (!map->n)
		return false;
	slot = find_slot(map, key);
	if (!slot->value)
		return false;
	*ret = slot->value - 1;
	return true;
}
