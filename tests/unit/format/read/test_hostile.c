/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chunks whose checksums are right and whose contents are not: each gives no rows and one entry
 * of damage that says why, and the chunk behind it is read all the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "tests/tools/by_hand.h"
#include "tests/tools/make_trace.h"

/* Behind what was made comes a good chunk of ksymbol, at time 1 and 2. Its first row must be
 * the first that there is, and the damage before it must say `part`. */
static void check(struct by_hand *hand, const char *part)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
	struct ebt_row row;

	hand_column(hand, 1, "\1\2", 2);
	hand_column(hand, 2, "\5\6", 2);
	hand_chunk(hand, EBT_T_ksymbol, 2);
	assert_no_error(hand_open(hand, path, &reader));
	cursor = cursor_over_all(reader);
	assert_no_error(ebt_cursor_next(cursor, &row));
	assert_non_null(row.batch);
	assert_int_equal(row.batch->table->id, EBT_T_ksymbol);
	assert_int_equal(ebt_ksymbol_address(&row), 5);
	assert_damage(reader, 1, part);
}

/* One chunk of table mmap with two rows, and in it one entry of the directory. */
static void check_entry(uint64_t id, uint8_t encoding, const void *data, size_t len,
			const char *part)
{
	struct by_hand hand = { 0 };

	hand_begin(&hand);
	if (!id)
		hand_entry(&hand, id, encoding, data, len);
	if (id != 1)
		hand_column(&hand, 1, "\1\2", 2);
	if (id)
		hand_entry(&hand, id, encoding, data, len);
	hand_chunk(&hand, EBT_T_mmap, 2);
	check(&hand, part);
}

static void test_columns(void **state)
{
	(void)state;
	check_entry(4, EBT_ENC_VARINT, "\1", 1, "column start");
	check_entry(4, EBT_ENC_VARINT, "\1\2\3", 3, "column start");
	check_entry(4, EBT_ENC_VARINT, "\1\x80", 2, "column start");
	check_entry(4, EBT_ENC_VARINT, "\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\2", 11,
		    "column start");
	check_entry(4, EBT_ENC_CONST, "\1\2\3\4\5\6\7", 7, "column start");
	check_entry(4, EBT_ENC_FIXED, "\3\1\2\3\4\5\6", 7, "column start");
	check_entry(4, EBT_ENC_FIXED, "\2\1\2\3", 4, "column start");
	check_entry(4, EBT_ENC_FIXED, "", 0, "column start");
	check_entry(2, EBT_ENC_VARINT, "\0\1", 2, "column task: row 1: id 1 of a dictionary of 0");
	check_entry(12, EBT_ENC_VARINT, "\3\0", 2, "column path: row 0: id 3");
	check_entry(13, EBT_ENC_CONST, "\1\0\0\0\0\0\0\0", 8, "column build_id: row 0: id 1");
}

static void test_times(void **state)
{
	(void)state;
	check_entry(1, EBT_ENC_VARINT, "\1\3", 2, "rows are from 1 to 3, the header says 1 to 2");
	check_entry(1, EBT_ENC_VARINT, "\0\2", 2, "rows are from 0 to 2");
	check_entry(9, EBT_ENC_STACKS, "", 0, "column dev_minor: encoding 65");
}

static void test_rows_out_of_order(void **state)
{
	struct by_hand hand = { 0 };

	(void)state;
	hand_begin(&hand);
	hand_column(&hand, 1, "\1\4\3\4", 4);
	hand_chunk(&hand, EBT_T_mmap, 4);
	check(&hand, "not in order of time");
}

/* A dictionary in a chunk of sched_switch, of which two columns need all kinds. */
static void check_dict(uint8_t encoding, const void *data, size_t len, const char *part)
{
	struct by_hand hand = { 0 };

	hand_begin(&hand);
	hand_entry(&hand, 0, encoding, data, len);
	hand_column(&hand, 1, "\1\2", 2);
	hand_chunk(&hand, EBT_T_sched_switch, 2);
	check(&hand, part);
}

static void test_dictionaries(void **state)
{
	struct ebt_buffer big = EBT_BUFFER_INIT;

	(void)state;
	check_dict(EBT_ENC_TASKS, "", 0, "dictionary tasks: ends within");
	check_dict(EBT_ENC_TASKS, "\1\5\5\0", 4, "dictionary tasks");
	check_dict(EBT_ENC_TASKS, "\1\5\5\0\1", 5, "task 0: name is string 1 of 0");
	check_dict(EBT_ENC_TASKS, "\1\5\5\0\0\0", 6, "1 bytes behind the last entry");
	check_dict(EBT_ENC_TASKS, "\1\xff\xff\xff\xff\x10\5\0\0", 9, "task 0: id 4563402751");
	check_dict(EBT_ENC_STACKS, "\1\0", 2, "dictionary stacks");
	check_dict(EBT_ENC_STACKS, "\1\0\2\1", 4, "1 bytes for 2 addresses");
	check_dict(EBT_ENC_STACKS, "\1\0\x81\x08", 4, "a stack of 1025 addresses");
	check_dict(EBT_ENC_STACKS, "\1\0\1\1\1", 5, "1 bytes behind the last entry");
	check_dict(EBT_ENC_STRINGS, "\2\1\1a", 4, "1 bytes for strings of 2 bytes");
	check_dict(EBT_ENC_STRINGS, "\1\0a", 3, "1 bytes for strings of 0 bytes");
	check_dict(EBT_ENC_STRINGS, "\1\x81\x80\x40", 4, "a string of 1048577 bytes");
	check_dict(EBT_ENC_STRINGS, "\xff\xff\xff\xff\x0f\1", 6, "4294967295 entries");
	check_dict(EBT_ENC_STRINGS, "\x7f\1", 2, "1 bytes for 127 entries");

	ebt_buffer_put_varint(&big, EBT_MAX_DICT + 1);
	for (unsigned int i = 0; i <= EBT_MAX_DICT; i++)
		ebt_buffer_put_u8(&big, 0);
	check_dict(EBT_ENC_STRINGS, big.data, big.len, "1048577 entries, more than 1048576");
	ebt_buffer_deinit(&big);
}

/* A payload as a whole. */
static void check_payload(unsigned int flags, uint64_t raw, const void *data, size_t len,
			  const char *part)
{
	const struct ebt_chunk_info info = {
		.type = EBT_CHUNK_TABLE,
		.table = EBT_T_mmap,
		.flags = (uint16_t)flags,
		.raw = raw,
		.rows = 1,
		.time_min = 1,
		.time_max = 1,
	};
	struct by_hand hand = { 0 };

	hand_begin(&hand);
	hand_raw_chunk(&hand, &info, data, len);
	check(&hand, part);
}

static void test_directories(void **state)
{
	(void)state;
	check_payload(0, 0, "", 0, "directory: no number of entries");
	check_payload(0, 2, "\2\1", 2, "directory: ends within an entry");
	check_payload(0, 4, "\1\1\1\5", 4, "directory: an entry is longer");
	check_payload(0, 6, "\1\1\1\1\1\1", 6, "directory: bytes behind");
	check_payload(0, 9, "\2\1\1\1\1\1\1\1\1", 9, "directory: columns are not in ascending");
	check_payload(0, 9, "\2\2\1\1\1\1\1\1\1", 9, "directory: columns are not in ascending");
	check_payload(0, 9, "\2\0\x40\1\0\x40\1\0\0", 9, "directory: a dictionary is there twice");
	check_payload(0, 12, "\1\1\1\1\1", 5, "5 bytes are stored uncompressed for 12");
}

static void test_zstd(void **state)
{
	/* An uncompressed block of 5 bytes in a frame with a window of 2^25. */
	const unsigned char wide[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x80, 15 << 3, 5, 0, 0,
				       0,    0x29, 0,	 0,    1,    1,	      1, 1, 1 };
	const unsigned char payload[] = { 1, 1, 1, 1, 1 };
	unsigned char frame[200], two[400];
	size_t len = ZSTD_compress(frame, sizeof(frame), payload, sizeof(payload), 1);

	(void)state;
	assert_false(ZSTD_isError(len));
	memcpy(two, frame, len);
	memcpy(two + len, frame, len);
	check_payload(EBT_CHUNK_ZSTD, 5, two, 2 * len, "not exactly one zstd frame");
	check_payload(EBT_CHUNK_ZSTD, 4, frame, len, "not a zstd frame of 4 bytes");
	check_payload(EBT_CHUNK_ZSTD, 5, frame, len - 1, "not exactly one zstd frame");
	check_payload(EBT_CHUNK_ZSTD, 5, "hello", 5, "not a zstd frame of 5 bytes");
	check_payload(EBT_CHUNK_ZSTD, 5, wide, sizeof(wide), "too large a window");
}

/* What a header says is refused before anything is read: no chunk, but a gap. */
static void test_headers(void **state)
{
	struct ebt_chunk_info info = {
		.type = EBT_CHUNK_TABLE, .table = EBT_T_mmap, .raw = 5, .rows = EBT_MAX_ROWS + 1
	};
	struct by_hand hand = { 0 };

	(void)state;
	hand_begin(&hand);
	hand_raw_chunk(&hand, &info, "\1\1\1\1\1", 5);
	check(&hand, "number of rows is out of bounds: 1 chunk missing");

	hand = (struct by_hand){ 0 };
	info.rows = 1;
	info.raw = EBT_MAX_RAW + 1;
	hand_begin(&hand);
	hand_raw_chunk(&hand, &info, "\1\1\1\1\1", 5);
	check(&hand, "payload's length is out of bounds: 1 chunk missing");
}

/* Constant columns take no bytes: 2^20 rows of 20 of them would be 160 MiB. */
static void test_decoded_size(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
	const struct ebt_chunk_info info = {
		.type = EBT_CHUNK_TABLE, .table = 900, .rows = EBT_MAX_ROWS, .raw = 1
	};
	struct schema_row rows[20];
	struct by_hand hand = { 0 };
	char names[20][8];

	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		snprintf(names[i], sizeof(names[i]), i ? "f%u" : "time", i);
		rows[i] = (struct schema_row){
			.table = 900,
			.field = (uint8_t)(i + 1),
			.class = EBT_CLASS_EVENT,
			.type = i ? EBT_TYPE_U64 : EBT_TYPE_TIME,
			.table_name = "wide",
			.field_name = names[i],
		};
	}
	hand_begin(&hand);
	hand_schema(&hand, rows, 20);
	hand_raw_chunk(&hand, &info, "", 1);
	assert_no_error(hand_open(&hand, path, &reader));
	assert_null(first_row(reader, 900, &cursor).batch);
	assert_damage(reader, 1, "1048576 rows of 20 columns");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns),		  cmocka_unit_test(test_times),
		cmocka_unit_test(test_rows_out_of_order), cmocka_unit_test(test_dictionaries),
		cmocka_unit_test(test_directories),	  cmocka_unit_test(test_zstd),
		cmocka_unit_test(test_headers),		  cmocka_unit_test(test_decoded_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
