/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening files, good and bad, and what a cursor gives. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/base/bytes.h"
#include "format/base/cleanup.h"
#include "format/encoding/crc32c.h"
#include "tests/tools/make_trace.h"

static void write_file(const char *path, const void *data, size_t len)
{
	_cleanup_fclose_ FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
}

static unsigned char *read_file(const char *path, size_t *ret_len)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	unsigned char *data;
	long len;

	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	len = ftell(f);
	rewind(f);
	data = malloc((size_t)len + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, (size_t)len, f), len);
	*ret_len = (size_t)len;
	return data;
}

/* Opening must fail with this code, and a message that has this part. */
static void assert_open_fails(const char *path, enum ebt_error_code code, const char *part)
{
	_cleanup_error_ struct ebt_error *err = NULL;
	struct ebt_reader *reader = NULL;

	err = ebt_reader_open(path, &reader);
	assert_non_null(err);
	assert_null(reader);
	assert_int_equal(err->code, code);
	if (!strstr(err->message, part))
		fail_msg("'%s' does not say '%s'", err->message, part);
}

static void small_trace(const char *path)
{
	const struct make_trace options = {
		.path = path, .streams = 2, .steps = 500, .flush_every = 50, .file_size = 5500
	};

	make_trace(&options, NULL);
}

static void test_open_errors(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");

	(void)state;
	assert_open_fails(path, EBT_ERR_SYSTEM, "No such file");
	write_file(path, "", 0);
	assert_open_fails(path, EBT_ERR_CORRUPT, "is empty");
	assert_open_fails("/tmp", EBT_ERR_SYSTEM, "Is a directory");
	write_file(path, "#!/bin/sh\n", 10);
	assert_open_fails(path, EBT_ERR_CORRUPT, "not an .ebt file");
	write_file(path, EBT_FILE_MAGIC, 8);
	assert_open_fails(path, EBT_ERR_CORRUPT, "ends within the file header");
	assert_open_fails("/dev/null", EBT_ERR_CORRUPT, "is empty");
	assert_open_fails("/dev/zero", EBT_ERR_CORRUPT, "not an .ebt file"); /* it has no end */
}

/* Changes a field of the file header, makes its CRC right again, and opens the file. */
static void assert_header_fails(size_t at, unsigned char value, enum ebt_error_code code,
				const char *part)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_free_ unsigned char *data = NULL;
	size_t len;

	small_trace(path);
	data = read_file(path, &len);
	data[at] = value;
	ebt_store_u32(data + EBT_FH_CRC, ebt_crc32c(data, EBT_FH_CRC));
	write_file(path, data, len);
	assert_open_fails(path, code, part);
}

static void test_future_files(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_free_ unsigned char *data = NULL;
	size_t len;

	(void)state;
	assert_header_fails(EBT_FH_MAJOR, 2, EBT_ERR_UNSUPPORTED, "version 2.0");
	assert_header_fails(EBT_FH_INCOMPAT + 1, 4, EBT_ERR_UNSUPPORTED, "feature bit 10");
	assert_header_fails(EBT_FH_LEN, 88, EBT_ERR_CORRUPT, "88 bytes long");
	/* A window from 0 to 0. */
	assert_header_fails(EBT_FH_INCOMPAT, EBT_WINDOW, EBT_ERR_CORRUPT, "ends before it begins");

	small_trace(path);
	data = read_file(path, &len);
	data[EBT_FH_CREATED] ^= 1;
	write_file(path, data, len);
	assert_open_fails(path, EBT_ERR_CORRUPT, "CRC of the file header");
}

/* Gives the last chunk before the first index chunk another type. The index is made to agree by
 * cutting it off: the scan then finds the chunk. */
static void retype_chunk(const char *path, uint16_t flags)
{
	_cleanup_free_ unsigned char *data = NULL;
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	const struct ebt_chunk_info *chunks;
	unsigned char *header;
	size_t len, n;

	small_trace(path);
	assert_no_error(ebt_reader_open(path, &reader));
	chunks = ebt_reader_chunks(reader, &n);
	data = read_file(path, &len);
	header = data + chunks[n - 2].offset;
	ebt_store_u16(header + EBT_CH_TYPE, 900);
	ebt_store_u16(header + EBT_CH_FLAGS,
		      (uint16_t)(ebt_load_u16(header + EBT_CH_FLAGS) | flags));
	ebt_store_u32(header + EBT_CH_HEADER_CRC, ebt_crc32c(header, EBT_CH_HEADER_CRC));
	write_file(path, data, (size_t)chunks[n - 1].offset);
}

static void test_unknown_chunk_types(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	uint64_t total;
	size_t n;

	(void)state;
	retype_chunk(path, 0);
	assert_no_error(ebt_reader_open(path, &reader));
	assert_int_equal(ebt_reader_info(reader)->skipped_chunks, 1);
	assert_false(ebt_reader_info(reader)->complete);
	ebt_reader_damage(reader, &n, &total);
	assert_int_equal(n, 0);

	retype_chunk(path, EBT_CHUNK_CRITICAL);
	assert_open_fails(path, EBT_ERR_UNSUPPORTED, "chunk type 900");
}

static uint64_t count(struct ebt_reader *reader, const struct ebt_query *query, uint64_t *ret_hash)
{
	_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
	uint64_t n = 0, hash = 0;
	struct ebt_row row;

	assert_no_error(ebt_cursor_create(reader, query, &cursor));
	for (;; n++) {
		assert_no_error(ebt_cursor_next(cursor, &row));
		if (!row.batch)
			break;
		hash += hash_row(&row);
	}
	if (ret_hash)
		*ret_hash = hash;
	return n;
}

static uint64_t count_table(struct ebt_reader *reader, uint16_t table)
{
	const struct ebt_want want = { table, 0 };
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };

	return count(reader, &query, NULL);
}

static void test_all_rows_in_order(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
	struct make_trace options = {
		.path = path, .streams = 4, .steps = 20000, .flush_every = 37, .epoch_every = 5000
	};
	struct ebt_row row, last = { 0 };
	struct ebt_chunk_info last_chunk = { 0 };
	struct made_rows rows;
	uint16_t last_table = 0;

	(void)state;
	make_trace(&options, &rows);
	assert_no_error(ebt_reader_open(path, &reader));
	assert_true(ebt_reader_info(reader)->indexed);
	assert_int_equal(count_table(reader, EBT_T_sched_switch), rows.sched_switch);
	assert_int_equal(count_table(reader, EBT_T_sched_waking), rows.sched_waking);
	assert_int_equal(count_table(reader, EBT_T_syscall), rows.syscall);
	assert_int_equal(count_table(reader, EBT_T_task_fork), rows.task_fork);
	assert_int_equal(count_table(reader, EBT_T_mmap), rows.mmap);

	cursor = cursor_over_all(reader);
	for (;;) {
		assert_no_error(ebt_cursor_next(cursor, &row));
		if (!row.batch)
			break;
		assert_true(row.time >= last.time);
		if (row.time == last.time)
			assert_true(row.batch->table->id >= last_table);
		if (row.time == last.time && row.batch->table->id == last_table)
			assert_true(row.batch->chunk->offset > last_chunk.offset ||
				    (row.batch->chunk->offset == last_chunk.offset &&
				     row.i == last.i + 1));
		last = row;
		last_table = row.batch->table->id;
		last_chunk = *row.batch->chunk;
	}
}

static void test_time_range(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	const struct ebt_want want = { EBT_T_sched_switch, ~UINT64_C(0) };
	struct ebt_query query = { .wants = &want, .n_wants = 1 };
	uint64_t start, end, all, before, behind, hash_all, hash_before, hash_behind;

	(void)state;
	small_trace(path);
	assert_no_error(ebt_reader_open(path, &reader));
	start = ebt_reader_info(reader)->start_ns;
	end = ebt_reader_info(reader)->end_ns;
	assert_true(start < end);
	all = count(reader, &query, &hash_all);
	for (uint64_t at = start; at <= end + 1; at += 1 + (end - start) / 50) {
		query.from_ns = 0;
		query.to_ns = at;
		before = count(reader, &query, &hash_before);
		query.from_ns = at;
		query.to_ns = 0;
		behind = count(reader, &query, &hash_behind);
		assert_int_equal(before + behind, all);
		assert_true(hash_before + hash_behind == hash_all);
	}
	query.from_ns = end + 1;
	assert_int_equal(count(reader, &query, NULL), 0);
}

/* Chunks without the process are passed over, and no row of the process is lost by it. */
static void test_pid_filter(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
	struct make_trace options = { .path = path, .streams = 1, .steps = 400, .flush_every = 3 };
	const struct ebt_want want = EBT_WANT(syscall, task);
	struct ebt_query query = { .wants = &want, .n_wants = 1 };
	uint64_t of_pid = 0, with_filter = 0, given = 0, all = 0;
	struct ebt_row row;

	(void)state;
	make_trace(&options, NULL);
	assert_no_error(ebt_reader_open(path, &reader));
	for (unsigned int pass = 0; pass < 2; pass++) {
		query.pid = pass ? 104 : 0;
		assert_no_error(ebt_cursor_create(reader, &query, &cursor));
		for (;;) {
			assert_no_error(ebt_cursor_next(cursor, &row));
			if (!row.batch)
				break;
			*(pass ? &given : &all) += 1;
			if (ebt_syscall_task(&row)->pid == 104)
				*(pass ? &with_filter : &of_pid) += 1;
		}
		ebt_cursor_destroy(take_ptr(cursor));
	}
	assert_true(of_pid > 10);
	assert_int_equal(with_filter, of_pid);
	assert_true(given < all);
}

static void test_only_wanted_columns(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
	const struct ebt_want want = EBT_WANT(sched_switch, cpu);
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };
	struct ebt_row row;

	(void)state;
	small_trace(path);
	assert_no_error(ebt_reader_open(path, &reader));
	assert_no_error(ebt_cursor_create(reader, &query, &cursor));
	assert_no_error(ebt_cursor_next(cursor, &row));
	assert_non_null(row.batch);
	assert_non_null(row.batch->col[EBT_F_sched_switch_time]);
	assert_non_null(row.batch->col[EBT_F_sched_switch_cpu]);
	assert_null(row.batch->col[EBT_F_sched_switch_prev]);
	assert_null(row.batch->col[EBT_F_sched_switch_kstack]);
	assert_int_equal(row.batch->n_stacks, 0);
	assert_int_equal(ebt_reader_n_tasks(reader), 0);
}

#ifndef NDEBUG
/* What a child says before it dies of an assertion that read() runs into. */
static void expect_misread(const struct ebt_row *row, void (*read_it)(const struct ebt_row *row),
			   const char *said)
{
	char text[512] = "";
	int ends[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		static const struct rlimit no_core;

		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL); /* cmocka's handler goes on with the tests */
		dup2(ends[1], STDERR_FILENO);
		read_it(row);
		_exit(0);
	}
	close(ends[1]);
	while (len < sizeof(text) - 1 &&
	       (n = read(ends[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_non_null(strstr(text, said));
}

static void read_prev(const struct ebt_row *row)
{
	(void)ebt_sched_switch_prev(row);
}

static void read_kstack(const struct ebt_row *row)
{
	(void)ebt_sched_switch_kstack_id(row);
}

static void read_by_index(const struct ebt_row *row)
{
	(void)ebt_u64(row, EBT_F_sched_switch_preempt);
}

static void read_other_table(const struct ebt_row *row)
{
	(void)ebt_sched_waking_cpu(row);
}

/* A column that the query did not want, and one of another table. */
static void test_misreading_dies(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
	const struct ebt_want want = EBT_WANT(sched_switch, cpu);
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };
	struct ebt_row row;

	(void)state;
	small_trace(path);
	assert_no_error(ebt_reader_open(path, &reader));
	assert_no_error(ebt_cursor_create(reader, &query, &cursor));
	assert_no_error(ebt_cursor_next(cursor, &row));
	assert_non_null(row.batch);
	assert_true(ebt_sched_switch_cpu(&row) < 8);
	expect_misread(&row, read_prev, "the query wants sched_switch.prev");
	expect_misread(&row, read_kstack, "the query wants sched_switch.kstack");
	expect_misread(&row, read_by_index, "the query wants sched_switch.preempt");
	expect_misread(&row, read_other_table, "a row of table sched_switch has sched_waking.cpu");
}
#endif

static void test_tasks_are_kept_once(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
	const struct ebt_want want = EBT_WANT(syscall, task);
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };
	const struct ebt_task *by_id[64] = { 0 };
	struct ebt_row row;

	(void)state;
	small_trace(path);
	assert_no_error(ebt_reader_open(path, &reader));
	assert_no_error(ebt_cursor_create(reader, &query, &cursor));
	for (;;) {
		const struct ebt_task *task;
		char comm[32];

		assert_no_error(ebt_cursor_next(cursor, &row));
		if (!row.batch)
			break;
		task = ebt_syscall_task(&row);
		assert_true(task->id < ebt_reader_n_tasks(reader));
		assert_true(task->id < 64);
		assert_true(!by_id[task->id] || by_id[task->id] == task);
		by_id[task->id] = task;
		assert_int_equal(task->pid, task->tid / 4 * 4);
		assert_int_equal(task->start_ns, task->tid * 1000003u);
		snprintf(comm, sizeof(comm), "task-%u", task->tid);
		assert_int_equal(task->comm.len, strlen(comm));
		assert_memory_equal(task->comm.data, comm, task->comm.len);
	}
	assert_int_equal(ebt_reader_n_tasks(reader), 40);
}

static void test_files_and_meta(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	_cleanup_free_ char *content = NULL;
	_cleanup_error_ struct ebt_error *err = NULL;
	const struct ebt_file *files;
	const char *value;
	size_t n, len;

	(void)state;
	small_trace(path);
	assert_no_error(ebt_reader_open(path, &reader));
	assert_no_error(ebt_reader_files(reader, &files, &n));
	assert_int_equal(n, 1);
	assert_string_equal(files[0].role, "os-release");
	assert_string_equal(files[0].path, "/etc/os-release");
	assert_int_equal(files[0].size, 5500);
	assert_no_error(ebt_reader_file_content(reader, 7, &content, &len));
	assert_int_equal(len, 5500);
	for (unsigned int i = 0; i < len; i++)
		assert_int_equal((unsigned char)content[i], make_trace_byte(i));
	assert_int_equal(content[len], 0);
	err = ebt_reader_file_content(reader, 8, &content, &len);
	assert_int_equal(err->code, EBT_ERR_NOT_FOUND);

	assert_no_error(ebt_reader_meta(reader, "host.release", &value));
	assert_string_equal(value, "6.18.0");
	assert_no_error(ebt_reader_meta(reader, "option.freq", &value));
	assert_string_equal(value, "999");
	assert_no_error(ebt_reader_meta(reader, "no.such", &value));
	assert_null(value);
}

/* What cannot seek is read too: cat FILE | reader. */
static void test_pipe(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	_cleanup_reader_ struct ebt_reader *reader = NULL, *piped = NULL;
	int old = dup(STDIN_FILENO), ends[2], status;
	struct stat st;
	pid_t pid;

	(void)state;
	small_trace(path);
	assert_no_error(ebt_reader_open(path, &reader));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execlp("cat", "cat", path, NULL);
		_exit(127);
	}
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	close(ends[1]);
	assert_no_error(ebt_reader_open("-", &piped));
	dup2(old, STDIN_FILENO);
	close(old);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(ebt_reader_info(piped)->size, st.st_size);
	assert_true(ebt_reader_info(piped)->complete);
	assert_int_equal(count_table(piped, EBT_T_syscall), count_table(reader, EBT_T_syscall));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_errors),
		cmocka_unit_test(test_future_files),
		cmocka_unit_test(test_unknown_chunk_types),
		cmocka_unit_test(test_all_rows_in_order),
		cmocka_unit_test(test_time_range),
		cmocka_unit_test(test_pid_filter),
		cmocka_unit_test(test_only_wanted_columns),
#ifndef NDEBUG
		cmocka_unit_test(test_misreading_dies),
#endif
		cmocka_unit_test(test_tasks_are_kept_once),
		cmocka_unit_test(test_files_and_meta),
		cmocka_unit_test(test_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
