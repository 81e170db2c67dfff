/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Free places of arrays that BPF programs read: in one piece, in one unit, rested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/unwind/slots.h"

#define NOW (10 * UNWIND_REST_NS)

static void test_rests(void **state)
{
	struct unwind_slots slots = { .unit = 1000 };
	uint32_t first;

	(void)state;
	assert_false(unwind_slots_take(&slots, 1, NOW, &first));
	assert_true(unwind_slots_give(&slots, 0, 100, NOW));
	assert_int_equal(unwind_slots_free(&slots), 100);
	assert_false(unwind_slots_take(&slots, 1, NOW, &first));
	assert_false(unwind_slots_take(&slots, 1, NOW + UNWIND_REST_NS - 1, &first));
	/* Clocks of two threads. */
	assert_false(unwind_slots_take(&slots, 1, NOW - 1, &first));
	assert_true(unwind_slots_take(&slots, 100, NOW + UNWIND_REST_NS, &first));
	assert_int_equal(first, 0);
	assert_int_equal(unwind_slots_free(&slots), 0);
	unwind_slots_deinit(&slots);
}

static void test_joins_within_a_unit(void **state)
{
	struct unwind_slots slots = { .unit = 1000 };
	uint32_t first;

	(void)state;
	assert_true(unwind_slots_give(&slots, 1000, 500, 0));
	assert_true(unwind_slots_give(&slots, 600, 400, 0));
	assert_true(unwind_slots_give(&slots, 500, 100, 0));
	assert_false(unwind_slots_take(&slots, 501, NOW, &first));
	assert_true(unwind_slots_take(&slots, 500, NOW, &first));
	assert_int_equal(first, 500);
	assert_true(unwind_slots_take(&slots, 500, NOW, &first));
	assert_int_equal(first, 1000);
	unwind_slots_deinit(&slots);
}

/* What is large stays whole as long as something smaller is large enough. */
static void test_smallest_first(void **state)
{
	struct unwind_slots slots = { .unit = 1000 };
	uint32_t first;

	(void)state;
	assert_true(unwind_slots_give(&slots, 0, 200, 0));
	assert_true(unwind_slots_give(&slots, 300, 12, 0));
	assert_true(unwind_slots_give(&slots, 500, 10, NOW));
	assert_true(unwind_slots_take(&slots, 9, NOW, &first));
	assert_int_equal(first, 300);
	assert_true(unwind_slots_take(&slots, 9, NOW + UNWIND_REST_NS, &first));
	assert_int_equal(first, 500);
	assert_true(unwind_slots_take(&slots, 9, NOW + UNWIND_REST_NS, &first));
	assert_int_equal(first, 0);
	assert_int_equal(unwind_slots_free(&slots), 191 + 3 + 1);
	unwind_slots_deinit(&slots);
}

/* Against a model that keeps a byte for each place. */
static void test_random(void **state)
{
	enum { PLACES = 4000, UNIT = 1000, PIECES = 200 };
	static unsigned char taken[PLACES];
	static uint64_t rests_until[PLACES];
	struct {
		uint32_t first, n;
	} pieces[PIECES];
	struct unwind_slots slots = { .unit = UNIT };
	uint64_t now = NOW, free_places = PLACES;
	uint32_t n_pieces = 0, first;

	(void)state;
	srand(1);
	for (uint32_t i = 0; i < PLACES; i += UNIT)
		assert_true(unwind_slots_give(&slots, i, UNIT, 0));
	for (int step = 0; step < 20000; step++, now += UNWIND_REST_NS / 20) {
		uint32_t n = 1 + (uint32_t)rand() % 200;

		if (rand() % 2 && n_pieces < PIECES && unwind_slots_take(&slots, n, now, &first)) {
			assert_true(first + n <= PLACES);
			assert_int_equal(first / UNIT, (first + n - 1) / UNIT);
			for (uint32_t i = first; i < first + n; i++) {
				assert_false(taken[i]);
				assert_true(rests_until[i] <= now);
				taken[i] = 1;
			}
			free_places -= n;
			pieces[n_pieces].first = first;
			pieces[n_pieces++].n = n;
		} else if (n_pieces) {
			uint32_t p = (uint32_t)rand() % n_pieces;

			for (uint32_t i = 0; i < pieces[p].n; i++) {
				taken[pieces[p].first + i] = 0;
				rests_until[pieces[p].first + i] = now + UNWIND_REST_NS;
			}
			assert_true(unwind_slots_give(&slots, pieces[p].first, pieces[p].n, now));
			free_places += pieces[p].n;
			pieces[p] = pieces[--n_pieces];
		}
		assert_int_equal(unwind_slots_free(&slots), free_places);
	}
	while (n_pieces--)
		unwind_slots_give(&slots, pieces[n_pieces].first, pieces[n_pieces].n, 0);
	for (int i = 0; i < PLACES / UNIT; i++)
		assert_true(unwind_slots_take(&slots, UNIT, now + UNWIND_REST_NS, &first));
	assert_int_equal(unwind_slots_free(&slots), 0);
	unwind_slots_deinit(&slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rests),
		cmocka_unit_test(test_joins_within_a_unit),
		cmocka_unit_test(test_smallest_first),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
