/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of memory, handed out from the front, freed together. */
#include "format/base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE ((size_t)64 << 10)

struct ebt_arena_block {
	struct ebt_arena_block *next;
	size_t size;
	alignas(max_align_t) unsigned char data[];
};

void ebt_arena_init(struct ebt_arena *arena, size_t limit)
{
	*arena = (struct ebt_arena){ .limit = limit };
}

void ebt_arena_deinit(struct ebt_arena *arena)
{
	while (arena->blocks) {
		struct ebt_arena_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	arena->left = arena->total = 0;
}

static struct ebt_error *too_much(const struct ebt_arena *arena)
{
	return ebt_error_create(EBT_ERR_LIMIT,
				"more than the %zu bytes that a reader keeps of this kind",
				arena->limit);
}

static struct ebt_error *add_block(struct ebt_arena *arena, size_t size)
{
	struct ebt_arena_block *block;

	if (size > arena->limit - arena->total)
		return too_much(arena);
	block = malloc(sizeof(*block) + size);
	if (!block)
		return &ebt_enomem;
	block->next = arena->blocks;
	block->size = size;
	arena->blocks = block;
	arena->left = size;
	arena->total += size;
	return NULL;
}

struct ebt_error *ebt_arena_alloc(struct ebt_arena *arena, size_t size, void **ret)
{
	const size_t align = alignof(max_align_t);
	struct ebt_error *err;

	if (size > arena->limit)
		return too_much(arena);
	size = (size + align - 1) & ~(align - 1);
	if (size > arena->left) {
		err = add_block(arena, size > BLOCK_SIZE ? size : BLOCK_SIZE);
		if (err)
			return err;
	}
	*ret = arena->blocks->data + arena->blocks->size - arena->left;
	arena->left -= size;
	return NULL;
}

struct ebt_error *ebt_arena_string(struct ebt_arena *arena, const char *data, size_t len,
				   const char **ret)
{
	struct ebt_error *err;
	void *copy;

	err = ebt_arena_alloc(arena, len + 1, &copy);
	if (err)
		return err;
	if (len)
		memcpy(copy, data, len);
	((char *)copy)[len] = '\0';
	*ret = copy;
	return NULL;
}
