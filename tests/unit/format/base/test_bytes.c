/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cursor never moves on failure; the buffer grows and remembers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/base/bytes.h"

static void varint_round_trip(void **state)
{
	(void)state;
	for (unsigned int bit = 0; bit < 64; bit++) {
		for (int off = -1; off <= 1; off++) {
			uint64_t v = (UINT64_C(1) << bit) + (uint64_t)off, back;
			unsigned char bytes[EBT_VARINT_MAX];
			unsigned char *end = ebt_store_varint(bytes, v);
			struct ebt_bytes in = ebt_bytes(bytes, (size_t)(end - bytes));

			assert_int_equal(end - bytes, ebt_varint_len(v));
			assert_true(ebt_bytes_varint(&in, &back));
			assert_true(back == v);
			assert_ptr_equal(in.pos, in.end);
			/* A byte less is no varint, and nothing moves. */
			in = ebt_bytes(bytes, (size_t)(end - bytes) - 1);
			back = 42;
			assert_false(ebt_bytes_varint(&in, &back));
			assert_ptr_equal(in.pos, bytes);
			assert_int_equal(back, 42);
		}
	}
}

static void varint_limits(void **state)
{
	static const unsigned char max[] = { 0xff, 0xff, 0xff, 0xff, 0xff,
					     0xff, 0xff, 0xff, 0xff, 0x01 };
	static const unsigned char over[] = { 0xff, 0xff, 0xff, 0xff, 0xff,
					      0xff, 0xff, 0xff, 0xff, 0x02 };
	static const unsigned char endless[] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
						 0x80, 0x80, 0x80, 0x80, 0x80, 0x00 };
	static const unsigned char padded[] = { 0x85, 0x00 };
	struct ebt_bytes in = ebt_bytes(max, sizeof(max));
	uint64_t v;

	(void)state;
	assert_true(ebt_bytes_varint(&in, &v));
	assert_true(v == UINT64_MAX);
	in = ebt_bytes(over, sizeof(over));
	assert_false(ebt_bytes_varint(&in, &v));
	assert_ptr_equal(in.pos, over);
	in = ebt_bytes(endless, sizeof(endless));
	assert_false(ebt_bytes_varint(&in, &v));
	assert_ptr_equal(in.pos, endless);
	in = ebt_bytes(padded, sizeof(padded));
	assert_true(ebt_bytes_varint(&in, &v));
	assert_int_equal(v, 5);
}

/* The examples of docs/FORMAT.md, and the ends of the range. */
static void zigzag_values(void **state)
{
	(void)state;
	assert_int_equal(ebt_zigzag(0), 0);
	assert_int_equal(ebt_zigzag((uint64_t)-1), 1);
	assert_int_equal(ebt_zigzag(1), 2);
	assert_int_equal(ebt_zigzag((uint64_t)-2), 3);
	assert_true(ebt_zigzag((uint64_t)INT64_MIN) == UINT64_MAX);
	assert_true(ebt_zigzag(INT64_MAX) == UINT64_MAX - 1);
	assert_true(ebt_unzigzag(UINT64_MAX) == (uint64_t)INT64_MIN);
	for (unsigned int bit = 0; bit < 64; bit++)
		assert_true(ebt_unzigzag(ebt_zigzag(UINT64_C(1) << bit)) == UINT64_C(1) << bit);
}

static void fixed_reads(void **state)
{
	static const unsigned char bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	struct ebt_bytes in = ebt_bytes(bytes, sizeof(bytes)), before;
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	(void)state;
	assert_true(ebt_bytes_u8(&in, &u8));
	assert_int_equal(u8, 1);
	assert_true(ebt_bytes_u16(&in, &u16));
	assert_int_equal(u16, 0x0302);
	assert_true(ebt_bytes_u32(&in, &u32));
	assert_int_equal(u32, 0x07060504);
	assert_true(ebt_bytes_u64(&in, &u64));
	assert_true(u64 == UINT64_C(0x0f0e0d0c0b0a0908));
	before = in;
	assert_false(ebt_bytes_u8(&in, &u8));
	assert_false(ebt_bytes_u16(&in, &u16));
	assert_false(ebt_bytes_u32(&in, &u32));
	assert_false(ebt_bytes_u64(&in, &u64));
	assert_ptr_equal(in.pos, before.pos);
	for (size_t left = 0; left < 8; left++) {
		in = ebt_bytes(bytes, left);
		assert_false(ebt_bytes_u64(&in, &u64));
		assert_int_equal(ebt_bytes_left(&in), left);
	}
}

static void take_and_skip(void **state)
{
	static const unsigned char bytes[4] = { 1, 2, 3, 4 };
	struct ebt_bytes in = ebt_bytes(bytes, sizeof(bytes)), part = { 0 };

	(void)state;
	assert_false(ebt_bytes_take(&in, 5, &part));
	assert_false(ebt_bytes_take(&in, UINT64_MAX, &part));
	assert_null(part.pos);
	assert_true(ebt_bytes_take(&in, 3, &part));
	assert_int_equal(ebt_bytes_left(&part), 3);
	assert_int_equal(ebt_bytes_left(&in), 1);
	assert_false(ebt_bytes_skip(&in, 2));
	assert_true(ebt_bytes_skip(&in, 1));
	assert_true(ebt_bytes_skip(&in, 0));
	assert_int_equal(ebt_bytes_left(&in), 0);
}

static void buffer_grows(void **state)
{
	struct ebt_buffer buf = EBT_BUFFER_INIT;
	struct ebt_bytes in;
	uint64_t v;

	(void)state;
	for (uint64_t i = 0; i < 5000; i++) {
		ebt_buffer_put_varint(&buf, i * i);
		ebt_buffer_put_u64(&buf, i);
		ebt_buffer_put_u8(&buf, 7);
	}
	assert_false(buf.failed);
	in = ebt_bytes(buf.data, buf.len);
	for (uint64_t i = 0; i < 5000; i++) {
		uint8_t u8;

		assert_true(ebt_bytes_varint(&in, &v) && v == i * i);
		assert_true(ebt_bytes_u64(&in, &v) && v == i);
		assert_true(ebt_bytes_u8(&in, &u8) && u8 == 7);
	}
	assert_int_equal(ebt_bytes_left(&in), 0);
	ebt_buffer_deinit(&buf);
	assert_null(buf.data);
}

static void buffer_keeps_failure(void **state)
{
	struct ebt_buffer buf = EBT_BUFFER_INIT;

	(void)state;
	ebt_buffer_put(&buf, "abc", 3);
	assert_false(ebt_buffer_reserve(&buf, SIZE_MAX - 1));
	assert_true(buf.failed);
	assert_int_equal(buf.len, 3);
	ebt_buffer_clear(&buf);
	assert_false(buf.failed);
	ebt_buffer_deinit(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(varint_round_trip),	cmocka_unit_test(varint_limits),
		cmocka_unit_test(zigzag_values),	cmocka_unit_test(fixed_reads),
		cmocka_unit_test(take_and_skip),	cmocka_unit_test(buffer_grows),
		cmocka_unit_test(buffer_keeps_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
