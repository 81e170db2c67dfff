/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rewriting the bytes of a trace: checksums, and payloads without compression. */
#include "tests/fuzz/repack.h"

#include <stdlib.h>

#include "format/encoding/column.h"
#include "format/encoding/crc32c.h"
#include "format/encoding/layout.h"
#include "format/read/reader_impl.h"

/* Makes one chunk right. Returns the bytes that it takes, 0: it does not fit. */
static size_t fix_chunk(uint8_t *chunk, size_t left, uint32_t tag)
{
	uint32_t header = ebt_load_u32(chunk + EBT_CH_LEN);
	uint64_t stored = ebt_load_u64(chunk + EBT_CH_STORED);
	size_t extent = 0;

	if (header >= EBT_CHUNK_HEADER_LEN && header <= left && stored <= left - header) {
		ebt_store_u32(chunk + EBT_CH_CRC, ebt_crc32c(chunk + header, (size_t)stored));
		extent = header + (size_t)stored;
	}
	ebt_store_u32(chunk + EBT_CH_TAG, tag);
	ebt_store_u32(chunk + EBT_CH_HEADER_CRC, ebt_crc32c(chunk, EBT_CH_HEADER_CRC));
	return extent;
}

void fix_checksums(uint8_t *data, size_t len)
{
	size_t extent, at = EBT_FILE_HEADER_LEN;
	uint8_t *footer;
	uint32_t tag;

	if (len < EBT_FILE_HEADER_LEN + EBT_FOOTER_LEN)
		return;
	tag = ebt_load_u32(data + EBT_FH_UUID);
	ebt_store_u32(data + EBT_FH_CRC, ebt_crc32c(data, EBT_FH_CRC));
	for (; at + EBT_CHUNK_HEADER_LEN <= len; at += extent) {
		extent = EBT_ALIGN;
		if (ebt_load_u32(data + at) != EBT_CHUNK_MAGIC)
			continue;
		extent = fix_chunk(data + at, len - at, tag);
		extent = extent ? (extent + EBT_ALIGN - 1) & ~(size_t)(EBT_ALIGN - 1) : EBT_ALIGN;
	}
	footer = data + len - EBT_FOOTER_LEN;
	if (ebt_load_u32(footer) == EBT_FOOTER_MAGIC) {
		ebt_store_u32(footer + EBT_FT_TAG, tag);
		ebt_store_u32(footer + EBT_FT_CRC, ebt_crc32c(footer, EBT_FT_CRC));
	}
}

/* What is being rewritten. */
struct repack {
	struct ebt_reader *reader;
	const struct ebt_chunk_list *chunks; /* all of the file */
	uint64_t *offset, *stored;	     /* by chunk, in the new file */
	struct ebt_buffer *out;
};

/* The chunk that is at this offset of the old file. */
static size_t chunk_at(const struct repack *repack, uint64_t offset)
{
	size_t i = 0;

	while (repack->chunks->chunk[i].offset != offset)
		i++;
	return i;
}

static void put_index_column(const struct repack *repack, const struct ebt_batch *batch,
			     unsigned int field, struct ebt_buffer *directory,
			     struct ebt_buffer *contents)
{
	uint64_t *values = calloc(batch->rows + 1, sizeof(*values));
	struct ebt_column_plan plan;

	for (uint32_t i = 0; values && i < batch->rows; i++) {
		size_t chunk = chunk_at(repack, batch->col[EBT_F_index_offset][i]);

		values[i] = batch->col[field][i];
		if (field == EBT_F_index_offset)
			values[i] = repack->offset[chunk];
		if (field == EBT_F_index_stored)
			values[i] = repack->stored[chunk];
		if (field == EBT_F_index_raw && batch->col[EBT_F_index_table_id][i] == EBT_T_index)
			values[i] = repack->stored[chunk];
	}
	if (!values)
		return;
	plan = ebt_column_plan(values, batch->rows);
	ebt_buffer_put_varint(directory, batch->table->fields[field].id);
	ebt_buffer_put_u8(directory, (uint8_t)plan.encoding);
	ebt_buffer_put_varint(directory, plan.size);
	ebt_column_encode(&plan, values, batch->rows, contents);
	free(values);
}

/* The payload of an index chunk, for the chunks as they are in the new file. */
static void put_index(const struct repack *repack, const struct ebt_batch *batch,
		      struct ebt_buffer *ret)
{
	struct ebt_buffer directory = EBT_BUFFER_INIT, contents = EBT_BUFFER_INIT;

	for (unsigned int field = 0; field < EBT_N_index; field++)
		put_index_column(repack, batch, field, &directory, &contents);
	ebt_buffer_put_varint(ret, EBT_N_index);
	ebt_buffer_put(ret, directory.data, directory.len);
	ebt_buffer_put(ret, contents.data, contents.len);
	ebt_buffer_deinit(&directory);
	ebt_buffer_deinit(&contents);
}

static bool payload_of(const struct repack *repack, size_t i, struct ebt_buffer *ret)
{
	struct ebt_reader *reader = repack->reader;
	const struct ebt_chunk_info *info = &repack->chunks->chunk[i];
	const struct ebt_table *table = ebt_table_by_id(EBT_T_index);
	struct ebt_decoded decoded = { 0 };
	struct ebt_bytes payload;
	struct ebt_error *err;

	err = ebt_chunk_reader_load(&reader->chunk_reader, info, &payload);
	if (!err && info->table == EBT_T_index)
		err = ebt_batch_decode(payload, info, table, ~UINT64_C(0), &reader->tasks,
				       &decoded);
	if (!err && info->table == EBT_T_index)
		put_index(repack, &decoded.batch, ret);
	else if (!err)
		ebt_buffer_put(ret, payload.pos, ebt_bytes_left(&payload));
	ebt_decoded_deinit(&decoded);
	ebt_error_destroy(err);
	return !err;
}

static bool copy_chunk(struct repack *repack, size_t i)
{
	struct ebt_buffer payload = EBT_BUFFER_INIT;
	uint8_t header[EBT_CHUNK_HEADER_LEN];
	const struct ebt_chunk_info *info = &repack->chunks->chunk[i];
	struct ebt_error *err;
	bool ok = payload_of(repack, i, &payload);

	err = ebt_input_read(&repack->reader->input, info->offset, header, sizeof(header));
	ok = ok && !err;
	ebt_error_destroy(err);
	ebt_store_u16(header + EBT_CH_FLAGS,
		      (uint16_t)(ebt_load_u16(header + EBT_CH_FLAGS) & ~EBT_CHUNK_ZSTD));
	ebt_store_u64(header + EBT_CH_STORED, payload.len);
	ebt_store_u64(header + EBT_CH_RAW, payload.len);
	repack->offset[i] = repack->out->len;
	repack->stored[i] = payload.len;
	ebt_buffer_put(repack->out, header, sizeof(header));
	ebt_buffer_put(repack->out, payload.data, payload.len);
	while (repack->out->len % EBT_ALIGN)
		ebt_buffer_put_u8(repack->out, 0);
	ebt_buffer_deinit(&payload);
	return ok;
}

static bool copy_all(struct repack *repack)
{
	const struct ebt_reader *reader = repack->reader;
	uint8_t bytes[EBT_FILE_HEADER_LEN]; /* a footer is shorter */
	struct ebt_error *err;
	bool ok = reader->info.indexed;

	err = ebt_input_read(&reader->input, 0, bytes, EBT_FILE_HEADER_LEN);
	ebt_buffer_put(repack->out, bytes, EBT_FILE_HEADER_LEN);
	for (size_t i = 0; ok && !err && i < repack->chunks->n; i++)
		ok = copy_chunk(repack, i);
	if (ok && !err)
		err = ebt_input_read(&reader->input, reader->input.size - EBT_FOOTER_LEN, bytes,
				     EBT_FOOTER_LEN);
	if (ok && !err)
		ebt_store_u64(bytes + EBT_FT_INDEX, repack->offset[repack->chunks->n - 1]);
	ebt_buffer_put(repack->out, bytes, EBT_FOOTER_LEN);
	ok = ok && !err && !repack->out->failed;
	ebt_error_destroy(err);
	return ok;
}

bool unpack_trace(const char *path, struct ebt_buffer *ret)
{
	struct repack repack = { .out = ret };
	struct ebt_error *err = ebt_reader_open(path, &repack.reader);
	bool ok = false;

	if (!err) {
		repack.chunks = repack.reader->info.several_hosts ? &repack.reader->all
								  : &repack.reader->chunks;
		repack.offset = calloc(repack.chunks->n + 1, sizeof(*repack.offset));
		repack.stored = calloc(repack.chunks->n + 1, sizeof(*repack.stored));
		ok = repack.offset && repack.stored && copy_all(&repack);
	}
	if (ok)
		fix_checksums(ret->data, ret->len);
	free(repack.offset);
	free(repack.stored);
	ebt_error_destroy(err);
	ebt_reader_close(repack.reader);
	return ok;
}
