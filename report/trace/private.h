/* SPDX-License-Identifier: GPL-2.0-or-later */
/* struct trace, for trace.c and warnings.c only. */
#ifndef REPORT_TRACE_PRIVATE_H
#define REPORT_TRACE_PRIVATE_H

#include "report/trace/trace.h"
#include "symbolize/symbolize.h"

/* A warning of the command's own. With --interval it says in how many windows it came up. */
struct trace_note {
	char *text;
	uint32_t windows, last_window;
};

struct trace {
	const struct options *options;
	struct option_u32s cut_pids, cut_tables; /* of a part: see cut_lists.h */
	struct trace *beside; /* whose reader, sym, names and programs it takes; NULL: none */
	struct ebt_reader *reader;
	struct sym *sym;
	struct names *names;
	struct programs *programs;
	bool leaves_out;   /* threads of the kernel */
	uint8_t *verdicts; /* enum shown, by task id */
	size_t n_verdicts;
	uint64_t n_left_out;
	bool no_inline, no_bundle, own_names;
	bool live;	/* it is still being written */
	uint64_t until; /* with it: all rows before this time are there */
	size_t seen;	/* with it: chunks whose watermarks were looked at */
	struct sym_servers servers;
	uint64_t from, to;
	uint64_t whole_from;   /* of all windows */
	bool cut_from, cut_to; /* rows outside the window have to be passed over */
	/* It is shorter than the recording's own time, at either end: somebody asked for that. */
	bool asked_from, asked_to;
	uint32_t window;	   /* number of the present one, from 1; 0: without --interval */
	unsigned int window_place; /* enum trace_window */
	struct trace_state *kept;
	bool stop, was_stopped; /* see trace_stop() */
	trace_progress_fn *progress;
	void *progress_arg;
	uint64_t n_read;   /* rows, for it */
	bool tells_losses; /* the command does */
	bool task_seen;	   /* one that passes the filters by task */

	uint64_t read[65536 / 64]; /* bit n: a cursor has named table n */
	uint64_t got[65536 / 64];  /* bit n: a row of table n has passed */
	struct trace_note *notes;
	size_t n_notes, notes_capacity;
	char **remarks;
	size_t n_remarks, remarks_capacity;
	char **warnings;
	size_t n_warnings, warnings_capacity;
};

/* Chooses the machine of this number or name, where it is not NULL. */
struct ebt_error *trace_find_host(struct ebt_reader *reader, const char *host);

/* Appends why there is nothing of the subject. */
struct text;
struct ebt_error *trace_nothing(struct trace *trace, const struct command_subject *subject,
				struct text *text);

#endif
