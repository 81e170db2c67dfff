/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of processes, each once; see proc_texts.h. */
#include "report/trace/proc_texts.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"

#define MAX_TEXT   4096u
#define MAX_BYTES  (256u << 20)
#define BLOCK_BITS 18
#define BLOCK_SIZE (1u << BLOCK_BITS)

/* In a block, with the bytes behind it, and a zero behind those. */
typedef uint16_t text_len;

static size_t size_of(size_t len)
{
	return sizeof(text_len) + len + 1;
}

void proc_texts_deinit(struct proc_texts *texts)
{
	for (size_t i = 0; i < texts->n_blocks; i++)
		free(texts->blocks[i]);
	free(texts->blocks);
	ebt_map_deinit(&texts->numbers);
}

/* The number of the text, or 0. */
static uint32_t find(const struct proc_texts *texts, uint64_t hash, struct ebt_str text)
{
	uint32_t number;
	size_t at = 0;

	while ((number = ebt_map_next(&texts->numbers, hash, &at)) != EBT_MAP_NONE) {
		if (ebt_str_equal(proc_texts_get(texts, number), text))
			return number;
	}
	return 0;
}

static struct ebt_error *add_block(struct proc_texts *texts)
{
	struct ebt_error *err;
	char *block;

	err = ebt_array_reserve(&texts->blocks, texts->n_blocks, &texts->capacity);
	if (err)
		return err;
	block = malloc(BLOCK_SIZE);
	if (!block)
		return &ebt_enomem;
	texts->blocks[texts->n_blocks++] = block;
	texts->used = 0;
	return NULL;
}

static struct ebt_error *append(struct proc_texts *texts, struct ebt_str text, uint32_t *ret)
{
	const text_len len = (text_len)text.len;
	char *place;

	if (!texts->n_blocks || texts->used + size_of(len) > BLOCK_SIZE) {
		struct ebt_error *err = add_block(texts);

		if (err)
			return err;
	}
	place = texts->blocks[texts->n_blocks - 1] + texts->used;
	memcpy(place, &len, sizeof(len));
	memcpy(place + sizeof(len), text.data, text.len);
	place[sizeof(len) + text.len] = '\0';
	*ret = (uint32_t)((texts->n_blocks - 1) << BLOCK_BITS | texts->used) + 1;
	texts->used += size_of(len);
	texts->bytes += text.len;
	return NULL;
}

struct ebt_error *proc_texts_add(struct proc_texts *texts, struct ebt_str text, uint32_t *ret)
{
	struct ebt_error *err;
	uint32_t number;
	uint64_t hash;

	if (text.len > MAX_TEXT)
		text.len = MAX_TEXT;
	*ret = 0;
	if (!text.len)
		return NULL;
	hash = ebt_hash_bytes(0, text.data, text.len);
	*ret = find(texts, hash, text);
	if (*ret)
		return NULL;
	if (texts->bytes + text.len > MAX_BYTES) {
		texts->left_out = true;
		return NULL;
	}
	err = append(texts, text, &number);
	if (err)
		return err;
	err = ebt_map_insert(&texts->numbers, hash, number);
	if (!err)
		*ret = number;
	return err;
}

uint32_t proc_texts_find(const struct proc_texts *texts, struct ebt_str text)
{
	return find(texts, ebt_hash_bytes(0, text.data, text.len), text);
}

struct ebt_str proc_texts_get(const struct proc_texts *texts, uint32_t text)
{
	const char *place;
	text_len len;

	if (!text)
		return (struct ebt_str){ "", 0 };
	place = texts->blocks[(text - 1) >> BLOCK_BITS] + ((text - 1) & (BLOCK_SIZE - 1));
	memcpy(&len, place, sizeof(len));
	return (struct ebt_str){ place + sizeof(len), len };
}
