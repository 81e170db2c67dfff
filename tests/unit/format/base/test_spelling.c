/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Distances between words, known by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/spelling.h"

static void check(const char *a, const char *b, size_t distance)
{
	assert_int_equal(ebt_spelling_distance(a, b), distance);
	assert_int_equal(ebt_spelling_distance(b, a), distance);
}

static void test_words(void **state)
{
	(void)state;
	check("", "", 0);
	check("sched", "sched", 0);
	check("", "sched", 5);
	check("sched_swich", "sched_switch", 1);  /* added */
	check("sched_switch", "sched_swutch", 1); /* changed */
	check("shcedule", "schedule", 2);
	check("kitten", "sitting", 3);
	check("abc", "xyz", 3);
	check("flaw", "lawn", 2);
}

static void test_long_words(void **state)
{
	char longest[EBT_SPELLING_MAX], longer[EBT_SPELLING_MAX + 1];

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	check(longest, longest, 0);
	check(longest, "x", EBT_SPELLING_MAX - 2);
	check(longest, longer, SIZE_MAX);
	check("", longer, SIZE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_long_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
