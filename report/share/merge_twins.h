/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows that several recorders wrote of the same event, found by what the rows say: inputs are read
 * side by side, in order of time, and each row of an input stands for one row of each later input.
 *
 * A task does one thing after the other, and all recorders are told of one before the next. So
 * twins are neighbours among all rows that say the same. Neighbours that are far apart are twins
 * only if one of the recorders must have seen the event of the other.
 *
 * Memory: 48 bytes for each row that is compared, of the last 0.1 s and 10 ms for each input, or of
 * 65,536 rows, and as much again for those of one input. What has been found is the caller's to
 * keep.
 */
#ifndef REPORT_SHARE_MERGE_TWINS_H
#define REPORT_SHARE_MERGE_TWINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"

/* Twins are no further apart. Two programs of one hook read the clock one after the other:
 * microseconds, or as long as the CPU was taken away in between. */
#define TWINS_APART UINT64_C(10000000)

/* What two recorders' readings of the clock for one event are apart, but where an interrupt came
 * in between. */
#define TWINS_SKEW UINT64_C(100000)

/* Inputs at most: one bit each. */
#define TWINS_INPUTS 64u

/* What becomes of a row whose twin was or was not found. */
enum twin_role {
	TWIN_NONE,  /* far from whatever is in doubt: it is not compared */
	TWIN_KEPT,  /* it is in the copy, whatever is found */
	TWIN_HAD,   /* an earlier input is known to have it */
	TWIN_DOUBT, /* it is left out if an earlier input has a twin */
};

struct twin_says {
	uint64_t hash; /* the same for rows that say the same */
	uint64_t
		due; /* bits of readers that recorded where the event was: it did not escape them */
};

struct twins_search {
	struct ebt_reader *const *readers;
	const size_t *inputs; /* indices of readers, in order: the first one has the say */
	size_t n;	      /* at most TWINS_INPUTS */
	uint16_t table;
	bool sampled; /* no two rows are of one event: any that are near stand for each other */
	uint64_t from, to; /* rows of this time are read, both ends included */
	void *arg;
	/* *ret is untouched for TWIN_NONE. */
	enum twin_role (*role)(void *arg, size_t input, const struct ebt_row *row,
			       struct twin_says *ret);
	/* A row of role TWIN_DOUBT has a twin. */
	struct ebt_error *(*found)(void *arg, size_t input, const struct ebt_chunk_info *chunk,
				   uint32_t row);
};

struct ebt_error *merge_twins_find(const struct twins_search *search);

#endif
