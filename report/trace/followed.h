/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes a recording followed. A switch is in the trace if either of its tasks is
 * followed. So the trace has tasks most of whose switches are missing: nothing can be said about
 * those.
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
