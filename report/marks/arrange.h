/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks that repeat (of one group, name and process), the longest of all, and when all are. */
#ifndef REPORT_MARKS_ARRANGE_H
#define REPORT_MARKS_ARRANGE_H

#include "format/base/map.h"
#include "report/base/names.h"
#include "report/marks/model_marks.h"

/* All zero is empty. */
struct marks_groups {
	struct ebt_map processes, by_key;
};

void marks_groups_deinit(struct marks_groups *groups);

/* The number of the mark's group, from 0 in order of appearance. names NULL: whichever process. */
struct ebt_error *marks_groups_find(struct marks_groups *groups, const struct names *names,
				    const struct mark *mark, uint32_t *ret);

/* Numbers for marks_at(), the longest first. spans: without instants. Free *ret with free(). */
struct ebt_error *marks_longest(const struct marks *marks, bool spans, uint32_t **ret,
				size_t *ret_n);

/* The time that there is to show: from the first mark's start to the last one's end, as far as they
 * are in the window. *ret_from < *ret_to. */
void marks_extent(const struct trace *trace, const struct marks *marks, uint64_t *ret_from,
		  uint64_t *ret_to);

#endif
