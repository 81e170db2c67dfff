/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was slow or failed in a recording, a sentence each, and which command tells more of it. */
#ifndef REPORT_SYSTEM_OVERVIEW_EVENTS_H
#define REPORT_SYSTEM_OVERVIEW_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "report/base/text.h"
#include "report/trace/trace.h"

struct overview_event {
	const char *kind; /* "process", "syscall", …, as in JSON */
	const char *more; /* the command and its options */
	char *text;
	uint64_t count, max_ns; /* 0: not of that kind */
};

struct overview_events {
	struct overview_event *list; /* failures first */
	size_t n, capacity;
	uint64_t processes; /* that were there */
};

/* Reads the rows that pass the filters, of the tables that the trace has. */
struct ebt_error *overview_events_read(struct trace *trace, struct overview_events *ret);
void overview_events_deinit(struct overview_events *events);

#endif
