/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of traces: as they are, with other contents, without some, and of damaged ones. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/edit/copy.h"
#include "tests/tools/by_hand.h"
#include "tests/tools/make_trace.h"

struct plan {
	enum ebt_copy_action all;
	uint16_t dropped; /* table */
	unsigned int asked;
};

static enum ebt_copy_action choose(void *arg, const struct ebt_chunk_info *chunk,
				   const struct ebt_table *table)
{
	struct plan *plan = arg;

	assert_true(chunk->table != EBT_T_index && chunk->table != EBT_T_schema);
	plan->asked++;
	return table && table->id == plan->dropped ? EBT_COPY_DROP : plan->all;
}

/* Every value by way of new dictionaries: the same rows. */
static struct ebt_error *keep_all(void *arg, struct ebt_edit *edit, bool *ret_changed)
{
	(void)arg;
	for (uint32_t f = 1; f < ebt_edit_batch(edit)->table->n_fields; f++)
		ebt_edit_keep(edit, f);
	*ret_changed = true;
	return NULL;
}

static struct ebt_error *drop_odd(void *arg, struct ebt_edit *edit, bool *ret_changed)
{
	struct ebt_error *err = keep_all(arg, edit, ret_changed);

	for (uint32_t i = 1; i < ebt_edit_batch(edit)->rows; i += 2)
		ebt_edit_drop_row(edit, i);
	return err;
}

static struct ebt_error *add_meta(void *arg, struct ebt_stream *stream)
{
	struct ebt_record rec = EBT_RECORD_INIT;
	struct ebt_error *err;

	(void)arg;
	ebt_record_begin(&rec, EBT_T_meta, 1);
	ebt_record_str(&rec, offsetof(struct ebt_wire_meta, key), "copied");
	ebt_record_str(&rec, offsetof(struct ebt_wire_meta, value), "yes");
	err = ebt_record_add(&rec, stream);
	ebt_record_deinit(&rec);
	return err;
}

static struct ebt_reader *copy(struct ebt_reader *from, struct ebt_copy_options *options,
			       const char *path)
{
	struct ebt_reader *to;

	options->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(options->fd >= 0);
	options->name = path;
	options->action = choose;
	assert_no_error(ebt_copy(from, options));
	close(options->fd);
	assert_no_error(ebt_reader_open(path, &to));
	assert_true(ebt_reader_info(to)->complete && ebt_reader_info(to)->indexed);
	return to;
}

/* Rows of tables that are no writer's own. */
static size_t hashes(struct ebt_reader *reader, uint64_t *ret, size_t max)
{
	struct ebt_cursor *cursor = cursor_over_all(reader);
	struct ebt_row row;
	size_t n = 0;

	for (;;) {
		assert_no_error(ebt_cursor_next(cursor, &row));
		if (!row.batch)
			break;
		if (row.batch->table->id <= EBT_T_index)
			continue;
		assert_true(n < max);
		ret[n++] = hash_row(&row);
	}
	ebt_cursor_destroy(cursor);
	return n;
}

#define MAX_ROWS 100000

static void assert_same_rows(struct ebt_reader *a, struct ebt_reader *b)
{
	uint64_t *x = calloc(MAX_ROWS, sizeof(*x)), *y = calloc(MAX_ROWS, sizeof(*y));
	size_t n = hashes(a, x, MAX_ROWS);

	assert_int_equal(hashes(b, y, MAX_ROWS), n);
	assert_true(n > 0);
	assert_memory_equal(x, y, n * sizeof(*x));
	free(x);
	free(y);
}

static const struct make_trace many = {
	.streams = 3,
	.steps = 3000,
	.flush_every = 100,
	.epoch_every = 1000,
	.file_size = 70000,
};

static struct ebt_reader *make(const struct make_trace *how, const char *path)
{
	struct make_trace options = *how;
	struct ebt_reader *reader;
	struct made_rows rows;

	options.path = path;
	make_trace(&options, &rows);
	assert_no_error(ebt_reader_open(path, &reader));
	return reader;
}

static void the_same_rows(void **state)
{
	char *from_path = make_temporary_path("from.ebt"), *to_path = make_temporary_path("to.ebt");
	struct ebt_reader *from = make(&many, from_path), *to;

	(void)state;
	for (int edited = 0; edited < 2; edited++) {
		struct plan plan = { .all = edited ? EBT_COPY_EDIT : EBT_COPY_AS_IT_IS };
		struct ebt_copy_options options = { .arg = &plan, .edit = keep_all };

		to = copy(from, &options, to_path);
		assert_true(plan.asked > 10);
		assert_same_rows(from, to);
		assert_memory_equal(ebt_reader_info(from)->uuid, ebt_reader_info(to)->uuid, 16);
		assert_int_equal(ebt_reader_info(from)->start_ns, ebt_reader_info(to)->start_ns);
		assert_int_equal(ebt_reader_info(from)->end_ns, ebt_reader_info(to)->end_ns);
		ebt_reader_close(to);
	}
	ebt_reader_close(from);
	free_temporary_path(from_path);
	free_temporary_path(to_path);
}

/* Headers that are not the writer's own are as they were, but for place and number. */
static void headers_stay(void **state)
{
	char *from_path = make_temporary_path("from.ebt"), *to_path = make_temporary_path("to.ebt");
	struct ebt_reader *from = make(&many, from_path), *to;
	struct plan plan = { .all = EBT_COPY_AS_IT_IS };
	struct ebt_copy_options options = { .arg = &plan };
	const struct ebt_chunk_info *a, *b;
	size_t n_a, n_b, j = 0;

	(void)state;
	to = copy(from, &options, to_path);
	a = ebt_reader_chunks(from, &n_a);
	b = ebt_reader_chunks(to, &n_b);
	for (size_t i = 0; i < n_a; i++) {
		if (a[i].table <= EBT_T_index)
			continue;
		while (j < n_b && b[j].table <= EBT_T_index)
			j++;
		assert_true(j < n_b);
		assert_int_equal(b[j].seq, j);
		assert_int_equal(a[i].table, b[j].table);
		assert_int_equal(a[i].rows, b[j].rows);
		assert_int_equal(a[i].stored, b[j].stored);
		assert_int_equal(a[i].time_min, b[j].time_min);
		assert_int_equal(a[i].watermark, b[j].watermark);
		assert_int_equal(a[i].epoch, b[j].epoch);
		assert_int_equal(a[i].stream, b[j].stream);
		assert_memory_equal(a[i].pids, b[j].pids, sizeof(a[i].pids));
		j++;
	}
	ebt_reader_close(to);
	ebt_reader_close(from);
	free_temporary_path(from_path);
	free_temporary_path(to_path);
}

static uint64_t count(struct ebt_reader *reader, uint16_t table)
{
	const struct ebt_chunk_info *chunks;
	uint64_t rows = 0;
	size_t n;

	chunks = ebt_reader_chunks(reader, &n);
	for (size_t i = 0; i < n; i++)
		rows += chunks[i].table == table ? chunks[i].rows : 0;
	return rows;
}

static void less_and_more(void **state)
{
	char *from_path = make_temporary_path("from.ebt"), *to_path = make_temporary_path("to.ebt");
	struct ebt_reader *from = make(&many, from_path), *to;
	struct plan plan = { .all = EBT_COPY_EDIT, .dropped = EBT_T_syscall };
	struct ebt_copy_options options = {
		.anew = true,
		.arg = &plan,
		.edit = drop_odd,
		.append = add_meta,
	};
	uint64_t before = count(from, EBT_T_sched_switch), after;
	const char *value;

	(void)state;
	to = copy(from, &options, to_path);
	assert_true(count(from, EBT_T_syscall) > 0);
	assert_int_equal(count(to, EBT_T_syscall), 0);
	after = count(to, EBT_T_sched_switch);
	assert_true(after >= before / 2 && after < before * 3 / 4);
	assert_memory_not_equal(ebt_reader_info(from)->uuid, ebt_reader_info(to)->uuid, 16);
	assert_no_error(ebt_reader_meta(to, "copied", &value));
	assert_string_equal(value, "yes");
	ebt_reader_close(to);
	ebt_reader_close(from);
	free_temporary_path(from_path);
	free_temporary_path(to_path);
}

static void of_a_cut_file(void **state)
{
	char *from_path = make_temporary_path("from.ebt"), *to_path = make_temporary_path("to.ebt");
	struct ebt_reader *from = make(&many, from_path), *to;
	struct plan plan = { .all = EBT_COPY_AS_IT_IS };
	struct ebt_copy_options options = { .arg = &plan };
	off_t size = (off_t)ebt_reader_info(from)->size;

	(void)state;
	ebt_reader_close(from);
	assert_int_equal(truncate(from_path, size / 2 + 3), 0);
	assert_no_error(ebt_reader_open(from_path, &from));
	assert_false(ebt_reader_info(from)->complete);
	to = copy(from, &options, to_path);
	assert_same_rows(from, to);
	ebt_reader_close(to);
	ebt_reader_close(from);
	free_temporary_path(from_path);
	free_temporary_path(to_path);
}

/* A table that only the file knows goes along, with what the file says of it. */
static void of_another_version(void **state)
{
	static const struct schema_row rows[] = {
		{ 999, 1, EBT_CLASS_EVENT, EBT_TYPE_TIME, "future", "time" },
		{ 999, 2, EBT_CLASS_EVENT, EBT_TYPE_U64, "future", "number" },
	};
	char *from_path = make_temporary_path("from.ebt"), *to_path = make_temporary_path("to.ebt");
	struct ebt_cursor *cursor;
	struct by_hand hand = { 0 };
	struct ebt_reader *from, *to;
	struct ebt_row row;

	(void)state;
	hand_begin(&hand);
	hand_schema(&hand, rows, 2);
	hand_column(&hand, 1, "\1\2\3", 3);
	hand_column(&hand, 2, "\7\10\11", 3);
	hand_chunk(&hand, 999, 3);
	assert_no_error(hand_open(&hand, from_path, &from));
	for (int edited = 0; edited < 2; edited++) {
		struct plan plan = { .all = edited ? EBT_COPY_EDIT : EBT_COPY_AS_IT_IS };
		struct ebt_copy_options options = { .arg = &plan, .edit = keep_all };

		to = copy(from, &options, to_path);
		row = first_row(to, 999, &cursor);
		assert_non_null(row.batch);
		assert_string_equal(row.batch->table->name, "future");
		assert_string_equal(row.batch->table->fields[1].name, "number");
		assert_int_equal(ebt_u64(&row, 1), 7);
		ebt_cursor_destroy(cursor);
		ebt_reader_close(to);
	}
	ebt_reader_close(from);
	free_temporary_path(from_path);
	free_temporary_path(to_path);
}

/* A chunk of a type that nobody knows yet goes along too. */
static void of_an_unknown_kind(void **state)
{
	static const struct ebt_chunk_info info = {
		.type = 77, .table = 5, .raw = 5, .rows = 1, .time_min = 1, .time_max = 1
	};
	char *from_path = make_temporary_path("from.ebt"), *to_path = make_temporary_path("to.ebt");
	struct plan plan = { .all = EBT_COPY_AS_IT_IS };
	struct ebt_copy_options options = { .arg = &plan };
	const struct ebt_chunk_info *chunks;
	struct by_hand hand = { 0 };
	struct ebt_reader *from, *to;
	bool found = false;
	size_t n;

	(void)state;
	hand_begin(&hand);
	hand_raw_chunk(&hand, &info, "12345", 5);
	assert_no_error(hand_open(&hand, from_path, &from));
	to = copy(from, &options, to_path);
	assert_int_equal(ebt_reader_info(to)->skipped_chunks, 1);
	chunks = ebt_reader_chunks(to, &n);
	for (size_t i = 0; i < n; i++)
		found |= chunks[i].type == 77 && chunks[i].table == 5 && chunks[i].stored == 5;
	assert_true(found);
	ebt_reader_close(to);
	ebt_reader_close(from);
	free_temporary_path(from_path);
	free_temporary_path(to_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_rows),      cmocka_unit_test(headers_stay),
		cmocka_unit_test(less_and_more),      cmocka_unit_test(of_a_cut_file),
		cmocka_unit_test(of_another_version), cmocka_unit_test(of_an_unknown_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
