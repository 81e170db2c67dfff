/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of marks that repeat: marks of one group, name and process. */
#ifndef REPORT_MARKS_GROUPS_H
#define REPORT_MARKS_GROUPS_H

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

#endif
