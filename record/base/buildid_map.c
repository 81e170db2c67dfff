/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ids are an array that doubles; the keymap holds indices of it. */
#include "record/base/buildid_map.h"

#include <stdlib.h>

#include "format/base/array.h"

void buildid_map_deinit(struct buildid_map *map)
{
	keymap_deinit(&map->keys);
	free(map->ids);
	*map = (struct buildid_map){ .max = map->max };
}

bool buildid_map_find(const struct buildid_map *map, const void *key, size_t len,
		      struct buildid *ret)
{
	uint64_t index;

	if (!keymap_find(&map->keys, key, len, &index))
		return false;
	*ret = map->ids[index];
	return true;
}

void buildid_map_put(struct buildid_map *map, const void *key, size_t len, const struct buildid *id)
{
	const size_t n = map->keys.n;
	uint64_t index;

	if (keymap_find(&map->keys, key, len, &index)) {
		map->ids[index] = *id;
		return;
	}
	if (n >= map->max || ebt_array_reserve(&map->ids, n, &map->capacity))
		return;
	map->ids[n] = *id;
	keymap_put(&map->keys, key, len, n);
}
