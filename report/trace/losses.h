/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When rows of a table were lost: spans of time, in order and apart from each other, from table
 * `lost`, from the counts in chunk headers, and from chunks that could not be read.
 */
#ifndef REPORT_TRACE_LOSSES_H
#define REPORT_TRACE_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "format/read/reader.h"

struct loss_span {
	uint64_t from, to; /* rows with from <= time <= to may be missing */
};

struct losses {
	struct loss_span *spans;
	size_t n, capacity;
};

static inline void losses_deinit(struct losses *losses)
{
	free(losses->spans);
}
#define _cleanup_losses_ __attribute__((cleanup(losses_deinit)))

/* Adds a span; they are in order and apart again after losses_finish(). */
struct ebt_error *losses_add(struct losses *losses, uint64_t from, uint64_t to);
void losses_finish(struct losses *losses);

/* Damage is known for chunks that a cursor has met so far: load again when it has grown. */
struct ebt_error *losses_load(struct ebt_reader *reader, uint16_t table, struct losses *ret);

/* Index of the first span that ends at or after time; n where there is none. */
size_t losses_find(const struct losses *losses, uint64_t time);
/* Is there any in this time, both ends included? */
bool losses_touch(const struct losses *losses, uint64_t from, uint64_t to);

#endif
