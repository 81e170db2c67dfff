/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Open addressing with linear probing. Keys hold paths that strangers chose; they are compared
 * in full, so that a collision costs time at the worst.
 */
#include <stdlib.h>
#include <string.h>

#include "record/base/keymap.h"

#define FIRST_SLOTS 64u

struct keymap_slot {
	unsigned char *key; /* NULL: free */
	size_t len;
	uint64_t hash, value;
};

/* FNV-1a, then mixed, because the low bits choose the slot. */
static uint64_t hash_of(const unsigned char *key, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ key[i]) * 0x100000001b3u;
	hash ^= hash >> 32;
	return hash * 0x9E3779B97F4A7C15u ^ hash >> 29;
}

void keymap_deinit(struct keymap *map)
{
	for (size_t i = 0; i < map->n_slots; i++)
		free(map->slots[i].key);
	free(map->slots);
	memset(map, 0, sizeof(*map));
}

/* The slot of the key, or the free one where it belongs. There is always a free one. */
static struct keymap_slot *slot_of(const struct keymap *map, const void *key, size_t len,
				   uint64_t hash)
{
	size_t i = hash & (map->n_slots - 1);

	while (map->slots[i].key) {
		const struct keymap_slot *slot = &map->slots[i];

		if (slot->hash == hash && slot->len == len && !memcmp(slot->key, key, len))
			break;
		i = (i + 1) & (map->n_slots - 1);
	}
	return &map->slots[i];
}

bool keymap_find(const struct keymap *map, const void *key, size_t len, uint64_t *ret)
{
	const struct keymap_slot *slot;

	if (!map->n)
		return false;
	slot = slot_of(map, key, len, hash_of(key, len));
	if (!slot->key)
		return false;
	*ret = slot->value;
	return true;
}

static bool grow(struct keymap *map)
{
	struct keymap larger = { .n_slots = map->n_slots ? map->n_slots * 2 : FIRST_SLOTS };

	larger.slots = calloc(larger.n_slots, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < map->n_slots; i++) {
		const struct keymap_slot *slot = &map->slots[i];

		if (slot->key)
			*slot_of(&larger, slot->key, slot->len, slot->hash) = *slot;
	}
	larger.n = map->n;
	free(map->slots);
	*map = larger;
	return true;
}

bool keymap_put(struct keymap *map, const void *key, size_t len, uint64_t value)
{
	const uint64_t hash = hash_of(key, len);
	struct keymap_slot *slot;

	if ((map->n + 1) * 4 > map->n_slots * 3 && !grow(map))
		return false;
	slot = slot_of(map, key, len, hash);
	if (!slot->key) {
		slot->key = malloc(len ? len : 1);
		if (!slot->key)
			return false;
		memcpy(slot->key, key, len);
		slot->len = len;
		slot->hash = hash;
		map->n++;
	}
	slot->value = value;
	return true;
}
