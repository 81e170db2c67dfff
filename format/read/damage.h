/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of a file could not be read: a list in file order, of limited length. */
#ifndef FORMAT_READ_DAMAGE_H
#define FORMAT_READ_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

/* One stretch of the file that gave no rows. */
struct ebt_damage {
	uint64_t offset, length;
	char *what;
};

struct ebt_damage_list {
	struct ebt_damage *list;
	size_t n, capacity;
	uint64_t total; /* n, and those for which there was no room */
};

void ebt_damage_deinit(struct ebt_damage_list *damage);

/* Takes over `what`, a malloc'ed sentence; NULL is a failed allocation. */
struct ebt_error *ebt_damage_add(struct ebt_damage_list *damage, uint64_t offset, uint64_t length,
				 char *what);

/* Whether err is about bytes of the file (corrupt, beyond a limit, from the future), so that the
 * rest of the file can still be read. */
/* Is there an entry that begins here? */
bool ebt_damage_has(const struct ebt_damage_list *damage, uint64_t offset);

void ebt_damage_remove(struct ebt_damage_list *damage, size_t i);

bool ebt_damage_is(const struct ebt_error *err);

/* Where what is damaged counts as not there: frees an error that says so and returns NULL; returns
 * any other, and NULL, as it is. */
struct ebt_error *ebt_damage_forgive(struct ebt_error *err);

/*
 * Where err is damage, it is freed, its message becomes an entry, and NULL returned. Any other
 * error, and NULL, is returned as it is.
 */
struct ebt_error *ebt_damage_absorb(struct ebt_damage_list *damage, uint64_t offset,
				    uint64_t length, struct ebt_error *err);

#endif
