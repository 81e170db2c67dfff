/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ids are an array that doubles; the keymap holds indices of it. */
#include <stdlib.h>

#include "record/base/buildid_map.h"

void buildid_map_deinit(struct buildid_map *map)
{
	keymap_deinit(&map->keys);
	free(map->ids);
	map->ids = NULL;
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
	if (n >= map->max)
		return;
	if (!(n & (n - 1))) {
		struct buildid *ids = realloc(map->ids, (n ? n * 2 : 1) * sizeof(*ids));

		if (!ids)
			return;
		map->ids = ids;
	}
	map->ids[n] = *id;
	keymap_put(&map->keys, key, len, n);
}
