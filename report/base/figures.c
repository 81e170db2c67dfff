/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact figures; see figures.h. */
#include "report/base/figures.h"

#include <stdlib.h>

#include "format/base/compare.h"

static uint64_t rank(const uint64_t *list, size_t n, unsigned int percent)
{
	size_t below = n / 100 * percent + (n % 100 * percent + 99) / 100;

	return list[below - 1];
}

struct figures figures_of(uint64_t *list, size_t n)
{
	struct figures f = { .n = n };
	uint64_t low;

	if (!n)
		return f;
	qsort(list, n, sizeof(*list), ebt_compare_u64);
	for (size_t i = 0; i < n; i++) {
		if (__builtin_add_overflow(f.sum, list[i], &f.sum))
			f.sum = UINT64_MAX;
		if (f.sum == UINT64_MAX)
			break;
	}
	low = list[(n - 1) / 2];
	f.min = list[0];
	f.max = list[n - 1];
	f.mean = f.sum / n;
	f.median = low + (list[n / 2] - low) / 2;
	f.p90 = rank(list, n, 90);
	f.p99 = rank(list, n, 99);
	return f;
}
