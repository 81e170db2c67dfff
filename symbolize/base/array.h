/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow one element at a time. */
#ifndef SYMBOLIZE_BASE_ARRAY_H
#define SYMBOLIZE_BASE_ARRAY_H

#include <stddef.h>

#include "format/base/error.h"

/*
 * Makes room for one element more than n. array is the address of the pointer to the elements, of
 * `size` bytes each; it and *capacity (in elements) change together, or not at all.
 */
struct ebt_error *sym_array_reserve(void *array, size_t n, size_t *capacity, size_t size);

#endif
