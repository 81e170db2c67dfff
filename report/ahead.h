/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fetching from servers what a report will want, several files at once. */
#ifndef REPORT_AHEAD_H
#define REPORT_AHEAD_H

#include "symbolize.h"
#include "trace.h"

/* Begins for the files that stacks of the trace lead through, as the filters leave them. */
struct ebt_error *ahead_fetch(struct trace *trace, struct sym *sym);

#endif
