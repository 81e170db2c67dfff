/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hash map: keys of 64 bits to numbers of 32 bits, which are as a rule indices of an array that
 * the caller keeps. Every hash is seeded with what is random in each process, so that a file cannot
 * choose what collides.
 *
 * Where the key is a number, the map has the whole of it:
 *
 *	err = ebt_map_element(&map, pid, &list, &n, &capacity, &i);
 *	if (err)
 *		return err;
 *	list[i].count++;
 *
 * Where it is anything else, the map has its hash, and the caller compares:
 *
 *	found = ebt_map_search(&map, ebt_hash_bytes(0, name, len), i, same(&entries[i], name, len));
 */
#ifndef FORMAT_BASE_MAP_H
#define FORMAT_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

#define EBT_MAP_NONE UINT32_MAX

struct ebt_map_slot {
	uint64_t key;
	uint32_t value; /* EBT_MAP_NONE: free */
};

/* Open addressing; capacity is a power of two, at most two thirds are used. All zero: empty. */
struct ebt_map {
	struct ebt_map_slot *slots;
	size_t n, capacity;
};

void ebt_map_deinit(struct ebt_map *map);
/* Empties it; its memory stays. */
void ebt_map_clear(struct ebt_map *map);

/* The value of this key, which gets `next` (below EBT_MAP_NONE) where it is not there yet. */
struct ebt_error *ebt_map_add(struct ebt_map *map, uint64_t key, uint32_t next, uint32_t *ret);

/* The seeds of this process; set before main(). */
extern uint64_t ebt_map_seeds[2];

/* The two halves of a product, put together: a few cycles, where XXH3 of eight bytes takes some
 * more. */
static inline uint64_t ebt_hash_product(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)(product ^ product >> 64);
}

/* hash: of what comes before, or 0. */
static inline uint64_t ebt_hash_u64(uint64_t hash, uint64_t value)
{
	return ebt_hash_product(value ^ ebt_map_seeds[0], hash ^ ebt_map_seeds[1]);
}

/* Where a key is looked for first. */
static inline size_t ebt_map_home(const struct ebt_map *map, uint64_t key)
{
	return ebt_hash_product(key ^ ebt_map_seeds[0], UINT64_C(0x9e3779b97f4a7c15)) &
	       (map->capacity - 1);
}

/* The next value of this key, in the order in which they came; EBT_MAP_NONE: no more. *at is 0 for
 * the first. */
static inline uint32_t ebt_map_next(const struct ebt_map *map, uint64_t key, size_t *at)
{
	size_t start;

	if (!map->n)
		return EBT_MAP_NONE;
	start = ebt_map_home(map, key);
	while (*at < map->capacity) {
		const struct ebt_map_slot *slot =
			&map->slots[(start + (*at)++) & (map->capacity - 1)];

		if (slot->value == EBT_MAP_NONE || slot->key == key)
			return slot->value;
	}
	return EBT_MAP_NONE;
}

/* The first of the values of this key, each called i, for which the condition is true, or
 * EBT_MAP_NONE. */
#define ebt_map_search(map, key, i, condition)                     \
	({                                                         \
		const uint64_t key_##i = (key);                    \
		size_t at_##i = 0;                                 \
		uint32_t i;                                        \
                                                                   \
		do                                                 \
			i = ebt_map_next((map), key_##i, &at_##i); \
		while (i != EBT_MAP_NONE && !(condition));         \
		i;                                                 \
	})

/* The value of this key, if it is there; of several the first. */
static inline bool ebt_map_find(const struct ebt_map *map, uint64_t key, uint32_t *ret)
{
	size_t at = 0;
	uint32_t value = ebt_map_next(map, key, &at);

	if (value == EBT_MAP_NONE)
		return false;
	*ret = value;
	return true;
}

/* For ebt_map_element(), where the key is new. */
struct ebt_error *ebt_map_grow_element(struct ebt_map *map, uint64_t key, void *array, size_t size,
				       size_t *n, size_t *capacity, uint32_t *ret);

/* What is there already is the common case, and wants no call. */
static inline struct ebt_error *ebt_map_get_element(struct ebt_map *map, uint64_t key, void *array,
						    size_t size, size_t *n, size_t *capacity,
						    uint32_t *ret)
{
	return ebt_map_find(map, key, ret)
		       ? NULL
		       : ebt_map_grow_element(map, key, array, size, n, capacity, ret);
}

/*
 * The index of the element that an array (its address) has for this key. Where the key is new, the
 * array, whose size is *n, gets an element more, which is all zero.
 */
#define ebt_map_element(map, key, array, n, capacity, ret) \
	ebt_map_get_element((map), (key), (array), sizeof(**(array)), (n), (capacity), (ret))

/* Adds a value (below EBT_MAP_NONE) to those that this key may have. */
struct ebt_error *ebt_map_insert(struct ebt_map *map, uint64_t key, uint32_t value);

/* Whether this key has n values, or more. Where a key may come any number of times, only so many
 * are inserted: looking for the place of each costs as much as there are. */
bool ebt_map_has(const struct ebt_map *map, uint64_t key, size_t n);

/* Takes this value away from this key, where it is there. */
void ebt_map_remove(struct ebt_map *map, uint64_t key, uint32_t value);
/* Puts another value (below EBT_MAP_NONE) in its place. */
void ebt_map_change(struct ebt_map *map, uint64_t key, uint32_t from, uint32_t to);

/* XXH3, seeded; hash: as above. */
uint64_t ebt_hash_bytes(uint64_t hash, const void *data, size_t len);
/* The same in every process and on every machine, for what is kept: not for a map. */
uint64_t ebt_hash_kept(uint64_t hash, const void *data, size_t len);

#endif
