/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks by how long they took. */
#ifndef REPORT_MARKS_LONGEST_H
#define REPORT_MARKS_LONGEST_H

#include "report/marks/model_marks.h"

/* Numbers for marks_at(), the longest first. spans: without instants. Free *ret with free(). */
struct ebt_error *marks_longest(const struct marks *marks, bool spans, uint32_t **ret,
				size_t *ret_n);

#endif
