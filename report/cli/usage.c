/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of common options, and the texts of --help that are made from the tables. */
#include <ctype.h>

#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/cli/options_table.h"

const struct common_option common_options[] = {
	{ "pid", 'p', "PID,…", option_pid, "only these processes" },
	{ "tid", 0, "TID,…", option_tid, "only these threads" },
	{ "comm", 0, "GLOB,…", option_comm, "only threads whose name matches, as 'nginx*'" },
	{ "cpu", 0, "LIST", option_cpu, "only what happened on these CPUs, as 0-3,8" },
	{ "from", 0, "TIME", option_from, "from this time after the start: 5s, 500ms, 1m30s, 20%" },
	{ "to", 0, "TIME", option_to, "up to this time after the start" },
	{ "interval", 0, "TIME", option_interval,
	  "what happened in each TIME, as 1s: a table for every one of them" },
	{ "json", 0, NULL, option_json, "one JSON object; times are in ns" },
	{ "csv", 0, NULL, option_csv, "comma separated values (RFC 4180)" },
	{ "output", 'o', "FILE", option_output, "write to FILE" },
	{ "top", 0, "N", option_top, "only the first N rows" },
	{ "columns", 0, "COL,…", option_columns, "only these columns, in this order" },
	{ "sort", 0, "COL", option_sort, "sort by this column; -COL: the other way round" },
	{ "no-color", 0, NULL, option_no_color,
	  "no colours (so does NO_COLOR in the environment)" },
	{ "debug-dir", 0, "DIR", option_debug_dir,
	  "look for debug files here first; can be repeated" },
	{ "root", 0, "WHO=DIR", option_root,
	  "files of this container (id or name) or process are below DIR; can be repeated" },
	{ "sysroot", 0, "DIR", option_sysroot, "recorded paths are below this folder" },
	{ "debuginfod", 0, "[=URLS]", option_debuginfod,
	  "fetch what is not here; URLS 'env': if DEBUGINFOD_URLS is set" },
	{ "debuginfod-timeout", 0, "TIME", option_debuginfod_timeout,
	  "without a sign of life of a server; 4s" },
	{ "no-symbols", 0, NULL, option_no_symbols,
	  "open no ELF files: addresses instead of names" },
	{ "no-inline", 0, NULL, option_no_inline, "names from symbol tables only: faster" },
	{ "no-symbol-cache", 0, NULL, option_no_symbol_cache,
	  "do not use or keep names in ~/.cache/ebreport" },
	{ "help", 'h', NULL, option_help, "this text" },
	{ NULL, 0, NULL, NULL, NULL },
};

static void add_option(struct text *text, char letter, const char *name, const char *arg,
		       const char *help)
{
	struct text left = TEXT_INIT;
	size_t columns;

	if (letter)
		text_printf(&left, "  -%c, --%s", letter, name);
	else
		text_printf(&left, "      --%s", name);
	if (arg)
		text_printf(&left, "%s%s", arg[0] == '[' ? "" : " ", arg);
	columns = text_columns(text_get(&left), left.len);
	text_printf(text, "%s%*s%s\n", text_get(&left), columns < 27 ? (int)(28 - columns) : 1, "",
		    help);
	text_deinit(&left);
}

static void usage_common(struct text *text)
{
	text_cstr(text, "\nOptions of every command:\n");
	for (const struct common_option *o = common_options; o->name; o++)
		add_option(text, o->letter, o->name, o->arg, o->help);
}

void options_usage(const struct command *command, struct text *text)
{
	if (command) {
		text_printf(text, "Usage: ebreport %s [options] FILE%s%s\n\n%c%s.\n", command->name,
			    command->words ? " " : "", command->words ? command->words : "",
			    toupper((unsigned char)command->summary[0]), command->summary + 1);
		if (command->help)
			text_printf(text, "\n%s", command->help);
		if (command->options)
			text_cstr(text, "\nOptions:\n");
		for (const struct option_def *o = command->options; o && o->name; o++) {
			if (o->type != OPTION_GONE)
				add_option(text, 0, o->name, o->arg, o->help);
		}
		usage_common(text);
		return;
	}
	text_cstr(text, "Usage: ebreport COMMAND [options] FILE\n"
			"       ebreport COMMAND --help\n\n"
			"Reports on a trace that ebrec recorded, on this machine or another. "
			"FILE - is standard input.\n\nCommands:\n");
	for (size_t i = 0; commands[i]; i++)
		text_printf(text, "  %-12s%s\n", commands[i]->name, commands[i]->summary);
	usage_common(text);
	text_cstr(text,
		  "\nExit status: 0; 1 the file could not be used; 2 the command line is wrong.\n");
}
