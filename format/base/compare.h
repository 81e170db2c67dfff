/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What qsort() and bsearch() want to know, one key after the other:
 *
 *	return ebt_compare(x->pid, y->pid) ?: ebt_compare(x->start_ns, y->start_ns);
 */
#ifndef FORMAT_BASE_COMPARE_H
#define FORMAT_BASE_COMPARE_H

#include <stdint.h>

/* -1, 0 or 1. Evaluates both twice. */
#define ebt_compare(a, b) (((a) > (b)) - ((a) < (b)))

/* Of arrays of numbers. */
static inline int ebt_compare_u64(const void *a, const void *b)
{
	return ebt_compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

#endif
