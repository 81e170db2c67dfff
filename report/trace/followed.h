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

/* Reads the tables process, task_fork, task_exec and task_exit. */
struct ebt_error *followed_create(struct ebt_reader *reader, struct followed **ret);
void followed_destroy(struct followed *followed);

/* Is the task one of a followed process, and not of another that had the same pid before or after?
 * All are where the trace does not say whom it follows. */
bool followed_has(const struct followed *followed, const struct ebt_task *task);

/* Not the whole system: what else ran on a CPU is not known. */
bool followed_is_partial(const struct followed *followed);

/* Is the task one of the recorder's own? It follows the whole system but for these. Of a merged
 * recording none is, as others saw them. */
bool followed_is_recorder(const struct followed *followed, const struct ebt_task *task);

/* Is there a process that both follow, as far as the traces say? */
bool followed_meet(const struct followed *a, const struct followed *b);

#endif
