/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One column of a chunk: a u64 for each row, in the encoding that makes it smallest
 * (docs/FORMAT.md section 4).
 */
#ifndef FORMAT_ENCODING_COLUMN_H
#define FORMAT_ENCODING_COLUMN_H

#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/error.h"
#include "format/encoding/layout.h"

/* How a column is best stored. */
struct ebt_column_plan {
	enum ebt_encoding encoding;
	unsigned int width; /* FIXED only: bytes a row */
	uint64_t first;	    /* the first value; the only one where CONST */
	size_t size;	    /* bytes of contents */
};

/* One pass over the values; n is at least 1. */
struct ebt_column_plan ebt_column_plan(const uint64_t *values, uint32_t n);

/* Appends exactly plan->size bytes. */
void ebt_column_encode(const struct ebt_column_plan *plan, const uint64_t *values, uint32_t n,
		       struct ebt_buffer *buf);

/* Decodes exactly n rows. EBT_ERR_CORRUPT where the contents do not have exactly that many, or
 * the encoding is not one of a column. ret, of n values, may be written to even then. */
struct ebt_error *ebt_column_decode(uint8_t encoding, struct ebt_bytes contents, uint32_t n,
				    uint64_t *ret);

#endif
