/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can go wrong for a writer: records that are none, full disks, pipes, and too much memory. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/tools/raw_trace.h"

static void bad_records_are_refused(void **state)
{
	struct ebt_wire_syscall row = syscall_row(10, 7, 0);
	struct {
		struct ebt_wire_sample row;
		struct ebt_wire_stack stack;
		uint64_t addresses[2];
	} sample = {
		.row = { .head = { .time = 1, .len = sizeof(sample), .table = EBT_T_sample },
			 .kstack = { offsetof(__typeof__(sample), stack), 24 } },
		.stack = { 0, 2 },
	};
	struct ebt_wire_index own = { .head = { .len = sizeof(own), .table = EBT_T_index } };
	struct ebt_writer_stats stats;
	struct trace t;

	(void)state;
	trace_begin(&t, (struct ebt_writer_options){ 0 });
	expect_invalid(ebt_stream_add(t.stream, &row, 0));
	expect_invalid(ebt_stream_add(t.stream, &row, 15));
	expect_invalid(ebt_stream_add(t.stream, &row, sizeof(row) - 1));
	expect_invalid(ebt_stream_add(t.stream, &own, sizeof(own)));
	row.head.len--;
	expect_invalid(ebt_stream_add(t.stream, &row, sizeof(row)));
	row.head.len++;
	row.head.table = 12345;
	expect_invalid(ebt_stream_add(t.stream, &row, sizeof(row)));
	sample.row.kstack.len = 23;
	expect_invalid(ebt_stream_add(t.stream, &sample, sizeof(sample)));
	sample.row.kstack.len = 7;
	expect_invalid(ebt_stream_add(t.stream, &sample, sizeof(sample)));
	sample.row.kstack.len = 25;
	expect_invalid(ebt_stream_add(t.stream, &sample, sizeof(sample)));
	sample.row.kstack = (struct ebt_ref){ UINT32_MAX, 24 };
	expect_invalid(ebt_stream_add(t.stream, &sample, sizeof(sample)));
	sample.row.kstack = (struct ebt_ref){ offsetof(__typeof__(sample), stack), 24 };
	sample.stack.n = UINT32_MAX;
	expect_invalid(ebt_stream_add(t.stream, &sample, sizeof(sample)));
	sample.stack.n = 2;
	ok(ebt_stream_add(t.stream, &sample, sizeof(sample)));
	ok(ebt_stream_flush(t.stream, 1, true));
	ebt_writer_stats(t.writer, &stats);
	assert_int_equal(stats.rows, 1);
	trace_finish(&t);
	trace_end(&t);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Whatever a record says, it is taken or refused, and what is taken makes a good file. */
static void any_record_is_taken_or_refused(void **state)
{
	uint64_t taken = 0, refused = 0, rows = 0;
	struct chunk *chunks;
	uint32_t seed = 5;
	struct trace t;
	size_t n;

	(void)state;
	trace_begin(&t, (struct ebt_writer_options){ 0 });
	for (int i = 0; i < 200000; i++) {
		const struct ebt_table *table = &ebt_tables[next_random(&seed) % ebt_n_tables];
		size_t len = next_random(&seed) % 300;
		unsigned char *record = malloc(len);
		struct ebt_wire_head head = { .time = next_random(&seed),
					      .table = table->id,
					      .len = (uint32_t)len };
		struct ebt_error *err;

		/* Small numbers, so that some references are good. */
		for (size_t k = 0; k < len; k++)
			record[k] = k % 4 ? 0 : (unsigned char)next_random(&seed);
		memcpy(record, &head, len < sizeof(head) ? len : sizeof(head));
		if (table->id == EBT_T_lost)
			memset(record, 0, len);
		err = ebt_stream_add(t.stream, record, len);
		taken += !err;
		refused += !!err;
		if (err)
			assert_int_equal(err->code, EBT_ERR_INVALID);
		ebt_error_destroy(err);
		free(record);
	}
	assert_true(taken > 20000 && refused > 20000);
	trace_finish(&t);
	chunks = parse(&t, &n);
	for (size_t i = 2; i < n; i++)
		rows += chunks[i].table == EBT_T_index ? 0 : chunks[i].rows;
	assert_int_equal(rows, taken);
	free(chunks);
	trace_end(&t);
}

static void full_disk_is_kept(void **state)
{
	struct ebt_writer_options options = { .fd = open("/dev/full", O_WRONLY | O_CLOEXEC),
					      .name = "full.ebt" };
	struct ebt_writer *writer;
	struct ebt_error *err = ebt_writer_create(&options, &writer);

	(void)state;
	assert_non_null(err);
	assert_int_equal(err->code, EBT_ERR_SYSTEM);
	assert_int_equal(err->errnum, ENOSPC);
	assert_non_null(strstr(err->message, "full.ebt"));
	ebt_error_destroy(err);
	close(options.fd);
}

static void expect_epipe(struct ebt_error *err)
{
	assert_non_null(err);
	assert_int_equal(err->code, EBT_ERR_SYSTEM);
	assert_int_equal(err->errnum, EPIPE);
	ebt_error_destroy(err);
}

static void closed_pipe_is_kept(void **state)
{
	struct ebt_writer_options options = { .name = "pipe" };
	struct ebt_wire_syscall row = syscall_row(10, 7, 0);
	struct ebt_writer *writer;
	struct ebt_stream *stream;
	int fds[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	options.fd = fds[1];
	ok(ebt_writer_create(&options, &writer));
	ok(ebt_writer_add_stream(writer, &stream));
	ok(ebt_stream_add(stream, &row, sizeof(row)));
	close(fds[0]);
	expect_epipe(ebt_stream_flush(stream, 1, true));
	expect_epipe(ebt_stream_add(stream, &row, sizeof(row)));
	expect_epipe(ebt_stream_flush(stream, 1, true) ?: ebt_writer_next_epoch(writer));
	expect_epipe(ebt_writer_finish(writer));
	ebt_writer_destroy(writer);
	close(fds[1]);
}

static void write_many(int fd)
{
	struct ebt_writer_options options = { .fd = fd,
					      .name = "test",
					      .uuid = (const unsigned char *)RAW_UUID,
					      .created_ns = RAW_CREATED };
	struct ebt_writer *writer;
	struct ebt_stream *stream;

	ok(ebt_writer_create(&options, &writer));
	ok(ebt_writer_add_stream(writer, &stream));
	for (uint64_t i = 0; i < 200000; i++)
		add_syscall(stream, i * i % 1000003, (uint32_t)(i % 300), (uint32_t)(i * 7919));
	ok(ebt_writer_finish(writer));
	ebt_writer_destroy(writer);
}

/* A pipe of one page, that does not block, drained a few bytes at a time: the same bytes. */
static void pipe_equals_file(void **state)
{
	unsigned char *piped;
	size_t len = 0;
	struct trace t = { .fd = memfd_create("test_writer", MFD_CLOEXEC) };
	int fds[2];
	pid_t pid;

	(void)state;
	write_many(t.fd);
	trace_load(&t);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	fcntl(fds[1], F_SETPIPE_SZ, 4096);
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(fds[0]);
		write_many(fds[1]);
		_exit(0);
	}
	close(fds[1]);
	piped = malloc(t.len + 1);
	assert_non_null(piped);
	for (ssize_t n = 1; n > 0 && len < t.len + 1; len += (size_t)n) {
		n = read(fds[0], piped + len, t.len + 1 - len < 1000 ? t.len + 1 - len : 1000);
		assert_true(n >= 0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(len, t.len);
	assert_memory_equal(piped, t.data, t.len);
	close(fds[0]);
	free(piped);
	trace_end(&t);
}

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED 0
#endif

static size_t allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* A row of any table; its strings and stacks are unlike those of other rows. */
static void add_unlike(struct ebt_stream *stream, struct ebt_record *rec,
		       const struct ebt_table *table, uint64_t i, size_t len)
{
	unsigned char bytes[1000] = { 0 };
	uint64_t unlike[4] = { i * 3, i * 5, i * 7, table->id };

	memcpy(bytes, unlike, sizeof(unlike));
	ebt_record_begin(rec, (enum ebt_table_id)table->id, i);
	for (uint32_t f = 0; f < table->n_fields; f++) {
		const struct ebt_field *field = &table->fields[f];

		if (field->type == EBT_TYPE_STACK)
			ebt_record_stack(rec, field->wire_offset, 0, unlike, 4);
		else if (field->type > EBT_TYPE_STACK)
			ebt_record_bytes(rec, field->wire_offset, bytes, len);
	}
	ok(ebt_record_add(rec, stream));
}

/* All tables of all streams busy at once: the writer stays below 64 MiB, and each chunk near 1 MiB.
 * What is allocated is not known where a sanitizer has its own allocator, which is also so slow
 * that it gets fewer rows. */
static void bounded(unsigned int n_streams, uint64_t rows, size_t len)
{
	size_t before = allocated(), most = 0, n;
	struct ebt_record rec = EBT_RECORD_INIT;
	struct ebt_stream *streams[EBT_MAX_STREAMS];
	struct chunk *chunks;
	struct trace t;

	if (SANITIZED)
		rows /= 8;
	trace_begin(&t, (struct ebt_writer_options){ .streams = n_streams });
	streams[0] = t.stream;
	for (unsigned int i = 1; i < n_streams; i++)
		ok(ebt_writer_add_stream(t.writer, &streams[i]));
	for (uint64_t i = 0; i < rows; i++) {
		for (size_t k = 0; k < ebt_n_tables * n_streams; k++) {
			const struct ebt_table *table = &ebt_tables[k % ebt_n_tables];

			if (table->id != EBT_T_index)
				add_unlike(streams[k / ebt_n_tables], &rec, table, i, len);
		}
		most = allocated() > most ? allocated() : most;
	}
	/* Without its cap on columns the writer would need 122 MiB. */
	assert_in_range(most - before, 0, 60 << 20);
	trace_finish(&t);
	chunks = parse(&t, &n);
	for (size_t i = 0; i < n; i++)
		assert_in_range(chunks[i].raw, 1, 3 << 19);
	free(chunks);
	trace_end(&t);
	ebt_record_deinit(&rec);
}

static void memory_is_bounded(void **state)
{
	(void)state;
	bounded(1, 30000, 32);
	bounded(1, 5000, 1000);
	bounded(EBT_MAX_STREAMS, 3000, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_records_are_refused),
		cmocka_unit_test(any_record_is_taken_or_refused),
		cmocka_unit_test(full_disk_is_kept),
		cmocka_unit_test(closed_pipe_is_kept),
		cmocka_unit_test(pipe_equals_file),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
