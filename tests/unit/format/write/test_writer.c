/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the writer puts into a file, byte by byte: offsets here are the numbers of docs/FORMAT.md,
 * not those of layout.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/base/bytes.h"
#include "format/encoding/crc32c.h"
#include "tests/tools/raw_trace.h"

static const struct chunk *find(const struct chunk *chunks, size_t n, uint16_t table)
{
	for (size_t i = 0; i < n; i++) {
		if (chunks[i].table == table)
			return &chunks[i];
	}
	fail_msg("no chunk of table %u", table);
	return NULL;
}

static void file_header_and_footer(void **state)
{
	static const unsigned char magic[] = { 0x89, 0x45, 0x42, 0x54, 0x0D, 0x0A, 0x1A, 0x0A };
	static const unsigned char zeros[36];
	const unsigned char *footer;
	struct chunk *chunks;
	struct trace t;
	size_t n;

	(void)state;
	trace_begin(&t, (struct ebt_writer_options){ 0 });
	add_syscall(t.stream, 1000, 7, 0);
	add_syscall(t.stream, 1001, 7, 1);
	trace_finish(&t);
	assert_memory_equal(t.data, magic, 8);
	assert_int_equal(ebt_load_u16(t.data + 8), 1);
	assert_int_equal(ebt_load_u16(t.data + 10), 0);
	assert_int_equal(ebt_load_u32(t.data + 12), 96);
	assert_int_equal(ebt_load_u64(t.data + 16), 0);
	assert_int_equal(ebt_load_u64(t.data + 24), 0);
	assert_memory_equal(t.data + 32, RAW_UUID, 16);
	assert_int_equal(ebt_load_u64(t.data + 48), RAW_CREATED);
	assert_memory_equal(t.data + 56, zeros, 36);
	assert_int_equal(ebt_load_u32(t.data + 92), ebt_crc32c_portable(t.data, 92));

	chunks = parse(&t, &n);
	assert_int_equal(n, 4);
	assert_int_equal(chunks[0].table, 1);
	assert_int_equal(chunks[1].table, 2);
	assert_int_equal(chunks[2].table, 104);
	assert_int_equal(chunks[3].table, 3);
	assert_int_equal(chunks[2].rows, 2);
	assert_int_equal(chunks[2].time_min, 1000);
	assert_int_equal(chunks[2].time_max, 1001);
	assert_int_equal(chunks[3].rows, 3);

	footer = t.data + t.len - 64;
	assert_int_equal(ebt_load_u32(footer), 0x46544245);
	assert_int_equal(ebt_load_u32(footer + 4), 64);
	assert_int_equal(ebt_load_u64(footer + 8), chunks[3].offset);
	assert_int_equal(ebt_load_u64(footer + 16), 4);
	assert_int_equal(ebt_load_u64(footer + 24), 2);
	assert_int_equal(ebt_load_u64(footer + 32), 0);
	assert_int_equal(ebt_load_u32(footer + 40), RAW_TAG);
	assert_memory_equal(footer + 44, zeros, 16);
	assert_int_equal(ebt_load_u32(footer + 60), ebt_crc32c_portable(footer, 60));
	free(chunks);
	trace_end(&t);
}

static void random_uuid_and_time(void **state)
{
	struct ebt_writer_options options = { .name = "test" };
	unsigned char headers[2][96];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct ebt_writer *writer;

		options.fd = memfd_create("test_writer", MFD_CLOEXEC);
		ok(ebt_writer_create(&options, &writer));
		assert_int_equal(pread(options.fd, headers[i], 96, 0), 96);
		ebt_writer_destroy(writer);
		close(options.fd);
	}
	assert_memory_not_equal(headers[0] + 32, headers[1] + 32, 16);
	assert_true(ebt_load_u64(headers[1] + 48) > ebt_load_u64(headers[0] + 48));
}

static void rows_are_sorted_and_stable(void **state)
{
	static const uint64_t times[] = { 50, 10, 30, 10, 40, 50, 20, 60, 10 };
	static const uint64_t sorted[] = { 10, 10, 10, 20, 30, 40, 50, 50, 60 };
	static const uint64_t order[] = { 1, 3, 8, 6, 2, 4, 0, 5, 7 };
	const struct chunk *chunk;
	struct chunk *chunks;
	uint64_t *values;
	struct trace t;
	size_t n;

	(void)state;
	trace_begin(&t, (struct ebt_writer_options){ 0 });
	for (uint32_t i = 0; i < 9; i++)
		add_syscall(t.stream, times[i], 7, i);
	trace_finish(&t);
	chunks = parse(&t, &n);
	chunk = find(chunks, n, EBT_T_syscall);
	assert_int_equal(chunk->time_min, 10);
	assert_int_equal(chunk->time_max, 60);
	values = column(&t, chunk, 1);
	assert_memory_equal(values, sorted, sizeof(sorted));
	free(values);
	values = column(&t, chunk, 4);
	assert_memory_equal(values, order, sizeof(order));
	free(values);
	values = column(&t, chunk, 7);
	assert_true(values[0] == (uint64_t)-2);
	free(values);
	values = column(&t, chunk, 8);
	assert_int_equal(values[8], 0);
	free(values);
	free(chunks);
	trace_end(&t);
}

#define PID UINT64_C(4194302)

struct incarnations {
	unsigned int calls;
};

/* tid 7 is born anew at 100, 200, …; others have one incarnation. */
static void resolve(void *arg, uint32_t tid, uint64_t time_ns, struct ebt_task_id *ret)
{
	struct incarnations *incarnations = arg;

	assert_int_not_equal(tid, 0);
	incarnations->calls++;
	ret->tid = tid;
	ret->pid = PID;
	ret->start_ns = tid == 7 ? time_ns / 100 * 100 : 5;
	strcpy(ret->comm, "dd");
}

static void tids_become_tasks(void **state)
{
	static const uint32_t tids[] = { 7, 8, 7, 0, 7, 8 };
	static const uint64_t times[] = { 110, 120, 190, 195, 350, 360 };
	struct incarnations incarnations = { 0 };
	struct chunk *chunks;
	uint64_t *tasks;
	struct trace t;
	size_t n;

	(void)state;
	trace_begin(&t, (struct ebt_writer_options){ .resolve_task = resolve,
						     .resolve_arg = &incarnations });
	for (uint32_t i = 0; i < 6; i++)
		add_syscall(t.stream, times[i], tids[i], 0);
	trace_finish(&t);
	chunks = parse(&t, &n);
	tasks = column(&t, find(chunks, n, EBT_T_syscall), 3);
	assert_int_equal(tasks[0], tasks[2]);
	assert_int_not_equal(tasks[0], tasks[4]);
	assert_int_equal(tasks[1], tasks[5]);
	assert_int_not_equal(tasks[1], tasks[0]);
	assert_int_equal(tasks[3], 0);
	/* First and last of each, and each row of the one that changes. */
	assert_int_equal(incarnations.calls, 7);
	free(tasks);
	free(chunks);
	trace_end(&t);
}

/* The filter of the index has the bit of each process (FORMAT.md section 6). */
static void index_has_pids(void **state)
{
	unsigned int bit = (unsigned int)(PID * 0x9E3779B1 % (1ull << 32) >> 25);
	uint64_t *low, *high, *tables;
	struct incarnations incarnations = { 0 };
	struct chunk *chunks;
	struct trace t;
	size_t n;

	(void)state;
	trace_begin(&t, (struct ebt_writer_options){ .resolve_task = resolve,
						     .resolve_arg = &incarnations });
	add_syscall(t.stream, 10, 7, 0);
	trace_finish(&t);
	chunks = parse(&t, &n);
	tables = column(&t, &chunks[n - 1], 11);
	low = column(&t, &chunks[n - 1], 8);
	high = column(&t, &chunks[n - 1], 9);
	assert_int_equal(tables[0], 1);
	assert_true(low[0] == UINT64_MAX && high[0] == UINT64_MAX);
	assert_int_equal(tables[2], 104);
	assert_true(low[2] == (bit < 64 ? UINT64_C(1) << bit : 0));
	assert_true(high[2] == (bit >= 64 ? UINT64_C(1) << (bit - 64) : 0));
	free(tables);
	free(low);
	free(high);
	free(chunks);
	trace_end(&t);
}

/* Every chunk has its row, and an index chunk comes after 4096 chunks. */
static void index_is_a_chain(void **state)
{
	uint64_t *offsets, *tables, *stored;
	struct chunk *chunks;
	struct trace t;
	size_t n, at = 0, rows = 0;

	(void)state;
	trace_begin(&t, (struct ebt_writer_options){ 0 });
	for (uint64_t i = 0; i < 9000; i++) {
		if (i == 4093)
			ok(ebt_writer_next_epoch(t.writer));
		add_syscall(t.stream, i, 7, 0);
		ok(ebt_stream_flush(t.stream, i, true));
	}
	trace_finish(&t);
	chunks = parse(&t, &n);
	assert_int_equal(n, 9000 + 4 + 3);
	for (size_t i = 0; i < n; i++) {
		if (chunks[i].table != 3)
			continue;
		assert_in_range(chunks[i].rows, 1, 4096);
		assert_int_equal(chunks[i].rows, i - at);
		offsets = column(&t, &chunks[i], 2);
		stored = column(&t, &chunks[i], 3);
		tables = column(&t, &chunks[i], 11);
		for (uint32_t row = 0; row < chunks[i].rows; row++) {
			assert_int_equal(offsets[row], chunks[at + row].offset);
			assert_int_equal(stored[row], chunks[at + row].stored);
			assert_int_equal(tables[row], chunks[at + row].table);
		}
		rows += chunks[i].rows;
		at = i;
		free(offsets);
		free(stored);
		free(tables);
	}
	assert_int_equal(rows, n - 1);
	assert_int_equal(at, n - 1);
	assert_int_equal(chunks[n - 1].epoch, 1);
	free(chunks);
	trace_end(&t);
}

static void add_lost(struct ebt_stream *stream, uint32_t table, uint64_t count)
{
	struct ebt_wire_lost row = {
		.head = { .time = 100, .len = sizeof(row), .table = EBT_T_lost },
		.from = 50,
		.count = count,
		.table_id = table,
	};

	ok(ebt_stream_add(stream, &row, sizeof(row)));
}

static void losses_are_told(void **state)
{
	struct ebt_writer_stats stats;
	struct chunk *chunks;
	struct trace t;
	size_t n;

	(void)state;
	trace_begin(&t, (struct ebt_writer_options){ 0 });
	add_lost(t.stream, EBT_T_syscall, 3);
	add_lost(t.stream, EBT_T_syscall, UINT64_C(1) << 32);
	add_lost(t.stream, EBT_T_sched_switch, 9); /* no chunk of it ever comes */
	add_lost(t.stream, EBT_T_meta, 1000);	   /* not of class event */
	add_lost(t.stream, 9999, 1000);		   /* of no table */
	for (unsigned int i = 0; i < 3; i++) {
		add_syscall(t.stream, 60, 7, 0);
		ok(ebt_stream_flush(t.stream, 1, true));
	}
	ebt_writer_stats(t.writer, &stats);
	assert_true(stats.lost == (UINT64_C(1) << 32) + 12);
	assert_int_equal(stats.rows, 3);
	trace_finish(&t);
	chunks = parse(&t, &n);
	assert_int_equal(chunks[2].table, EBT_T_lost);
	assert_int_equal(chunks[3].lost, UINT32_MAX);
	assert_int_equal(chunks[4].lost, 4);
	assert_int_equal(chunks[5].lost, 0);
	/* What is left at the end has chunks of its own. */
	assert_int_equal(n, 9);
	assert_int_equal(chunks[6].table, EBT_T_meta);
	assert_int_equal(chunks[6].lost, 1000);
	assert_int_equal(chunks[7].table, EBT_T_sched_switch);
	assert_int_equal(chunks[7].lost, 9);
	assert_int_equal(chunks[7].rows, 0);
	assert_int_equal(chunks[7].time_min, 60);
	assert_int_equal(chunks[7].time_max, 60);
	assert_true(ebt_load_u64(t.data + t.len - 64 + 32) == (UINT64_C(1) << 32) + 12);
	free(chunks);
	trace_end(&t);
}

/* A chunk's watermark is a promise on behalf of all streams and of their open chunks. */
static void watermarks(void **state)
{
	struct ebt_stream *other;
	struct chunk *chunks;
	struct trace t;
	size_t n;

	(void)state;
	trace_begin(&t, (struct ebt_writer_options){ .streams = 2 });
	ebt_stream_set_low(t.stream, 500);
	add_syscall(t.stream, 600, 7, 0);
	ok(ebt_stream_flush(t.stream, 1, true)); /* chunk 2: the other does not exist yet */
	ok(ebt_writer_add_stream(t.writer, &other));
	add_syscall(t.stream, 700, 7, 0);
	ok(ebt_stream_flush(t.stream, 1, true)); /* 3: the other promises nothing */
	add_syscall(other, 450, 7, 0);
	ebt_stream_set_low(other, 800);
	ebt_stream_set_low(other, 100); /* never goes back */
	add_syscall(t.stream, 900, 7, 0);
	ok(ebt_stream_flush(t.stream, 1, true)); /* 4: the other's open chunk */
	ok(ebt_stream_flush(other, 1, true));	 /* 5 */
	ebt_stream_set_low(t.stream, 1000);
	add_lost(other, EBT_T_syscall, 1);
	add_syscall(t.stream, 1100, 7, 0);
	ok(ebt_stream_flush(t.stream, 1, true)); /* 6: a row of class meta, of time 100, is open */
	expect_invalid(ebt_writer_add_stream(t.writer, &other)); /* a third */
	trace_finish(&t);
	chunks = parse(&t, &n);
	assert_int_equal(chunks[2].watermark, 0);
	assert_int_equal(chunks[3].watermark, 0);
	assert_int_equal(chunks[4].watermark, 450);
	assert_int_equal(chunks[5].watermark, 500);
	assert_int_equal(chunks[6].watermark, 800);
	assert_int_equal(chunks[2].stream, 1);
	assert_int_equal(chunks[5].stream, 2);
	free(chunks);
	trace_end(&t);
}

static void old_chunks_are_flushed(void **state)
{
	struct ebt_writer_stats before, after;
	struct trace t;

	(void)state;
	trace_begin(&t, (struct ebt_writer_options){ 0 });
	ebt_writer_stats(t.writer, &before);
	add_syscall(t.stream, 5, 7, 0);
	ok(ebt_stream_flush(t.stream, 10000000000, false));
	ok(ebt_stream_flush(t.stream, 10900000000, false));
	ebt_writer_stats(t.writer, &after);
	assert_int_equal(after.chunks, before.chunks);
	ok(ebt_stream_flush(t.stream, 11100000000, false));
	ebt_writer_stats(t.writer, &after);
	assert_int_equal(after.chunks, before.chunks + 1);
	trace_finish(&t);
	trace_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_header_and_footer),
		cmocka_unit_test(random_uuid_and_time),
		cmocka_unit_test(rows_are_sorted_and_stable),
		cmocka_unit_test(tids_become_tasks),
		cmocka_unit_test(index_has_pids),
		cmocka_unit_test(index_is_a_chain),
		cmocka_unit_test(losses_are_told),
		cmocka_unit_test(watermarks),
		cmocka_unit_test(old_chunks_are_flushed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
