/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fetching from servers what a report will want, several files at once. */
#ifndef REPORT_TRACE_AHEAD_H
#define REPORT_TRACE_AHEAD_H

#include "report/trace/trace.h"
#include "symbolize/symbolize.h"

/* Begins for the files that stacks of the trace lead through, as the filters leave them. */
struct ebt_error *ahead_fetch(struct trace *trace, struct sym *sym);

#endif
