/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pass over the stacks of a table before the report's own: it hands all addresses to the
 * symbolizer, which looks them up together, by several threads.
 */
#ifndef REPORT_TRACE_PREPARE_H
#define REPORT_TRACE_PREPARE_H

#include <stdint.h>

#include "format/base/error.h"
#include "report/trace/trace.h"

/* flags: of trace_cursor_create(). A table that the trace lacks has no stacks. */
struct ebt_error *prepare_names(struct trace *trace, uint16_t table, unsigned int flags);

#endif
