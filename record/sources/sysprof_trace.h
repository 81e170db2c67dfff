/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SYSPROF_TRACE_FD: a file in memory, at the end of which the command and its children write whole
 * captures, and which is read as it grows.
 */
#ifndef RECORD_SOURCES_SYSPROF_TRACE_H
#define RECORD_SOURCES_SYSPROF_TRACE_H

#include <stdbool.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/sources/sysprof_rows.h"

struct sysprof_trace;

/* The two descriptors of one file. */
struct ebt_error *sysprof_trace_pair(int *ret_theirs, int *ret_ours);

/* The file and the rows are not owned; theirs: the number that it has in the command. */
struct ebt_error *sysprof_trace_create(int file, int theirs, struct sysprof_rows *rows,
				       struct sysprof_trace **ret);
/* Accepts NULL. */
void sysprof_trace_destroy(struct sysprof_trace *trace);
DEFINE_CLEANUP(struct sysprof_trace *, sysprof_trace_destroy);

/* Rows of what has been added: of a bounded part of it, or of all that is there now. *ret: whether
 * there was anything. */
struct ebt_error *sysprof_trace_read(struct sysprof_trace *trace, bool all, bool *ret);

/* Who still writes is told that there is no more room. */
void sysprof_trace_close(struct sysprof_trace *trace);

#endif
