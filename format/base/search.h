/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Binary search, for arrays whose first elements satisfy a condition and whose others do not:
 *
 *	size_t n = ebt_count_first(spans->n, i, spans->items[i].low <= address);
 */
#ifndef FORMAT_BASE_SEARCH_H
#define FORMAT_BASE_SEARCH_H

#include <stddef.h>

/* How many of n elements satisfy the condition, which is about the element with index i. */
#define ebt_count_first(n, i, condition)                               \
	({                                                             \
		size_t low_##i = 0, high_##i = (n);                    \
                                                                       \
		while (low_##i < high_##i) {                           \
			size_t i = low_##i + (high_##i - low_##i) / 2; \
                                                                       \
			if (condition)                                 \
				low_##i = i + 1;                       \
			else                                           \
				high_##i = i;                          \
		}                                                      \
		low_##i;                                               \
	})

#endif
