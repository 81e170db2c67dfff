/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The map of what has been seen, and the bounded one of build-ids that is made of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/base/buildid.h"
#include "record/base/keymap.h"

static void test_empty(void **state)
{
	struct keymap map = { 0 };
	uint64_t value;

	(void)state;
	assert_false(keymap_find(&map, "x", 1, &value));
	keymap_deinit(&map);
	keymap_deinit(&map);
}

static void test_many(void **state)
{
	struct keymap map = { 0 };
	const uint64_t n = 100000;
	uint64_t value;

	(void)state;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t key = i * 64;

		assert_true(keymap_put(&map, &key, sizeof(key), i));
	}
	assert_int_equal(map.n, n);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t key = i * 64, other = i * 64 + 1;

		assert_true(keymap_find(&map, &key, sizeof(key), &value));
		assert_int_equal(value, i);
		assert_false(keymap_find(&map, &other, sizeof(other), &value));
	}
	keymap_deinit(&map);
}

/* Keys are bytes: their length counts, and so does what is behind a NUL. */
static void test_keys(void **state)
{
	struct keymap map = { 0 };
	char key[] = "a\0b";
	uint64_t value = 0;

	(void)state;
	assert_true(keymap_put(&map, "", 0, 1));
	assert_true(keymap_put(&map, "a", 1, 2));
	assert_true(keymap_put(&map, "a\0c", 3, 3));
	assert_false(keymap_find(&map, key, 3, &value));
	assert_false(keymap_find(&map, key, 2, &value));
	assert_true(keymap_find(&map, key, 0, &value));
	assert_int_equal(value, 1);
	assert_true(keymap_put(&map, key, 3, 4));
	key[2] = 'c'; /* the map has a copy */
	assert_true(keymap_find(&map, key, 3, &value));
	assert_int_equal(value, 3);
	assert_true(keymap_put(&map, key, 3, 5));
	assert_true(keymap_find(&map, key, 3, &value));
	assert_int_equal(value, 5);
	assert_int_equal(map.n, 4);
	keymap_deinit(&map);
}

static void test_buildids(void **state)
{
	struct buildid_map map = { .max = 100 };
	struct buildid id = { .len = 1 }, found;

	(void)state;
	for (uint8_t i = 0; i < 200; i++) {
		id.bytes[0] = i;
		buildid_map_put(&map, &i, 1, &id);
	}
	for (uint8_t i = 0; i < 200; i++) {
		assert_int_equal(buildid_map_find(&map, &i, 1, &found), i < 100);
		if (i < 100)
			assert_int_equal(found.bytes[0], i);
	}
	/* What is there can still be replaced. */
	id.bytes[0] = 77;
	buildid_map_put(&map, &(uint8_t){ 5 }, 1, &id);
	assert_true(buildid_map_find(&map, &(uint8_t){ 5 }, 1, &found));
	assert_int_equal(found.bytes[0], 77);
	buildid_map_deinit(&map);
	buildid_map_deinit(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_buildids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
