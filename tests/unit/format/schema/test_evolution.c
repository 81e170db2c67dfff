/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of other versions: with tables, fields, values, encodings and longer headers that this
 * build does not know, and without ones that it does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/cleanup.h"
#include "tests/tools/by_hand.h"
#include "tests/tools/make_trace.h"

#define GPU_TABLE 900
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
	hand_strings(hand, "copy\0render\0remote", 19);
	hand_column(hand, 1, "\1\2\3", 3);
	hand_entry(hand, 2, EBT_ENC_VARINT, tables, (size_t)(p - tables));
	hand_column(hand, 3, "\2\2\5", 3);
	hand_column(hand, 4, "\0\1\7", 3);
	hand_column(hand, 5, "\1\2\3", 3);
	hand_chunk(hand, EBT_T_schema_value, 3);
}

static void make_new_file(struct by_hand *hand)
{
	hand_begin(hand);
	hand_schema(hand, new_schema, 6);
	new_values(hand);
	hand_strings(hand, "q0\0q1", 6);
	hand_column(hand, 1, "\1\2", 2);
	hand_column(hand, 2, "\1\3", 2);
	hand_column(hand, 5, "\2\1", 2);
	hand_column(hand, 9, "\x11\x22", 2);
	hand_chunk(hand, GPU_TABLE, 2);
	hand_column(hand, 1, "\1\2\3", 3);
	hand_column(hand, 2, "\4\5\6", 3);
	hand_column(hand, 5, "\7\1\0", 3);
	hand_column(hand, 99, "\12\13\14", 3);
	hand_column(hand, 100, "???", 3); /* in no schema */
	hand_chunk(hand, EBT_T_sched_waking, 3);
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
	assert_int_equal(ebt_sched_waking_cpu(&row), 4);
	assert_int_equal(ebt_sched_waking_kind(&row), 7);
	assert_int_equal(ebt_u64(&row, EBT_N_sched_waking), 10);
	/* Columns that the file lacks. */
	assert_null(ebt_sched_waking_waker(&row));
	assert_null(ebt_sched_waking_wakee(&row));
}

static void test_newer_file(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");

	(void)state;
	for (unsigned int extra = 0; extra <= 32; extra += 32) {
		_cleanup_reader_ struct ebt_reader *reader = NULL;
		struct by_hand hand = { .header_extra = extra };

		make_new_file(&hand);
		assert_no_error(hand_open(&hand, path, &reader));
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
	hand_begin(&hand);
	hand_column(&hand, 1, "\1\2", 2);
	hand_column(&hand, 6, "\1\1", 2);
	hand_chunk(&hand, EBT_T_sched_switch, 2);
	assert_no_error(hand_open(&hand, path, &reader));
	row = first_row(reader, EBT_T_sched_switch, &cursor);
	assert_int_equal(ebt_sched_switch_preempt(&row), 1);
	assert_int_equal(ebt_sched_switch_cpu(&row), 0);
	assert_null(ebt_sched_switch_prev(&row));
	assert_null(ebt_sched_switch_kstack(&row));
	assert_damage(reader, 0, "");
}

static void assert_schema_fails(const struct schema_row *rows, unsigned int n, const char *part)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_error_ struct ebt_error *err = NULL;
	struct ebt_reader *reader = NULL;
	struct by_hand hand = { 0 };

	hand_begin(&hand);
	hand_schema(&hand, rows, n);
	err = hand_open(&hand, path, &reader);
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
	const struct ebt_want want = EBT_WANT(sched_switch, preempt);
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };
	struct by_hand hand = { 0 };
	struct ebt_row row;

	(void)state;
	hand_begin(&hand);
	hand_entry(&hand, 0, 90, "a dictionary", 12);
	hand_column(&hand, 1, "\1\2", 2);
	hand_entry(&hand, 2, 33, "anything", 8);
	hand_column(&hand, 6, "\1\0", 2);
	hand_chunk(&hand, EBT_T_sched_switch, 2);
	assert_no_error(hand_open(&hand, path, &reader));

	assert_no_error(ebt_cursor_create(reader, &query, &cursor));
	assert_no_error(ebt_cursor_next(cursor, &row));
	assert_int_equal(ebt_sched_switch_preempt(&row), 1);
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
