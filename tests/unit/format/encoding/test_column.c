/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodings of a column: bytes by hand, edges, random columns, and damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/encoding/column.h"

#define MAX_ROWS 600

static uint64_t next_random(uint64_t *state)
{
	*state += UINT64_C(0x9E3779B97F4A7C15);
	uint64_t z = *state;

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

/* Encodes as planned, decodes, compares; returns the plan. */
static struct ebt_column_plan round_trip(const uint64_t *values, uint32_t n)
{
	struct ebt_column_plan plan = ebt_column_plan(values, n);
	struct ebt_buffer buf = EBT_BUFFER_INIT;
	uint64_t back[MAX_ROWS];
	struct ebt_error *err;

	ebt_column_encode(&plan, values, n, &buf);
	assert_false(buf.failed);
	assert_int_equal(buf.len, plan.size);
	err = ebt_column_decode((uint8_t)plan.encoding, ebt_bytes(buf.data, buf.len), n, back);
	assert_null(err);
	assert_memory_equal(values, back, n * sizeof(*values));
	ebt_buffer_deinit(&buf);
	return plan;
}

#define ROUND_TRIP(...)                               \
	round_trip((const uint64_t[]){ __VA_ARGS__ }, \
		   sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void smallest_is_chosen(void **state)
{
	uint64_t values[200];

	(void)state;
	assert_int_equal(ROUND_TRIP(0).encoding, EBT_ENC_CONST);
	assert_int_equal(ROUND_TRIP(UINT64_MAX, UINT64_MAX).encoding, EBT_ENC_CONST);
	for (uint64_t i = 0; i < 200; i++)
		values[i] = i % 3 ? 0 : 200;
	assert_int_equal(round_trip(values, 200).encoding, EBT_ENC_FIXED);
	assert_int_equal(round_trip(values, 200).width, 1);
	for (uint64_t i = 0; i < 200; i++)
		values[i] = i == 199 ? 1 << 20 : i % 2;
	assert_int_equal(round_trip(values, 200).encoding, EBT_ENC_VARINT);
	for (uint64_t i = 0; i < 200; i++)
		values[i] = i % 2 ? 1000 : (uint64_t)-11;
	assert_int_equal(round_trip(values, 200).encoding, EBT_ENC_ZIGZAG);
	for (uint64_t i = 0; i < 200; i++)
		values[i] = UINT64_C(1) << 40 | i * 30;
	assert_int_equal(round_trip(values, 200).encoding, EBT_ENC_DELTA);
	for (uint64_t i = 0; i < 200; i++)
		values[i] = (i * 7919) % 256 << 56;
	assert_int_equal(round_trip(values, 200).encoding, EBT_ENC_FIXED);
	assert_int_equal(round_trip(values, 200).width, 8);
}

static void widths(void **state)
{
	(void)state;
	assert_int_equal(ROUND_TRIP(255, 0, 255, 200).width, 1);
	assert_int_equal(ROUND_TRIP(65535, 0, 65535, 60000).width, 2);
	assert_int_equal(ROUND_TRIP(UINT32_MAX, 0, UINT32_MAX, 1u << 31).width, 4);
	assert_int_equal(ROUND_TRIP(5ull << 60, 9ull << 60, 6ull << 60, 10ull << 60).width, 8);
	ROUND_TRIP(INT64_MAX, (uint64_t)INT64_MIN, 0, (uint64_t)-1);
	/* A difference that wraps both ways. */
	ROUND_TRIP(1, UINT64_MAX, 2, UINT64_MAX - 1, 3);
}

static void bytes_by_hand(void **state)
{
	static const struct {
		uint8_t encoding;
		unsigned char bytes[12];
		size_t len;
		uint64_t values[3];
	} cases[] = {
		{ EBT_ENC_CONST,
		  { 1, 2, 0, 0, 0, 0, 0, 0x80 },
		  8,
		  { 0x8000000000000201, 0x8000000000000201, 0x8000000000000201 } },
		{ EBT_ENC_VARINT, { 0, 0xAC, 0x02, 0x7f }, 4, { 0, 300, 127 } },
		{ EBT_ENC_ZIGZAG, { 1, 2, 3 }, 3, { (uint64_t)-1, 1, (uint64_t)-2 } },
		{ EBT_ENC_DELTA, { 20, 1, 4 }, 3, { 10, 9, 11 } },
		{ EBT_ENC_FIXED, { 1, 9, 8, 7 }, 4, { 9, 8, 7 } },
		{ EBT_ENC_FIXED, { 2, 1, 2, 3, 4, 5, 6 }, 7, { 0x201, 0x403, 0x605 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t back[3];

		assert_null(ebt_column_decode(cases[i].encoding,
					      ebt_bytes(cases[i].bytes, cases[i].len), 3, back));
		assert_memory_equal(back, cases[i].values, sizeof(back));
	}
}

static uint64_t random_value(uint64_t *seed, unsigned int kind, uint64_t before)
{
	uint64_t r = next_random(seed);

	switch (kind) {
	case 0:
		return r;
	case 1:
		return r >> r % 64;
	case 2:
		return (uint64_t)(-(int64_t)(r >> (40 + r % 24)));
	case 3:
		return before + r % 1000;
	default:
		return r % 50 ? 5 : r;
	}
}

static void random_columns(void **state)
{
	uint64_t seed = 7, values[MAX_ROWS];

	(void)state;
	for (unsigned int turn = 0; turn < 3000; turn++) {
		uint32_t n = 1 + (uint32_t)(next_random(&seed) % MAX_ROWS);

		for (uint32_t i = 0; i < n; i++)
			values[i] = random_value(&seed, turn % 5, i ? values[i - 1] : seed);
		round_trip(values, n);
	}
}

static void expect_corrupt(uint8_t encoding, const void *bytes, size_t len, uint32_t n)
{
	uint64_t back[MAX_ROWS];
	struct ebt_error *err = ebt_column_decode(encoding, ebt_bytes(bytes, len), n, back);

	assert_non_null(err);
	assert_int_equal(err->code, EBT_ERR_CORRUPT);
	ebt_error_destroy(err);
}

/* Contents must be used up exactly by the rows. */
static void damage_is_found(void **state)
{
	static const unsigned char zeros[64];

	(void)state;
	expect_corrupt(EBT_ENC_CONST, zeros, 7, 4);
	expect_corrupt(EBT_ENC_CONST, zeros, 9, 4);
	expect_corrupt(EBT_ENC_VARINT, zeros, 3, 4);
	expect_corrupt(EBT_ENC_VARINT, zeros, 5, 4);
	expect_corrupt(EBT_ENC_ZIGZAG, zeros, 0, 4);
	expect_corrupt(EBT_ENC_DELTA, zeros, 5, 4);
	expect_corrupt(EBT_ENC_DELTA, "\x80\x80\x80\x80", 4, 4);
	expect_corrupt(EBT_ENC_FIXED, zeros, 0, 4);
	expect_corrupt(EBT_ENC_FIXED, zeros, 5, 4);
	expect_corrupt(EBT_ENC_FIXED, "\3aaaaaaaaaaaa", 13, 4);
	expect_corrupt(EBT_ENC_FIXED, "\2aaaaaaa", 8, 4);
	expect_corrupt(EBT_ENC_FIXED, "\2aaaaaaaaa", 10, 4);
	expect_corrupt(5, zeros, 4, 4);
	expect_corrupt(EBT_ENC_STRINGS, zeros, 4, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smallest_is_chosen), cmocka_unit_test(widths),
		cmocka_unit_test(bytes_by_hand),      cmocka_unit_test(random_columns),
		cmocka_unit_test(damage_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
