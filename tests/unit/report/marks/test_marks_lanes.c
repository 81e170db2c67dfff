/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks laid out for a picture: which lane and row each gets, and that none gets lost. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/marks/lanes.h"

#define MAX_MARKS 100000
#define MAX_NAMES 400

static struct mark made[MAX_MARKS];
static struct mark_name names[MAX_NAMES];
static size_t n_made;
static uint32_t n_names;

static const struct mark *mark_at(const void *marks, size_t i)
{
	return (const struct mark *)marks + i;
}

static const struct mark_name *name_at(const void *marks, uint32_t name)
{
	(void)marks;
	return &names[name];
}

static int setup(void **state)
{
	(void)state;
	n_made = n_names = 0;
	return 0;
}

static void add(uint32_t name, uint64_t start, uint64_t end)
{
	while (n_names <= name) {
		names[n_names] = (struct mark_name){ "g", "n", n_names % 2 };
		n_names++;
	}
	made[n_made++] = (struct mark){ .start = start,
					.end = end,
					.name = name,
					.kind = start == end ? MARK_INSTANT : MARK_SPAN };
}

static int compare_starts(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static struct marks_lanes *lay_out(uint64_t from, uint64_t to, uint32_t width, uint32_t max_items)
{
	const struct marks_source source = { mark_at, name_at, made, n_made, n_names };
	const struct marks_lanes_options options = { .from = from,
						     .to = to,
						     .width = width,
						     .max_lanes = 5,
						     .max_rows = 3,
						     .max_items = max_items };
	struct marks_lanes *lanes;

	if (n_made)
		qsort(made, n_made, sizeof(*made), compare_starts);
	assert_null(marks_lanes_create(&source, &options, &lanes));
	return lanes;
}

/* Every mark of a lane is in one item, and the items are where the marks were. */
static void check_sums(const struct marks_lanes *lanes, uint64_t from, uint64_t to)
{
	uint64_t counts[5] = { 0 }, sums[5] = { 0 }, merged = 0, all = lanes->left_out;

	assert_true(lanes->n_lanes <= 5);
	for (size_t i = 0; i < lanes->n_items; i++) {
		const struct marks_item *item = &lanes->items[i];

		assert_true(item->lane < lanes->n_lanes);
		assert_true(item->row < lanes->lanes[item->lane].rows);
		assert_true(item->start >= from && item->start <= item->end && item->end <= to);
		assert_int_equal(made[item->mark].name, lanes->lanes[item->lane].name);
		counts[item->lane] += item->count;
		sums[item->lane] += item->sum_ns;
		merged += item->count > 1 ? item->count : 0;
	}
	for (uint32_t i = 0; i < lanes->n_lanes; i++) {
		assert_true(lanes->lanes[i].rows <= 3);
		assert_int_equal(counts[i], lanes->lanes[i].count);
		assert_true(sums[i] == lanes->lanes[i].sum_ns);
		all += lanes->lanes[i].count;
	}
	assert_int_equal(merged, lanes->merged);
	assert_int_equal(all, n_made);
}

static void test_none(void **state)
{
	_cleanup_(marks_lanes_destroyp) struct marks_lanes *lanes = lay_out(0, 1, 100, 10);

	(void)state;
	assert_int_equal(lanes->n_lanes, 0);
	assert_int_equal(lanes->n_items, 0);
}

/* What overlaps gets a row of its own, what follows the same again. */
static void test_rows(void **state)
{
	_cleanup_(marks_lanes_destroyp) struct marks_lanes *lanes = NULL;

	(void)state;
	add(0, 0, 500);
	add(0, 100, 400);
	add(0, 400, 900);
	add(0, 500, 600);
	add(0, 550, 1000);
	add(0, 560, 1000);
	lanes = lay_out(0, 1000, 100, 100);
	check_sums(lanes, 0, 1000);
	assert_int_equal(lanes->n_items, 5);
	assert_int_equal(lanes->items[0].row, 0);
	assert_int_equal(lanes->items[1].row, 1);
	assert_int_equal(lanes->items[2].row, 1);
	assert_int_equal(lanes->items[3].row, 0);
	assert_int_equal(lanes->items[4].row, 2);
	assert_int_equal(lanes->items[4].count, 2);
	assert_int_equal(lanes->lanes[0].hidden, 1);
}

/* Half a pixel is 5 ns here: what is shorter goes together with what is within a pixel. */
static void test_narrow(void **state)
{
	_cleanup_(marks_lanes_destroyp) struct marks_lanes *lanes = NULL;

	(void)state;
	add(0, 100, 101);
	add(0, 103, 107);
	add(0, 109, 110);
	add(0, 110, 110);
	add(0, 105, 110);
	add(1, 100, 101);
	lanes = lay_out(0, 1000, 100, 100);
	check_sums(lanes, 0, 1000);
	assert_int_equal(lanes->narrow_ns, 5);
	assert_int_equal(lanes->n_items, 4);
	assert_int_equal(lanes->merged, 3);
	assert_int_equal(lanes->items[0].count, 3);
	assert_int_equal(lanes->items[0].sum_ns, 6);
	assert_int_equal(made[lanes->items[0].mark].start, 103);
	assert_int_equal(lanes->items[0].end, 110);
}

/* Groups stay together, in order of their first name. */
static void test_groups(void **state)
{
	_cleanup_(marks_lanes_destroyp) struct marks_lanes *lanes = NULL;

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		add(i, 10 * i, 10 * i + 10);
	lanes = lay_out(0, 100, 100, 100);
	check_sums(lanes, 0, 100);
	assert_int_equal(lanes->n_lanes, 4);
	assert_int_equal(lanes->lanes[0].name, 0);
	assert_int_equal(lanes->lanes[1].name, 2);
	assert_int_equal(lanes->lanes[2].name, 1);
	assert_int_equal(lanes->lanes[3].name, 3);
}

/* Names that a program makes up: the lanes with most time stay. */
static void test_many_lanes(void **state)
{
	_cleanup_(marks_lanes_destroyp) struct marks_lanes *lanes = NULL;

	(void)state;
	for (uint32_t i = 0; i < MAX_NAMES; i++)
		add(i, 1000 - i, 1000);
	lanes = lay_out(0, 1000, 100, 100);
	check_sums(lanes, 0, 1000);
	assert_int_equal(lanes->n_lanes, 5);
	assert_int_equal(lanes->n_left_lanes, MAX_NAMES - 5);
	assert_int_equal(lanes->left_out, MAX_NAMES - 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_true(lanes->lanes[i].name >= MAX_NAMES - 5);
}

/* However many there are, the picture has a size. */
static void test_many_marks(void **state)
{
	(void)state;
	srandom(4711);
	for (uint32_t round = 0; round < 3; round++) {
		_cleanup_(marks_lanes_destroyp) struct marks_lanes *lanes = NULL;

		n_made = n_names = 0;
		for (uint32_t i = 0; i < MAX_MARKS; i++) {
			uint64_t start = (uint64_t)random() % 1000000;
			uint64_t length = (uint64_t)random() % (round ? 1000000 : 100);

			length = start + length > 1000000 ? 1000000 - start : length;
			add((uint32_t)(random() % 5), start, start + length);
		}
		lanes = lay_out(0, 1000000, 1000, 2000);
		check_sums(lanes, 0, 1000000);
		assert_true(lanes->n_items <= 2000);
		assert_true(lanes->n_items >= (round ? 20 : 100));
	}
}

/* Times that no clock tells. */
static void test_extremes(void **state)
{
	_cleanup_(marks_lanes_destroyp) struct marks_lanes *wide = NULL, *late = NULL;

	(void)state;
	add(0, 0, UINT64_MAX);
	add(0, 0, 0);
	add(0, UINT64_MAX - 1, UINT64_MAX);
	add(0, UINT64_MAX, UINT64_MAX);
	add(1, 0, UINT64_MAX);
	add(1, 5, UINT64_MAX);
	wide = lay_out(0, UINT64_MAX, 1000, 5);
	assert_true(wide->n_items <= 5);
	assert_int_equal(wide->lanes[0].count + wide->lanes[1].count, 6);
	late = lay_out(UINT64_MAX - 1, UINT64_MAX, 1000, 6);
	assert_true(late->n_items <= 6);
	for (size_t i = 0; i < late->n_items; i++)
		assert_true(late->items[i].start >= UINT64_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_none, setup),
		cmocka_unit_test_setup(test_rows, setup),
		cmocka_unit_test_setup(test_narrow, setup),
		cmocka_unit_test_setup(test_groups, setup),
		cmocka_unit_test_setup(test_many_lanes, setup),
		cmocka_unit_test_setup(test_many_marks, setup),
		cmocka_unit_test_setup(test_extremes, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
