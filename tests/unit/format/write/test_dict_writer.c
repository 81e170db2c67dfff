/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interning: as many entries as a file may have, so that hashes do collide; and the bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/limits.h"
#include "format/schema/schema.h"
#include "format/write/dict_writer.h"

static void entries_are_distinct(void **state)
{
	struct ebt_dict dict = EBT_DICT_INIT;

	(void)state;
	/* The second turn finds what the first put in, the third begins anew. */
	for (int turn = 0; turn < 3; turn++) {
		for (uint64_t i = 0; i < EBT_MAX_DICT; i++) {
			uint64_t key = i * 4096;

			assert_int_equal(ebt_dict_intern(&dict, &key, sizeof(key)), i + 1);
		}
		assert_int_equal(dict.n, EBT_MAX_DICT);
		if (turn == 1)
			ebt_dict_reset(&dict);
	}
	ebt_dict_deinit(&dict);
	assert_null(dict.entries);
}

/* A common beginning, or a zero byte at the end, makes no two entries one. */
static void lengths_count(void **state)
{
	static const char bytes[40];
	struct ebt_dict dict = EBT_DICT_INIT;

	(void)state;
	for (size_t len = 1; len <= sizeof(bytes); len++)
		assert_int_equal(ebt_dict_intern(&dict, bytes, len), len);
	for (size_t len = 1; len <= sizeof(bytes); len++)
		assert_int_equal(ebt_dict_intern(&dict, bytes, len), len);
	ebt_dict_deinit(&dict);
}

static void expect(struct ebt_buffer *buf, const void *bytes, size_t len)
{
	assert_int_equal(buf->len, len);
	assert_memory_equal(buf->data, bytes, len);
	ebt_buffer_deinit(buf);
}

static void bytes_of_strings(void **state)
{
	struct ebt_dict dict = EBT_DICT_INIT;
	struct ebt_buffer buf = EBT_BUFFER_INIT;

	(void)state;
	ebt_dict_intern(&dict, "dd", 2);
	ebt_dict_intern(&dict, "a\0c", 3);
	ebt_dict_encode_strings(&dict, &buf);
	expect(&buf,
	       "\x02\x02\x03"
	       "dda\0c",
	       8);
	ebt_dict_deinit(&dict);
}

/* n, attributes, numbers of addresses, differences: over the border between stacks too. */
static void bytes_of_stacks(void **state)
{
	static const struct {
		struct ebt_wire_stack head;
		uint64_t addresses[2];
	} first = { { 0, 2 }, { 10, 9 } }, second = { { EBT_STACK_USER, 1 }, { 11, 0 } };
	struct ebt_dict dict = EBT_DICT_INIT;
	struct ebt_buffer buf = EBT_BUFFER_INIT;

	(void)state;
	ebt_dict_intern(&dict, &first, 24);
	ebt_dict_intern(&dict, &second, 16);
	ebt_dict_encode_stacks(&dict, &buf);
	expect(&buf, "\x02\x00\x01\x02\x01\x14\x01\x04", 8);
	ebt_dict_deinit(&dict);
}

static void bytes_of_tasks(void **state)
{
	static const struct ebt_dict_task first = { 300, 7, 50, 2 }, second = { 8, 0, 49, 0 };
	struct ebt_dict dict = EBT_DICT_INIT;
	struct ebt_buffer buf = EBT_BUFFER_INIT;

	(void)state;
	ebt_dict_intern(&dict, &first, sizeof(first));
	ebt_dict_intern(&dict, &second, sizeof(second));
	ebt_dict_encode_tasks(&dict, &buf);
	expect(&buf, "\x02\xac\x02\x08\x07\x00\x64\x01\x02\x00", 10);
	ebt_dict_deinit(&dict);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_distinct), cmocka_unit_test(lengths_count),
		cmocka_unit_test(bytes_of_strings),	cmocka_unit_test(bytes_of_stacks),
		cmocka_unit_test(bytes_of_tasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
