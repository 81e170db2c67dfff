/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server for one browser on this machine. The process that has the connections reads nothing of
 * a trace: for each question a child is forked (worker.h) that opens the trace, answers (answer.h)
 * and ends. So a trace that is damaged, or too large for the memory that it may have, costs one
 * answer, an answer that nobody waits for any more is given up at once, and Ctrl-C waits for
 * nothing.
 */
#ifndef REPORT_SERVE_SERVE_H
#define REPORT_SERVE_SERVE_H

#include "report/cli/command.h"

/* Serves the file or folder of the options until it is interrupted, or for --timeout without a
 * request. The address goes to the output of the report, whose trace is NULL. */
struct ebt_error *serve_run(struct report *report);

#endif
