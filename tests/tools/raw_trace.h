/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace being written to memory, and its bytes taken apart by the numbers of docs/FORMAT.md:
 * neither layout.h nor the reader is used. Anything that is not as that page has it fails the
 * test.
 */
#ifndef TESTS_TOOLS_RAW_TRACE_H
#define TESTS_TOOLS_RAW_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "format/write/writer.h"

#define RAW_UUID    "0123456789abcdef"
#define RAW_TAG	    0x33323130u
#define RAW_CREATED UINT64_C(1700000000123456789)

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

/* Fails the test where there is an error. */
void ok(struct ebt_error *err);

/* Fails the test where err is not EBT_ERR_INVALID. */
void expect_invalid(struct ebt_error *err);

/* Makes the writer, with RAW_UUID and RAW_CREATED, and its first stream. */
void trace_begin(struct trace *t, struct ebt_writer_options options);

/* Ends writing and reads the bytes. */
void trace_finish(struct trace *t);
void trace_load(struct trace *t);
void trace_end(struct trace *t);

/* All chunks between file header and footer; freed with free(). */
struct chunk *parse(const struct trace *t, size_t *ret_n);

/* One column of a chunk; one that is not there is all zero. Freed with free(). */
uint64_t *column(const struct trace *t, const struct chunk *chunk, uint64_t id);

struct ebt_wire_syscall syscall_row(uint64_t time, uint32_t tid, uint32_t nr);
void add_syscall(struct ebt_stream *stream, uint64_t time, uint32_t tid, uint32_t nr);

#endif
