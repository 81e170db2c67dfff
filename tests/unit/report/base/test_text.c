/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Escaping: what strangers named their processes cannot leave the cell that it is printed in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/base/text.h"

#define STR(literal) ((struct ebt_str){ literal, sizeof(literal) - 1 })

typedef void escape_fn(struct text *text, struct ebt_str s);

static void expect(escape_fn *escape, struct ebt_str in, const char *out)
{
	struct text text = TEXT_INIT;

	escape(&text, in);
	assert_null(text_error(&text));
	assert_string_equal(text_get(&text), out);
	text_deinit(&text);
}

static void test_terminal(void **state)
{
	(void)state;
	expect(text_terminal, STR("plain ü 日本"), "plain ü 日本");
	expect(text_terminal, STR("\033]0;owned\a"), "\\x1b]0;owned\\x07");
	expect(text_terminal, STR("a\nb\r\t\x7f"), "a\\x0ab\\x0d\\x09\\x7f");
	/* C1: CSI as one character, and as a byte that is no UTF-8 */
	expect(text_terminal,
	       STR("\xc2\x9b"
		   "31m"),
	       "\\xc2\\x9b31m");
	expect(text_terminal,
	       STR("\x9b"
		   "31m"),
	       "\\x9b31m");
	/* text that runs backwards */
	expect(text_terminal,
	       STR("a\xe2\x80\xae"
		   "b"),
	       "a\\xe2\\x80\\xaeb");
	expect(text_terminal, STR("a\0b"), "a\\x00b");
	expect(text_terminal, STR(""), "");
}

static void test_not_utf8(void **state)
{
	(void)state;
	expect(text_terminal, STR("\xc0\xaf"), "\\xc0\\xaf");	       /* overlong / */
	expect(text_terminal, STR("\xed\xa0\x80"), "\\xed\\xa0\\x80"); /* surrogate */
	expect(text_terminal, STR("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
	expect(text_terminal, STR("\xe2\x82"), "\\xe2\\x82"); /* cut off */
	expect(text_terminal, STR("\xff"), "\\xff");
}

static void test_xml(void **state)
{
	(void)state;
	expect(text_xml, STR("<script>alert(1)</script>"), "&lt;script&gt;alert(1)&lt;/script&gt;");
	expect(text_xml, STR("\"'&"), "&quot;&#39;&amp;");
	expect(text_xml, STR("]]>\001\xff"), "]]&gt;\\x01\\xff");
	expect(text_xml, STR("\xef\xbf\xbf"), "\\xef\\xbf\\xbf"); /* U+FFFF: not in XML */
	expect(text_xml, STR("ü"), "ü");
}

static void test_csv(void **state)
{
	(void)state;
	expect(text_csv, STR("plain"), "plain");
	expect(text_csv, STR("a,b"), "\"a,b\"");
	expect(text_csv, STR("say \"x\""), "\"say \"\"x\"\"\"");
	expect(text_csv, STR("=1+1"), "\"'=1+1\"");
	expect(text_csv, STR("@SUM"), "\"'@SUM\"");
	expect(text_csv, STR("-x"), "\"'-x\"");
	expect(text_csv, STR("+x"), "\"'+x\"");
	expect(text_csv, STR("a\r\nb"), "a\\x0d\\x0ab");
	expect(text_csv, STR("\""), "\"\"\"\"");
}

static void test_shell(void **state)
{
	(void)state;
	expect(text_shell, STR("../t-1.share.ebt"), "../t-1.share.ebt");
	expect(text_shell, STR("x y.ebt"), "'x y.ebt'");
	expect(text_shell, STR("it's"), "'it'\\''s'");
	expect(text_shell, STR("$HOME"), "'$HOME'");
	expect(text_shell, STR("~me"), "'~me'");
	expect(text_shell, STR(""), "''");
	expect(text_shell, STR("a\nb"), "'a\\x0ab'");
	expect(text_shell, STR("\xc3\xa4"), "\xc3\xa4");
}

static void test_dump_string(void **state)
{
	(void)state;
	expect(text_dump_string, STR("a\"b\\c"), "\"a\\\"b\\\\c\"");
	expect(text_dump_string, STR("\xc2\x85\xff\n"), "\"\\xc2\\x85\\xff\\x0a\"");
	expect(text_dump_string,
	       STR("a\xe2\x80\xae"
		   "b"),
	       "\"a\\xe2\\x80\\xaeb\"");
}

static void expect_duration(uint64_t ns, const char *out)
{
	struct text text = TEXT_INIT;

	text_duration(&text, ns);
	assert_string_equal(text_get(&text), out);
	text_deinit(&text);
}

static void test_duration(void **state)
{
	(void)state;
	expect_duration(0, "0 ns");
	expect_duration(999, "999 ns");
	expect_duration(1000, "1.000 us");
	expect_duration(1234567, "1.235 ms");
	expect_duration(9999600, "10.00 ms");
	expect_duration(12345678, "12.35 ms");
	expect_duration(999999999, "1000 ms");
	expect_duration(1500000000, "1.500 s");
	expect_duration(12345000000000, "12345 s");
}

static void expect_bytes(uint64_t n, const char *out)
{
	struct text text = TEXT_INIT;

	text_bytes(&text, n);
	assert_string_equal(text_get(&text), out);
	text_deinit(&text);
}

static void test_bytes(void **state)
{
	(void)state;
	expect_bytes(0, "0 B");
	expect_bytes(1023, "1023 B");
	expect_bytes(1536, "1.5 KiB");
	expect_bytes(100 << 10, "100.0 KiB");
	expect_bytes((1 << 20) - 52, "1023.9 KiB");
	expect_bytes((1 << 20) - 51, "1.0 MiB");
	expect_bytes(UINT64_MAX, "16.0 EiB");
}

static void test_columns(void **state)
{
	(void)state;
	assert_int_equal(text_columns("abc", 3), 3);
	assert_int_equal(text_columns("ü", strlen("ü")), 1);
	assert_int_equal(text_columns("日本", strlen("日本")), 4);
	assert_int_equal(text_columns("e\xcc\x81", 3), 1); /* combining acute */
	assert_int_equal(text_fit("日本", strlen("日本"), 3), 3);
	assert_int_equal(text_fit("abc", 3, 2), 2);
	assert_int_equal(text_fit("abc", 3, 9), 3);
}

static void test_tasks(void **state)
{
	struct text text = TEXT_INIT;

	(void)state;
	text_task(&text, STR("worker"), 12);
	text_addc(&text, ' ');
	text_task(&text, STR(""), 13);
	text_addc(&text, ' ');
	text_thread(&text, STR("worker"), 14);
	text_addc(&text, ' ');
	text_thread(&text, STR(""), 15);
	assert_string_equal(text_get(&text), "worker (12) [unknown] (13) worker/14 [unknown]/15");
	text_deinit(&text);
}

static void test_numbers(void **state)
{
	struct text text = TEXT_INIT;

	(void)state;
	text_u64(&text, 0);
	text_addc(&text, ' ');
	text_u64(&text, UINT64_MAX);
	text_addc(&text, ' ');
	text_hex(&text, 0);
	text_addc(&text, ' ');
	text_hex(&text, UINT64_C(0xdeadbeef01234567));
	assert_string_equal(text_get(&text), "0 18446744073709551615 0 deadbeef01234567");
	text_deinit(&text);
}

static void test_plural(void **state)
{
	(void)state;
	assert_string_equal(text_plural(0, "run has", "runs have"), "runs have");
	assert_string_equal(text_plural(1, "run has", "runs have"), "run has");
	assert_string_equal(text_plural(2, "run has", "runs have"), "runs have");
	/* 2^32 + 1: not cut to 32 bits. */
	assert_string_equal(text_plural(UINT64_C(0x100000001), "", "s"), "s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terminal), cmocka_unit_test(test_not_utf8),
		cmocka_unit_test(test_xml),	 cmocka_unit_test(test_csv),
		cmocka_unit_test(test_shell),	 cmocka_unit_test(test_dump_string),
		cmocka_unit_test(test_duration), cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_columns),	 cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_numbers),	 cmocka_unit_test(test_plural),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
