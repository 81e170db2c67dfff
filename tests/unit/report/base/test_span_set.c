/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spans of time by owner: what of an interval lies in them, compared with counting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/base/span_set.h"

#define TIMES 200 /* of the random spans */

static const struct ebt_task one = { .id = 1 }, two = { .id = 2 };

static struct span_set *create(enum span_scope scope)
{
	struct span_set *set;

	assert_null(span_set_create(scope, NULL, &set));
	return set;
}

static void add(struct span_set *set, const struct ebt_task *task, uint64_t from, uint64_t to,
		uint32_t id)
{
	assert_null(span_set_add(set, task, from, to, id));
}

static struct ebt_error *print_piece(void *arg, const struct span_piece *piece)
{
	char *text = arg;

	snprintf(text + strlen(text), 200 - strlen(text), "%u:%llu-%llu ", piece->id,
		 (unsigned long long)piece->from, (unsigned long long)piece->to);
	return NULL;
}

static const char *pieces(const struct span_set *set, const struct ebt_task *task, uint64_t from,
			  uint64_t to)
{
	static char text[200];

	text[0] = 0;
	assert_null(span_set_each(set, task, from, to, print_piece, text));
	return text;
}

static void test_empty(void **state)
{
	_cleanup_(span_set_destroyp) struct span_set *set = create(SPAN_OF_THREAD);

	(void)state;
	span_set_finish(set, true);
	assert_int_equal(span_set_ns(set, &one, 0, UINT64_MAX), 0);
	assert_false(span_set_touches(set, &one, 0, UINT64_MAX));
	assert_int_equal(span_set_total_ns(set), 0);
	span_set_destroy(NULL);
}

/* A call within a call of the same thread is the same time. */
static void test_merged(void **state)
{
	_cleanup_(span_set_destroyp) struct span_set *set = create(SPAN_OF_THREAD);

	(void)state;
	add(set, &one, 30, 40, 0);
	add(set, &one, 10, 20, 1);
	add(set, &one, 12, 15, 2);
	add(set, &one, 20, 25, 3);
	add(set, &two, 0, 100, 4);
	add(set, &one, 50, 50, 5);
	add(set, &one, 70, 60, 6);
	add(set, NULL, 0, 100, 7);
	span_set_finish(set, true);
	assert_int_equal(span_set_total_ns(set), 125);
	assert_int_equal(span_set_ns(set, &one, 0, 100), 25);
	assert_int_equal(span_set_ns(set, &one, 14, 33), 14);
	assert_int_equal(span_set_ns(set, &one, 25, 30), 0);
	assert_int_equal(span_set_ns(set, &two, 40, 41), 1);
	assert_int_equal(span_set_ns(set, NULL, 0, 100), 0);
	assert_string_equal(pieces(set, &one, 14, 33), "1:14-25 0:30-33 ");
}

/* A point is in the spans that have begun and not ended. */
static void test_points(void **state)
{
	_cleanup_(span_set_destroyp) struct span_set *set = create(SPAN_OF_THREAD);

	(void)state;
	add(set, &one, 10, 20, 0);
	span_set_finish(set, true);
	assert_false(span_set_touches(set, &one, 9, 9));
	assert_true(span_set_touches(set, &one, 10, 10));
	assert_true(span_set_touches(set, &one, 19, 19));
	assert_false(span_set_touches(set, &one, 20, 20));
	assert_false(span_set_touches(set, &two, 15, 15));
	assert_false(span_set_touches(set, &one, 0, 10));
	assert_false(span_set_touches(set, &one, 20, 30));
	assert_int_equal(span_set_ns(set, &one, 15, 15), 0);
}

/* Each span for itself: those of the slowest marks. */
static void test_not_merged(void **state)
{
	_cleanup_(span_set_destroyp) struct span_set *set = create(SPAN_OF_THREAD);

	(void)state;
	add(set, &one, 10, 100, 0);
	add(set, &one, 20, 30, 1);
	add(set, &one, 40, 50, 2);
	span_set_finish(set, false);
	assert_string_equal(pieces(set, &one, 25, 45), "0:25-45 1:25-30 2:40-45 ");
	assert_string_equal(pieces(set, &one, 60, 200), "0:60-100 ");
	assert_string_equal(pieces(set, &one, 30, 30), "0:30-30 ");
	assert_string_equal(pieces(set, &one, 100, 200), "");
}

static void test_system(void **state)
{
	_cleanup_(span_set_destroyp) struct span_set *set = create(SPAN_OF_SYSTEM);

	(void)state;
	add(set, &one, 10, 20, 0);
	add(set, NULL, 15, 30, 1);
	span_set_finish(set, true);
	assert_int_equal(span_set_ns(set, &two, 0, 100), 20);
	assert_int_equal(span_set_ns(set, NULL, 0, 100), 20);
}

static void test_extremes(void **state)
{
	_cleanup_(span_set_destroyp) struct span_set *set = create(SPAN_OF_THREAD);

	(void)state;
	add(set, &one, 0, UINT64_MAX, 0);
	add(set, &one, UINT64_MAX - 1, UINT64_MAX, 1);
	add(set, &two, 0, UINT64_MAX, 2);
	span_set_finish(set, true);
	assert_true(span_set_ns(set, &one, 0, UINT64_MAX) == UINT64_MAX);
	assert_false(span_set_touches(set, &one, UINT64_MAX, UINT64_MAX));
	assert_true(span_set_touches(set, &one, UINT64_MAX - 1, UINT64_MAX - 1));
	assert_true(span_set_total_ns(set) == UINT64_MAX);
}

/* Against a table of which time is in a span. */
static void test_counting(void **state)
{
	(void)state;
	srandom(4711);
	for (int round = 0; round < 200; round++) {
		_cleanup_(span_set_destroyp) struct span_set *set = create(SPAN_OF_THREAD);
		bool in[TIMES] = { false };
		uint64_t all = 0;
		long n = random() % 12;

		for (long i = 0; i < n; i++) {
			uint64_t from = (uint64_t)random() % TIMES;
			uint64_t to = from + (uint64_t)random() % 40;

			to = to < TIMES ? to : TIMES;
			add(set, &one, from, to, (uint32_t)i);
			for (uint64_t t = from; t < to; t++)
				in[t] = true;
		}
		span_set_finish(set, true);
		for (int i = 0; i < 50; i++) {
			uint64_t from = (uint64_t)random() % TIMES, ns = 0;
			uint64_t to = from + (uint64_t)random() % (TIMES - from);

			for (uint64_t t = from; t < to; t++)
				ns += in[t];
			assert_int_equal(span_set_ns(set, &one, from, to), ns);
			assert_int_equal(span_set_touches(set, &one, from, to),
					 from == to ? in[from] : ns > 0);
		}
		for (int t = 0; t < TIMES; t++)
			all += in[t];
		assert_int_equal(span_set_total_ns(set), all);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),	 cmocka_unit_test(test_merged),
		cmocka_unit_test(test_points),	 cmocka_unit_test(test_not_merged),
		cmocka_unit_test(test_system),	 cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_counting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
