/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /tmp/perf-PID.map: a line for each piece of code that a process has generated, in the order of
 * generation. They say nothing of time: where two overlap, the later one holds.
 */
#ifndef SYMBOLIZE_RUNTIMES_JIT_MAP_H
#define SYMBOLIZE_RUNTIMES_JIT_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

struct jit_map;

/* What a file may make us remember. */
#define JIT_MAP_MAX_ENTRIES (2u << 20)

struct jit_map_hit {
	const char *name; /* in the text; NULL: nothing covers the address */
	size_t name_len;
};

/* Takes the text, also on failure. Lines that are none of this form are passed over. */
struct ebt_error *jit_map_create(char *text, size_t len, struct jit_map **ret);
/* Accepts NULL. */
void jit_map_destroy(struct jit_map *map);

struct jit_map_hit jit_map_find(const struct jit_map *map, uint64_t address);

/* Bytes of memory that it takes. */
size_t jit_map_size(const struct jit_map *map);

#endif
