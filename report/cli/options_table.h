/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that every command has: one row each, for the parser and for --help. */
#ifndef REPORT_CLI_OPTIONS_TABLE_H
#define REPORT_CLI_OPTIONS_TABLE_H

#include "report/cli/options.h"

struct common_option {
	const char *name;
	char letter;	 /* 0: none */
	const char *arg; /* NULL: takes none; "[=X]": may be left out */
	struct ebt_error *(*apply)(struct options *options, const char *arg);
	const char *help;
};

/* Ends with a NULL name. */
extern const struct common_option common_options[];

/* Decimal digits, up to max. */
struct ebt_error *options_parse_u64(const char *text, uint64_t max, uint64_t *ret);

struct ebt_error *option_pid(struct options *options, const char *arg);
struct ebt_error *option_tid(struct options *options, const char *arg);
struct ebt_error *option_comm(struct options *options, const char *arg);
struct ebt_error *option_cpu(struct options *options, const char *arg);
struct ebt_error *option_from(struct options *options, const char *arg);
struct ebt_error *option_to(struct options *options, const char *arg);
struct ebt_error *option_interval(struct options *options, const char *arg);
struct ebt_error *option_json(struct options *options, const char *arg);
struct ebt_error *option_csv(struct options *options, const char *arg);
struct ebt_error *option_output(struct options *options, const char *arg);
struct ebt_error *option_top(struct options *options, const char *arg);
struct ebt_error *option_columns(struct options *options, const char *arg);
struct ebt_error *option_sort(struct options *options, const char *arg);
struct ebt_error *option_no_color(struct options *options, const char *arg);
struct ebt_error *option_debug_dir(struct options *options, const char *arg);
struct ebt_error *option_root(struct options *options, const char *arg);
struct ebt_error *option_sysroot(struct options *options, const char *arg);
struct ebt_error *option_debuginfod(struct options *options, const char *arg);
struct ebt_error *option_debuginfod_timeout(struct options *options, const char *arg);
struct ebt_error *option_no_symbols(struct options *options, const char *arg);
struct ebt_error *option_no_inline(struct options *options, const char *arg);
struct ebt_error *option_no_symbol_cache(struct options *options, const char *arg);
struct ebt_error *option_help(struct options *options, const char *arg);

#endif
