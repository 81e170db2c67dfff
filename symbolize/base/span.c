/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ranges of addresses; see span.h. */
#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/search.h"
#include "symbolize/base/span.h"

#include <stdlib.h>

void sym_spans_deinit(struct sym_spans *spans)
{
	free(spans->items);
	*spans = (struct sym_spans){ 0 };
}

struct ebt_error *sym_spans_add(struct sym_spans *spans, uint64_t low, uint64_t high, uint32_t id)
{
	struct ebt_error *err;

	if (low >= high)
		return NULL;
	err = ebt_array_reserve(&spans->items, spans->n, &spans->capacity);
	if (!err)
		spans->items[spans->n++] = (struct sym_span){ .low = low, .high = high, .id = id };
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct sym_span *x = a, *y = b;
	int order = ebt_compare(x->low, y->low) ?: ebt_compare(y->high, x->high);

	return order ?: ebt_compare(x->id, y->id);
}

void sym_spans_sort(struct sym_spans *spans)
{
	uint64_t reach = 0;

	if (spans->n)
		qsort(spans->items, spans->n, sizeof(*spans->items), compare);
	for (size_t i = 0; i < spans->n; i++) {
		if (spans->items[i].high > reach)
			reach = spans->items[i].high;
		spans->items[i].reach = reach;
	}
}

const struct sym_span *sym_spans_find(const struct sym_spans *spans, uint64_t address)
{
	size_t low = ebt_count_first(spans->n, i, spans->items[i].low <= address);

	for (; low && spans->items[low - 1].reach > address; low--) {
		if (spans->items[low - 1].high > address)
			return &spans->items[low - 1];
	}
	return NULL;
}
