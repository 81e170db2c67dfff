/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passes over stacks before the report's own: all addresses of a table go to the symbolizer, which
 * looks them up together, by several threads; and files that a report will want come from servers
 * several at once (prefetch).
 */
#ifndef REPORT_TRACE_PREPARE_H
#define REPORT_TRACE_PREPARE_H

#include <stdint.h>

#include "format/base/error.h"
#include "report/trace/trace.h"
#include "symbolize/symbolize.h"

/* flags: of trace_cursor_create(). A table that the trace lacks has no stacks. */
struct ebt_error *prepare_names(struct trace *trace, uint16_t table, unsigned int flags);

/* Begins to fetch the files that hold the addresses of all stacks that pass the filters. */
struct ebt_error *prefetch_files(struct trace *trace, struct sym *sym);

#endif
