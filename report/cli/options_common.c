/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that every command has: how their values are read, and the table. */
#include "report/cli/options.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/cli/command.h"

struct ebt_error *option_time(void *to, const char *text)
{
	struct option_time *ret = to;
	size_t len = strlen(text);
	struct ebt_error *err;
	uint64_t ns = 0;

	if (len > 1 && text[len - 1] == '%') {
		char *end;
		double share = strtod(text, &end);

		if (strspn(text, "0123456789.") != len - 1 || end != text + len - 1 || share > 100)
			return ebt_error_create(EBT_ERR_INVALID,
						"'%s' is not a share from 0%% to 100%%", text);
		*ret = (struct option_time){ .set = true, .percent = true, .share = share / 100 };
		return NULL;
	}
	err = cli_parse_duration(text, &ns);
	if (!err)
		*ret = (struct option_time){ .set = true, .ns = ns };
	return err;
}

static struct ebt_error *add_u32(struct option_u32s *list, uint64_t v)
{
	uint32_t *grown = reallocarray(list->v, list->n + 1, sizeof(*grown));

	if (!grown)
		return &ebt_enomem;
	grown[list->n++] = (uint32_t)v;
	list->v = grown;
	return NULL;
}

static struct ebt_error *add_string(void *to, const char *s)
{
	struct option_strings *list = to;
	const char **grown = reallocarray(list->v, list->n + 2, sizeof(*grown));
	char *copy;

	if (!grown)
		return &ebt_enomem;
	list->v = grown;
	copy = strdup(s);
	if (!copy)
		return &ebt_enomem;
	grown[list->n++] = copy;
	grown[list->n] = NULL;
	return NULL;
}

static struct ebt_error *add_number(void *to, const char *piece)
{
	uint64_t v = 0;

	return cli_parse_number(piece, 0, UINT32_MAX, &v) ?: add_u32(to, v);
}

/* N or N-M */
static struct ebt_error *add_cpus(void *to, const char *piece)
{
	struct options *options = to;
	_cleanup_free_ char *first = strdup(piece);
	uint64_t low, high;
	struct ebt_error *err;
	char *dash;

	if (!first)
		return &ebt_enomem;
	dash = strchr(first, '-');
	if (dash)
		*dash = '\0';
	err = cli_parse_number(first, 0, UINT32_MAX, &low)
		      ?: cli_parse_number(dash ? dash + 1 : first, 0, UINT32_MAX, &high);
	if (err)
		return err;
	if (high < low)
		return ebt_error_create(EBT_ERR_INVALID, "'%s' ends before it begins", piece);
	return add_u32(&options->cpu_first, low) ?: add_u32(&options->cpu_last, high);
}

/* --- the options --- */

static struct ebt_error *parse_span(void *to, const char *arg)
{
	uint64_t *ns = to;
	struct ebt_error *err = cli_parse_duration(arg, ns);

	if (!err && !*ns)
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is not above 0", arg);
	return err;
}

static struct ebt_error *set_format(struct options *options, enum option_format format)
{
	if (options->format != FORMAT_TABLE && options->format != format)
		return ebt_error_create(EBT_ERR_INVALID, "--json and --csv exclude each other");
	options->format = format;
	return NULL;
}

static struct ebt_error *option_json(void *to, const char *arg)
{
	(void)arg;
	return set_format(to, FORMAT_JSON);
}

static struct ebt_error *option_csv(void *to, const char *arg)
{
	(void)arg;
	return set_format(to, FORMAT_CSV);
}

static struct ebt_error *option_output(void *to, const char *arg)
{
	struct options *options = to;

	options->to_stdout = !strcmp(arg, "-");
	options->output = options->to_stdout ? NULL : arg;
	return NULL;
}

struct ebt_error *option_sort(void *to, const char *arg)
{
	struct options *options = to;

	options->sort_reverse = arg[0] == '-';
	options->sort = arg + options->sort_reverse;
	return NULL;
}

static struct ebt_error *option_root(void *to, const char *arg)
{
	const char *equals = strchr(arg, '=');

	if (!equals || equals == arg || !equals[1])
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is not CONTAINER=DIR, nor PID=DIR",
					arg);
	return add_string(to, arg);
}

static struct ebt_error *option_debuginfod(void *to, const char *arg)
{
	struct options *options = to;
	const char *urls = getenv("DEBUGINFOD_URLS");
	bool set = urls && *urls;

	if (!arg && !set)
		return ebt_error_create(EBT_ERR_INVALID,
					"which servers? DEBUGINFOD_URLS is not set, and there is "
					"no --debuginfod=URLS");
	options->debuginfod = true;
	options->debuginfod_urls = NULL;
	if (arg && !strcmp(arg, "env"))
		options->debuginfod = set;
	else
		options->debuginfod_urls = arg;
	return NULL;
}

#define FIELD(name) .offset = offsetof(struct options, name)

const struct option_def common_options[] = {
	{ "pid", OPTION_NUMBERS, "PID,…", "only these processes", .letter = 'p',
	  .apply = add_number, FIELD(pids), .unless = COMMAND_NO_FILTERS },
	{ "tid", OPTION_NUMBERS, "TID,…", "only these threads", .apply = add_number, FIELD(tids),
	  .unless = COMMAND_NO_FILTERS | COMMAND_NO_THREADS },
	{ "comm", OPTION_PIECES, "GLOB,…", "only threads whose name matches, as 'nginx*'",
	  .apply = add_string, FIELD(comms), .unless = COMMAND_NO_FILTERS | COMMAND_NO_THREADS },
	{ "host", OPTION_STRING, "NAME", "of a trace of several machines this one, or its number",
	  FIELD(host), .unless = COMMAND_ALL_HOSTS },
	{ "kernel-threads", OPTION_FLAG, NULL, "also threads of the kernel, in tables of tasks",
	  FIELD(kernel_threads), .unless = COMMAND_NO_FILTERS | COMMAND_NO_THREADS },
	{ "cpu", OPTION_NUMBERS, "LIST", "only what happened on these CPUs, as 0-3,8",
	  .apply = add_cpus, .unless = COMMAND_NO_FILTERS | COMMAND_NO_THREADS | COMMAND_NO_CPUS },
	{ "from", OPTION_APPLY, "TIME", "from this time after the start: 5s, 500ms, 1m30s, 20%",
	  .apply = option_time, FIELD(from), .unless = COMMAND_NO_FILTERS },
	{ "to", OPTION_APPLY, "TIME", "up to this time after the start", .apply = option_time,
	  FIELD(to), .unless = COMMAND_NO_FILTERS },
	{ "interval", OPTION_APPLY, "TIME",
	  "what happened in each TIME, as 1s: a table for every one of them", .apply = parse_span,
	  FIELD(interval_ns),
	  .unless = COMMAND_NO_INTERVALS | COMMAND_NO_FILTERS | COMMAND_NO_TABLES },
	{ "json", OPTION_APPLY, NULL, "one JSON object; times are in ns", .apply = option_json,
	  .unless = COMMAND_NO_TABLES },
	{ "csv", OPTION_APPLY, NULL, "comma separated values (RFC 4180)", .apply = option_csv,
	  .unless = COMMAND_NO_TABLES },
	{ "output", OPTION_APPLY, "FILE", "write to FILE", .letter = 'o', .apply = option_output },
	{ "force", OPTION_FLAG, NULL, "replace FILE even if it is of another kind than the output",
	  .letter = 'f', FIELD(force) },
	{ "top", OPTION_U64, "N", "only the first N rows of each table, and below each row",
	  FIELD(top), .unless = COMMAND_NO_TABLES },
	{ "columns", OPTION_STRING, "COL,…", "only these columns, in this order", FIELD(columns),
	  .unless = COMMAND_NO_TABLES },
	{ "sort", OPTION_APPLY, "COL", "sort by this column; -COL: the other way round",
	  .apply = option_sort, .unless = COMMAND_NO_TABLES | COMMAND_NO_SORT },
	{ "wide", OPTION_FLAG, NULL, "all columns, whether they fit on the terminal or not",
	  FIELD(wide), .unless = COMMAND_NO_TABLES },
	{ "no-pager", OPTION_FLAG, NULL, "a terminal gets all at once (so does PAGER=cat)",
	  FIELD(no_pager) },
	{ "no-color", OPTION_FLAG, NULL, "no colours (so does NO_COLOR in the environment)",
	  FIELD(no_color) },
	{ "debug-dir", OPTION_APPLY, "DIR", "look for debug files here first; can be repeated",
	  .apply = add_string, FIELD(debug_dirs), .idle = COMMAND_NO_NAMES },
	{ "root", OPTION_APPLY, "WHO=DIR",
	  "files of this container (id or name) or process are below DIR; can be repeated",
	  .apply = option_root, FIELD(roots), .idle = COMMAND_NO_NAMES },
	{ "sysroot", OPTION_STRING, "DIR", "recorded paths are below this folder", FIELD(sysroot),
	  .idle = COMMAND_NO_NAMES },
	{ "debuginfod", OPTION_APPLY, "[=URLS]",
	  "fetch what is not here; URLS 'env': if DEBUGINFOD_URLS is set",
	  .apply = option_debuginfod, .idle = COMMAND_NO_NAMES },
	{ "debuginfod-timeout", OPTION_APPLY, "TIME", "without a sign of life of a server; 4s",
	  .apply = parse_span, FIELD(debuginfod_timeout_ns), .idle = COMMAND_NO_NAMES },
	{ "no-symbols", OPTION_FLAG, NULL, "open no ELF files: addresses instead of names",
	  FIELD(no_symbols), .idle = COMMAND_NO_NAMES },
	{ "no-inline", OPTION_FLAG, NULL, "names from symbol tables only: faster", FIELD(no_inline),
	  .idle = COMMAND_NO_NAMES },
	{ "no-symbol-cache", OPTION_FLAG, NULL, "do not use or keep names in ~/.cache/ebreport",
	  FIELD(no_symbol_cache), .idle = COMMAND_NO_NAMES },
	{ "help", OPTION_FLAG, NULL, "this text", .letter = 'h', FIELD(help) },
	{ .name = NULL },
};
