/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of processes, each once; see proc_texts.h. */
#include "report/trace/proc_texts.h"

#include <stdlib.h>
#include <string.h>

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
	free(texts->slots);
}

static uint64_t hash(struct ebt_str text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < text.len; i++)
		h = (h ^ (unsigned char)text.data[i]) * UINT64_C(0x100000001b3);
	return h ^ h >> 32;
}

/* The slot of the text, or the free one where it would be. */
static uint32_t *find_slot(const struct proc_texts *texts, struct ebt_str text)
{
	size_t i = hash(text) & (texts->n_slots - 1);

	for (; texts->slots[i]; i = (i + 1) & (texts->n_slots - 1)) {
		struct ebt_str there = proc_texts_get(texts, texts->slots[i]);

		if (there.len == text.len && !memcmp(there.data, text.data, text.len))
			break;
	}
	return &texts->slots[i];
}

/* Texts of a block lie one behind the other. */
static void put_block(struct proc_texts *texts, size_t block)
{
	const size_t end = block + 1 < texts->n_blocks ? BLOCK_SIZE : texts->used;
	struct ebt_str text;

	for (size_t at = 0; at + sizeof(text_len) < end; at += size_of(text.len)) {
		uint32_t number = (uint32_t)(block << BLOCK_BITS | at) + 1;

		text = proc_texts_get(texts, number);
		if (!text.len)
			return;
		*find_slot(texts, text) = number;
	}
}

static struct ebt_error *grow_slots(struct proc_texts *texts)
{
	const size_t n_slots = texts->n_slots ? texts->n_slots * 2 : 64;
	uint32_t *slots = calloc(n_slots, sizeof(*slots));

	if (!slots)
		return &ebt_enomem;
	free(texts->slots);
	texts->slots = slots;
	texts->n_slots = n_slots;
	for (size_t i = 0; i < texts->n_blocks; i++)
		put_block(texts, i);
	return NULL;
}

/* What is left of the last block stays 0, which is no text. */
static struct ebt_error *add_block(struct proc_texts *texts)
{
	char **grown = reallocarray(texts->blocks, texts->n_blocks + 1, sizeof(*grown));

	if (!grown)
		return &ebt_enomem;
	texts->blocks = grown;
	grown[texts->n_blocks] = calloc(1, BLOCK_SIZE);
	if (!grown[texts->n_blocks])
		return &ebt_enomem;
	texts->n_blocks++;
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
	*ret = (uint32_t)((texts->n_blocks - 1) << BLOCK_BITS | texts->used) + 1;
	texts->used += size_of(len);
	texts->bytes += text.len;
	texts->n++;
	return NULL;
}

struct ebt_error *proc_texts_add(struct proc_texts *texts, struct ebt_str text, uint32_t *ret)
{
	struct ebt_error *err = NULL;
	uint32_t *slot;

	if (text.len > MAX_TEXT)
		text.len = MAX_TEXT;
	*ret = 0;
	if (!text.len)
		return NULL;
	if (texts->n * 4 >= texts->n_slots * 3)
		err = grow_slots(texts);
	if (err)
		return err;
	slot = find_slot(texts, text);
	if (!*slot && texts->bytes + text.len > MAX_BYTES) {
		texts->left_out = true;
		return NULL;
	}
	if (!*slot)
		err = append(texts, text, slot);
	if (!err)
		*ret = *slot;
	return err;
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
