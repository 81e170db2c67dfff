/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Columns that a table can do without; see narrow.h. */
#include "report/out/narrow.h"

void narrow_columns(const struct out *out, const struct narrow *narrow, struct out_column *columns,
		    size_t n)
{
	unsigned int width = out_width(out);

	for (; width && narrow->key; narrow++) {
		for (size_t i = 0; width < narrow->width && i < n; i++) {
			if (!strcmp(columns[i].key, narrow->key))
				columns[i].flags |= OUT_DETAIL;
		}
	}
}
