/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections of a page: what their bytes are, byte by byte, and that they come out of gzip again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/cleanup.h"
#include "report/page/columns.h"
#include "tests/tools/inflated.h"

DEFINE_CLEANUP(struct page_rows *, page_rows_destroy);

/* What a section has inside its gzip. Free it with free(). */
static unsigned char *unpacked(const struct page_rows *rows, size_t *ret_len)
{
	_cleanup_free_ unsigned char *packed = NULL;
	size_t len;

	assert_null(page_rows_pack(rows, &packed, &len));
	return inflated(packed, len, ret_len);
}

static void numbers(void **state)
{
	static const struct page_column columns[] = {
		{ "plain", PAGE_U32, false },
		{ "delta", PAGE_TIME, true },
		{ "signed", PAGE_I32, false },
		{ "double", PAGE_F64, false },
	};
	static const unsigned char expected[] = {
		0,    127,  0x80, 1,				/* 0, 127, 128 */
		0x14, 0x13, 0,					/* +10, -10, 0 */
		1,    2,    0xff, 0xff, 0xff, 0xff, 0xf,	/* -1, 1, INT32_MIN */
		0,    0,    0,	  0,	0,    0,    0xf0, 0x3f, /* 1.0 */
		0,    0,    0,	  0,	0,    0,    0,	  0,
		0,    0,    0,	  0,	0,    0,    0,	  0xc0, /* -2.0 */
	};
	_cleanup_(page_rows_destroyp) struct page_rows *rows = NULL;
	_cleanup_free_ unsigned char *raw = NULL;
	size_t len;

	(void)state;
	assert_null(page_rows_create("numbers", columns, 4, &rows));
	assert_null(page_row(rows, 0, 10, (uint64_t)-1, page_f64(1)));
	assert_null(page_row(rows, 127, 0, 1, page_f64(0)));
	assert_null(page_row(rows, 128, 0, (uint64_t)INT32_MIN, page_f64(-2)));
	assert_int_equal(page_rows_n(rows), 3);
	raw = unpacked(rows, &len);
	assert_int_equal(len, sizeof(expected));
	assert_memory_equal(raw, expected, len);
}

/* Every value comes back, by the rule that the page's script follows. */
static void limits(void **state)
{
	static const struct page_column columns[] = { { "time", PAGE_TIME, true } };
	static const uint64_t values[] = { 0, UINT64_MAX, 1ull << 63, 1ull << 62, 1, 0 };
	_cleanup_(page_rows_destroyp) struct page_rows *rows = NULL;
	_cleanup_free_ unsigned char *raw = NULL;
	uint64_t last = 0;
	size_t len, at = 0;

	(void)state;
	assert_null(page_rows_create("limits", columns, 1, &rows));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_null(page_row(rows, values[i]));
	raw = unpacked(rows, &len);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		uint64_t value = 0;
		unsigned int shift = 0;

		do
			value |= (uint64_t)(raw[at] & 127) << shift;
		while (shift += 7, raw[at++] & 128);
		last += value >> 1 ^ -(value & 1);
		assert_int_equal(last, values[i]);
	}
	assert_int_equal(at, len);
}

static void texts(void **state)
{
	static const struct page_column columns[] = {
		{ "length", PAGE_U32, false },
		{ "text", PAGE_BYTES, false },
	};
	_cleanup_(page_rows_destroyp) struct page_rows *rows = NULL;
	_cleanup_free_ unsigned char *raw = NULL;
	_cleanup_free_ char *json = NULL;
	struct json writer;
	size_t len, json_len;
	FILE *f = open_memstream(&json, &json_len);

	(void)state;
	assert_null(page_rows_create("texts", columns, 2, &rows));
	assert_null(page_row(rows, 3, 0));
	assert_null(page_rows_text(rows, "abc", 3));
	assert_null(page_row(rows, 2, 0));
	assert_null(page_rows_text(rows, "\0\xff", 2));
	raw = unpacked(rows, &len);
	assert_int_equal(len, 7);
	assert_memory_equal(raw, "\3\2abc\0\xff", 7);
	json_init(&writer, f);
	json_open_object(&writer);
	page_rows_describe(rows, &writer);
	json_end(&writer);
	fclose(f);
	assert_non_null(strstr(json, "\"texts\":{\"rows\":2,"));
	assert_non_null(strstr(json, "\"type\":\"bytes\",\"delta\":false,\"zigzag\":false,"
				     "\"bytes\":5"));
}

/* The examples of RFC 4648, section 10, and one of bytes that are no text. */
static void base64(void **state)
{
	static const struct {
		const char *bytes, *text;
	} examples[] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
		{ "\xff\xfe\xfd", "//79" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		_cleanup_free_ char *text = NULL;
		size_t len;
		FILE *f = open_memstream(&text, &len);

		page_base64(f, (const unsigned char *)examples[i].bytes, strlen(examples[i].bytes));
		fclose(f);
		assert_string_equal(text, examples[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(limits),
		cmocka_unit_test(texts),
		cmocka_unit_test(base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
