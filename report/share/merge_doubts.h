/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times in which nobody knows which input has a row: near the ends of the time for which an input
 * has a table, and in and near its gaps. There inputs are compared, all that have the table at the
 * same time or one behind the other together.
 */
#ifndef REPORT_SHARE_MERGE_DOUBTS_H
#define REPORT_SHARE_MERGE_DOUBTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"
#include "report/share/merge_spans.h"
#include "report/share/merge_twins.h"

struct merge_doubts {
	struct ebt_reader *const *readers;
	size_t n;
	struct merge_spans *spans;
	void *arg;
	/* What is known of a row of the input without a comparison. */
	enum twin_role (*role)(void *arg, size_t input, uint64_t sort, const struct ebt_row *row);
	/* Did the event of a row of another input not escape this one? */
	bool (*must_have)(void *arg, size_t input, uint64_t sort, const struct ebt_row *row);
	/* A row of role TWIN_DOUBT has a twin. */
	struct ebt_error *(*found)(void *arg, size_t input, const struct ebt_chunk_info *chunk,
				   uint32_t row);
};

/* Does each recorder make rows of the table for itself, so that no two are of the same event? */
bool merge_is_sampled(uint16_t table);

/* Reads what is in doubt of tables that several inputs have, and loads their gaps. */
struct ebt_error *merge_doubts_compare(const struct merge_doubts *doubts);

#endif
