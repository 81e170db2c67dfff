/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wide tables on narrow terminals: columns that a table can do without, in JSON and CSV as ever. */
#ifndef REPORT_OUT_NARROW_H
#define REPORT_OUT_NARROW_H

#include "report/out/out.h"

/* The column is left out where the terminal has fewer columns than this. */
struct narrow {
	const char *key; /* NULL ends the table */
	unsigned int width;
};

/* Sets OUT_DETAIL of columns that do not fit. */
void narrow_columns(const struct out *out, const struct narrow *narrow, struct out_column *columns,
		    size_t n);

#endif
