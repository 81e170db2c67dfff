/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line of ebreport: options that every command has, parsed once, and those that a
 * command declares in its own table. Options may stand before or after the file. Parsing never
 * prints: errors are EBT_ERR_INVALID and say what was expected.
 */
#ifndef REPORT_CLI_OPTIONS_H
#define REPORT_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "format/base/error.h"

struct command;

#define OPTIONS_FILE "trace.ebt" /* what ebrec writes without -o */

/* A point in time as given: relative to the start of the trace, or a share of its duration. */
struct option_time {
	bool set, percent;
	uint64_t ns;
	double share; /* 0 to 1, where percent */
};

struct option_u32s {
	uint32_t *v;
	size_t n;
};

static inline bool option_u32s_has(const struct option_u32s *list, uint32_t v)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i] == v)
			return true;
	}
	return false;
}

struct option_strings {
	const char **v; /* ends with NULL where n is not 0, so that it can be handed on */
	size_t n;
};

enum option_format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV };

struct options {
	const struct command *command; /* NULL: only --help or --version was given */
	const char *file;	       /* NULL likewise */
	const char **words;	       /* behind the file, as many as the command takes */
	size_t n_words;
	bool help, version;

	const char *host; /* of a file of several machines: number or name of one; NULL: all */
	struct option_u32s pids, tids;
	struct option_u32s cpu_first, cpu_last; /* ranges, both ends included */
	struct option_strings comms;		/* globs */
	bool kernel_threads;			/* in tables of tasks, too */
	struct option_time from, to;
	uint64_t interval_ns; /* 0: the window as a whole */

	enum option_format format;
	const char *output;  /* NULL: standard output */
	bool folder;	     /* as with COMMAND_FOLDER */
	bool to_stdout;	     /* `-o -` says so */
	char *named_output;  /* where that is made of the name of FILE */
	const char *sort;    /* key of a column, or NULL */
	const char *columns; /* keys of columns with commas between them, or NULL */
	bool sort_reverse;   /* `--sort -COL`: smallest first; text Z to A */
	uint64_t top;	     /* 0: all */
	bool wide;	     /* all columns, however narrow the terminal */
	bool no_color, no_pager;
	bool force; /* replace what is there, whatever it is */
	/* The command could do otherwise, but with what was asked for: */
	bool recorded_time; /* COMMAND_ALL_ROWS does not count */
	bool whole;	    /* COMMAND_LIVE does not count */

	struct option_strings debug_dirs, roots;
	const char *sysroot;
	bool debuginfod;	     /* servers may be asked */
	const char *debuginfod_urls; /* NULL: those of the environment */
	uint64_t debuginfod_timeout_ns;
	bool no_symbols, no_inline, no_symbol_cache;

	/* One a row of command->options; see the functions below. */
	struct option_value *values;
};

/*
 * argv[0] is the program. Strings in *ret point into argv. Without a command, or where the first
 * word is none but a file that exists, it is `overview`. Without a file it is OPTIONS_FILE, if that
 * is in the working directory, but for commands that want words behind it.
 */
struct ebt_error *options_parse(int argc, char **argv, struct options *ret);
void options_deinit(struct options *options);
/* Those of another command on the same file: filters and what says how to find names are the same,
 * and of its own it has the one of that name, which takes no value; NULL: none. Everything but
 * ret->values, which free() frees, belongs to `options`. */
struct ebt_error *options_of(const struct options *options, const struct command *command,
			     const char *name, struct options *ret);

/* Values of the command's own options, by name; not given, where it has no such option. */
bool options_flag(const struct options *options, const char *name);
const char *options_string(const struct options *options, const char *name); /* NULL: not given */
uint64_t options_u64(const struct options *options, const char *name, uint64_t otherwise);

/* Gives an option of the command's own, whose apply() decides on it, this value. */
void options_keep(struct options *options, const char *name, const char *value);

/* A time as --from has it: 5s, 500ms, 20%. to: struct option_time */
struct ebt_error *option_time(void *to, const char *text);
/* Applies --sort, for a command that has it under conditions of its own. to: struct options */
struct ebt_error *option_sort(void *to, const char *arg);

/* Those of every command; ends with a NULL name. */
extern const struct option_def common_options[];

/* The text of --help. command NULL: that of ebreport itself. */
void options_usage(const struct command *command, FILE *to);

#endif
