/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of the reports in a page, of a made trace; and tables in slices, of made tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/cleanup.h"
#include "report/page/page.h"
#include "report/page/slices.h"
#include "tests/tools/inflated.h"
#include "tests/tools/report_run.h"

#define MS 1000000ull

static const struct ebt_task_id tasks[] = {
	{ .tid = 11, .pid = 10, .start_ns = 1, .comm = "a" },
	{ .tid = 20, .pid = 20, .start_ns = 1, .comm = "b" },
	{ 0 },
};

/* 10 calls of read, each of 1 ms, of which the last fails; one of write of 3 ms. */
static void make(struct made_trace *t)
{
	made_trace_begin(t, tasks);
	made_trace_meta(t, "host.machine", "x86_64");
	made_trace_clock(t, 1000 * MS);
	for (uint64_t i = 0; i < 10; i++)
		made_trace_syscall(t, (1005 + 10 * i) * MS, 11, 0, 0, MS, i == 9 ? -2 : 1);
	made_trace_syscall(t, 1042 * MS, 20, 1, 1, 3 * MS, 1);
	made_trace_clock(t, 1100 * MS);
	made_trace_finish(t);
}

static char *unpacked(const struct page_rows *rows)
{
	_cleanup_free_ unsigned char *packed = NULL;
	size_t len;

	assert_null(page_rows_pack(rows, &packed, &len));
	return (char *)inflated(packed, len, &len);
}

/* The section of a page of that trace, as text; head: its head, too. */
static char *tables_of(const char *path, const char *filter, const char *value, char **head)
{
	char *argv[] = { (char *)"ebreport", (char *)"html", (char *)"-o", (char *)"/dev/null",
			 (char *)path,	     (char *)filter, (char *)value };
	_cleanup_(trace_closep) struct trace *trace = NULL;
	struct options options = { 0 };
	struct page *page = NULL;
	struct report report;
	char *text = NULL;

	assert_null(options_parse(filter ? 7 : 5, argv, &options));
	assert_null(trace_open(&options, &trace));
	report = (struct report){ options.command, &options, trace, NULL, NULL };
	assert_null(page_create(&report, &page));
	for (size_t i = 0; i < page->n_sections; i++) {
		if (!strcmp(page_rows_name(page->sections[i]), "tables"))
			text = unpacked(page->sections[i]);
	}
	assert_non_null(text);
	*head = strndup(page->head, page->head_len);
	assert_non_null(*head);
	page_destroy(page);
	options_deinit(&options);
	return text;
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

static void has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("%s is in %s", part, text);
}

static const char columns[] =
	"{\"key\":\"count\",\"header\":\"COUNT\",\"type\":\"u64\",\"merge\":\"sum\"},"
	"{\"key\":\"errors\",\"header\":\"ERRORS\",\"type\":\"u64\",\"merge\":\"sum\"},"
	"{\"key\":\"total_ns\",\"header\":\"TOTAL\",\"type\":\"duration\",\"merge\":\"sum\"},"
	"{\"key\":\"percent\",\"header\":\"%\",\"type\":\"percent\",\"merge\":\"share\","
	"\"of\":\"total_ns\"},";

static void of_a_trace(void **state)
{
	_cleanup_free_ char *text = NULL, *head = NULL;
	struct made_trace t;

	(void)state;
	make(&t);
	text = tables_of(t.path, NULL, NULL, &head);
	has(text, "\"command\":\"syscalls\",\"key\":\"rows\"");
	has(text, "{\"key\":\"name\",\"header\":\"CALL\",\"type\":\"string\",\"merge\":\"key\"}");
	has(text, columns);
	has(text, "[\"read\",\"native\",\"file_io\",10,1,10000000,");
	has(text, "[\"write\",\"native\",\"file_io\",1,0,3000000,");
	has(text, "\"slice_ns\":1000000");
	/* A call is of when it ends; what the page makes of other columns is in no slice. */
	has(text, "{\"from_ns\":5000000,\"to_ns\":6000000,\"rows\":"
		  "[[0,1,0,1000000,[1000000],1000000,5000000,1000000]]}");
	has(text, "{\"from_ns\":6000000,\"to_ns\":7000000,\"rows\":[]}");
	has(text, "{\"from_ns\":95000000,\"to_ns\":96000000,\"rows\":"
		  "[[0,1,1,1000000,[1000000],1000000,95000000,1000000]]}");
	has(text, "{\"from_ns\":99000000,\"to_ns\":100000000,\"rows\":[]}");
	/* Nothing of what is not in the trace, and nothing of what is no table. */
	has_not(text, "\"command\":\"block\"");
	has_not(text, "\"command\":\"dump\"");
	has_not(text, "\"command\":\"overview\"");
	has(head, "\"tables_notes\":[]");
	made_trace_remove(&t);
}

static void filtered(void **state)
{
	_cleanup_free_ char *text = NULL, *head = NULL;
	struct made_trace t;

	(void)state;
	make(&t);
	text = tables_of(t.path, "--pid", "20", &head);
	has(text, "[\"write\",\"native\",\"file_io\",1,0,3000000,");
	has_not(text, "[\"read\",");
	/* It is of the whole file. */
	has_not(text, "\"command\":\"files\"");
	made_trace_remove(&t);
}

/* --- slices --- */

#define COLUMNS(X)                                               \
	X("name", "NAME", OUT_STRING, out_cstr(name), OUT_KEY)   \
	X("count", "COUNT", OUT_U64, out_u64_if(n, n), OUT_ADDS) \
	X("mean", "MEAN", OUT_FLOAT, out_f64(0.5))               \
	X("max_ns", "MAX", OUT_DURATION, out_u64(max), OUT_PEAK)

static const struct out_table table = OUT_TABLE_OF("rows", COLUMNS);

/* A table of some names, with one number each. */
struct made_table {
	struct out_value values[4][4];
	struct out_line lines[4];
	struct out_captured captured;
};

static void add(struct made_table *made, const char *name, uint64_t n, uint64_t max, uint32_t depth)
{
	const size_t i = made->captured.n++;

	memcpy(made->values[i], OUT_VALUES(COLUMNS), sizeof(made->values[i]));
	made->lines[i] = (struct out_line){ made->values[i], depth, OUT_NO_PARENT };
	made->captured.table = &table;
	made->captured.lines = made->lines;
}

static struct page_slices *of_three_slices(uint32_t depth)
{
	struct made_table whole = { 0 }, first = { 0 }, second = { 0 }, last = { 0 };
	struct page_slices *slices;

	add(&whole, "a", 6, 3, 0);
	add(&whole, "b", 5, 5, depth);
	assert_null(page_slices_create(&whole.captured, 0, &slices));
	assert_non_null(slices);
	add(&first, "a", 1, 1, 0);
	add(&second, "a", 2, 2, 0);
	add(&second, "b", 5, 5, depth);
	add(&last, "a", 3, 3, 0);
	assert_null(page_slices_add(slices, 0, &first.captured));
	assert_null(page_slices_add(slices, 1, &second.captured));
	assert_null(page_slices_add(slices, 2, &last.captured));
	return slices;
}

/* What the slices write into an object; NULL: nothing. */
static char *written(struct page_slices *slices, size_t max_bytes)
{
	const struct page_slice_times times = { 1000, 1250, 100, 3 };
	char *text = NULL;
	size_t len, bytes;
	FILE *f = open_memstream(&text, &len);
	struct json json;

	assert_non_null(f);
	json_init(&json, f);
	json_open_object(&json);
	assert_null(page_slices_put(slices, &times, max_bytes, &json, &bytes));
	json_end(&json);
	fclose(f);
	assert_int_equal(bytes > 0, strstr(text, "slices") != NULL);
	assert_true(bytes <= max_bytes);
	page_slices_destroy(slices);
	return text;
}

static void sums(void **state)
{
	_cleanup_free_ char *text = written(of_three_slices(0), 1000);
	_cleanup_free_ char *nested = written(of_three_slices(1), 1000);

	(void)state;
	has(text, "\"slice_ns\":100");
	has(text, "{\"from_ns\":1000,\"to_ns\":1100,\"rows\":[[0,1,1]]}");
	has(text, "{\"from_ns\":1100,\"to_ns\":1200,\"rows\":[[0,2,2],[1,5,5]]}");
	has(text, "{\"from_ns\":1200,\"to_ns\":1250,\"rows\":[[0,3,3]]}");
	has(nested, "[[0,2,2],[1,5,5]]");
}

/* Slices of "a" are not the whole together, and nobody knows which of them is wrong. */
static void doubtful(void **state)
{
	struct made_table whole = { 0 }, first = { 0 }, second = { 0 };
	_cleanup_free_ char *text = NULL;
	struct page_slices *slices;

	(void)state;
	add(&whole, "a", 6, 3, 0);
	add(&whole, "b", 5, 5, 0);
	assert_null(page_slices_create(&whole.captured, 0, &slices));
	add(&first, "a", 1, 1, 0);
	add(&first, "b", 3, 3, 0);
	add(&second, "a", 6, 3, 0);
	add(&second, "b", 2, 5, 0);
	assert_null(page_slices_add(slices, 0, &first.captured));
	assert_null(page_slices_add(slices, 1, &second.captured));
	text = written(slices, 1000);
	has(text, "\"rows\":[[0,null,1],[1,3,3]]}");
	has(text, "\"rows\":[[0,null,3],[1,2,5]]}");
}

/* Where there is no room for all, two and two of them are one, and so on. */
static void put_together(void **state)
{
	_cleanup_free_ char *two = written(of_three_slices(0), 90);
	_cleanup_free_ char *one = written(of_three_slices(0), 60);
	_cleanup_free_ char *none = written(of_three_slices(0), 20);

	(void)state;
	has(two, "\"slice_ns\":200");
	has(two, "{\"from_ns\":1000,\"to_ns\":1200,\"rows\":[[0,3,2],[1,5,5]]}");
	has(two, "{\"from_ns\":1200,\"to_ns\":1250,\"rows\":[[0,3,3]]}");
	has(one, "\"slice_ns\":400");
	has(one, "{\"from_ns\":1000,\"to_ns\":1250,\"rows\":[[0,6,3],[1,5,5]]}");
	has_not(none, "slice");
}

/* Of a whole that has only some of its rows, slices have these. */
static void some_rows(void **state)
{
	struct made_table whole = { 0 }, first = { 0 };
	struct page_slices *slices;
	_cleanup_free_ char *text = NULL;

	(void)state;
	add(&whole, "a", 1, 1, 0);
	whole.captured.left_out = 1;
	add(&first, "b", 7, 7, 0);
	add(&first, "a", 1, 1, 0);
	assert_null(page_slices_create(&whole.captured, 0, &slices));
	assert_null(page_slices_add(slices, 0, &first.captured));
	text = written(slices, 1000);
	has(text, "\"rows\":[[0,1,1]]}");
	has_not(text, "7");
}

/* Rows that cannot be told apart, that are not all there, or that the whole does not have. */
static void useless(void **state)
{
	struct made_table twice = { 0 }, cut = { 0 }, whole = { 0 }, other = { 0 };
	struct page_slices *slices;
	_cleanup_free_ char *text = NULL, *cut_text = NULL;

	(void)state;
	add(&twice, "a", 1, 1, 0);
	add(&twice, "a", 2, 2, 0);
	assert_null(page_slices_create(&twice.captured, 0, &slices));
	assert_null(slices);
	add(&cut, "a", 1, 1, 0);
	add(&whole, "a", 1, 1, 0);
	cut.captured.left_out = 1;
	assert_null(page_slices_create(&whole.captured, 0, &slices));
	assert_null(page_slices_add(slices, 0, &cut.captured));
	cut_text = written(slices, 1000);
	has_not(cut_text, "slice");
	add(&other, "b", 1, 1, 0);
	assert_null(page_slices_create(&whole.captured, 0, &slices));
	assert_null(page_slices_add(slices, 0, &other.captured));
	text = written(slices, 1000);
	has_not(text, "slice");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_trace), cmocka_unit_test(filtered),
		cmocka_unit_test(sums),	      cmocka_unit_test(put_together),
		cmocka_unit_test(useless),    cmocka_unit_test(some_rows),
		cmocka_unit_test(doubtful),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
