/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow; see array.h. */
#include "symbolize/base/array.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 64

struct ebt_error *sym_array_reserve(void *array, size_t n, size_t *capacity, size_t size)
{
	size_t larger = *capacity ? *capacity * 2 : FIRST_CAPACITY;
	void *items;

	if (n < *capacity)
		return NULL;
	/* A pointer to another type may have another representation. */
	memcpy(&items, array, sizeof(items));
	items = reallocarray(items, larger, size);
	if (!items)
		return &ebt_enomem;
	memcpy(array, &items, sizeof(items));
	*capacity = larger;
	return NULL;
}
