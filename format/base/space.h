/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is used again and again for contents that do not outlive each use: a chunk's
 * stored bytes, its columns, its dictionaries.
 */
#ifndef FORMAT_BASE_SPACE_H
#define FORMAT_BASE_SPACE_H

#include <stddef.h>
#include <stdlib.h>

struct ebt_space {
	void *data;
	size_t size;
};

/* At least size bytes, whose contents are whatever they are; NULL where memory ran out. */
static inline void *ebt_space_get(struct ebt_space *space, size_t size)
{
	if (space->data && size <= space->size)
		return space->data;
	free(space->data);
	space->size = size < 4096 ? 4096 : size + size / 8;
	space->data = malloc(space->size);
	if (!space->data)
		space->size = 0;
	return space->data;
}

static inline void ebt_space_deinit(struct ebt_space *space)
{
	free(space->data);
	space->data = NULL;
	space->size = 0;
}

#endif
