/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of tables `lost` and `meta`, which many parts of the recorder write. */
#ifndef RECORD_BASE_ROWS_H
#define RECORD_BASE_ROWS_H

#include <stdint.h>

#include "format/base/error.h"
#include "format/write/writer.h"

/* As in table `lost`; NULL: no text. */
struct lost_row {
	uint64_t from, count;
	uint32_t table_id, reason, ring;
	const char *source, *detail;
};

struct ebt_error *add_lost(struct ebt_stream *stream, uint64_t time, const struct lost_row *lost);

struct ebt_error *add_meta(struct ebt_stream *stream, const char *key, const char *value);

/* text NULL: the number. */
struct meta_row {
	const char *key, *text;
	uint64_t number;
};

/* The list ends with a NULL key. */
struct ebt_error *add_meta_rows(struct ebt_stream *stream, const struct meta_row *rows);

#endif
