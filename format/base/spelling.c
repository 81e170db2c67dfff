/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See spelling.h. */
#include "format/base/spelling.h"

#include <stdint.h>
#include <string.h>

size_t ebt_spelling_distance(const char *a, const char *b)
{
	size_t row[EBT_SPELLING_MAX], n = strnlen(a, EBT_SPELLING_MAX);
	size_t m = strnlen(b, EBT_SPELLING_MAX);

	if (n == EBT_SPELLING_MAX || m == EBT_SPELLING_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[m];
}
