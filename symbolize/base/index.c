/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hash index; see index.h. */
#include "symbolize/base/index.h"

#include <stdlib.h>
#include <string.h>

void sym_index_deinit(struct sym_index *index)
{
	free(index->slots);
	*index = (struct sym_index){ 0 };
}

static void put(struct sym_index_slot *slots, size_t size, uint32_t hash, uint32_t value)
{
	size_t i = hash & (size - 1);

	while (slots[i].value != SYM_INDEX_NONE)
		i = (i + 1) & (size - 1);
	slots[i] = (struct sym_index_slot){ hash, value };
}

static struct ebt_error *grow(struct sym_index *index)
{
	size_t size = index->size ? index->size * 2 : 64;
	struct sym_index_slot *slots = malloc(size * sizeof(*slots));

	if (!slots)
		return &ebt_enomem;
	memset(slots, 0xff, size * sizeof(*slots));
	for (size_t i = 0; i < index->size; i++) {
		if (index->slots[i].value != SYM_INDEX_NONE)
			put(slots, size, index->slots[i].hash, index->slots[i].value);
	}
	free(index->slots);
	index->slots = slots;
	index->size = size;
	return NULL;
}

struct ebt_error *sym_index_add(struct sym_index *index, uint64_t hash, uint32_t value)
{
	if (3 * (index->used + 1) > 2 * index->size) {
		struct ebt_error *err = grow(index);

		if (err)
			return err;
	}
	put(index->slots, index->size, (uint32_t)(hash >> 32) ^ (uint32_t)hash, value);
	index->used++;
	return NULL;
}

uint64_t sym_hash_bytes(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = sym_hash_u64(hash, word);
	}
	word = len;
	memcpy(&word, p, len);
	return sym_hash_u64(sym_hash_u64(hash, word), len);
}
