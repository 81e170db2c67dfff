/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow; see array.h. */
#include "format/base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 16

struct ebt_error *ebt_array_grow(void *array, size_t i, size_t *capacity, size_t size, bool zeroed)
{
	size_t larger = *capacity ? *capacity : FIRST_CAPACITY / 2;
	void *items;

	if (i < *capacity)
		return NULL;
	do {
		if (larger > SIZE_MAX / 2)
			return &ebt_enomem;
		larger *= 2;
	} while (larger <= i);
	/* A pointer to another type may have another representation. */
	memcpy(&items, array, sizeof(items));
	items = reallocarray(items, larger, size);
	if (!items)
		return &ebt_enomem;
	if (zeroed)
		memset((char *)items + *capacity * size, 0, (larger - *capacity) * size);
	memcpy(array, &items, sizeof(items));
	*capacity = larger;
	return NULL;
}
