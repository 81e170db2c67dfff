/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread's rows: one open chunk a table, and when to seal them. */
#include <stdlib.h>
#include <string.h>

#include "format/write/writer_internal.h"

/* Limits of all streams together; each has its share. What is not columns (dictionaries: at most
 * twice DICT_BYTES a table; buffers of the encoder) fits into the rest of 64 MiB. */
#define COLUMN_MEMORY (32u << 20)
#define DICT_BYTES    (512u << 10)
#define CHUNK_ROWS    32768u
#define CHUNK_CELLS   (256u << 10) /* rows × fields: about 1 MiB as raw payload, 2 MiB in memory */

/* Below these a chunk's fixed cost shows in bytes a row. */
#define MIN_ROWS       256u
#define MIN_DICT_BYTES (16u << 10)

#define CHUNK_AGE_NS   1000000000u

DEFINE_CLEANUP(struct ebt_stream *, ebt_stream_destroy);

static uint32_t share(const struct ebt_stream *stream, uint32_t all, uint32_t at_least)
{
	uint32_t part = all / stream->writer->max_streams;

	return part > at_least ? part : at_least;
}

struct ebt_error *ebt_stream_create(struct ebt_writer *writer, uint16_t id, struct ebt_stream **ret)
{
	_cleanup_(ebt_stream_destroyp) struct ebt_stream *stream = calloc(1, sizeof(*stream));
	struct ebt_error *err;

	if (!stream)
		return &ebt_enomem;
	stream->writer = writer;
	stream->id = id;
	stream->n_ids = ebt_tables[ebt_n_tables - 1].id + 1u;
	stream->builders = calloc(stream->n_ids, sizeof(*stream->builders));
	if (!stream->builders)
		return &ebt_enomem;
	err = ebt_encoder_init(&stream->encoder, writer->options.zstd_level,
			       writer->options.resolve_task, writer->options.resolve_arg);
	if (err)
		return err;
	stream->dict_limit = share(stream, DICT_BYTES, MIN_DICT_BYTES);
	*ret = take_ptr(stream);
	return NULL;
}

void ebt_stream_destroy(struct ebt_stream *stream)
{
	for (size_t i = 0; stream->builders && i < stream->n_ids; i++) {
		if (stream->builders[i])
			ebt_builder_deinit(stream->builders[i]);
		free(stream->builders[i]);
	}
	ebt_encoder_deinit(&stream->encoder);
	free(stream->builders);
	free(stream);
}

void ebt_stream_publish_low(struct ebt_stream *stream)
{
	uint64_t low = stream->low;

	for (size_t i = 0; i < ebt_n_tables; i++) {
		const struct ebt_builder *builder = stream->builders[ebt_tables[i].id];

		if (!builder || !builder->rows || ebt_tables[i].class == EBT_CLASS_META)
			continue;
		if (builder->time_min < low)
			low = builder->time_min;
	}
	atomic_store(&stream->published_low, low);
}

void ebt_stream_set_low(struct ebt_stream *stream, uint64_t time_ns)
{
	if (time_ns <= stream->low)
		return;
	stream->low = time_ns;
	ebt_stream_publish_low(stream);
}

/* Rows of the recording's own time. */
static uint32_t count_inside(const struct ebt_stream *stream, const struct ebt_builder *builder)
{
	const uint64_t *times = ebt_builder_column(builder, 0);
	const uint64_t from = stream->writer->from, to = stream->writer->to;
	uint32_t n = 0;

	for (uint32_t i = 0; i < builder->rows; i++)
		n += times[i] >= from && times[i] <= to;
	return n;
}

static struct ebt_error *seal(struct ebt_stream *stream, struct ebt_builder *builder)
{
	const uint32_t inside = count_inside(stream, builder);
	struct ebt_payload payload;
	struct ebt_error *err = ebt_encoder_seal(&stream->encoder, builder, &payload);

	if (err)
		return ebt_writer_fail(stream->writer, err);
	return ebt_writer_put(stream->writer, &payload, inside, stream);
}

struct ebt_error *ebt_stream_flush(struct ebt_stream *stream, uint64_t now_ns, bool all)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < ebt_n_tables; i++) {
		struct ebt_builder *builder = stream->builders[ebt_tables[i].id];

		if (!builder || !builder->rows)
			continue;
		if (!builder->opened_ns)
			builder->opened_ns = now_ns;
		if (all || now_ns - builder->opened_ns > CHUNK_AGE_NS)
			err = seal(stream, builder);
	}
	stream->now_ns = now_ns;
	return err;
}

static size_t column_memory(const struct ebt_stream *stream)
{
	size_t sum = 0;

	for (size_t i = 0; i < ebt_n_tables; i++) {
		if (stream->builders[ebt_tables[i].id])
			sum += ebt_builder_column_memory(stream->builders[ebt_tables[i].id]);
	}
	return sum;
}

/* Many tables are busy at once: writes and frees all of them. */
static struct ebt_error *release_all(struct ebt_stream *stream)
{
	struct ebt_error *err = ebt_stream_flush(stream, stream->now_ns, true);

	if (err)
		return err;
	for (size_t i = 0; i < ebt_n_tables; i++) {
		if (stream->builders[ebt_tables[i].id])
			ebt_builder_release(stream->builders[ebt_tables[i].id]);
	}
	return NULL;
}

static struct ebt_error *make_room(struct ebt_stream *stream, struct ebt_builder *builder)
{
	struct ebt_error *err = NULL;

	if (builder->rows == builder->limit)
		return seal(stream, builder);
	if (column_memory(stream) > share(stream, COLUMN_MEMORY, 0))
		err = release_all(stream);
	return err ? err : ebt_builder_grow(builder);
}

static struct ebt_error *new_builder(struct ebt_stream *stream, uint16_t table_id,
				     struct ebt_builder **ret)
{
	const struct ebt_table *table = ebt_table_by_id(table_id);
	uint32_t limit = share(stream, CHUNK_ROWS, MIN_ROWS), cells;
	struct ebt_builder *builder;
	struct ebt_error *err;

	if (!table || table_id == EBT_T_index)
		return ebt_error_create(EBT_ERR_INVALID, "a record of table %u, which is none",
					table_id);
	cells = share(stream, CHUNK_CELLS, MIN_ROWS * table->n_fields) / table->n_fields;
	builder = malloc(sizeof(*builder));
	if (!builder)
		return &ebt_enomem;
	err = ebt_builder_init(builder, table, cells < limit ? cells : limit);
	if (err) {
		free(builder);
		return err;
	}
	*ret = stream->builders[table_id] = builder;
	return NULL;
}

static void count_lost(struct ebt_stream *stream, const void *record)
{
	const struct ebt_table *table;
	struct ebt_wire_lost lost;

	memcpy(&lost, record, sizeof(lost));
	table = lost.table_id <= UINT16_MAX ? ebt_table_by_id((uint16_t)lost.table_id) : NULL;
	if (table)
		ebt_writer_count_lost(stream->writer, table, lost.count);
}

/* The builder of the record's table, with room for a row. */
static struct ebt_error *prepare(struct ebt_stream *stream, const void *record, size_t len,
				 struct ebt_builder **ret)
{
	struct ebt_builder *builder;
	struct ebt_wire_head head;
	struct ebt_error *err;

	if (len < sizeof(head))
		return ebt_error_create(EBT_ERR_INVALID, "a record of %zu bytes has no head", len);
	memcpy(&head, record, sizeof(head));
	builder = head.table < stream->n_ids ? stream->builders[head.table] : NULL;
	if (!builder) {
		err = new_builder(stream, head.table, &builder);
		if (err)
			return err;
	}
	if (head.len < builder->table->wire_size || head.len > len)
		return ebt_error_create(EBT_ERR_INVALID,
					"a record of %s says %u bytes, has %zu and needs %u",
					builder->table->name, head.len, len,
					builder->table->wire_size);
	if (!ebt_builder_has_room(builder)) {
		err = make_room(stream, builder);
		if (err)
			return err;
	}
	*ret = builder;
	return NULL;
}

struct ebt_error *ebt_stream_add(struct ebt_stream *stream, const void *record, size_t len)
{
	struct ebt_builder *builder;
	struct ebt_error *err;

	if (atomic_load_explicit(&stream->writer->failed, memory_order_relaxed))
		return ebt_writer_error(stream->writer);
	err = prepare(stream, record, len, &builder);
	if (err)
		return err;
	err = ebt_builder_add(builder, record, len);
	if (err)
		return err;
	if (builder->rows == 1)
		builder->opened_ns = stream->now_ns;
	if (builder->table->id == EBT_T_lost)
		count_lost(stream, record);
	if (ebt_builder_dict_bytes(builder) > stream->dict_limit)
		return seal(stream, builder);
	return NULL;
}
