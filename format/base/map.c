/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hash map, with linear probing; see map.h. */
#include "format/base/map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "format/base/array.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FIRST_CAPACITY 64u

uint64_t ebt_map_seeds[2] = { 0, UINT64_C(0xc2b2ae3d27d4eb4f) };

/* AT_RANDOM: 16 bytes that the kernel chose for this process. */
__attribute__((constructor)) static void take_seed(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);

	if (random)
		memcpy(ebt_map_seeds, random, sizeof(ebt_map_seeds));
}

uint64_t ebt_hash_bytes(uint64_t hash, const void *data, size_t len)
{
	return XXH3_64bits_withSeed(data, len, hash ^ ebt_map_seeds[0]);
}

uint64_t ebt_hash_kept(uint64_t hash, const void *data, size_t len)
{
	return XXH3_64bits_withSeed(data, len, hash);
}

static size_t behind(const struct ebt_map *map, size_t i)
{
	return (i + 1) & (map->capacity - 1);
}

void ebt_map_deinit(struct ebt_map *map)
{
	free(map->slots);
	*map = (struct ebt_map){ 0 };
}

void ebt_map_clear(struct ebt_map *map)
{
	/* All ones: free. */
	if (map->slots)
		memset(map->slots, 0xff, map->capacity * sizeof(*map->slots));
	map->n = 0;
}

static void put(struct ebt_map *map, uint64_t key, uint32_t value)
{
	size_t i = ebt_map_home(map, key);

	while (map->slots[i].value != EBT_MAP_NONE)
		i = behind(map, i);
	map->slots[i] = (struct ebt_map_slot){ key, value };
	map->n++;
}

/* From behind a free slot on, so that the values of a key keep their order. */
static void put_all(struct ebt_map *map, const struct ebt_map *from)
{
	size_t start = 0;

	while (from->slots[start].value != EBT_MAP_NONE)
		start++;
	for (size_t n = 0, i = behind(from, start); n + 1 < from->capacity; n++) {
		if (from->slots[i].value != EBT_MAP_NONE)
			put(map, from->slots[i].key, from->slots[i].value);
		i = behind(from, i);
	}
}

/* Makes room for one more. */
static struct ebt_error *grow(struct ebt_map *map)
{
	struct ebt_map larger = { .capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY };

	if (3 * (map->n + 1) <= 2 * map->capacity)
		return NULL;
	larger.slots = reallocarray(NULL, larger.capacity, sizeof(*larger.slots));
	if (!larger.slots)
		return &ebt_enomem;
	ebt_map_clear(&larger);
	if (map->slots)
		put_all(&larger, map);
	free(map->slots);
	*map = larger;
	return NULL;
}

struct ebt_error *ebt_map_insert(struct ebt_map *map, uint64_t key, uint32_t value)
{
	struct ebt_error *err = grow(map);

	if (!err)
		put(map, key, value);
	return err;
}

/* What is there already is the common case: nothing is made ready for more before it is known that
 * there is more. */
struct ebt_error *ebt_map_add(struct ebt_map *map, uint64_t key, uint32_t next, uint32_t *ret)
{
	struct ebt_error *err;

	if (ebt_map_find(map, key, ret))
		return NULL;
	*ret = next;
	err = grow(map);
	if (!err)
		put(map, key, next);
	return err;
}

struct ebt_error *ebt_map_grow_element(struct ebt_map *map, uint64_t key, void *array, size_t size,
				       size_t *n, size_t *capacity, uint32_t *ret)
{
	struct ebt_error *err;
	char *items;

	err = ebt_array_grow(array, *n, capacity, size, false)
		      ?: ebt_map_insert(map, key, (uint32_t)*n);
	if (err)
		return err;
	*ret = (uint32_t)*n;
	memcpy(&items, array, sizeof(items));
	memset(items + size * (*n)++, 0, size);
	return NULL;
}

bool ebt_map_has(const struct ebt_map *map, uint64_t key, size_t n)
{
	size_t at = 0;

	while (n && ebt_map_next(map, key, &at) != EBT_MAP_NONE)
		n--;
	return !n;
}

/* Moves what stands behind the hole nearer to its home, until one is there or a slot is free. */
static void close_hole(struct ebt_map *map, size_t hole)
{
	size_t mask = map->capacity - 1;

	for (size_t i = behind(map, hole); map->slots[i].value != EBT_MAP_NONE;
	     i = behind(map, i)) {
		size_t away = (i - ebt_map_home(map, map->slots[i].key)) & mask;

		if (away >= ((i - hole) & mask)) {
			map->slots[hole] = map->slots[i];
			hole = i;
		}
	}
	map->slots[hole].value = EBT_MAP_NONE;
}

/* The place of a value of this key; one of a free slot where it is not there. */
static size_t find_value(const struct ebt_map *map, uint64_t key, uint32_t value)
{
	size_t i = ebt_map_home(map, key);

	while (map->slots[i].value != EBT_MAP_NONE &&
	       (map->slots[i].key != key || map->slots[i].value != value))
		i = behind(map, i);
	return i;
}

void ebt_map_remove(struct ebt_map *map, uint64_t key, uint32_t value)
{
	size_t i = map->n ? find_value(map, key, value) : 0;

	if (!map->n || map->slots[i].value == EBT_MAP_NONE)
		return;
	close_hole(map, i);
	map->n--;
}

void ebt_map_change(struct ebt_map *map, uint64_t key, uint32_t from, uint32_t to)
{
	size_t i = map->n ? find_value(map, key, from) : 0;

	if (map->n && map->slots[i].value != EBT_MAP_NONE)
		map->slots[i].value = to;
}
