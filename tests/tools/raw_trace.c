/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See raw_trace.h. Payloads are decompressed by the zstd command, CRCs computed by the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/base/bytes.h"
#include "format/encoding/column.h"
#include "format/encoding/crc32c.h"
#include "tests/tools/raw_trace.h"

void ok(struct ebt_error *err)
{
	if (err)
		fail_msg("%s", err->message);
}

void expect_invalid(struct ebt_error *err)
{
	assert_non_null(err);
	assert_int_equal(err->code, EBT_ERR_INVALID);
	ebt_error_destroy(err);
}

void trace_begin(struct trace *t, struct ebt_writer_options options)
{
	*t = (struct trace){ .fd = memfd_create("test_writer", MFD_CLOEXEC) };
	assert_true(t->fd >= 0);
	options.fd = t->fd;
	options.name = "test";
	options.uuid = (const unsigned char *)RAW_UUID;
	options.created_ns = RAW_CREATED;
	ok(ebt_writer_create(&options, &t->writer));
	ok(ebt_writer_add_stream(t->writer, &t->stream));
}

void trace_load(struct trace *t)
{
	off_t len = lseek(t->fd, 0, SEEK_END);

	assert_true(len > 0);
	t->len = (size_t)len;
	t->data = malloc(t->len);
	assert_non_null(t->data);
	assert_int_equal(pread(t->fd, t->data, t->len, 0), len);
}

void trace_finish(struct trace *t)
{
	ok(ebt_writer_finish(t->writer));
	ebt_writer_destroy(t->writer);
	trace_load(t);
}

void trace_end(struct trace *t)
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
	assert_int_equal(ebt_load_u32(h + 12), RAW_TAG);
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

struct chunk *parse(const struct trace *t, size_t *ret_n)
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

uint64_t *column(const struct trace *t, const struct chunk *chunk, uint64_t id)
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

struct ebt_wire_syscall syscall_row(uint64_t time, uint32_t tid, uint32_t nr)
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

void add_syscall(struct ebt_stream *stream, uint64_t time, uint32_t tid, uint32_t nr)
{
	struct ebt_wire_syscall row = syscall_row(time, tid, nr);

	ok(ebt_stream_add(stream, &row, sizeof(row)));
}
