/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 64-bit keys to indices of an array: open addressing, grows at half full. What a model counts by
 * lies in an array of its own, in order of first appearance; this says where.
 *
 *	err = index_map_add(&map, key, (uint32_t)n, &i);
 *	if (!err && i == n)
 *		err = append(…);
 */
#ifndef REPORT_BASE_INDEX_MAP_H
#define REPORT_BASE_INDEX_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

/* All zero is an empty map. */
struct index_map {
	struct index_map_slot {
		uint64_t key;
		uint32_t value; /* 1 + index; 0: free */
	} * slots;
	size_t n, capacity; /* capacity: a power of two, or 0 */
};

void index_map_deinit(struct index_map *map);

/* The index of this key. One that is not there yet gets `next`, which must be below UINT32_MAX. */
struct ebt_error *index_map_add(struct index_map *map, uint64_t key, uint32_t next, uint32_t *ret);

/* The index of this key, if it is there. */
bool index_map_find(const struct index_map *map, uint64_t key, uint32_t *ret);

#endif
