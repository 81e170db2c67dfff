/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash index: finds numbers of entries that the caller keeps in an array of its own. It knows
 * hashes only; the caller compares keys.
 *
 *	for (size_t at = 0; (i = sym_index_next(&index, hash, &at)) != SYM_INDEX_NONE;)
 *		if (entries[i].key == key) …
 */
#ifndef SYMBOLIZE_BASE_INDEX_H
#define SYMBOLIZE_BASE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

#define SYM_INDEX_NONE UINT32_MAX

struct sym_index_slot {
	uint32_t hash;
	uint32_t value; /* SYM_INDEX_NONE: free */
};

/* Open addressing; size is a power of two, at most two thirds are used. All zero: empty. */
struct sym_index {
	struct sym_index_slot *slots;
	size_t size, used;
};

void sym_index_deinit(struct sym_index *index);

/* Adds a value; the same hash may be there already. */
struct ebt_error *sym_index_add(struct sym_index *index, uint64_t hash, uint32_t value);

/* The next value with this hash. *at is 0 for the first. */
static inline uint32_t sym_index_next(const struct sym_index *index, uint64_t hash, size_t *at)
{
	uint32_t h = (uint32_t)(hash >> 32) ^ (uint32_t)hash;

	while (*at < index->size) {
		const struct sym_index_slot *slot =
			&index->slots[(h + (*at)++) & (index->size - 1)];

		if (slot->value == SYM_INDEX_NONE)
			return SYM_INDEX_NONE;
		if (slot->hash == h)
			return slot->value;
	}
	return SYM_INDEX_NONE;
}

/* Whether there are n values with this hash, or more. Where the same key may come any number of
 * times, only so many are added: looking for the place of each costs as much as there are. */
static inline bool sym_index_has(const struct sym_index *index, uint64_t hash, size_t n)
{
	size_t at = 0;

	while (n && sym_index_next(index, hash, &at) != SYM_INDEX_NONE)
		n--;
	return !n;
}

/* Mixes one more value into a hash. */
static inline uint64_t sym_hash_u64(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ (hash >> 29);
}

uint64_t sym_hash_bytes(uint64_t hash, const void *data, size_t len);

#endif
