/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks by how long they took; see longest.h. */
#include "report/marks/longest.h"

#include <stdlib.h>

#include "format/base/cleanup.h"
#include "format/base/compare.h"

static int compare(const void *a, const void *b, void *arg)
{
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const uint64_t x = mark_duration(marks_at(arg, i)), y = mark_duration(marks_at(arg, k));

	return ebt_compare(y, x) ?: ebt_compare(i, k);
}

struct ebt_error *marks_longest(const struct marks *marks, bool spans, uint32_t **ret,
				size_t *ret_n)
{
	_cleanup_free_ uint32_t *order = calloc(marks_n(marks) + 1, sizeof(*order));
	size_t n = 0;

	if (!order)
		return &ebt_enomem;
	for (uint32_t i = 0; i < marks_n(marks); i++) {
		if (!spans || marks_at(marks, i)->kind == MARK_SPAN)
			order[n++] = i;
	}
	qsort_r(order, n, sizeof(*order), compare, (void *)marks);
	*ret = take_ptr(order);
	*ret_n = n;
	return NULL;
}
