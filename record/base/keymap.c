/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keys of a hash map, which has only their hashes; see keymap.h. */
#include "record/base/keymap.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"

struct keymap_entry {
	unsigned char *key;
	size_t len;
	uint64_t value;
};

void keymap_deinit(struct keymap *map)
{
	for (size_t i = 0; i < map->n; i++)
		free(map->entries[i].key);
	free(map->entries);
	ebt_map_deinit(&map->map);
	*map = (struct keymap){ 0 };
}

static struct keymap_entry *find(const struct keymap *map, const void *key, size_t len,
				 uint64_t hash)
{
	uint32_t i;

	for (size_t at = 0; (i = ebt_map_next(&map->map, hash, &at)) != EBT_MAP_NONE;) {
		struct keymap_entry *entry = &map->entries[i];

		if (entry->len == len && !memcmp(entry->key, key, len))
			return entry;
	}
	return NULL;
}

bool keymap_find(const struct keymap *map, const void *key, size_t len, uint64_t *ret)
{
	const struct keymap_entry *entry = find(map, key, len, ebt_hash_bytes(0, key, len));

	if (entry)
		*ret = entry->value;
	return entry;
}

bool keymap_put(struct keymap *map, const void *key, size_t len, uint64_t value)
{
	const uint64_t hash = ebt_hash_bytes(0, key, len);
	struct keymap_entry *entry = find(map, key, len, hash);
	unsigned char *copy;

	if (entry) {
		entry->value = value;
		return true;
	}
	copy = malloc(len + 1);
	if (!copy || ebt_array_reserve(&map->entries, map->n, &map->capacity) ||
	    ebt_map_insert(&map->map, hash, (uint32_t)map->n)) {
		free(copy);
		return false;
	}
	memcpy(copy, key, len);
	map->entries[map->n++] = (struct keymap_entry){ copy, len, value };
	return true;
}
