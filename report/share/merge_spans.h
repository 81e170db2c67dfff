/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When each input of a merge recorded which table: from the first row to the last, of the table and
 * of each sort of its rows, with what was lost in between or cannot be read.
 */
#ifndef REPORT_SHARE_MERGE_SPANS_H
#define REPORT_SHARE_MERGE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"
#include "report/share/merge_ids.h"
#include "report/trace/losses.h"

/* When a table, or one sort of its rows, was recorded: both ends included. */
struct merge_span {
	uint16_t table;
	uint64_t from, to;
	bool any;
	bool has_sorts;	    /* of a whole table: what is true of it need not be of each sort */
	struct losses gaps; /* of a whole table: what was lost of it, or cannot be read */
	bool has_gaps;	    /* they have been loaded */
};

struct merge_spans;

/* Everything must live longer. Gaps are not loaded yet. */
struct ebt_error *merge_spans_create(struct ebt_reader *const *readers, size_t n,
				     const struct merge_ids *ids, struct merge_spans **ret);
/* Accepts NULL. */
void merge_spans_destroy(struct merge_spans *spans);

/* Have tables like this one spans? Other state may be told any number of times. */
bool merge_spans_are_of(const struct ebt_table *table);
/* What tells sources apart that write the same table, moments of one source, or things that a table
 * numbers; 0 where rows are all of one sort. */
uint64_t merge_spans_sort(const struct merge_spans *spans, size_t input, const struct ebt_row *row);

/* NULL: there are no rows. */
const struct merge_span *merge_spans_find(const struct merge_spans *spans, size_t input,
					  uint16_t table, uint64_t sort);
/* Of all sorts together. */
const struct merge_span *merge_spans_table(const struct merge_spans *spans, size_t input,
					   uint16_t table);
/* All of an input, in no order. */
const struct merge_span *merge_spans_list(const struct merge_spans *spans, size_t input, size_t *n);

/* Reads the table, unless it has been read: what cannot be read is known when it has been tried. */
struct ebt_error *merge_spans_load_gaps(struct merge_spans *spans, size_t input,
					const struct ebt_table *table);
/* The same for tables that any input lost rows of: who has rows alone may yet have what another
 * lost of them, or have lost it, too. */
struct ebt_error *merge_spans_load_lost(struct merge_spans *spans, size_t input);

static inline uint64_t merge_later(uint64_t time, uint64_t by)
{
	return time < UINT64_MAX - by ? time + by : UINT64_MAX;
}

static inline uint64_t merge_earlier(uint64_t time, uint64_t by)
{
	return time > by ? time - by : 0;
}

#endif
