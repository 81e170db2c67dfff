/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the writer puts into a file, byte by byte: offsets here are the numbers of docs/FORMAT.md,
 * not those of layout.h, and payloads are decompressed by the zstd command.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bytes.h"
#include "column.h"
#include "crc32c.h"
#include "writer.h"

static const unsigned char uuid[16] = "0123456789abcdef";
#define TAG	0x33323130u
#define CREATED UINT64_C(1700000000123456789)

struct trace {
	int fd;
	struct ebt_writer *writer;
	struct ebt_stream *stream;
	unsigned char *data; /* once finished */
	size_t len;
};

struct chunk {
	uint64_t offset, seq, stored, raw, time_min, time_max, watermark;
	uint32_t epoch, rows, lost;
	uint16_t flags, table, stream;
};

static void ok(struct ebt_error *err)
{
	if (err)
		fail_msg("%s", err->message);
}

static void expect_invalid(struct ebt_error *err)
{
	assert_non_null(err);
	assert_int_equal(err->code, EBT_ERR_INVALID);
	ebt_error_destroy(err);
}

static void trace_begin(struct trace *t, struct ebt_writer_options options)
{
	*t = (struct trace){ .fd = memfd_create("test_writer", MFD_CLOEXEC) };
	assert_true(t->fd >= 0);
	options.fd = t->fd;
	options.name = "test";
	options.uuid = uuid;
	options.created_ns = CREATED;
	ok(ebt_writer_create(&options, &t->writer));
	ok(ebt_writer_add_stream(t->writer, &t->stream));
}

static void trace_load(struct trace *t)
{
	off_t len = lseek(t->fd, 0, SEEK_END);

	assert_true(len > 0);
	t->len = (size_t)len;
	t->data = malloc(t->len);
	assert_non_null(t->data);
	assert_int_equal(pread(t->fd, t->data, t->len, 0), len);
}

static void trace_finish(struct trace *t)
{
	ok(ebt_writer_finish(t->writer));
	ebt_writer_destroy(t->writer);
	trace_load(t);
}

static void trace_end(struct trace *t)
{
	free(t->data);
	close(t->fd);
}

/* Reads and checks the header at offset; returns where the next chunk begins. */
static uint64_t parse_chunk(const struct trace *t, uint64_t offset, struct chunk *ret)
{
	const unsigned char *h = t->data + offset;
	uint64_t end;

	assert_true(offset % 8 == 0 && offset + 96 <= t->len);
	assert_int_equal(ebt_load_u32(h), 0x43544245);
	assert_int_equal(ebt_load_u16(h + 4), 1);
	assert_int_equal(ebt_load_u32(h + 8), 96);
	assert_int_equal(ebt_load_u32(h + 12), TAG);
	assert_int_equal(ebt_load_u64(h + 80), 0);
	assert_int_equal(ebt_load_u32(h + 92), ebt_crc32c_portable(h, 92));
	*ret = (struct chunk){
		.offset = offset,
		.flags = ebt_load_u16(h + 6),
		.seq = ebt_load_u64(h + 16),
		.table = ebt_load_u16(h + 24),
		.stream = ebt_load_u16(h + 26),
		.epoch = ebt_load_u32(h + 28),
		.stored = ebt_load_u64(h + 32),
		.raw = ebt_load_u64(h + 40),
		.time_min = ebt_load_u64(h + 48),
		.time_max = ebt_load_u64(h + 56),
		.watermark = ebt_load_u64(h + 64),
		.rows = ebt_load_u32(h + 72),
		.lost = ebt_load_u32(h + 76),
	};
	assert_int_equal(ebt_load_u32(h + 88), ebt_crc32c_portable(h + 96, ret->stored));
	end = offset + 96 + ret->stored;
	for (; end % 8; end++)
		assert_int_equal(t->data[end], 0);
	return end;
}

/* All chunks between file header and footer; freed with free(). */
static struct chunk *parse(const struct trace *t, size_t *ret_n)
{
	struct chunk *chunks = NULL;
	uint64_t offset = 96;
	size_t n = 0;

	while (offset < t->len - 64) {
		chunks = reallocarray(chunks, n + 1, sizeof(*chunks));
		assert_non_null(chunks);
		offset = parse_chunk(t, offset, &chunks[n]);
		assert_int_equal(chunks[n].seq, n);
		n++;
	}
	assert_int_equal(offset, t->len - 64);
	*ret_n = n;
	return chunks;
}

/* The payload of a chunk, by the zstd command; freed with free(). */
static unsigned char *payload(const struct trace *t, const struct chunk *chunk)
{
	unsigned char *raw = malloc(chunk->raw + 1);
	char path[] = "/tmp/test_writer.XXXXXX", command[128];
	int fd;
	FILE *f;

	assert_non_null(raw);
	if (!(chunk->flags & 1)) {
		assert_int_equal(chunk->stored, chunk->raw);
		return memcpy(raw, t->data + chunk->offset + 96, chunk->raw);
	}
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, t->data + chunk->offset + 96, chunk->stored), chunk->stored);
	close(fd);
	snprintf(command, sizeof(command), "zstd -dc < %s", path);
	f = popen(command, "r");
	assert_non_null(f);
	assert_int_equal(fread(raw, 1, chunk->raw + 1, f), chunk->raw);
	assert_int_equal(pclose(f), 0);
	unlink(path);
	return raw;
}

/* One column of a chunk; one that is not there is all zero. Freed with free(). */
static uint64_t *column(const struct trace *t, const struct chunk *chunk, uint64_t id)
{
	uint64_t *values = calloc(chunk->rows, sizeof(*values));
	unsigned char *raw = payload(t, chunk);
	struct ebt_bytes directory = ebt_bytes(raw, chunk->raw), contents = directory, part;
	uint64_t n, entry, len;
	uint8_t encoding = 0;

	assert_true(ebt_bytes_varint(&contents, &n));
	for (uint64_t i = 0; i < n; i++)
		assert_true(ebt_bytes_varint(&contents, &entry) &&
			    ebt_bytes_u8(&contents, &encoding) &&
			    ebt_bytes_varint(&contents, &len));
	assert_true(ebt_bytes_varint(&directory, &n));
	for (uint64_t i = 0; i < n; i++) {
		ebt_bytes_varint(&directory, &entry);
		ebt_bytes_u8(&directory, &encoding);
		ebt_bytes_varint(&directory, &len);
		assert_true(ebt_bytes_take(&contents, len, &part));
		if (entry == id)
			ok(ebt_column_decode(encoding, part, chunk->rows, values));
	}
	assert_int_equal(ebt_bytes_left(&contents), 0);
	free(raw);
	return values;
}

static struct ebt_wire_syscall syscall_row(uint64_t time, uint32_t tid, uint32_t nr)
{
	return (struct ebt_wire_syscall){
		.head = { .time = time,
			  .len = sizeof(struct ebt_wire_syscall),
			  .table = EBT_T_syscall },
		.task = tid,
		.nr = nr,
		.ret = -2,
	};
}

static void add_syscall(struct ebt_stream *stream, uint64_t time, uint32_t tid, uint32_t nr)
{
	struct ebt_wire_syscall row = syscall_row(time, tid, nr);

	ok(ebt_stream_add(stream, &row, sizeof(row)));
}

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
	assert_memory_equal(t.data + 32, uuid, 16);
	assert_int_equal(ebt_load_u64(t.data + 48), CREATED);
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
	assert_int_equal(ebt_load_u32(footer + 40), TAG);
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

struct lives {
	unsigned int calls;
};

/* tid 7 is born anew at 100, 200, …; others have one life. */
static void resolve(void *arg, uint32_t tid, uint64_t time_ns, struct ebt_task_id *ret)
{
	struct lives *lives = arg;

	assert_int_not_equal(tid, 0);
	lives->calls++;
	ret->tid = tid;
	ret->pid = 77;
	ret->start_ns = tid == 7 ? time_ns / 100 * 100 : 5;
	strcpy(ret->comm, "dd");
}

static void tids_become_tasks(void **state)
{
	static const uint32_t tids[] = { 7, 8, 7, 0, 7, 8 };
	static const uint64_t times[] = { 110, 120, 190, 195, 350, 360 };
	struct lives lives = { 0 };
	struct chunk *chunks;
	uint64_t *tasks;
	struct trace t;
	size_t n;

	(void)state;
	trace_begin(&t,
		    (struct ebt_writer_options){ .resolve_task = resolve, .resolve_arg = &lives });
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
	assert_int_equal(lives.calls, 7);
	free(tasks);
	free(chunks);
	trace_end(&t);
}

/* The filter of the index has the bit of each process (FORMAT.md section 6). */
static void index_has_pids(void **state)
{
	unsigned int bit = (unsigned int)(77ull * 0x9E3779B1 % (1ull << 32) >> 25);
	uint64_t *low, *high, *tables;
	struct lives lives = { 0 };
	struct chunk *chunks;
	struct trace t;
	size_t n;

	(void)state;
	trace_begin(&t,
		    (struct ebt_writer_options){ .resolve_task = resolve, .resolve_arg = &lives });
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
	struct ebt_writer_options options = {
		.fd = fd, .name = "test", .uuid = uuid, .created_ns = CREATED
	};
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

/* All tables at once, strings and stacks that are all different: the writer stays below 64 MiB.
 * (A sanitizer's allocator reports nothing here.) */
static void memory_is_bounded(void **state)
{
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd, most = 0;
	struct ebt_record rec = EBT_RECORD_INIT;
	struct trace t;

	(void)state;
	trace_begin(&t, (struct ebt_writer_options){ 0 });
	for (uint64_t i = 0; i < 40000; i++) {
		for (size_t n = 0; n < ebt_n_tables; n++) {
			const struct ebt_table *table = &ebt_tables[n];
			uint64_t unlike[4] = { i * 3, i * 5, i * 7, n };
			size_t now;

			if (table->id == EBT_T_index || (i % 8 && n % 2))
				continue;
			ebt_record_begin(&rec, (enum ebt_table_id)table->id, i);
			for (uint32_t f = 0; f < table->n_fields; f++) {
				const struct ebt_field *field = &table->fields[f];

				if (field->type == EBT_TYPE_STACK)
					ebt_record_stack(&rec, field->wire_offset, 0, unlike, 4);
				else if (field->wire_size == 8 && field->type >= EBT_TYPE_STRING)
					ebt_record_bytes(&rec, field->wire_offset, unlike, 32);
			}
			ok(ebt_record_add(&rec, t.stream));
			now = mallinfo2().uordblks + mallinfo2().hblkhd;
			most = now > most ? now : most;
		}
	}
	assert_in_range(most - before, 0, 64 << 20);
	trace_finish(&t);
	trace_end(&t);
	ebt_record_deinit(&rec);
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
		cmocka_unit_test(bad_records_are_refused),
		cmocka_unit_test(any_record_is_taken_or_refused),
		cmocka_unit_test(full_disk_is_kept),
		cmocka_unit_test(closed_pipe_is_kept),
		cmocka_unit_test(pipe_equals_file),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
