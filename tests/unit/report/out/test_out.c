/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables as text, JSON and CSV: order, --top, nesting, widths, and values from strangers. */
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
#include "report/out/private.h"
#include "tests/tools/report_run.h"

static const struct ebt_task_id no_tasks[] = { { 0 } };
static struct made_trace made;

static int setup(void **state)
{
	(void)state;
	made_trace_begin(&made, no_tasks);
	made_trace_syscall(&made, 1000, 0, 0, 0, 1, 0);
	made_trace_syscall(&made, 3000, 0, 0, 0, 1, 0);
	made_trace_finish(&made);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	made_trace_remove(&made);
	return 0;
}

static const struct out_column columns[] = {
	{ "name", "NAME", OUT_STRING, OUT_INDENT | OUT_PARENT | OUT_FLEX },
	{ "count", "COUNT", OUT_U64, 0 },
	{ "total_ns", "TOTAL", OUT_DURATION, OUT_SORT },
	{ "share", "SHARE", OUT_PERCENT, 0 },
	{ "delta", NULL, OUT_I64, OUT_DETAIL },
	{ "at_ns", "AT", OUT_TIME, OUT_OPTIONAL },
	{ "note", "NOTE", OUT_STRING, OUT_TEXT_ONLY },
};

static const struct out_table flat = { .key = "rows", .columns = columns, .n_columns = 7 };
static const struct out_table tree = {
	.key = "rows", .columns = columns, .n_columns = 7, .children = "parts"
};

/* No rows below others: what is not among the first is not kept. */
static const struct out_column flat_columns[] = {
	{ "name", "NAME", OUT_STRING, OUT_FLEX },
	{ "count", "COUNT", OUT_U64, 0 },
	{ "total_ns", "TOTAL", OUT_DURATION, OUT_SORT },
};
static size_t lines_kept;

struct row {
	unsigned int depth;
	const char *name;
	uint64_t count, total;
};

/* What the rows come to with these options; width 0: no terminal. */
static char *render_any(const struct out_table *table, const struct out_value *only,
			const struct row *rows, size_t n, unsigned int width,
			const char *const *args)
{
	char path[] = "/tmp/ebt-out-XXXXXX", *argv[16] = { (char *)"ebreport", (char *)"info" };
	struct options options = { 0 };
	struct trace *trace = NULL;
	struct out *out = NULL;
	int argc = 2, fd;
	char *text;
	FILE *f;

	fd = mkstemp(path);
	assert_true(fd >= 0);
	for (size_t i = 0; args[i]; i++)
		argv[argc++] = (char *)args[i];
	argv[argc++] = (char *)"-o";
	argv[argc++] = path;
	argv[argc++] = made.path;
	assert_null(options_parse(argc, argv, &options));
	assert_null(trace_open(&options, &trace));
	assert_null(out_create(&options, trace, &out));
	out->width = width;
	assert_null(out_begin(out, table));
	if (only)
		assert_null(out_row_n(out, 0, only, table->n_columns));
	for (size_t i = 0; i < n; i++) {
		struct out_value values[] = { rows[i].name ? out_cstr(rows[i].name) : out_null(),
					      out_u64(rows[i].count),
					      out_u64(rows[i].total),
					      out_f64(12.345),
					      out_i64(-5),
					      out_u64(1000 + rows[i].count),
					      out_cstr("n") };

		assert_null(out_row_n(out, rows[i].depth, values, table->n_columns));
	}
	lines_kept = out->n_lines;
	assert_null(out_end(out));
	assert_null(out_finish(out));
	out_destroy(out);
	trace_close(trace);
	options_deinit(&options);

	f = fdopen(fd, "r");
	text = calloc(1, 65536);
	assert_true(f && text && fread(text, 1, 65535, f) > 0);
	fclose(f);
	unlink(path);
	return text;
}

static char *render(const struct out_table *table, const struct row *rows, size_t n,
		    unsigned int width, const char *const *args)
{
	return render_any(table, NULL, rows, n, width, args);
}

static char *render_values(const struct out_table *table, const struct out_value *values,
			   const char *format)
{
	return render_any(table, values, NULL, 0, 0, (const char *const[]){ format, NULL });
}

#define RENDER(table, rows, width, ...)                              \
	render(table, rows, sizeof(rows) / sizeof((rows)[0]), width, \
	       (const char *const[]){ __VA_ARGS__, NULL })

static void expect_text(char *text, const char *expected)
{
	assert_string_equal(text, expected);
	free(text);
}

static const struct row three[] = {
	{ 0, "b", 2, 2000000 },
	{ 0, "a", 30, 3000 },
	{ 0, "c", 1, 999 },
};

static void test_table(void **state)
{
	(void)state;
	expect_text(RENDER(&flat, three, 0, "--no-color"),
		    "NAME  COUNT     TOTAL   SHARE        AT  NOTE\n"
		    "b         2  2.000 ms  12.35%  0.000000  n\n"
		    "a        30  3.000 us  12.35%  0.000000  n\n"
		    "c         1    999 ns  12.35%  0.000000  n\n");
}

static void test_sort(void **state)
{
	(void)state;
	/* text A to Z, numbers the largest first, `-` the other way round; by key, header, or key
	 * without _ns */
	expect_text(RENDER(&flat, three, 0, "--csv", "--sort", "name", "--top", "1"),
		    "name,count,total_ns,share,delta,at_ns\r\na,30,3000,12.345,-5,1030\r\n");
	expect_text(RENDER(&flat, three, 0, "--csv", "--sort", "-name", "--top", "1"),
		    "name,count,total_ns,share,delta,at_ns\r\nc,1,999,12.345,-5,1001\r\n");
	expect_text(RENDER(&flat, three, 0, "--csv", "--sort", "COUNT", "--top", "1"),
		    "name,count,total_ns,share,delta,at_ns\r\na,30,3000,12.345,-5,1030\r\n");
	expect_text(RENDER(&flat, three, 0, "--csv", "--sort", "-total", "--top", "1"),
		    "name,count,total_ns,share,delta,at_ns\r\nc,1,999,12.345,-5,1001\r\n");
}

/* The same lines, whether those that cannot be among the first are kept or not. */
static void test_top_of_many(void **state)
{
	static const struct out_table few = { .key = "rows",
					      .columns = flat_columns,
					      .n_columns = 3 },
				      few_in_order = { .key = "rows",
						       .columns = flat_columns,
						       .n_columns = 3,
						       .flags = OUT_KEEP_ORDER };
	static const char *const sorts[] = { NULL, "count", "-total", "name" };
	static struct row rows[5000];
	char *first, *all;

	(void)state;
	for (size_t i = 0; i < 5000; i++)
		rows[i] = (struct row){ 0, i % 3 ? "b" : "a", i * 7919 % 5000 % 1500, i % 901 };
	for (size_t i = 0; i < 2 * sizeof(sorts) / sizeof(sorts[0]); i++) {
		const char *sort = sorts[i / 2];
		const struct out_table *table = i % 2 ? &few : &few_in_order;
		struct out_table indented = *table;
		struct out_column with_indent[3];

		memcpy(with_indent, flat_columns, sizeof(with_indent));
		with_indent[0].flags |= OUT_INDENT;
		indented.columns = with_indent;
		first = render(table, rows, 5000, 0,
			       (const char *const[]){ "--top", "700", sort ? "--sort" : NULL, sort,
						      NULL });
		assert_in_range(lines_kept, 700, 1500);
		all = render(&indented, rows, 5000, 0,
			     (const char *const[]){ "--top", "700", sort ? "--sort" : NULL, sort,
						    NULL });
		assert_int_equal(lines_kept, 5000);
		assert_string_equal(first, all);
		free(first);
		free(all);
	}
}

static void test_sort_unknown(void **state)
{
	char *text;
	int status;

	(void)state;
	text = REPORT_FAILS(made.path, &status, "syscalls", "--sort", "cuont");
	assert_int_equal(status, EBT_ERR_INVALID);
	assert_non_null(strstr(text, "count"));
	free(text);
}

/* A key of the contract's version 1, for the table that has its new one. */
static void test_sort_renamed(void **state)
{
	char *text;
	int status;

	(void)state;
	text = REPORT_FAILS(made.path, &status, "procs", "--sort", "start_ns");
	assert_int_equal(status, EBT_ERR_INVALID);
	assert_non_null(strstr(text, "the column 'start_ns' is called 'begin_ns' now"));
	free(text);
}

/* Headers as people type them, and those of versions before. */
static void test_sort_headers(void **state)
{
	static const char *const names[] = { "latency_max", "LAT-MAX", "lat_max", "Lat Max",
					     "max" };
	_cleanup_free_ char *expected =
		REPORT_OK(made.path, "sched", "--columns", "tid,latency_max_ns", "--csv", "--sort",
			  "latency_max_ns");

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		_cleanup_free_ char *list = NULL, *text = NULL;

		assert_true(asprintf(&list, "tid,%s", names[i]) > 0);
		text = REPORT_OK(made.path, "sched", "--columns", list, "--csv", "--sort",
				 names[i]);
		assert_string_equal(text, expected);
	}
}

/* Each heading that tables had before, and no longer have, where nothing else says it. */
static void test_headers_of_before(void **state)
{
	static const struct {
		const char *was, *key;
	} headers[] = {
		{ "WOKE-N", "waker_count" },
		{ "LATENCY", "latency_total_ns" },
		{ "PER MARK", "mean_ns" },
		{ "SYSTEM CALL", "call" },
		{ "LATE BY MORE THAN", "over_ns" },
		{ "ALLOC/s", "allocated_bytes_per_s" },
		{ "PAGES-GOT", "page_allocated_bytes" },
		{ "SINCE s", "oldest_at_ns" },
		{ "AT s", "time_ns" },
		{ "FROM s", "from_ns" },
		{ "TO s", "to_ns" },
		{ "TOTAL", "duration_ns" },
		{ "TIME", "spent_ns" },
		{ "PER-S", "rx_bytes_per_s" },
		{ "% OF A CPU", "cpu_percent" },
		{ "% of calls", "percent" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		const struct out_column list[] = {
			{ .key = "other_ns", .header = "OTHER" },
			{ .key = headers[i].key, .header = "NOW" },
		};
		const struct out_table table = { .key = "rows", .columns = list, .n_columns = 2 };

		assert_int_equal(out_find_column(&table, headers[i].was, strlen(headers[i].was)),
				 1);
	}
}

static const struct row nested[] = {
	{ 0, "p", 1, 10 }, { 1, "x", 2, 1 },   { 1, "y", 3, 9 }, { 2, "deep", 4, 5 },
	{ 0, "q", 5, 90 }, { 1, NULL, 6, 90 }, { 0, "r", 7, 1 },
};

static void test_tree(void **state)
{
	(void)state;
	expect_text(RENDER(&tree, nested, 0, "--no-color"),
		    "NAME      COUNT  TOTAL   SHARE        AT  NOTE\n"
		    "q             5  90 ns  12.35%  0.000000  n\n"
		    "              6  90 ns  12.35%  0.000000  n\n"
		    "p             1  10 ns  12.35%  0.000000  n\n"
		    "  y           3   9 ns  12.35%  0.000000  n\n"
		    "    deep      4   5 ns  12.35%  0.000000  n\n"
		    "  x           2   1 ns  12.35%  0.000000  n\n"
		    "r             7   1 ns  12.35%  0.000000  n\n");
}

/* Flat, with the depth; what a row does not say itself it has from the row above it. */
static void test_tree_csv(void **state)
{
	(void)state;
	expect_text(RENDER(&tree, nested, 0, "--csv", "--top", "1"),
		    "depth,name,count,total_ns,share,delta,at_ns\r\n"
		    "0,q,5,90,12.345,-5,1005\r\n"
		    "1,q,6,90,12.345,-5,1006\r\n");
}

static void test_tree_json(void **state)
{
	char *text = RENDER(&tree, nested, 0, "--json");
	const char *rows = strstr(text, "\"rows\":");

	(void)state;
	assert_non_null(rows);
	assert_ptr_equal(strstr(text, "{\"command\":\"info\",\"version\":2,\"file\":"), text);
	assert_non_null(strstr(text, "\"start_ns\":\"1000\",\"duration_ns\":2000"));
	assert_non_null(strstr(text, "\"lost\":{}"));
#define REST ",\"share\":12.345,\"delta\":-5,\"at_ns\":"
	assert_non_null(strstr(rows, "{\"name\":\"q\",\"count\":5,\"total_ns\":90" REST
				     "5,\"parts\":[\n{\"count\":6,\"total_ns\":90" REST "6}]},\n"));
	assert_non_null(strstr(rows, "{\"name\":\"deep\",\"count\":4,\"total_ns\":5" REST
				     "4}]},\n{\"name\":\"x\""));
	free(text);
}

/* Of any depth: rows say in which place of the array their parent is. */
static void test_flat_tree_json(void **state)
{
	struct out_table flat_tree = tree;
	char *text;

	(void)state;
	flat_tree.children = NULL;
	flat_tree.flags = OUT_TREE;
	text = RENDER(&flat_tree, nested, 0, "--json", "--columns", "count");
	assert_non_null(strstr(text, "\"rows\":[\n"
				     "{\"id\":0,\"name\":\"q\",\"count\":5},\n"
				     "{\"id\":1,\"parent\":0,\"count\":6},\n"
				     "{\"id\":2,\"name\":\"p\",\"count\":1},\n"
				     "{\"id\":3,\"parent\":2,\"name\":\"y\",\"count\":3},\n"
				     "{\"id\":4,\"parent\":3,\"name\":\"deep\",\"count\":4},\n"
				     "{\"id\":5,\"parent\":2,\"name\":\"x\",\"count\":2},\n"
				     "{\"id\":6,\"name\":\"r\",\"count\":7}],"));
	free(text);
}

/* Numbers that may exceed 2^53, and lists. */
static void test_wide(void **state)
{
	static const struct out_column wide[] = {
		{ "inode", "INODE", OUT_ID, 0 },
		{ "ret", "RESULT", OUT_SIGNED_ID, 0 },
		{ "args", "ARGUMENTS", OUT_LIST, 0 },
	};
	static const struct out_table table = { "rows", NULL, wide, 3, NULL, OUT_STREAM };
	static const char *const formats[] = { "--json", "--csv" };
	static const char *const expected[] = {
		"{\"inode\":\"18446744073709551615\",\"ret\":\"-9223372036854775808\","
		"\"args\":[\"a b\",\"\",\"c\"]}",
		"18446744073709551615,-9223372036854775808,a b  c\r\n",
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char *text = render_values(&table,
					   (struct out_value[]){
						   out_u64(UINT64_MAX),
						   out_i64(INT64_MIN),
						   out_str((struct ebt_str){ "a b\0\0c\0", 7 }),
					   },
					   formats[i]);

		assert_non_null(strstr(text, expected[i]));
		free(text);
	}
}

static const struct row hostile[] = {
	{ 0, "\033[2J", 3, 3 },
	{ 0, "</script><b>&\"\\\n\xff", 2, 2 },
	{ 0, "=cmd|'x'!A1,\"q\"", 1, 1 },
};

static void test_hostile(void **state)
{
	char *text = RENDER(&flat, hostile, 0, "--no-color");

	(void)state;
	assert_non_null(strstr(text, "\\x1b[2J "));
	assert_non_null(strstr(text, "\\x0a\\xff"));
	assert_null(strchr(text, '\033'));
	free(text);
	text = RENDER(&flat, hostile, 0, "--json");
	assert_non_null(strstr(text, "\"name\":\"\\u001b[2J\""));
	assert_non_null(
		strstr(text, "\"\\u003c/script\\u003e\\u003cb\\u003e\\u0026\\\"\\\\\\n\\ufffd\""));
	free(text);
	text = RENDER(&flat, hostile, 0, "--csv");
	assert_non_null(strstr(text, "\n\\x1b[2J,3,"));
	assert_non_null(strstr(text, "\n\"'=cmd|'x'!A1,\"\"q\"\"\",1,"));
	free(text);
}

static const struct row wide[] = {
	{ 0, "a name that is much longer than there is room for it", 1, 1 },
	{ 0, "日本語の名前はここでも切られなければならない", 1, 1 },
	{ 0, "short", 1, 1 },
};

static void test_width(void **state)
{
	char *text = RENDER(&flat, wide, 60, "--no-color");
	size_t lines = 0;

	(void)state;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		assert_true(text_columns(line, strlen(line)) <= 60);
		lines++;
	}
	assert_int_equal(lines, 5); /* the last says what was left out */
	free(text);
	text = RENDER(&flat, wide, 60, "--no-color");
	assert_non_null(strstr(text, "…"));
	assert_non_null(strstr(text, "short"));
	free(text);
	/* too narrow for anything: what a row is called, and what it is sorted by */
	text = RENDER(&flat, wide, 10, "--no-color");
	assert_non_null(strstr(text, "NAME"));
	assert_non_null(strstr(text, "TOTAL"));
	assert_null(strstr(text, "SHARE"));
	assert_null(strstr(text, "AT"));
	free(text);
	text = RENDER(&flat, three, 45, "--no-color");
	assert_non_null(strstr(text, "AT"));
	free(text);
	text = RENDER(&flat, three, 44, "--no-color");
	assert_non_null(strstr(text, "1 column left out: --wide (AT)\n"));
	free(text);
}

#define KILLS(X)                                               \
	X("pid", "PID", OUT_U64, out_u64(pid), 0, 50)          \
	X("comm", "KILLED", OUT_STRING, out_cstr("a"))         \
	X("swap", NULL, OUT_U64, out_u64(pid + 1), OUT_DETAIL) \
	X("order", "ORDER", OUT_I64, out_i64(-1), OUT_SORT, 40)

/* A list of columns with their values; those that a terminal is too narrow for. */
static void test_narrow(void **state)
{
	const struct out_table table = OUT_TABLE_OF("rows", KILLS);
	static const struct {
		unsigned int width;
		const char *option, *expected;
	} cases[] = {
		{ 0, "--no-color", "PID  KILLED  ORDER\n  7  a          -1\n" },
		{ 18, "--no-color", "PID  KILLED  ORDER\n  7  a          -1\n" },
		{ 17, "--no-color",
		  "KILLED  ORDER\na          -1\n1 column left out: --wide, --columns\n" },
		{ 13, "--no-color",
		  "KILLED  ORDER\na          -1\n1 column left out: --wide, --columns\n" },
		{ 9, "--columns=order,pid", "ORDER  PID\n   -1    7\n" },
		{ 9, "--wide", "PID  KILLED  ORDER\n  7  a          -1\n" },
		{ 39, "--csv", "pid,comm,swap,order\r\n7,a,8,-1\r\n" },
	};
	const uint64_t pid = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_text(render_any(&table, OUT_VALUES(KILLS), NULL, 0, cases[i].width,
				       (const char *const[]){ "--no-color", cases[i].option,
							      NULL }),
			    cases[i].expected);
}

static void test_empty(void **state)
{
	(void)state;
	expect_text(render(&flat, NULL, 0, 0, (const char *const[]){ "--csv", NULL }),
		    "name,count,total_ns,share,delta,at_ns\r\n");
	expect_text(render(&flat, NULL, 0, 0, (const char *const[]){ "--no-color", NULL }),
		    "NAME  COUNT  TOTAL  SHARE  AT  NOTE\n");
}

static void test_not_over_the_trace(void **state)
{
	const char *argv[] = { "ebreport", "info", made.path, "-o", made.path };
	struct options options;
	struct trace *trace;
	struct out *out = NULL;
	struct ebt_error *err;

	(void)state;
	assert_null(options_parse(5, (char **)argv, &options));
	assert_null(trace_open(&options, &trace));
	err = out_create(&options, trace, &out);
	assert_non_null(err);
	assert_int_equal(err->code, EBT_ERR_INVALID);
	assert_null(out);
	ebt_error_destroy(err);
	trace_close(trace);
	options_deinit(&options);
}

/* What could be written of a machine stays, and the document is one. */
static void test_failed_hosts(void **state)
{
	static const struct out_table stream = {
		.key = "rows", .columns = flat_columns, .n_columns = 3, .flags = OUT_STREAM
	};
	const char *argv[] = { "ebreport", "info", "--json", made.path };
	struct ebt_error corrupt = { .code = EBT_ERR_CORRUPT, .message = (char *)"it is bad" };
	char *data = NULL, *hosts;
	struct options options;
	struct trace *trace;
	struct out *out;
	size_t size;
	FILE *f = open_memstream(&data, &size);

	(void)state;
	assert_non_null(f);
	assert_null(options_parse(4, (char **)argv, &options));
	assert_null(trace_open(&options, &trace));
	assert_null(out_create(&options, trace, &out));
	out_page(out, f);
	out->host = 1;
	assert_null(out_begin(out, &stream));
	assert_null(
		out_row(out, 0, ((struct out_value[]){ out_cstr("a"), out_u64(1), out_u64(2) })));
	out_host_fail(out, 1, &corrupt);
	out_host_fail(out, 3, &corrupt);
	json_key(out_json(out), "more");
	out_host_fail(out, 3, &corrupt);
	assert_null(out_finish(out));
	out_destroy(out);
	fclose(f);
	hosts = strstr(data, "\"hosts\":");
	assert_non_null(hosts);
	assert_string_equal(
		hosts, "\"hosts\":[\n{\"host_number\":1,\"host_name\":\"\",\"start_ns\":\"1000\","
		       "\"duration_ns\":2000,\n"
		       "\"rows\":[\n{\"name\":\"a\",\"count\":1,\"total_ns\":2}],"
		       "\"error\":\"it is bad\"},\n"
		       "{\"host_number\":3,\"host_name\":\"\",\"error\":\"it is bad\"},\n"
		       "{\"host_number\":3,\"host_name\":\"\",\"start_ns\":\"1000\","
		       "\"duration_ns\":2000,\"more\":null,\"error\":\"it is bad\"}]}\n");
	free(data);
	trace_close(trace);
	options_deinit(&options);
}

static void test_json_depth(void **state)
{
	struct json *json = malloc(sizeof(*json));
	char *data = NULL;
	size_t size, open = 0, close = 0;
	FILE *f = open_memstream(&data, &size);

	(void)state;
	assert_true(json && f);
	json_init(json, f);
	for (int i = 0; i < JSON_MAX_DEPTH + 100; i++) {
		json_open_object(json);
		json_key(json, "k");
	}
	json_u64(json, 1);
	for (int i = 0; i < JSON_MAX_DEPTH + 100; i++)
		json_end(json);
	fclose(f);
	for (size_t i = 0; i < size; i++) {
		open += data[i] == '{';
		close += data[i] == '}';
	}
	assert_int_equal(open, JSON_MAX_DEPTH);
	assert_int_equal(close, JSON_MAX_DEPTH);
	assert_non_null(strstr(data, "{\"k\":null}}"));
	free(data);
	free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_failed_hosts),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_sort_unknown),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_tree_csv),
		cmocka_unit_test(test_tree_json),
		cmocka_unit_test(test_flat_tree_json),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_sort_renamed),
		cmocka_unit_test(test_sort_headers),
		cmocka_unit_test(test_headers_of_before),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_not_over_the_trace),
		cmocka_unit_test(test_json_depth),
		cmocka_unit_test(test_top_of_many),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
