/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spans on a track that follow each other or, where the track nests, contain each other. */
#ifndef REPORT_EXPORT_LANE_H
#define REPORT_EXPORT_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "format/base/array.h"

/* All zero: empty. */
struct export_lane {
	uint64_t *ends; /* of spans that have not ended: the outermost first */
	size_t n, capacity;
};

/* Is there room for a span? Where they nest, they come in the order in which they begin. */
static inline bool export_lane_fits(struct export_lane *lane, bool nests, uint64_t start,
				    uint64_t end)
{
	while (lane->n && lane->ends[lane->n - 1] <= start)
		lane->n--;
	return !lane->n || (nests && end <= lane->ends[lane->n - 1]);
}

/* Adds one that fits. */
static inline struct ebt_error *export_lane_add(struct export_lane *lane, uint64_t end)
{
	struct ebt_error *err = ebt_array_reserve(&lane->ends, lane->n, &lane->capacity);

	if (!err)
		lane->ends[lane->n++] = end;
	return err;
}

static inline void export_lane_deinit(struct export_lane *lane)
{
	free(lane->ends);
}

#endif
