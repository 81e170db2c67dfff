/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files with categories: what is taken and refused, which rule fits, and what stacks sum up to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/stacks/calltree_private.h"
#include "report/stacks/calltree_shape.h"
#include "report/stacks/model_categories.h"
#include "tests/tools/make_trace.h"

static struct categories *parse(const char *text)
{
	struct categories *c;

	assert_no_error(categories_parse("test", text, strlen(text), &c));
	return c;
}

static struct calltree_func in(const char *object, const char *name)
{
	return (struct calltree_func){ .name = name, .object = object, .kind = CALLTREE_LIBRARY };
}

static struct calltree_func kernel(const char *name)
{
	return (struct calltree_func){ .name = name,
				       .object = "[kernel]",
				       .kind = CALLTREE_KERNEL };
}

static void expect(const struct categories *c, struct calltree_func func, const char *process,
		   const char *name, bool inherit)
{
	struct category_rule rule = categories_match(c, &func, process);

	assert_string_equal(categories_name(c, rule.category), name);
	assert_int_equal(rule.inherit, inherit);
}

static void test_patterns(void **state)
{
	_cleanup_(categories_destroyp) struct categories *c =
		parse("# a comment\n"
		      "\n"
		      "  libc , libm-*:\r\n"
		      "exact one\n"
		      "pre* two inherit\n"
		      "*fix\tthree\t \n"
		      "a*b*c four\n"
		      "operator new(unsigned long) five inherit\n"
		      "precise six\n" /* never: pre* stands before it */
		      "hidden uncategorized inherit\n"
		      "hid* seven\n"
		      "char*) eight\n");

	(void)state;
	expect(c, in("/lib/libc.so.6", "exact"), NULL, "one", false);
	expect(c, in("/lib/libc.so.6", "exact.isra.0"), NULL, "one", false);
	expect(c, in("/lib/libc.so.6", "exact.part.3.cold"), NULL, "one", false);
	expect(c, in("/lib/libc.so.6", "exactly"), NULL, "uncategorized", false);
	expect(c, in("/lib/libc.so.6", "pre"), NULL, "two", true);
	expect(c, in("/lib/libc.so.6", "precise"), NULL, "two", true);
	expect(c, in("/lib/libc.so.6", "suffix"), NULL, "three", false);
	expect(c, in("/lib/libc.so.6", "axxbbbxc"), NULL, "four", false);
	expect(c, in("/lib/libc.so.6", "abcabd"), NULL, "uncategorized", false);
	expect(c, in("/lib/libc.so.6", "operator new(unsigned long)"), NULL, "five", true);
	expect(c, in("/lib/libc.so.6", "hidden"), NULL, "uncategorized", false);
	expect(c, in("/lib/libc.so.6", "hideous"), NULL, "seven", false);
	expect(c, in("/lib/libc.so.6", "char**)"), NULL, "eight", false);
	expect(c, in("/lib/libm-2.31.so", "exact"), NULL, "one", false);
	expect(c, in("/lib/libcrypt.so.1", "exact"), NULL, "uncategorized", false);
	expect(c, kernel("exact"), NULL, "uncategorized", false);
}

static void test_headings(void **state)
{
	_cleanup_(categories_destroyp) struct categories *c =
		parse("/opt/*/lib*.so*:\n"
		      "* opt\n"
		      "Linux:\n"
		      "schedule* scheduler inherit\n"
		      "[ext4]:\n"
		      "* ext4\n"
		      "Python:\n* python\nJIT:\n* jit\n"
		      "python3*:\n"
		      "eval interpreter\n"
		      "@postgres, @pg*:\n"
		      "read db\n"
		      "one:\n"
		      "two:\n"
		      "* several\n"
		      "*:\n"
		      "read io\n");
	struct calltree_func unnamed = in("/opt/x/lib/libz.so", "libz.so+0x12");

	(void)state;
	expect(c, in("/opt/x/lib/liba.so.1", "f"), NULL, "opt", false);
	expect(c, in("/usr/lib/liba.so.1", "f"), NULL, "uncategorized", false);
	expect(c, kernel("schedule_timeout"), NULL, "scheduler", true);
	expect(c, (struct calltree_func){ "ext4_read", "[ext4]", CALLTREE_KERNEL, SYM_OK }, NULL,
	       "ext4", false);
	expect(c, (struct calltree_func){ "f", "a.py", CALLTREE_PYTHON, SYM_OK }, NULL, "python",
	       false);
	expect(c, (struct calltree_func){ "f", "", CALLTREE_JIT, SYM_OK }, NULL, "jit", false);
	expect(c, in("/usr/bin/python3.11", "eval"), NULL, "interpreter", false);
	expect(c, in("/x/a", "read"), "postgres", "db", false);
	expect(c, in("/x/a", "read"), "pgbench", "db", false);
	expect(c, in("/x/a", "read"), "sh", "io", false);
	expect(c, in("/x/a", "read"), NULL, "io", false);
	expect(c, in("/x/one", "f"), NULL, "several", false);
	expect(c, in("/x/two.so.1", "f"), NULL, "several", false);
	assert_true(categories_by_process(c));
	/* Where code is can be known without a name. */
	unnamed.kind = CALLTREE_UNRESOLVED;
	unnamed.reason = SYM_NO_SYMBOL;
	expect(c, unnamed, NULL, "opt", false);
	unnamed.object = "/x/read";
	unnamed.name = "read";
	expect(c, unnamed, NULL, "uncategorized", false);
	expect(c, (struct calltree_func){ "[truncated]", "", CALLTREE_UNRESOLVED, SYM_OK }, NULL,
	       "unwindable", true);
	expect(c, (struct calltree_func){ "read", "", CALLTREE_ROOT, SYM_OK }, NULL,
	       "uncategorized", false);
}

static void refused(const char *text, size_t len, const char *message)
{
	struct categories *c = NULL;
	struct ebt_error *err = categories_parse("f", text, len, &c);

	assert_non_null(err);
	assert_null(c);
	assert_int_equal(err->code, EBT_ERR_INVALID);
	if (!strstr(err->message, message))
		fail_msg("'%s' lacks '%s'", err->message, message);
	ebt_error_destroy(err);
}

#define REFUSED(text, message) refused(text, sizeof(text) - 1, message)

static void test_refused(void **state)
{
	char *text = malloc(1 << 20);
	size_t len = 0;

	(void)state;
	REFUSED("libc:\nmalloc\n", "f:2: a line is PATTERN CATEGORY");
	REFUSED("libc:\nmalloc inherit\n", "f:2:");
	REFUSED("libc:\nmalloc inherit inherit\n", "f:2:");
	REFUSED("malloc memory\n", "f:1: no heading stands above: 'malloc'");
	REFUSED("libc,,libm:\n", "f:1: a heading without a name");
	REFUSED("@:\n", "f:1: a heading without a name");
	REFUSED(":\n", "f:1: a heading without a name");
	REFUSED("a:\nb c<script>\n", "f:2: a category has at most 64");
	REFUSED("a:\nb \xff\xfe\n", "f:2: a category");
	REFUSED("a:\nb c\0d\n", "f:2: a NUL byte");
	memset(text, 'x', 1 << 20);
	refused(text, 5000, "f:1: a line of more than 4096 bytes");
	len = (size_t)sprintf(text, "*:\n");
	for (int i = 0; i < 2000; i++)
		len += (size_t)sprintf(text + len, "f%d c%d\n", i, i);
	refused(text, len, "more than 1024 categories");
	/* The cost of a pattern is bounded by its length and that of the name. */
	len = (size_t)sprintf(text, "*:\n");
	for (int i = 0; i < 2000; i++)
		len += (size_t)sprintf(text + len, "*a");
	len += (size_t)sprintf(text + len, "*b c\n");
	text[len] = '\0';
	{
		_cleanup_(categories_destroyp) struct categories *c = parse(text);
		char *name = calloc(1, 100001);

		memset(name, 'a', 100000);
		expect(c, in("/x", name), NULL, "uncategorized", false);
		free(name);
	}
	free(text);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* The user's file comes before what is built in, a named one in its place. */
static void test_load(void **state)
{
	char dir[] = "/tmp/ebt-categories-XXXXXX", path[100], own[100], huge[100];
	struct categories *c = NULL;
	struct ebt_error *err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	setenv("XDG_CONFIG_HOME", dir, 1);
	assert_no_error(categories_load(NULL, &c));
	expect(c, in("/lib/libc.so.6", "malloc"), NULL, "allocation", true);
	expect(c, in("/lib/libc.so.6", "__memmove_avx_unaligned_erms"), NULL, "copying", false);
	expect(c, kernel("do_anonymous_page"), NULL, "page-faults", true);
	expect(c, kernel("_raw_spin_lock"), NULL, "locking", false);
	expect(c, in("/usr/lib/libz.so.1", "deflate"), NULL, "compression", true);
	categories_destroy(c);

	snprintf(path, sizeof(path), "%s/ebreport", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(own, sizeof(own), "%s/ebreport/categories", dir);
	write_file(own, "libc:\nmalloc mine\n");
	assert_no_error(categories_load(NULL, &c));
	expect(c, in("/lib/libc.so.6", "malloc"), NULL, "mine", false);
	expect(c, in("/lib/libc.so.6", "calloc"), NULL, "allocation", true);
	categories_destroy(c);

	snprintf(huge, sizeof(huge), "%s/other", dir);
	write_file(huge, "libc:\nmalloc theirs\n");
	assert_no_error(categories_load(huge, &c));
	expect(c, in("/lib/libc.so.6", "malloc"), NULL, "theirs", false);
	categories_destroy(c);
	assert_int_equal(truncate(huge, 2 << 20), 0);
	err = categories_load(huge, &c);
	assert_non_null(strstr(err->message, "larger than 1 MiB"));
	ebt_error_destroy(err);
	unlink(huge);
	err = categories_load(huge, &c);
	assert_int_equal(err->code, EBT_ERR_SYSTEM);
	ebt_error_destroy(err);
	write_file(own, "libc\n");
	err = categories_load(NULL, &c);
	assert_non_null(strstr(err->message, "ebreport/categories:1:"));
	ebt_error_destroy(err);
	unlink(own);
	rmdir(path);
	rmdir(dir);
}

/* --- sums over a tree, worked out by hand --- */

enum { ALL, A, MAIN, MALLOC, SYSMALLOC, FAULT, CLEAR, OTHER, TRUNCATED, HELPER };

static struct calltree_func funcs[] = {
	[ALL] = { "all", "", CALLTREE_ROOT, SYM_OK },
	[A] = { "a (12)", "", CALLTREE_ROOT, SYM_OK },
	[MAIN] = { "main", "/bin/a", CALLTREE_USER, SYM_OK },
	[MALLOC] = { "malloc", "/lib/libc.so.6", CALLTREE_LIBRARY, SYM_OK },
	[SYSMALLOC] = { "sysmalloc", "/lib/libc.so.6", CALLTREE_LIBRARY, SYM_OK },
	[FAULT] = { "handle_mm_fault", "[kernel]", CALLTREE_KERNEL, SYM_OK },
	[CLEAR] = { "clear_page", "[kernel]", CALLTREE_KERNEL, SYM_OK },
	[OTHER] = { "other", "[kernel]", CALLTREE_KERNEL, SYM_OK },
	[TRUNCATED] = { "[truncated]", "", CALLTREE_UNRESOLVED, SYM_OK },
	[HELPER] = { "helper", "/bin/a", CALLTREE_USER, SYM_OK },
};

/* parent, func, self */
static struct calltree_node nodes[] = {
	{ .func = ALL },
	{ .parent = 0, .func = A },
	{ .parent = 1, .func = MAIN, .self = 10, .count = 1 },
	{ .parent = 2, .func = MALLOC, .self = 5, .count = 1 },
	{ .parent = 3, .func = SYSMALLOC, .self = 7, .count = 1 },
	{ .parent = 4, .func = FAULT, .self = 3, .count = 1 },
	{ .parent = 5, .func = CLEAR, .self = 20, .count = 2 },
	{ .parent = 5, .func = OTHER, .self = 2, .count = 1 },
	{ .parent = 2, .func = FAULT, .self = 4, .count = 1 },
	{ .parent = 1, .func = TRUNCATED },
	{ .parent = 9, .func = HELPER, .self = 6, .count = 1 },
	{ .parent = 9, .func = MALLOC, .self = 1, .count = 1 },
	{ .parent = 4, .func = MALLOC, .self = 8, .count = 1 },
};

static struct calltree tree = {
	.nodes = nodes,
	.n_nodes = sizeof(nodes) / sizeof(nodes[0]),
	.funcs = funcs,
	.n_funcs = sizeof(funcs) / sizeof(funcs[0]),
};

static void expect_sum(const struct categories *c, const struct category_sum *sums,
		       const char *name, uint64_t self, uint64_t total, uint64_t count)
{
	uint32_t i;

	assert_true(categories_find(c, name, &i));
	assert_int_equal(sums[i].self, self);
	assert_int_equal(sums[i].total, total);
	assert_int_equal(sums[i].count, count);
}

static const char rules[] = "libc:\nmalloc allocation inherit\n"
			    "Linux:\nhandle_mm_fault page-faults inherit\nclear_page copying\n";

static void test_sums(void **state)
{
	_cleanup_(categories_destroyp) struct categories *c = parse(rules);
	_cleanup_tree_categories_ struct tree_categories of = { 0 };
	_cleanup_free_ struct category_sum *sums = NULL;
	_cleanup_free_ bool *with = NULL;
	uint32_t category;
	uint64_t self = 0;

	(void)state;
	assert_no_error(tree_categories_make(&tree, c, true, &of));
	assert_no_error(tree_categories_sum(&of, NULL, &sums));
	expect_sum(c, sums, "uncategorized", 10, 10, 1);
	expect_sum(c, sums, "allocation", 5 + 7 + 1 + 8, 5 + 7 + 3 + 20 + 2 + 1 + 8, 4);
	expect_sum(c, sums, "page-faults", 3 + 2 + 4, 3 + 20 + 2 + 4, 3);
	expect_sum(c, sums, "copying", 20, 20, 2);
	expect_sum(c, sums, "unwindable", 6, 6 + 1, 1);
	for (size_t i = 0; i < categories_n(c); i++)
		self += sums[i].self;
	assert_int_equal(self, 66);

	/* Stacks of a category are those of its total. */
	assert_true(categories_find(c, "page-faults", &category));
	assert_no_error(tree_categories_with(&of, category, &with));
	for (uint32_t i = 0; i < tree.n_nodes; i++)
		assert_int_equal(with[i], i >= 5 && i <= 8);
}

/* --focus and --category, and processes. */
static void test_selected(void **state)
{
	_cleanup_(categories_destroyp) struct categories *c = parse(rules);
	_cleanup_tree_categories_ struct tree_categories of = { 0 }, own = { 0 };
	_cleanup_free_ struct category_sum *sums = NULL;
	_cleanup_free_ bool *with = NULL, *selected = NULL;
	struct calltree_shape shape = { .focus = "^handle_mm" };
	uint32_t category;

	(void)state;
	assert_no_error(tree_categories_make(&tree, c, true, &of));
	assert_true(categories_find(c, "allocation", &category));
	assert_no_error(tree_categories_with(&of, category, &with));
	shape.keep = with;
	assert_no_error(calltree_select(&tree, &shape, &selected));
	assert_no_error(tree_categories_sum(&of, selected, &sums));
	expect_sum(c, sums, "uncategorized", 0, 0, 0);
	expect_sum(c, sums, "allocation", 0, 3 + 20 + 2, 0);
	expect_sum(c, sums, "page-faults", 3 + 2, 3 + 20 + 2, 2);
	expect_sum(c, sums, "copying", 20, 20, 2);

	/* Without callers each function stands for itself. */
	assert_no_error(tree_categories_make(&tree, c, false, &own));
	assert_int_equal(own.stack[4], CATEGORY_NONE);
	assert_int_equal(own.stack[3], category);
	categories_destroy(c);
	c = parse("@a:\nmain mine\n@a*:\nhelper theirs\n@b:\nother wrong\n");
	tree_categories_deinit(&own);
	assert_no_error(tree_categories_make(&tree, c, true, &own));
	assert_string_equal(categories_name(c, own.stack[2]), "mine");
	assert_string_equal(categories_name(c, own.stack[10]), "theirs");
	assert_int_equal(own.stack[7], CATEGORY_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns), cmocka_unit_test(test_headings),
		cmocka_unit_test(test_refused),	 cmocka_unit_test(test_load),
		cmocka_unit_test(test_sums),	 cmocka_unit_test(test_selected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
