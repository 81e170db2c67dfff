/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command lines: numbers, times and sizes; where options end; --help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/fill.h"
#include "cli/options.h"
#include "tests/tools/expect_error.h"

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "5s", 5000000000 },	  { "5", 5000000000 },
		{ "7", 7000000000 },	  { "0.5", 500000000 },
		{ "1.5", 1500000000 },	  { "500ms", 500000000 },
		{ "1m30s", 90000000000 }, { "1.5s", 1500000000 },
		{ "2m", 120000000000 },	  { "250us", 250000 },
		{ "1h", 3600000000000 },  { "10ns", 10 },
		{ "0.001ms", 1000 },	  { "0", 0 },
	};
	static const char *const wrong[] = {
		"",    " ",    " 5s",  "s",    "5 s",	"-5s",	  "-1s",	  "+1s",
		"5s3", "1e9s", "nan",  "inf",  "5sm",	"5ss",	  "5x",		  "0x5s",
		"5 ",  "1..2", "0x10", "1e3s", "1..5s", "1e999s", "99999999999h",
	};
	uint64_t ns = 42;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		expect_error(cli_parse_duration(wrong[i], &ns), "not a time");
		assert_int_equal(ns, 42); /* untouched on failure */
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_null(cli_parse_duration(good[i].text, &ns));
		assert_int_equal(ns, good[i].ns);
	}
}

static void test_sizes(void **state)
{
	uint64_t bytes;

	(void)state;
	assert_null(cli_parse_size("64M", &bytes));
	assert_int_equal(bytes, 64 << 20);
	assert_null(cli_parse_size("4096", &bytes));
	assert_int_equal(bytes, 4096);
	assert_null(cli_parse_size("1.5k", &bytes));
	assert_int_equal(bytes, 1536);
	expect_error(cli_parse_size("lots", &bytes), "not a size");
	expect_error(cli_parse_size("5T", &bytes), "not a size");
	expect_error(cli_parse_size("1M1", &bytes), "not a size");
	expect_error(cli_parse_size("", &bytes), "not a size");
	expect_error(cli_parse_size("99999999999G", &bytes), "too much");
	assert_int_equal(bytes, 1536);
}

static void test_numbers(void **state)
{
	uint64_t n = 42;

	(void)state;
	expect_error(cli_parse_number("0", 1, 9, &n), "'0' is not a number from 1 to 9");
	expect_error(cli_parse_number("10", 1, 9, &n), "1 to 9");
	expect_error(cli_parse_number("-1", 0, UINT64_MAX, &n), "not a number");
	expect_error(cli_parse_number("18446744073709551616", 0, UINT64_MAX, &n), "not a number");
	expect_error(cli_parse_number("1x", 0, 9, &n), "not a number");
	assert_int_equal(n, 42);
	assert_null(cli_parse_number("18446744073709551615", 0, UINT64_MAX, &n));
	assert_true(n == UINT64_MAX);
}

struct values {
	bool all, quiet;
	const char *file, *maybe;
	uint64_t n;
	bool maybe_given;
};

static struct ebt_error *set_maybe(void *to, const char *arg)
{
	struct values *values = to;

	values->maybe_given = true;
	values->maybe = arg;
	return NULL;
}

static const struct option_def options[] = {
	{ "all", OPTION_FLAG, NULL, "everything", NULL, 'a', offsetof(struct values, all) },
	{ "alligator", OPTION_FLAG, NULL,
	  "one text that does not fit into this line, so that it goes on in "
	  "another",
	  NULL, 0, offsetof(struct values, quiet) },
	{ "file", OPTION_STRING, "…", "the file", NULL, 'f', offsetof(struct values, file) },
	{ .name = NULL },
};
static const struct option_def more_options[] = {
	{ "number", OPTION_U64, "N", "a number", .letter = 'n',
	  .offset = offsetof(struct values, n) },
	{ "oldest", OPTION_GONE, NULL, "--number 1" },
	{ "keys", OPTION_LIST, "KEY,…", "some of:", (const char *const[]){ "one", "two", NULL },
	  .offset = offsetof(struct values, file) },
	{ "maybe", OPTION_APPLY, "[=LONG-WORD]", "perhaps", .apply = set_maybe },
	{ .name = NULL },
};
static const struct option_group groups[] = { { "Some:\n", options },
					      { "None:\n", NULL },
					      { "More:\n", more_options } };

static struct ebt_error *parse(struct cli cli, struct values *ret, int *ret_end, const char *line)
{
	static char words[256];
	char *argv[16] = { 0 };
	int argc = 0;

	strcpy(words, line);
	for (char *word = strtok(words, " "); word && argc < 15; word = strtok(NULL, " "))
		argv[argc++] = word;
	cli.groups = groups;
	cli.n_groups = 3;
	*ret = (struct values){ 0 };
	return cli_parse(&cli, argc, argv, ret, ret_end);
}

static void test_options(void **state)
{
	static const struct cli plain = { .program = "p", .command = "c" };
	static const struct cli abbreviated = { .program = "p", .abbreviated = true };
	struct values v;
	int end;

	(void)state;
	assert_null(parse(plain, &v, &end, "-af x --number=5 --maybe=y -n7 cmd -a"));
	assert_true(v.all && v.maybe_given);
	assert_string_equal(v.file, "x");
	assert_string_equal(v.maybe, "y");
	assert_int_equal(v.n, 7);
	assert_int_equal(end, 5);
	assert_null(parse(plain, &v, &end, "--maybe y"));
	assert_true(v.maybe_given && !v.maybe);
	assert_int_equal(end, 1);
	assert_null(parse(plain, &v, &end, "--file -- -- -a"));
	assert_string_equal(v.file, "--");
	assert_false(v.all);
	assert_int_equal(end, 3);
	assert_null(parse(plain, &v, &end, "- -a"));
	assert_int_equal(end, 0);
	expect_error(parse(plain, &v, &end, "--numbr 5"), "c has no option --numbr: did you mean");
	expect_error(parse(plain, &v, &end, "--xyz=5"), "c has no option --xyz: see `p c --help`");
	expect_error(parse(plain, &v, &end, "--num 5"), "no option --num");
	expect_error(parse(plain, &v, &end, "-aZ"), "no option -Z");
	expect_error(parse(plain, &v, &end, "-nmber"), "--number: 'mber' is not a number");
	expect_error(parse(plain, &v, &end, "-umber"), "no option -umber: did you mean --number?");
	expect_error(parse(plain, &v, &end, "-n"), "--number needs a value");
	expect_error(parse(plain, &v, &end, "--file --all x"),
		     "--file needs a value, and --all is an option; `--file=--all` takes it");
	assert_int_equal(end, 0);
	expect_error(parse(plain, &v, &end, "--file --maybe=y"), "and --maybe=y is an option");
	expect_error(parse(plain, &v, &end, "-f -a"), "--file needs a value, and -a is an option");
	assert_null(parse(plain, &v, &end, "--file=--all"));
	assert_string_equal(v.file, "--all");
	assert_false(v.all);
	assert_null(parse(plain, &v, &end, "-f-a"));
	assert_string_equal(v.file, "-a");
	assert_null(parse(plain, &v, &end, "-f -number"));
	assert_string_equal(v.file, "-number");
	assert_null(parse(plain, &v, &end, "-f -"));
	assert_string_equal(v.file, "-");
	assert_null(parse(plain, &v, &end, "-f --al"));
	expect_error(parse(abbreviated, &v, &end, "-f --num"), "and --num is an option");
	expect_error(parse(plain, &v, &end, "--oldest=5"), "--oldest is --number 1 now");
	expect_error(parse(plain, &v, &end, "--all=1"), "--all takes no value");
	expect_error(parse(plain, &v, &end, "-nx"), "--number: 'x' is not a number");
	assert_null(parse(abbreviated, &v, &end, "--num 5 --all"));
	assert_true(v.all && v.n == 5);
	expect_error(parse(abbreviated, &v, &end, "--al"), "there is no option --al");
}

static void test_list(void **state)
{
	static const struct cli plain = { .program = "p", .command = "c" };
	static const struct cli blanks = { .groups = groups, .n_groups = 3 };
	struct values v;
	int end;

	(void)state;
	assert_null(parse(plain, &v, &end, "--keys two,one"));
	assert_string_equal(v.file, "two,one");
	assert_null(parse(plain, &v, &end, "--keys=one"));
	assert_null(cli_parse(&blanks, 1, (char *[]){ (char *)"--keys= two, one " }, &v, &end));
	expect_error(parse(plain, &v, &end, "--keys one,three"),
		     "--keys: 'three' is not one of one, two");
	expect_error(parse(plain, &v, &end, "--keys="), "--keys: '' is not one of one, two");
	expect_error(parse(plain, &v, &end, "--keys one,"), "'' is not one of one, two");
	expect_error(parse(plain, &v, &end, "--keys one,onee"),
		     "'onee' is not one of one, two: did you mean one?");
}

static void test_usage(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_non_null(f);
	cli_usage(f, groups, 3, 20, 0);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(
		text,
		"\nSome:\n"
		"  -a, --all         everything\n"
		"      --alligator   one text that does not fit into this line, so that it goes\n"
		"                    on in another\n"
		"  -f, --file …      the file\n"
		"\nMore:\n"
		"  -n, --number N    a number\n"
		"      --keys KEY,…  some of:\n"
		"                    one, two\n"
		"      --maybe[=LONG-WORD]\n"
		"                    perhaps\n");
	free(text);
}

static void test_fill(void **state)
{
	static const char prose[] = "one two\n three \xc3\xa4\xc3\xb6\xc3\xbc twelve-and-more x\n";
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_non_null(f);
	fputs("> ", f);
	cli_fill(f, prose, strlen(prose), 2, 4, 9);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(text, "> one two\n    three\n    \xc3\xa4\xc3\xb6\xc3\xbc\n"
				  "    twelve-and-more\n    x");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations), cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_numbers),	  cmocka_unit_test(test_options),
		cmocka_unit_test(test_list),	  cmocka_unit_test(test_usage),
		cmocka_unit_test(test_fill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
