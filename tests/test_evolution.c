/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of other versions: with tables, fields, values, encodings and longer headers that this
 * build does not know, and without ones that it does. They are put together here byte by byte,
 * from docs/FORMAT.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bytes.h"
#include "cleanup.h"
#include "crc32c.h"
#include "make_trace.h"

DEFINE_CLEANUP(char *, free_temporary_path);
DEFINE_CLEANUP(struct ebt_reader *, ebt_reader_close);
DEFINE_CLEANUP(struct ebt_cursor *, ebt_cursor_destroy);

#define _cleanup_path_	 _cleanup_(free_temporary_pathp)
#define _cleanup_reader_ _cleanup_(ebt_reader_closep)
#define _cleanup_cursor_ _cleanup_(ebt_cursor_destroyp)

#define GPU_TABLE	 900
#define TAG		 0x12345678u

/* A file being made, and in it one chunk at a time. */
struct by_hand {
	struct ebt_buffer file, directory, contents;
	unsigned int entries, chunks;
	unsigned int header_extra; /* bytes that headers are longer than this version's */
};

static void begin_file(struct by_hand *hand)
{
	unsigned char header[EBT_FILE_HEADER_LEN + 64] = EBT_FILE_MAGIC;

	ebt_store_u16(header + EBT_FH_MAJOR, 1);
	ebt_store_u16(header + EBT_FH_MINOR, 7);
	ebt_store_u32(header + EBT_FH_LEN, EBT_FILE_HEADER_LEN + hand->header_extra);
	ebt_store_u64(header + EBT_FH_COMPAT, UINT64_C(1) << 63);
	ebt_store_u32(header + EBT_FH_UUID, TAG);
	ebt_store_u32(header + EBT_FH_CRC, ebt_crc32c(header, EBT_FH_CRC));
	ebt_buffer_put(&hand->file, header, EBT_FILE_HEADER_LEN + hand->header_extra);
}

static void entry(struct by_hand *hand, uint64_t id, uint8_t encoding, const void *data, size_t len)
{
	ebt_buffer_put_varint(&hand->directory, id);
	ebt_buffer_put_u8(&hand->directory, encoding);
	ebt_buffer_put_varint(&hand->directory, len);
	ebt_buffer_put(&hand->contents, data, len);
	hand->entries++;
}

/* A column of numbers below 128: each is its own varint. */
static void column(struct by_hand *hand, uint64_t id, const char *values, size_t rows)
{
	entry(hand, id, EBT_ENC_VARINT, values, rows);
}

/* A dictionary of strings that are separated by NUL bytes, the last one's included. */
static void strings(struct by_hand *hand, const char *all, size_t len)
{
	struct ebt_buffer dict = EBT_BUFFER_INIT;
	unsigned int n = 0;

	for (const char *s = all; s < all + len; s += strlen(s) + 1)
		n++;
	ebt_buffer_put_varint(&dict, n);
	for (const char *s = all; s < all + len; s += strlen(s) + 1)
		ebt_buffer_put_varint(&dict, strlen(s));
	for (const char *s = all; s < all + len; s += strlen(s) + 1)
		ebt_buffer_put(&dict, s, strlen(s));
	entry(hand, 0, EBT_ENC_STRINGS, dict.data, dict.len);
	ebt_buffer_deinit(&dict);
}

/* Times of the rows are 1 to `rows`. */
static void end_chunk(struct by_hand *hand, uint16_t table, unsigned int rows)
{
	unsigned char header[EBT_CHUNK_HEADER_LEN + 64] = { 0 };
	struct ebt_buffer payload = EBT_BUFFER_INIT;
	size_t len = EBT_CHUNK_HEADER_LEN + hand->header_extra;

	ebt_buffer_put_varint(&payload, hand->entries);
	ebt_buffer_put(&payload, hand->directory.data, hand->directory.len);
	ebt_buffer_put(&payload, hand->contents.data, hand->contents.len);
	ebt_store_u32(header + EBT_CH_MAGIC, EBT_CHUNK_MAGIC);
	ebt_store_u16(header + EBT_CH_TYPE, EBT_CHUNK_TABLE);
	ebt_store_u32(header + EBT_CH_LEN, (uint32_t)len);
	ebt_store_u32(header + EBT_CH_TAG, TAG);
	ebt_store_u64(header + EBT_CH_SEQ, hand->chunks++);
	ebt_store_u16(header + EBT_CH_TABLE, table);
	ebt_store_u64(header + EBT_CH_STORED, payload.len);
	ebt_store_u64(header + EBT_CH_RAW, payload.len);
	ebt_store_u64(header + EBT_CH_TIME_MIN, 1);
	ebt_store_u64(header + EBT_CH_TIME_MAX, rows);
	ebt_store_u32(header + EBT_CH_ROWS, rows);
	ebt_store_u32(header + EBT_CH_CRC, ebt_crc32c(payload.data, payload.len));
	ebt_store_u32(header + EBT_CH_HEADER_CRC, ebt_crc32c(header, EBT_CH_HEADER_CRC));
	ebt_buffer_put(&hand->file, header, len);
	ebt_buffer_put(&hand->file, payload.data, payload.len);
	while (hand->file.len % EBT_ALIGN)
		ebt_buffer_put_u8(&hand->file, 0);
	ebt_buffer_deinit(&payload);
	ebt_buffer_deinit(&hand->directory);
	ebt_buffer_deinit(&hand->contents);
	hand->entries = 0;
}

static struct ebt_error *open_it(struct by_hand *hand, const char *path, struct ebt_reader **ret)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(hand->file.data, 1, hand->file.len, f), hand->file.len);
	fclose(f);
	ebt_buffer_deinit(&hand->file);
	return ebt_reader_open(path, ret);
}

struct schema_row {
	uint16_t table;
	uint8_t field, class, type;
	const char *table_name, *field_name;
};

/* The chunk of table `schema` for these rows. */
static void schema(struct by_hand *hand, const struct schema_row *rows, unsigned int n)
{
	struct ebt_buffer all = EBT_BUFFER_INIT, cols[6] = { EBT_BUFFER_INIT };

	for (unsigned int i = 0; i < n; i++) {
		ebt_buffer_put(&all, rows[i].table_name, strlen(rows[i].table_name) + 1);
		ebt_buffer_put(&all, rows[i].field_name, strlen(rows[i].field_name) + 1);
		ebt_buffer_put_varint(&cols[0], rows[i].table);
		ebt_buffer_put_varint(&cols[1], rows[i].field);
		ebt_buffer_put_varint(&cols[2], rows[i].class);
		ebt_buffer_put_varint(&cols[3], rows[i].type);
		ebt_buffer_put_varint(&cols[4], 2 * i + 1);
		ebt_buffer_put_varint(&cols[5], 2 * i + 2);
	}
	strings(hand, (const char *)all.data, all.len);
	column(hand, 1, "\1\2\3\4\5\6\7\10\11\12", n);
	for (unsigned int i = 0; i < 6; i++) {
		entry(hand, 2 + i, EBT_ENC_VARINT, cols[i].data, cols[i].len);
		ebt_buffer_deinit(&cols[i]);
	}
	ebt_buffer_deinit(&all);
	end_chunk(hand, EBT_T_schema, n);
}

static const struct schema_row new_schema[] = {
	{ GPU_TABLE, 1, EBT_CLASS_EVENT, EBT_TYPE_TIME, "gpu_job", "time" },
	{ GPU_TABLE, 2, EBT_CLASS_EVENT, EBT_TYPE_ENUM, "gpu_job", "engine" },
	{ GPU_TABLE, 5, EBT_CLASS_EVENT, EBT_TYPE_STRING, "gpu_job", "queue" },
	{ GPU_TABLE, 9, EBT_CLASS_EVENT, 77, "gpu_job", "of_a_new_type" },
	{ EBT_T_sched_waking, 2, EBT_CLASS_EVENT, EBT_TYPE_U64, "sched_waking", "cpu" },
	{ EBT_T_sched_waking, 99, EBT_CLASS_EVENT, EBT_TYPE_U64, "sched_waking", "priority" },
};

/* Values 0 "copy" and 1 "render" of gpu_job.engine; 7 "remote" of sched_waking.kind. */
static void new_values(struct by_hand *hand)
{
	unsigned char tables[8], *p = tables;

	p = ebt_store_varint(p, GPU_TABLE);
	p = ebt_store_varint(p, GPU_TABLE);
	p = ebt_store_varint(p, EBT_T_sched_waking);
	strings(hand, "copy\0render\0remote", 19);
	column(hand, 1, "\1\2\3", 3);
	entry(hand, 2, EBT_ENC_VARINT, tables, (size_t)(p - tables));
	column(hand, 3, "\2\2\5", 3);
	column(hand, 4, "\0\1\7", 3);
	column(hand, 5, "\1\2\3", 3);
	end_chunk(hand, EBT_T_schema_value, 3);
}

static void make_new_file(struct by_hand *hand)
{
	begin_file(hand);
	schema(hand, new_schema, 6);
	new_values(hand);
	strings(hand, "q0\0q1", 6);
	column(hand, 1, "\1\2", 2);
	column(hand, 2, "\1\3", 2);
	column(hand, 5, "\2\1", 2);
	column(hand, 9, "\x11\x22", 2);
	end_chunk(hand, GPU_TABLE, 2);
	column(hand, 1, "\1\2\3", 3);
	column(hand, 2, "\4\5\6", 3);
	column(hand, 5, "\7\1\0", 3);
	column(hand, 99, "\12\13\14", 3);
	column(hand, 100, "???", 3); /* in no schema */
	end_chunk(hand, EBT_T_sched_waking, 3);
}

static struct ebt_row first_row(struct ebt_reader *reader, uint16_t table,
				struct ebt_cursor **ret_cursor)
{
	const struct ebt_want want = { table, ~UINT64_C(0) };
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };
	struct ebt_row row;

	assert_no_error(ebt_cursor_create(reader, &query, ret_cursor));
	assert_no_error(ebt_cursor_next(*ret_cursor, &row));
	return row;
}

static void assert_str_equal(struct ebt_str s, const char *expected)
{
	assert_int_equal(s.len, strlen(expected));
	assert_memory_equal(s.data, expected, s.len);
}

static void check_unknown_table(struct ebt_reader *reader)
{
	_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
	const struct ebt_table *table = ebt_reader_table(reader, GPU_TABLE);
	struct ebt_row row;

	assert_non_null(table);
	assert_string_equal(table->name, "gpu_job");
	assert_int_equal(table->class, EBT_CLASS_EVENT);
	assert_int_equal(table->n_fields, 4);
	assert_string_equal(table->fields[1].name, "engine");
	assert_int_equal(table->fields[1].type, EBT_TYPE_ENUM);
	assert_string_equal(ebt_value_name(&table->fields[1], 1), "render");
	assert_null(ebt_value_name(&table->fields[1], 3));
	assert_int_equal(table->fields[3].type, EBT_TYPE_U64);

	row = first_row(reader, GPU_TABLE, &cursor);
	assert_ptr_equal(row.batch->table, table);
	assert_int_equal(row.time, 1);
	assert_int_equal(ebt_u64(&row, 1), 1);
	assert_str_equal(ebt_str(&row, 2), "q1");
	assert_int_equal(ebt_u64(&row, 3), 0x11);
	assert_no_error(ebt_cursor_next(cursor, &row));
	assert_str_equal(ebt_str(&row, 2), "q0");
	assert_no_error(ebt_cursor_next(cursor, &row));
	assert_null(row.batch);
}

static void check_new_field(struct ebt_reader *reader)
{
	_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
	const struct ebt_table *table = ebt_reader_table(reader, EBT_T_sched_waking);
	const struct ebt_field *kind = &table->fields[EBT_F_sched_waking_kind];
	struct ebt_row row;

	assert_int_equal(table->n_fields, EBT_N_sched_waking + 1);
	assert_string_equal(table->fields[EBT_N_sched_waking].name, "priority");
	assert_string_equal(ebt_value_name(kind, 1), "new");
	assert_string_equal(ebt_value_name(kind, 7), "remote");

	row = first_row(reader, EBT_T_sched_waking, &cursor);
	assert_int_equal(ebt_u64(&row, EBT_F_sched_waking_cpu), 4);
	assert_int_equal(ebt_u64(&row, EBT_F_sched_waking_kind), 7);
	assert_int_equal(ebt_u64(&row, EBT_N_sched_waking), 10);
	/* Columns that the file lacks. */
	assert_null(ebt_task(&row, EBT_F_sched_waking_waker));
	assert_null(ebt_task(&row, EBT_F_sched_waking_wakee));
}

static void assert_damage(struct ebt_reader *reader, size_t expected, const char *part)
{
	const struct ebt_damage *damage;
	uint64_t total;
	size_t n;

	damage = ebt_reader_damage(reader, &n, &total);
	assert_int_equal(n, expected);
	assert_int_equal(total, expected);
	if (expected && !strstr(damage[0].what, part))
		fail_msg("'%s' does not say '%s'", damage[0].what, part);
}

static void test_newer_file(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");

	(void)state;
	for (unsigned int extra = 0; extra <= 32; extra += 32) {
		_cleanup_reader_ struct ebt_reader *reader = NULL;
		struct by_hand hand = { .header_extra = extra };

		make_new_file(&hand);
		assert_no_error(open_it(&hand, path, &reader));
		assert_int_equal(ebt_reader_info(reader)->minor, 7);
		assert_int_equal(ebt_reader_info(reader)->end_ns, 3);
		check_unknown_table(reader);
		check_new_field(reader);
		assert_damage(reader, 0, "");
	}
}

/* A file of before some columns were there, and without any schema. */
static void test_older_file(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
	struct by_hand hand = { 0 };
	struct ebt_row row;

	(void)state;
	begin_file(&hand);
	column(&hand, 1, "\1\2", 2);
	column(&hand, 6, "\1\1", 2);
	end_chunk(&hand, EBT_T_sched_switch, 2);
	assert_no_error(open_it(&hand, path, &reader));
	row = first_row(reader, EBT_T_sched_switch, &cursor);
	assert_int_equal(ebt_u64(&row, EBT_F_sched_switch_preempt), 1);
	assert_int_equal(ebt_u64(&row, EBT_F_sched_switch_cpu), 0);
	assert_null(ebt_task(&row, EBT_F_sched_switch_prev));
	assert_null(ebt_stack(&row, EBT_F_sched_switch_kstack));
	assert_damage(reader, 0, "");
}

static void assert_schema_fails(const struct schema_row *rows, unsigned int n, const char *part)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_error_ struct ebt_error *err = NULL;
	struct ebt_reader *reader = NULL;
	struct by_hand hand = { 0 };

	begin_file(&hand);
	schema(&hand, rows, n);
	err = open_it(&hand, path, &reader);
	assert_non_null(err);
	assert_int_equal(err->code, EBT_ERR_CORRUPT);
	if (!strstr(err->message, part))
		fail_msg("'%s' does not say '%s'", err->message, part);
}

static void test_schemas_that_contradict(void **state)
{
	const struct schema_row other_type[] = { { EBT_T_syscall, 7, EBT_CLASS_EVENT,
						   EBT_TYPE_STRING, "syscall", "ret" } };
	const struct schema_row bad_name[] = { { GPU_TABLE, 1, EBT_CLASS_EVENT, EBT_TYPE_TIME,
						 "x\33[31m", "time" } };
	const struct schema_row no_time[] = { { GPU_TABLE, 2, EBT_CLASS_EVENT, EBT_TYPE_U64,
						"gpu_job", "job" } };
	const struct schema_row bad_class[] = { { GPU_TABLE, 1, 3, EBT_TYPE_TIME, "gpu_job",
						  "time" } };

	(void)state;
	assert_schema_fails(other_type, 1, "field ret of table syscall has type string, not i64");
	assert_schema_fails(bad_name, 1, "a name is not of a to z");
	assert_schema_fails(no_time, 1, "field 1 of table gpu_job is not time");
	assert_schema_fails(bad_class, 1, "class 3");
}

/* An encoding of a later version: its column cannot be read, the others can. */
static void test_unknown_encoding(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
	const struct ebt_want want = { EBT_T_sched_switch, EBT_COL(sched_switch, preempt) };
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };
	struct by_hand hand = { 0 };
	struct ebt_row row;

	(void)state;
	begin_file(&hand);
	entry(&hand, 0, 90, "a dictionary", 12);
	column(&hand, 1, "\1\2", 2);
	entry(&hand, 2, 33, "anything", 8);
	column(&hand, 6, "\1\0", 2);
	end_chunk(&hand, EBT_T_sched_switch, 2);
	assert_no_error(open_it(&hand, path, &reader));

	assert_no_error(ebt_cursor_create(reader, &query, &cursor));
	assert_no_error(ebt_cursor_next(cursor, &row));
	assert_int_equal(ebt_u64(&row, EBT_F_sched_switch_preempt), 1);
	assert_damage(reader, 0, "");

	ebt_cursor_destroy(take_ptr(cursor));
	row = first_row(reader, EBT_T_sched_switch, &cursor);
	assert_null(row.batch);
	assert_damage(reader, 1, "column cpu: encoding 33");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_newer_file),
		cmocka_unit_test(test_older_file),
		cmocka_unit_test(test_schemas_that_contradict),
		cmocka_unit_test(test_unknown_encoding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
