/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of processes, each once; see proc_texts.h. */
#include "proc_texts.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TEXT  4096u
#define MAX_BYTES (256u << 20)

void proc_texts_deinit(struct proc_texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		free(texts->texts[i].data);
	free(texts->texts);
	index_map_deinit(&texts->by_hash);
}

static uint64_t hash(struct ebt_str text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < text.len; i++)
		h = (h ^ (unsigned char)text.data[i]) * UINT64_C(0x100000001b3);
	return h;
}

static struct ebt_error *append(struct proc_texts *texts, struct ebt_str text)
{
	char *copy;

	if (texts->n == texts->capacity) {
		size_t capacity = texts->capacity ? texts->capacity * 2 : 64;
		struct proc_text *grown = reallocarray(texts->texts, capacity, sizeof(*grown));

		if (!grown)
			return &ebt_enomem;
		texts->texts = grown;
		texts->capacity = capacity;
	}
	copy = malloc(text.len);
	if (!copy)
		return &ebt_enomem;
	memcpy(copy, text.data, text.len);
	texts->texts[texts->n++] = (struct proc_text){ copy, text.len };
	texts->bytes += text.len;
	return NULL;
}

struct ebt_error *proc_texts_add(struct proc_texts *texts, struct ebt_str text, uint32_t *ret)
{
	const uint32_t next = (uint32_t)texts->n;
	const struct proc_text *there;
	struct ebt_error *err;
	uint32_t i;

	if (text.len > MAX_TEXT)
		text.len = MAX_TEXT;
	*ret = 0;
	if (!text.len)
		return NULL;
	if (texts->bytes + text.len > MAX_BYTES) {
		texts->left_out = true;
		return NULL;
	}
	err = index_map_add(&texts->by_hash, hash(text), next, &i);
	if (err)
		return err;
	there = i < next ? &texts->texts[i] : NULL;
	/* Another text may have the same hash; then this one is there more than once. */
	if (!there || there->len != text.len || memcmp(there->data, text.data, text.len) != 0) {
		err = append(texts, text);
		i = next;
	}
	if (!err)
		*ret = i + 1;
	return err;
}

struct ebt_str proc_texts_get(const struct proc_texts *texts, uint32_t text)
{
	if (!text)
		return (struct ebt_str){ "", 0 };
	return (struct ebt_str){ texts->texts[text - 1].data, texts->texts[text - 1].len };
}
