/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a recording began and ended, and which rows of which class a cursor gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/tools/make_trace.h"
#include "tests/tools/small_trace.h"

#define AT(time) (SMALL_START + (time))

static void add_clock(struct small_trace *t, uint64_t time, enum ebt_clock_moment moment)
{
	struct ebt_wire_clock *row = ebt_record_begin(&t->rec, EBT_T_clock, AT(time));

	row->realtime = AT(time) * 2;
	row->moment = moment;
	assert_no_error(ebt_record_add(&t->rec, t->stream));
}

struct found {
	uint64_t times[16];
	uint16_t tables[16];
	size_t n;
};

static struct ebt_error *take(void *arg, const struct ebt_row *row)
{
	struct found *found = arg;

	assert_true(found->n < 16);
	found->times[found->n] = row->time - SMALL_START;
	found->tables[found->n++] = row->batch->table->id;
	return NULL;
}

/* Rows of these classes are wanted whatever their time. */
static struct found read_between(struct ebt_reader *reader, uint64_t from, uint64_t to,
				 uint32_t any_from, uint32_t any_to)
{
	static const struct ebt_want wants[] = { EBT_WANT(clock, moment), EBT_WANT(thread, task),
						 EBT_WANT(sched_waking, wakee) };
	const struct ebt_query query = {
		.wants = wants,
		.n_wants = 3,
		.from_ns = AT(from),
		.to_ns = AT(to),
		.any_from = any_from,
		.any_to = any_to,
	};
	struct found found = { 0 };

	assert_no_error(ebt_read_rows(reader, &query, take, &found));
	for (size_t i = 1; i < found.n; i++)
		assert_true(found.times[i] > found.times[i - 1]);
	return found;
}

static size_t count_of(const struct found *found, uint16_t table)
{
	size_t n = 0;

	for (size_t i = 0; i < found->n; i++)
		n += found->tables[i] == table;
	return n;
}

/* Chunks of each table before, across and behind the bounds. */
static void test_classes(void **state)
{
	const uint32_t meta = 1 << EBT_CLASS_META, with_state = meta | 1 << EBT_CLASS_STATE;
	struct small_trace t = { 0 };
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	struct found found;

	(void)state;
	small_begin(&t);
	for (uint64_t time = 0; time < 40; time += 10) {
		small_thread(&t, time + 1, 12, 1, 0, 0);
		small_waking(&t, time + 2, 12, 22);
		small_waking(&t, time + 6, 12, 22);
		add_clock(&t, time + 4, EBT_V_clock_moment_none);
		if (time != 10)
			small_flush(&t);
	}
	reader = small_open(&t);
	found = read_between(reader, 15, 30, with_state, with_state);
	assert_int_equal(count_of(&found, EBT_T_clock), 4);
	assert_int_equal(count_of(&found, EBT_T_thread), 4);
	assert_int_equal(count_of(&found, EBT_T_sched_waking), 3);
	found = read_between(reader, 15, 30, meta, with_state);
	assert_int_equal(count_of(&found, EBT_T_clock), 4);
	assert_int_equal(count_of(&found, EBT_T_thread), 2);
	assert_int_equal(count_of(&found, EBT_T_sched_waking), 3);
	found = read_between(reader, 15, 30, with_state, meta);
	assert_int_equal(count_of(&found, EBT_T_thread), 3);
	assert_int_equal(count_of(&found, EBT_T_sched_waking), 3);
	found = read_between(reader, 15, 30, 0, 0);
	assert_int_equal(count_of(&found, EBT_T_clock), 1);
	assert_int_equal(count_of(&found, EBT_T_thread), 1);
	assert_int_equal(count_of(&found, EBT_T_sched_waking), 3);
	small_end(&t);
}

/* A row of clock; time 0: none. */
struct reading {
	uint64_t time;
	enum ebt_clock_moment moment;
};

static void assert_span(const struct reading *readings, uint64_t start, uint64_t end,
			bool start_told, bool end_told)
{
	struct small_trace t = { 0 };
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	const struct ebt_reader_info *info;

	small_begin(&t);
	small_waking(&t, 10, 12, 22);
	small_waking(&t, 90, 12, 22);
	for (; readings->time; readings++) {
		add_clock(&t, readings->time, readings->moment);
		small_flush(&t);
	}
	reader = small_open(&t);
	info = ebt_reader_info(reader);
	assert_int_equal(info->start_ns, AT(start));
	assert_int_equal(info->end_ns, AT(end));
	assert_int_equal(info->start_told, start_told);
	assert_int_equal(info->end_told, end_told);
	assert_int_equal(info->recorded_ns, AT(10));
	assert_int_equal(info->recorded_to_ns, AT(90));
	small_end(&t);
}

static void test_moments(void **state)
{
	const enum ebt_clock_moment none = EBT_V_clock_moment_none,
				    begin = EBT_V_clock_moment_begin, end = EBT_V_clock_moment_end;

	(void)state;
	assert_span((struct reading[]){ { 0 } }, 10, 90, false, false);
	assert_span((struct reading[]){ { 50, none }, { 0 } }, 10, 90, false, false);
	assert_span((struct reading[]){ { 30, begin }, { 50, none }, { 0 } }, 30, 90, true, false);
	assert_span((struct reading[]){ { 30, none }, { 70, end }, { 0 } }, 10, 70, false, true);
	assert_span((struct reading[]){ { 30, begin }, { 50, none }, { 70, end }, { 0 } }, 30, 70,
		    true, true);
	/* Merged, one within the other, and in any order of the file. */
	assert_span(
		(struct reading[]){ { 40, begin }, { 80, end }, { 30, begin }, { 70, end }, { 0 } },
		30, 80, true, true);
}

static void test_realtime(void **state)
{
	struct small_trace t = { 0 };
	_cleanup_reader_ struct ebt_reader *reader = NULL;

	(void)state;
	small_begin(&t);
	add_clock(&t, 10, EBT_V_clock_moment_none);
	add_clock(&t, 30, EBT_V_clock_moment_begin);
	reader = small_open(&t);
	assert_int_equal(ebt_reader_info(reader)->start_realtime_ns, AT(30) * 2);
	small_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_moments),
		cmocka_unit_test(test_realtime),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
