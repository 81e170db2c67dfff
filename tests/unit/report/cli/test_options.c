/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of ebreport: what it means, and what is said where it means nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/cli/command.h"
#include "tests/tools/expect_error.h"

extern const struct command command_dump;

static struct ebt_error *parse(struct options *ret, const char *const *words)
{
	char *argv[32] = { (char *)"ebreport" };
	int argc = 1;

	while (words[argc - 1]) {
		argv[argc] = (char *)words[argc - 1];
		argc++;
	}
	return options_parse(argc, argv, ret);
}

#define PARSE(ret, ...) parse(ret, (const char *const[]){ __VA_ARGS__, NULL })

static void test_common(void **state)
{
	struct options o;

	(void)state;
	assert_null(PARSE(&o, "offcpu", "--pid", "1,22", "-p", "333", "t.ebt", "--tid=7", "--cpu",
			  "0-3,8", "--comm", "a*,b", "--from", "1m30s", "--to=20%", "--json",
			  "-ofile", "--top", "5", "--sort", "-count", "--debug-dir", "x",
			  "--debug-dir", "y", "--sysroot", "/s", "--no-symbols", "--no-inline",
			  "--no-symbol-cache", "--no-color"));
	assert_string_equal(o.command->name, "offcpu");
	assert_string_equal(o.file, "t.ebt");
	assert_int_equal(o.pids.n, 3);
	assert_int_equal(o.pids.v[2], 333);
	assert_int_equal(o.tids.v[0], 7);
	assert_int_equal(o.cpu_first.n, 2);
	assert_int_equal(o.cpu_last.v[0], 3);
	assert_int_equal(o.cpu_first.v[1], 8);
	assert_int_equal(o.cpu_last.v[1], 8);
	assert_int_equal(o.comms.n, 2);
	assert_string_equal(o.comms.v[1], "b");
	assert_null(o.comms.v[2]);
	assert_int_equal(o.from.ns, 90000000000);
	assert_true(o.to.percent && o.to.share > 0.199 && o.to.share < 0.201);
	assert_int_equal(o.format, FORMAT_JSON);
	assert_string_equal(o.output, "file");
	assert_int_equal(o.top, 5);
	assert_string_equal(o.sort, "count");
	assert_true(o.sort_reverse && o.no_symbols && o.no_inline && o.no_color &&
		    o.no_symbol_cache);
	assert_int_equal(o.debug_dirs.n, 2);
	assert_string_equal(o.sysroot, "/s");
	options_deinit(&o);
}

static void test_places(void **state)
{
	struct options o;

	(void)state;
	assert_null(PARSE(&o, "offcpu", "--pid", "1, 22\n333\n", "--cpu", "0-3 8", "--comm",
			  "Web Content, b", "t"));
	assert_int_equal(o.pids.n, 3);
	assert_int_equal(o.pids.v[2], 333);
	assert_int_equal(o.cpu_first.v[1], 8);
	assert_int_equal(o.comms.n, 2);
	assert_string_equal(o.comms.v[0], "Web Content");
	assert_string_equal(o.comms.v[1], "b");
	options_deinit(&o);
	assert_null(PARSE(&o, "info", "--", "--json"));
	assert_string_equal(o.file, "--json");
	options_deinit(&o);
	assert_null(PARSE(&o, "info", "-"));
	assert_string_equal(o.file, "-");
	options_deinit(&o);
	assert_null(PARSE(&o, "/dev/null", "--json")); /* a file */
	assert_string_equal(o.command->name, "overview");
	assert_string_equal(o.file, "/dev/null");
	options_deinit(&o);
	assert_null(PARSE(&o, "-"));
	assert_string_equal(o.command->name, "overview");
	assert_string_equal(o.file, "-");
	options_deinit(&o);
	assert_null(PARSE(&o, "info", "-o", "-", "t"));
	assert_null(o.output);
	options_deinit(&o);
}

static void test_own(void **state)
{
	struct options o;

	(void)state;
	assert_null(PARSE(&o, "syscalls", "--errors", "t"));
	assert_true(options_flag(&o, "errors"));
	assert_false(options_flag(&o, "trace"));
	options_deinit(&o);
	assert_null(PARSE(&o, "dump", "--table=a,b", "t"));
	assert_string_equal(options_string(&o, "table"), "a,b");
	options_deinit(&o);
	assert_null(PARSE(&o, "dump", "t"));
	assert_null(options_string(&o, "table"));
	options_deinit(&o);
}

/* Options of every command may stand before it, and before the file of `overview`. */
static void test_before(void **state)
{
	struct options o;

	(void)state;
	assert_null(PARSE(&o, "--json", "--pid", "7", "sched", "--by", "process", "t"));
	assert_string_equal(o.command->name, "sched");
	assert_string_equal(o.file, "t");
	assert_int_equal(o.format, FORMAT_JSON);
	assert_int_equal(o.pids.n, 1);
	assert_string_equal(options_string(&o, "by"), "process");
	options_deinit(&o);
	assert_null(PARSE(&o, "--from", "1s", "t", "--json"));
	assert_string_equal(o.command->name, "overview");
	assert_string_equal(o.file, "t");
	assert_true(o.from.set && o.format == FORMAT_JSON);
	options_deinit(&o);
	assert_null(PARSE(&o, "--interval", "1s", "sched", "t"));
	assert_int_equal(o.interval_ns, 1000000000);
	options_deinit(&o);
	assert_null(PARSE(&o, "--json", "--help"));
	assert_true(o.help);
	options_deinit(&o);
	expect_error(PARSE(&o, "--cpu", "0", "procs", "t"), "procs is not of single CPUs");
}

static void test_words(void **state)
{
	struct options o;

	(void)state;
	assert_null(PARSE(&o, "diff", "a", "--json", "b"));
	assert_string_equal(o.file, "a");
	assert_int_equal(o.n_words, 1);
	assert_string_equal(o.words[0], "b");
	options_deinit(&o);
	assert_null(PARSE(&o, "extract", "a", "kallsyms", "-o", "f", "--", "-x"));
	assert_string_equal(o.file, "a");
	assert_int_equal(o.n_words, 2);
	assert_string_equal(o.words[1], "-x");
	options_deinit(&o);
	expect_error(PARSE(&o, "diff", "a"), "diff [options] FILE FILE");
	expect_error(PARSE(&o, "diff", "a", "b", "c"), "one argument too many");
	expect_error(PARSE(&o, "bundle", "a", "--pid", "1"), "about the whole file");
	expect_error(PARSE(&o, "scrub", "a", "--from", "1"), "about the whole file");
}

/* A word of another tool leads to one command and is none itself. */
static void test_called_elsewhere(void **state)
{
	struct options o;
	size_t n = 0;

	(void)state;
	assert_int_equal(chdir("/proc/self/task"), 0); /* files there are numbers */
	for (size_t i = 0; commands[i]; i++) {
		char words[128], *rest = words, *word;

		snprintf(words, sizeof(words), "%s",
			 commands[i]->elsewhere ? commands[i]->elsewhere : "");
		for (; (word = strtok_r(rest, " ", &rest)); n++) {
			char meant[64];

			snprintf(meant, sizeof(meant), "did you mean %s?", commands[i]->name);
			expect_error(PARSE(&o, word), meant);
		}
	}
	assert_true(n > 20);
	expect_error(PARSE(&o, "processes"), "did you mean procs?");
	expect_error(PARSE(&o, "process"), "did you mean procs?");
}

static void test_wrong(void **state)
{
	struct options o;

	(void)state;
	expect_error(PARSE(&o, "syscals", "t"), "did you mean syscalls?");
	expect_error(PARSE(&o, "no-such-command-or-file"), "no command");
	expect_error(PARSE(&o, "info", "--jsn", "t"), "did you mean --json?");
	expect_error(PARSE(&o, "info", "--by-process", "t"), "no option --by-process");
	expect_error(PARSE(&o, "info", "-Z", "t"), "no option -Z");
	expect_error(PARSE(&o, "info"), "which file?");
	expect_error(PARSE(&o, "info", "a", "b"), "one file at a time");
	expect_error(PARSE(&o, "info", "a", "sched"),
		     "the command stands first: `ebreport sched a`");
	expect_error(PARSE(&o, "--by", "process", "sched", "t"),
		     "options of sched stand behind it: `ebreport sched [options]");
	expect_error(PARSE(&o, "--by=process", "sched", "t"), "options of sched stand behind it");
	expect_error(PARSE(&o, "--jsn", "t"), "did you mean --json?");
	expect_error(PARSE(&o, "--jsn", "sched", "t"), "did you mean --json?");
	expect_error(PARSE(&o, "--from", "abc", "sched", "t"), "--from: ");
	expect_error(PARSE(&o, "--from", "--by", "sched", "t"), "--from: ");
	expect_error(PARSE(&o, "--no-such", "sched", "t"), "no option --no-such");
	expect_error(PARSE(&o, "-Z", "sched", "t"), "no option -Z");
	expect_error(PARSE(&o, "no/such/trace"), "there is no file 'no/such/trace'");
	expect_error(PARSE(&o, "none-of-it.ebt"), "`ebrec -o FILE -- CMD` makes a trace");
	expect_error(PARSE(&o, "info", "--json", "--csv", "t"), "exclude each other");
	expect_error(PARSE(&o, "info", "--json=1", "t"), "takes no value");
	expect_error(PARSE(&o, "info", "t", "--pid"), "needs a value");
	expect_error(PARSE(&o, "info", "--pid", "x", "t"), "not a number");
	expect_error(PARSE(&o, "info", "--pid", "-1", "t"), "not a number");
	expect_error(PARSE(&o, "info", "--pid", "4294967296", "t"), "not a number");
	expect_error(PARSE(&o, "info", "--pid", "1,,2", "t"), "empty entry");
	expect_error(PARSE(&o, "info", "--cpu", "3-1", "t"), "ends before it begins");
	expect_error(PARSE(&o, "info", "--cpu", "3-", "t"), "not a number");
	expect_error(PARSE(&o, "info", "--from", "5x", "t"), "not a time");
	expect_error(PARSE(&o, "info", "--from", "101%", "t"), "share");
	expect_error(PARSE(&o, "info", "--top", "many", "t"), "not a number");
	expect_error(PARSE(&o, "marks", "--origin", "x", "t"),
		     "--origin: 'x' is not one of ebmark, sysprof, tp, uprobe, usdt");
}

static void get_help(const struct command *command, char **ret)
{
	size_t size;
	FILE *f = open_memstream(ret, &size);

	assert_non_null(f);
	options_usage(command, f);
	assert_int_equal(fclose(f), 0);
}

static bool is_listed(const char *help, const char *name)
{
	char option[64];
	size_t len = (size_t)snprintf(option, sizeof(option), " --%s", name);

	while ((help = strstr(help, option)) && strchr("-abcdefghijklmnopqrstuvwxyz", help[len]))
		help += len;
	return help;
}

static bool is_refused(const struct command *command, const struct option_def *option)
{
	struct options o = { 0 };
	struct ebt_error *err;
	char word[64];
	bool refused;

	snprintf(word, sizeof(word), "--%s%s", option->name, option->arg ? "=1" : "");
	err = PARSE(&o, command->name, word, "FILE", "OTHER");
	refused = err && strstr(err->message, "does not apply");
	if (!err)
		options_deinit(&o);
	ebt_error_destroy(err);
	return refused;
}

/* What a command refuses is not in its help, and what is there it takes. */
static void test_refused(void **state)
{
	unsigned int n_refused = 0;

	(void)state;
	for (size_t i = 0; commands[i]; i++) {
		char *help = NULL;

		get_help(commands[i], &help);
		for (const struct option_def *o = common_options; o->name; o++) {
			bool refused = is_refused(commands[i], o);

			if (is_listed(help, o->name) == (refused || o->idle & commands[i]->flags))
				fail_msg("%s --%s: %s", commands[i]->name, o->name,
					 refused ? "refused, and in the help"
						 : "taken, and not in the help");
			n_refused += refused;
		}
		free(help);
	}
	assert_true(n_refused > 0);
}

static void assert_no_value(const struct command *command, const struct option_def *option)
{
	struct options o;
	char word[64];
	struct ebt_error *err;

	if (!option->arg || option->arg[0] == '[')
		return;
	snprintf(word, sizeof(word), "--%s", option->name);
	err = PARSE(&o, command->name, word, "--help", "FILE", "OTHER");
	assert_non_null(err);
	if (strstr(err->message, "does not apply"))
		ebt_error_destroy(err);
	else
		expect_error(err, "needs a value, and --help is an option");
}

/* Sorts one of two outputs: that stands among the command's own options. */
static void test_sort_of_dump(void **state)
{
	const char *common, *sort;
	struct options o;
	char *help = NULL;

	(void)state;
	get_help(&command_dump, &help);
	common = strstr(help, "Options of every command:");
	assert_non_null(common);
	sort = strstr(help, "--sort COL");
	assert_non_null(sort);
	assert_true(sort < common && !strstr(common, "--sort"));
	assert_non_null(strstr(sort, "of --schema: "));
	free(help);
	assert_null(PARSE(&o, "dump", "--schema", "--sort", "-name", "t"));
	assert_string_equal(o.sort, "name");
	assert_true(o.sort_reverse);
	options_deinit(&o);
}

/* A value that has been forgotten is not the option behind it. */
static void test_forgotten_values(void **state)
{
	struct options o;

	(void)state;
	for (size_t i = 0; commands[i]; i++) {
		for (const struct option_def *d = commands[i]->options; d && d->name; d++)
			assert_no_value(commands[i], d);
		for (const struct option_def *d = common_options; d->name; d++)
			assert_no_value(commands[i], d);
	}
	expect_error(PARSE(&o, "wall", "--per-thread", "--json", "t.ebt"),
		     "--per-thread needs a value, and --json is an option");
	expect_error(PARSE(&o, "wall", "-o", "-f", "t.ebt"), "and -f is an option");
}

static void test_help(void **state)
{
	struct options o;

	(void)state;
	assert_null(PARSE(&o, "--help"));
	assert_true(o.help && !o.command);
	options_deinit(&o);
	assert_null(PARSE(&o, "--version"));
	assert_true(o.version);
	options_deinit(&o);
	for (size_t i = 0; commands[i]; i++) {
		char *text = NULL;

		assert_null(PARSE(&o, commands[i]->name, "--help"));
		assert_true(o.help);
		assert_ptr_equal(o.command, commands[i]);
		options_deinit(&o);
		assert_null(PARSE(&o, "help", commands[i]->name));
		assert_ptr_equal(o.command, commands[i]);
		options_deinit(&o);

		get_help(commands[i], &text);
		assert_non_null(strstr(text, commands[i]->name));
		assert_true(!strstr(text, "--from TIME") ==
			    !!(commands[i]->flags & COMMAND_NO_FILTERS));
		for (const struct option_def *d = commands[i]->options; d && d->name; d++)
			assert_true(d->type == OPTION_GONE || strstr(text, d->name));
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_common),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_forgotten_values),
		cmocka_unit_test(test_sort_of_dump),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_called_elsewhere),
		cmocka_unit_test(test_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
