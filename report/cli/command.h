/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command of ebreport: one file cmd_NAME.c, one line in commands.def. main.c parses the options,
 * opens the trace and the output, calls the command, and prints the warnings of the trace; a
 * command reads rows through the trace (which applies the filters) and gives tables to the output
 * (which knows about terminals, JSON, CSV, sorting and --top). docs/ADDING-A-REPORT.md says how to
 * write one.
 */
#ifndef REPORT_CLI_COMMAND_H
#define REPORT_CLI_COMMAND_H

#include "format/base/error.h"
#include "report/cli/options.h"

struct out;
struct trace;

/* What a command is given. Everything belongs to the caller. */
struct report {
	const struct command *command;
	const struct options *options;
	struct trace *trace;
	struct out *out;
	/* What the program ends with where all could be done and written, and yet is not as it
	 * should be; NULL: success. The command makes it, its caller takes it over. */
	struct ebt_error *verdict;
};

enum {
	/* Its output is a picture or the like: refused on a terminal, wants -o FILE or a pipe. */
	COMMAND_NO_TERMINAL = 1 << 0,
	/* It has no tables: --json, --csv, --sort and --top are refused. */
	COMMAND_NO_TABLES = 1 << 1,
	/* It is about the whole file: filters by task, CPU and time are refused. */
	COMMAND_NO_FILTERS = 1 << 2,
	/* What it writes is as private as the trace: a new file is for its owner only. */
	COMMAND_PRIVATE = 1 << 3,
	/* -o is a folder, which the command opens itself. */
	COMMAND_FOLDER = 1 << 4,
	/* It writes a trace to -o, where it replaces no other kind of file, or to standard output;
	 * and tables to standard output or, where the trace goes there, standard error. */
	COMMAND_COPY = 1 << 5,
	/* Its tables are not of what happened in some time: --interval is refused, as it is where
	 * there are no tables or no filters. */
	COMMAND_NO_INTERVALS = 1 << 6,
	/* It can begin with a trace that is still being written to a pipe: see trace_more(). */
	COMMAND_LIVE = 1 << 7,
	/* Its output is a picture or a page, which replaces no other kind of file. */
	COMMAND_PICTURE = 1 << 8,
	/* It is by time and process: filters by thread and CPU are refused. */
	COMMAND_NO_THREADS = 1 << 9,
	/* It names no functions and lines: what says how to find names has no effect. */
	COMMAND_NO_NAMES = 1 << 10,
	/* What it shows is not of a CPU: --cpu is refused. */
	COMMAND_NO_CPUS = 1 << 11,
	/* What it shows has an order of its own, as of time: --sort is refused. */
	COMMAND_NO_SORT = 1 << 12,
	/* It reads what there is of all machines of a file, and not of each on its own. */
	COMMAND_ALL_HOSTS = 1 << 13,
	/* It compares FILE with another: --host is for those that are of several machines. */
	COMMAND_COMPARES = 1 << 14,
	/* It shows rows as they are, those from before and behind the recording's own time, too. */
	COMMAND_ALL_ROWS = 1 << 15,
	/* The page of `ebreport html` has no table of it: it has that in other parts. */
	COMMAND_NOT_IN_PAGE = 1 << 16,
	/* It opens FILE itself, which may be a folder: report.trace is NULL. */
	COMMAND_OPENS = 1 << 17,
};

/* What a command is about: which source records it, and into which tables. */
struct command_subject {
	const char *what; /* "disk requests" */
	const char *source;
	uint16_t tables[8]; /* enum ebt_table_id, ends with 0 */
};

struct command {
	const char *name;
	struct ebt_error *(*fn)(struct report *report);
	unsigned int flags;
	const char *summary;		  /* one line, in `ebreport --help` */
	const char *elsewhere;		  /* "NAME NAME": what other tools call it; or NULL */
	const char *help;		  /* paragraphs and examples, for `ebreport NAME --help` */
	const struct option_def *options; /* its own; ends with a NULL name; or NULL */
	const char *words;	     /* behind FILE, in the usage: "OTHER", "[WHAT]"; or NULL */
	size_t min_words, max_words; /* how many of them */
	/* Without -o it writes to FILE with this in the place of ".ebt". NULL: standard output. */
	const char *ending;
	/* Own options without a value: with each of them the page of `ebreport html` has its tables
	 * once more. Ends with NULL; or NULL. */
	const char *const *page_options;
	/* With this option of its own FILE is no trace; or NULL. The command opens it itself, as
	 * with COMMAND_OPENS, or it makes a trace of it, in an open file, which is read then. */
	const char *opens_with;
	struct ebt_error *(*make)(const struct options *options, int *ret_fd);
	/* Where it gets no row of these tables, the user is told why. NULL: that is an answer, or
	 * the command tells it itself. */
	const struct command_subject *subject;
};

/* All of them, in the order of the help; ends with NULL (report/commands.def). */
extern const struct command *const commands[];

#endif
