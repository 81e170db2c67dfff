/* SPDX-License-Identifier: GPL-2.0-or-later */
/* With which options inputs of a merge were recorded, where rows of the two are not alike then. */
#ifndef REPORT_SHARE_MERGE_OPTIONS_H
#define REPORT_SHARE_MERGE_OPTIONS_H

#include <stdbool.h>

#include "format/base/error.h"
#include "format/read/reader.h"
#include "report/base/text.h"

/*
 * Adds to ret what two inputs of one machine recorded otherwise, where that changes what the merged
 * trace has or what reports make of it. said: lines, what has been said of other inputs.
 * *ret_shared: they recorded the same processes at the same time.
 */
struct ebt_error *merge_options_compare(struct ebt_reader *a, struct ebt_reader *b,
					struct text *said, struct text *ret, bool *ret_shared);

#endif
