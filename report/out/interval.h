/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --interval: a command is run once for each interval of the trace's window, which is narrowed to
 * it meanwhile; out.h says which interval a table is of. Commands need to do nothing for it but
 * read the trace through its cursors.
 */
#ifndef REPORT_OUT_INTERVAL_H
#define REPORT_OUT_INTERVAL_H

#include "report/cli/command.h"

/* Runs the report's command: once, or with --interval as often as that says. */
struct ebt_error *interval_run(struct report *report);

#endif
