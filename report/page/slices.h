/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table in slices of time, so that the page can put together the rows of any range of them. Of a
 * slice there are only the figures that say something of a range, by the columns that say what a
 * row is of (OUT_KEY): those that add up over slices (OUT_ADDS), are the largest of them (OUT_PEAK)
 * and so on, see enum out_column_flags; and of distributions (OUT_SPREAD) all values.
 */
#ifndef REPORT_PAGE_SLICES_H
#define REPORT_PAGE_SLICES_H

#include "report/out/out.h"

struct page_slices;

/* Of the table of all slices. *ret is NULL where there can be none: it has no such columns, rows
 * that cannot be told apart, or none. start_ns: of the trace; times are since it. */
struct ebt_error *page_slices_create(const struct out_captured *whole, uint64_t start_ns,
				     struct page_slices **ret);
void page_slices_destroy(struct page_slices *slices);

/* The same table of one slice, in the order of time. */
struct ebt_error *page_slices_add(struct page_slices *slices, uint32_t number,
				  const struct out_captured *table);

/* What only a terminal needs, as numbers that are texts and stand in other columns as numbers: no
 * column of the page. */
static inline bool page_slices_leave_out(const struct out_column *column)
{
	return column->type == OUT_SERIES || (column->flags & OUT_HIDDEN) ||
	       ((column->flags & OUT_TEXT_ONLY) && (column->flags & OUT_RIGHT));
}
/* How a page has a column of a range, for its script: "key", "sum", "mean"…; or NULL. */
const char *page_slices_merge(const struct out_column *column);

/* n slices of length_ns each begin at from_ns, which counts as page times do; the last ends at
 * to_ns. */
struct page_slice_times {
	uint64_t from_ns, to_ns, length_ns;
	uint32_t n;
};
/*
 * Members `slice_ns` and `slices` of an object of JSON, where all slices could be added; else none.
 * A row of a slice is the number of that row among those of the whole, and its values of the
 * columns whose merge is "sum", "max", "min", "last", "at", "last_at" or "spread", in their order.
 * Null is a figure whose slices together are not the figure of the whole. As many slices are put
 * together as it takes for them to be no more than max_bytes, about. ret_bytes: what they take; 0:
 * there are none.
 */
struct ebt_error *page_slices_put(struct page_slices *slices, const struct page_slice_times *times,
				  size_t max_bytes, struct json *json, size_t *ret_bytes);

#endif
