/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks laid out for a picture: a lane for each group and name, in it rows, so that spans of one
 * time do not hide each other. What is narrower than the picture can show is drawn together, so
 * that the size of a picture does not depend on the number of marks. Draws nothing.
 */
#ifndef REPORT_MARKS_LANES_H
#define REPORT_MARKS_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "report/marks/model_marks.h"

struct marks_lane {
	uint32_t name; /* of marks_name() */
	uint32_t rows;
	uint64_t count, sum_ns;
	uint64_t hidden; /* that had no row of their own: they are part of another's box */
};

/* One box, or tick: one mark, or several narrow ones. */
struct marks_item {
	uint32_t lane, row;
	size_t mark;	     /* the longest of them */
	uint64_t start, end; /* within the picture; equal: instants */
	uint64_t count, sum_ns;
	bool span; /* any of them is one */
};

struct marks_lanes_options {
	uint64_t from, to; /* from < to */
	uint32_t width;	   /* pixels */
	uint32_t max_lanes, max_rows;
	uint32_t max_items; /* more than max_lanes */
};

struct marks_lanes {
	struct marks_lane *lanes; /* by group, then by name, as they appear */
	uint32_t n_lanes;
	struct marks_item *items; /* in order of time */
	size_t n_items, items_capacity;
	uint64_t merged;       /* marks that share an item with others */
	uint64_t narrow_ns;    /* what is shorter is narrow */
	uint64_t left_out;     /* marks of lanes beyond max_lanes */
	uint32_t n_left_lanes; /* such lanes */
};

/* marks: in order of start. Names are below n_names. */
struct marks_source {
	const struct mark *(*at)(const void *marks, size_t i);
	const struct mark_name *(*name)(const void *marks, uint32_t name);
	const void *marks;
	size_t n;
	uint32_t n_names;
};

struct ebt_error *marks_lanes_create(const struct marks_source *source,
				     const struct marks_lanes_options *options,
				     struct marks_lanes **ret);
void marks_lanes_destroy(struct marks_lanes *lanes);
DEFINE_CLEANUP(struct marks_lanes *, marks_lanes_destroy);

#endif
