/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prefetch: files that a report will want come from servers several at once. */
#ifndef REPORT_TRACE_PREFETCH_H
#define REPORT_TRACE_PREFETCH_H

#include "report/trace/trace.h"
#include "symbolize/symbolize.h"

/* Begins to fetch the files that hold the addresses of all stacks that pass the filters. */
struct ebt_error *prefetch_files(struct trace *trace, struct sym *sym);

#endif
