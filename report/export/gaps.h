/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stretches of a file that could not be read, placed in time: `export` tells of each where its rows
 * would have been. */
#ifndef REPORT_EXPORT_GAPS_H
#define REPORT_EXPORT_GAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/read/reader.h"

struct export_gap {
	uint64_t offset, length; /* in the file */
	const char *what;	 /* belongs to the reader */
	bool is_chunk;		 /* of which the head is there, which says: */
	uint16_t table;
	uint32_t rows;
	uint64_t from, to; /* rows may be missing with from <= time <= to */
	bool told;
};

struct export_gaps {
	struct export_gap list[EBT_MAX_DAMAGE];
	size_t n;
	uint64_t total; /* that the reader has met, with those for which there is no room */
	uint64_t next;	/* the earliest time of those that are not told; UINT64_MAX: none */
};

/* Takes over what the reader has met since. No memory is taken. */
void export_gaps_update(struct export_gaps *gaps, const struct ebt_reader *reader);

/* The next gap that begins before or at this time and was not told yet. It counts as told then. */
const struct export_gap *export_gaps_tell(struct export_gaps *gaps, uint64_t time);

#endif
