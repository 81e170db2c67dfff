/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which rows of two recordings of one machine are the same: what an earlier input (the owner) has
 * recorded in its time is left out of a later one.
 *
 * An input has recorded a table from the table's first row to its last, but for what was lost and
 * what cannot be read (merge_spans.h). Within that, a row of another input is one that it has too,
 * if it followed a task of the row. Near the ends of that time, in and near its gaps, and where
 * what a row tells of began before it, nobody knows whether the owner has the row: there each row
 * that earlier inputs have stands for one row of the other that says the same and was written next
 * to it (merge_doubts.h, merge_twins.h).
 *
 * Each table of each input is read three times at the most: for its gaps, for twins, and for the
 * copy. Memory: what merge_twins.h says, and one bit for each row of chunks that have twins.
 */
#ifndef REPORT_SHARE_MERGE_COVER_H
#define REPORT_SHARE_MERGE_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"
#include "report/share/merge_ids.h"

struct merge_cover;

/* Everything must live longer. */
struct ebt_error *merge_cover_create(struct ebt_reader *const *readers, size_t n,
				     const struct merge_ids *ids, struct merge_cover **ret);
void merge_cover_destroy(struct merge_cover *cover);

/* May a row of this chunk of the input be one that an earlier input has too? */
bool merge_cover_touches(const struct merge_cover *cover, size_t input,
			 const struct ebt_chunk_info *chunk, const struct ebt_table *table);
/* Has another input recorded all of the table from one time to the other? */
bool merge_cover_has_all(const struct merge_cover *cover, size_t input, uint16_t table,
			 uint64_t from, uint64_t to);
/* And all that this chunk tells to be lost? */
bool merge_cover_has_losses(const struct merge_cover *cover, size_t input,
			    const struct ebt_chunk_info *chunk);
/* Does an earlier input have this row? */
bool merge_cover_has(const struct merge_cover *cover, size_t input, const struct ebt_row *row);

#endif
