/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that lives as long as its owner and is given back at once. What a file makes a reader
 * keep for good (names of its schema, tasks, embedded files) comes from one of these, because
 * its total is limited: 10 MB of zstd can hold 100 GB of names.
 */
#ifndef FORMAT_BASE_ARENA_H
#define FORMAT_BASE_ARENA_H

#include <stddef.h>

#include "format/base/error.h"

struct ebt_arena {
	struct ebt_arena_block *blocks; /* newest first */
	size_t left;			/* bytes free at the end of the newest */
	size_t total, limit;
};

void ebt_arena_init(struct ebt_arena *arena, size_t limit);
void ebt_arena_deinit(struct ebt_arena *arena);

/* Aligned for any type, not zeroed. EBT_ERR_LIMIT where the arena would grow beyond its limit. */
struct ebt_error *ebt_arena_alloc(struct ebt_arena *arena, size_t size, void **ret);

/* A NUL-terminated copy of len bytes. */
struct ebt_error *ebt_arena_string(struct ebt_arena *arena, const char *data, size_t len,
				   const char **ret);

#endif
