/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arrays that grow: a pointer to the elements, their number, and how many have room.
 *
 *	err = ebt_array_reserve(&list->items, list->n, &list->capacity);
 *	if (err)
 *		return err;
 *	list->items[list->n++] = item;
 *
 * The capacity doubles, so that n elements cost O(n). The array is freed with free().
 */
#ifndef FORMAT_BASE_ARRAY_H
#define FORMAT_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#include "format/base/error.h"

/* Makes room for the element with index i (which is evaluated twice). array: the address of the
 * pointer; *capacity is a size_t. Both change together, or not at all. */
#define ebt_array_reserve(array, i, capacity) \
	((i) < *(capacity) ? NULL             \
			   : ebt_array_grow((array), (i), (capacity), sizeof(**(array)), false))

/* The same, where elements behind the last one in use must be all zero: new ones are. */
#define ebt_array_reserve_zeroed(array, i, capacity) \
	((i) < *(capacity) ? NULL                    \
			   : ebt_array_grow((array), (i), (capacity), sizeof(**(array)), true))

struct ebt_error *ebt_array_grow(void *array, size_t i, size_t *capacity, size_t size, bool zeroed);

#endif
