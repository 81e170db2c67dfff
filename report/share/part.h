/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which rows of a trace go into a copy of a part of it: those of the window, and of those before
 * and behind it what says how things stood at its edges. docs/FORMAT.md section 13 has the rules.
 */
#ifndef REPORT_SHARE_PART_H
#define REPORT_SHARE_PART_H

#include <stdbool.h>

#include "format/base/error.h"
#include "format/edit/copy.h"

struct part;
struct trace;

/* Of the window that is set, and of the tasks that pass the trace's filters. Reads what lies before
 * the window of the tables that tell of states. The trace must live longer. */
struct ebt_error *part_create(struct trace *trace, const struct ebt_window *window,
			      struct part **ret);
/* Accepts NULL. */
void part_destroy(struct part *part);

/* For struct ebt_copy_options, whose arg is the part. */
enum ebt_copy_action part_action(void *arg, const struct ebt_chunk_info *chunk,
				 const struct ebt_table *table);
struct ebt_error *part_edit(void *arg, struct ebt_edit *edit, bool *ret_changed);

#endif
