/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A map from byte strings to numbers, for what has been seen already. Grows, never shrinks. */
#ifndef RECORD_BASE_KEYMAP_H
#define RECORD_BASE_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/map.h"

struct keymap_entry;

/* All zero: empty. */
struct keymap {
	struct ebt_map map; /* hash of the key to the index of an entry */
	struct keymap_entry *entries;
	size_t n, capacity;
};

/* It can be used again afterwards. */
void keymap_deinit(struct keymap *map);

bool keymap_find(const struct keymap *map, const void *key, size_t len, uint64_t *ret);

/* Adds or replaces; the key is copied. False where memory is short. */
bool keymap_put(struct keymap *map, const void *key, size_t len, uint64_t value);

#endif
