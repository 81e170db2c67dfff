/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many requests a device had at a time: from when each began and ended, in any order. */
#ifndef REPORT_IO_BLOCK_DEPTH_H
#define REPORT_IO_BLOCK_DEPTH_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

/* All zero is empty. 16 bytes a request. */
struct block_depth {
	uint64_t *starts, *ends;
	size_t n, starts_capacity, ends_capacity;
};

struct block_depth_span {
	uint64_t from_ns, to_ns;
	double mean; /* over the span */
	uint64_t max;
	uint64_t busy_ns; /* at least one */
};

void block_depth_deinit(struct block_depth *depth);
struct ebt_error *block_depth_add(struct block_depth *depth, uint64_t start_ns, uint64_t end_ns);

/* Cuts from <= time < to into n spans that are as long, within a nanosecond. Sorts what was added.
 */
void block_depth_spans(struct block_depth *depth, uint64_t from_ns, uint64_t to_ns, size_t n,
		       struct block_depth_span *ret);

#endif
