/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hash map and arrays that grow, against plain models. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/array.h"
#include "format/base/map.h"

#define N_KEYS 100000u

static void test_empty(void **state)
{
	struct ebt_map map = { 0 };
	size_t at = 0;
	uint32_t i;

	(void)state;
	assert_false(ebt_map_find(&map, 0, &i));
	assert_int_equal(ebt_map_next(&map, 0, &at), EBT_MAP_NONE);
	assert_true(ebt_map_has(&map, 0, 0));
	assert_false(ebt_map_has(&map, 0, 1));
	ebt_map_remove(&map, 0, 0);
	ebt_map_clear(&map);
	ebt_map_deinit(&map);
	ebt_map_deinit(&map);
}

/* Numbers that a bad hash would put into one slot. */
static uint64_t key_of(uint32_t i)
{
	return i & 1 ? (uint64_t)i << 40 : i;
}

static void test_many(void **state)
{
	struct ebt_map map = { 0 };
	uint32_t i;

	(void)state;
	for (uint32_t k = 0; k < N_KEYS; k++) {
		assert_null(ebt_map_add(&map, key_of(k), k, &i));
		assert_int_equal(i, k);
	}
	assert_null(ebt_map_add(&map, key_of(7), N_KEYS, &i));
	assert_int_equal(i, 7);
	assert_int_equal(map.n, N_KEYS);
	for (uint32_t k = 0; k < N_KEYS; k++) {
		assert_true(ebt_map_find(&map, key_of(k), &i));
		assert_int_equal(i, k);
	}
	assert_false(ebt_map_find(&map, UINT64_MAX, &i));
	ebt_map_clear(&map);
	assert_int_equal(map.n, 0);
	assert_false(ebt_map_find(&map, key_of(7), &i));
	ebt_map_deinit(&map);
}

/* Of a key that is there many times, values come in the order in which they went in, also after
 * the map has grown around the end of its memory. */
static void test_same_key(void **state)
{
	struct ebt_map map = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 3000; i++)
		assert_null(ebt_map_insert(&map, i % 3, i));
	for (uint64_t key = 0; key < 3; key++) {
		size_t at = 0;

		for (uint32_t i = 0; i < 1000; i++)
			assert_int_equal(ebt_map_next(&map, key, &at), key + 3 * (uint64_t)i);
		assert_int_equal(ebt_map_next(&map, key, &at), EBT_MAP_NONE);
		assert_true(ebt_map_has(&map, key, 1000));
		assert_false(ebt_map_has(&map, key, 1001));
	}
	ebt_map_deinit(&map);
}

/* Keys come and go by chance; an array says which are there. */
static void test_remove(void **state)
{
	static uint32_t there[512]; /* 1 + value */
	struct ebt_map map = { 0 };
	size_t n = 0;

	(void)state;
	srand(1);
	for (uint32_t step = 1; step < 200000; step++) {
		unsigned int key = (unsigned int)rand() % 512;
		uint32_t i = 0;

		assert_int_equal(ebt_map_find(&map, key, &i), there[key] != 0);
		if (there[key]) {
			assert_int_equal(i, there[key] - 1);
			ebt_map_remove(&map, key, UINT32_MAX - 1); /* not this value */
			ebt_map_change(&map, key, UINT32_MAX - 1, 1);
			ebt_map_change(&map, key, i, i + 1);
			assert_true(ebt_map_find(&map, key, &i));
			assert_int_equal(i, there[key]);
			ebt_map_remove(&map, key, i);
			there[key] = 0;
			n--;
		} else {
			assert_null(ebt_map_insert(&map, key, step));
			there[key] = step + 1;
			n++;
		}
		assert_int_equal(map.n, n);
	}
	assert_true(map.capacity <= 1024);
	ebt_map_deinit(&map);
}

static void test_hash(void **state)
{
	(void)state;
	assert_true(ebt_hash_bytes(0, "ab", 2) == ebt_hash_bytes(0, "abc", 2));
	assert_true(ebt_hash_bytes(0, "ab", 2) != ebt_hash_bytes(0, "ab", 3));
	assert_true(ebt_hash_bytes(0, "ab", 2) != ebt_hash_bytes(1, "ab", 2));
	assert_true(ebt_hash_u64(0, 1) != ebt_hash_u64(1, 0));
}

static void test_array(void **state)
{
	uint32_t *items = NULL;
	size_t capacity = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_null(ebt_array_reserve(&items, i, &capacity));
		assert_true(capacity > i);
		items[i] = i;
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	assert_ptr_equal(ebt_array_reserve(&items, SIZE_MAX - 1, &capacity), &ebt_enomem);
	assert_int_equal(items[999], 999);
	free(items);
}

static void test_array_zeroed(void **state)
{
	uint64_t *items = NULL;
	size_t capacity = 0;

	(void)state;
	assert_null(ebt_array_reserve_zeroed(&items, 0, &capacity));
	memset(items, 0xff, capacity * sizeof(*items));
	assert_null(ebt_array_reserve_zeroed(&items, 1000, &capacity));
	for (size_t i = 0; i < capacity; i++)
		assert_true(items[i] == (i < 16 ? UINT64_MAX : 0));
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),	     cmocka_unit_test(test_many),
		cmocka_unit_test(test_same_key),     cmocka_unit_test(test_remove),
		cmocka_unit_test(test_hash),	     cmocka_unit_test(test_array),
		cmocka_unit_test(test_array_zeroed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
