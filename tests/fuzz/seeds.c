/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Taking a trace apart into inputs of the fuzz targets. */
#include "tests/fuzz/seeds.h"

#include <stdlib.h>

#include "format/encoding/layout.h"
#include "format/read/reader_impl.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/repack.h"

struct seeds {
	seed_fn *fn;
	void *arg;
	struct ebt_buffer schema[2]; /* the first payload of `schema` and of `schema_value` */
	uint32_t schema_rows[2];
};

static void emit(const struct seeds *seeds, const char *target, const struct ebt_buffer *buf)
{
	if (!buf->failed)
		seeds->fn(seeds->arg, target, buf->data, buf->len);
}

static void put_u16(struct ebt_buffer *buf, uint16_t v)
{
	uint8_t bytes[2];

	ebt_store_u16(bytes, v);
	ebt_buffer_put(buf, bytes, sizeof(bytes));
}

static void put_u32(struct ebt_buffer *buf, uint32_t v)
{
	uint8_t bytes[4];

	ebt_store_u32(bytes, v);
	ebt_buffer_put(buf, bytes, sizeof(bytes));
}

static void chunk_seed(const struct seeds *seeds, const struct ebt_chunk_info *info,
		       struct ebt_bytes payload)
{
	struct ebt_buffer buf = EBT_BUFFER_INIT;

	put_u16(&buf, info->table);
	put_u32(&buf, info->rows);
	ebt_buffer_put_u64(&buf, UINT64_MAX);
	ebt_buffer_put_u64(&buf, info->time_min);
	ebt_buffer_put_u64(&buf, info->time_max);
	ebt_buffer_put(&buf, payload.pos, ebt_bytes_left(&payload));
	emit(seeds, "chunk", &buf);
	ebt_buffer_deinit(&buf);
}

static void column_seeds(const struct seeds *seeds, uint32_t rows, struct ebt_bytes payload)
{
	struct ebt_bytes directory = payload, contents = payload, taken;
	struct ebt_buffer buf = EBT_BUFFER_INIT;
	uint64_t n = 0, id, length;
	uint8_t encoding;

	ebt_bytes_varint(&contents, &n);
	for (uint64_t i = 0; i < n; i++) {
		if (!ebt_bytes_varint(&contents, &id) || !ebt_bytes_u8(&contents, &encoding) ||
		    !ebt_bytes_varint(&contents, &length))
			return;
	}
	ebt_bytes_varint(&directory, &n);
	for (uint64_t i = 0; i < n; i++) {
		if (!ebt_bytes_varint(&directory, &id) || !ebt_bytes_u8(&directory, &encoding) ||
		    !ebt_bytes_varint(&directory, &length) ||
		    !ebt_bytes_take(&contents, length, &taken))
			break;
		ebt_buffer_clear(&buf);
		ebt_buffer_put_u8(&buf, encoding);
		put_u16(&buf, (uint16_t)rows);
		ebt_buffer_put(&buf, taken.pos, ebt_bytes_left(&taken));
		if (encoding < EBT_ENC_STRINGS)
			emit(seeds, "column", &buf);
	}
	ebt_buffer_deinit(&buf);
}

static void keep_schema(struct seeds *seeds, const struct ebt_chunk_info *info,
			struct ebt_bytes payload)
{
	unsigned int which = info->table == EBT_T_schema_value;

	if ((info->table != EBT_T_schema && !which) || seeds->schema[which].len)
		return;
	ebt_buffer_put(&seeds->schema[which], payload.pos, ebt_bytes_left(&payload));
	seeds->schema_rows[which] = info->rows;
}

static void schema_seed(const struct seeds *seeds)
{
	struct ebt_buffer buf = EBT_BUFFER_INIT;

	put_u16(&buf, (uint16_t)seeds->schema_rows[0]);
	put_u16(&buf, (uint16_t)seeds->schema_rows[1]);
	put_u32(&buf, (uint32_t)seeds->schema[0].len);
	ebt_buffer_put(&buf, seeds->schema[0].data, seeds->schema[0].len);
	ebt_buffer_put(&buf, seeds->schema[1].data, seeds->schema[1].len);
	emit(seeds, "schema", &buf);
	ebt_buffer_deinit(&buf);
}

static struct ebt_error *seeds_of_chunks(struct seeds *seeds, struct ebt_reader *reader)
{
	for (size_t i = 0; i < reader->chunks.n; i++) {
		const struct ebt_chunk_info *info = &reader->chunks.chunk[i];
		struct ebt_bytes payload;
		struct ebt_error *err;

		err = ebt_chunk_reader_load(&reader->chunk_reader, info, &payload);
		if (err)
			return err;
		chunk_seed(seeds, info, payload);
		column_seeds(seeds, info->rows, payload);
		keep_schema(seeds, info, payload);
	}
	schema_seed(seeds);
	return NULL;
}

static struct ebt_error *whole_file(const struct seeds *seeds, const struct ebt_input *input)
{
	struct ebt_buffer buf = EBT_BUFFER_INIT;
	struct ebt_error *err = &ebt_enomem;

	if (ebt_buffer_reserve(&buf, (size_t)input->size)) {
		err = ebt_input_read(input, 0, buf.data, (size_t)input->size);
		buf.len = (size_t)input->size;
	}
	if (!err)
		emit(seeds, "reader", &buf);
	ebt_buffer_deinit(&buf);
	return err;
}

bool each_seed(const char *path, seed_fn *fn, void *arg)
{
	struct seeds seeds = { .fn = fn, .arg = arg };
	struct ebt_buffer plain = EBT_BUFFER_INIT;
	struct ebt_reader *reader = NULL;
	struct ebt_error *err;
	bool ok;

	err = ebt_reader_open(path, &reader);
	if (!err)
		err = whole_file(&seeds, &reader->input);
	if (!err)
		err = seeds_of_chunks(&seeds, reader);
	ok = !err && unpack_trace(path, &plain);
	if (ok)
		emit(&seeds, "reader", &plain);
	ebt_buffer_deinit(&plain);
	ebt_buffer_deinit(&seeds.schema[0]);
	ebt_buffer_deinit(&seeds.schema[1]);
	ebt_error_destroy(err);
	ebt_reader_close(reader);
	return ok;
}
