/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A map from byte strings to numbers, for what has been seen already. Grows, never shrinks. */
#ifndef RECORD_BASE_KEYMAP_H
#define RECORD_BASE_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keymap_slot;

struct keymap {
	struct keymap_slot *slots;
	size_t n, n_slots;
};
#define KEYMAP_INIT \
	{           \
		0   \
	}

/* Accepts a map that is all zero. It can be used again afterwards. */
void keymap_deinit(struct keymap *map);

bool keymap_find(const struct keymap *map, const void *key, size_t len, uint64_t *ret);

/* Adds or replaces; the key is copied. False where memory is short. */
bool keymap_put(struct keymap *map, const void *key, size_t len, uint64_t value);

#endif
