/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes a recording followed. A switch is in the trace if either side of it is followed,
 * so that tasks appear in it of which most is not there: nothing can be said about them.
 */
#ifndef REPORT_TRACE_FOLLOWED_H
#define REPORT_TRACE_FOLLOWED_H

#include <stdbool.h>

#include "format/read/reader.h"

struct followed;

/* Reads the tables process, task_fork and task_exec. */
struct ebt_error *followed_create(struct ebt_reader *reader, struct followed **ret);
void followed_destroy(struct followed *followed);

/* Does the trace say which processes it follows? If not, all pass. */
bool followed_has(const struct followed *followed, const struct ebt_task *task);

/* Not the whole system: what else ran on a CPU is not known. */
bool followed_is_partial(const struct followed *followed);

#endif
