/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ebrec prints of strangers' names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "record/base/terminal.h"

static void test_put(void **state)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	terminal_put(f, "a\x1b[31m\n\xc3\xbc \xff\xe2\x80\xae");
	terminal_put(f, "");
	terminal_put(f, "\x7f");
	fclose(f);
	assert_string_equal(text, "a\\x1b[31m\\x0a\xc3\xbc \\xff\\xe2\\x80\\xae\\x7f");
	free(text);
}

__attribute__((format(printf, 2, 3))) static void put_lines(FILE *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	terminal_put_lines(f, format, args);
	va_end(args);
}

static void test_lines(void **state)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	put_lines(f, "libbpf: uprobe '%s'\nsecond\n", "/tmp/\x1b[31mx\r");
	put_lines(f, "no end: %d", 5);
	fclose(f);
	assert_string_equal(text, "libbpf: uprobe '/tmp/\\x1b[31mx\\x0d'\nsecond\nno end: 5");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
