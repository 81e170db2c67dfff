/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many rows of each table there are and when, as the headers of chunks say it: nothing of the
 * file is read for it but its index. The rows of a chunk are taken for spread evenly over its time,
 * which is a second at the most.
 */
#ifndef REPORT_SERVE_DENSITY_H
#define REPORT_SERVE_DENSITY_H

#include "report/trace/trace.h"

#define DENSITY_BINS 512

struct density_table {
	const struct ebt_table *table;
	double rows, lost;
	double bins[DENSITY_BINS]; /* of equal parts of the window */
};

struct density {
	struct density_table *tables; /* of class event, those that have rows in the window */
	size_t n, capacity;
	double rows; /* of all tables */
};

/* Of the window of the trace. */
struct ebt_error *density_create(const struct trace *trace, struct density *ret);
void density_deinit(struct density *density);

/* Rows of all these tables in the window, without the rest. */
double density_rows(const struct trace *trace);

#endif
