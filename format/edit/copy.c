/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A copy of a trace; see copy.h. */
#include "format/edit/copy.h"

#include <string.h>

#include "format/edit/private.h"
#include "format/read/reader_impl.h"
#include "format/write/writer_internal.h"

struct copy {
	struct ebt_reader *reader;
	const struct ebt_copy_options *options;
	struct ebt_writer *writer;
	struct ebt_decoded decoded;
	struct ebt_edit edit;
};

static enum ebt_class class_of(const struct ebt_table *table)
{
	return table ? table->class : EBT_CLASS_META;
}

static struct ebt_error *put_as_it_is(struct copy *copy, size_t index,
				      const struct ebt_table *table)
{
	const struct ebt_chunk_info *chunk = &copy->reader->chunks.chunk[index];
	struct ebt_chunk_header header;
	struct ebt_payload payload = { .info = *chunk };
	struct ebt_bytes stored;
	struct ebt_error *err;

	err = ebt_chunk_reader_stored(&copy->reader->chunk_reader, chunk, &header, &stored);
	if (err)
		return ebt_reader_blame(copy->reader, index, err);
	payload.info.flags = header.info.flags;
	payload.data = stored.pos;
	payload.crc = header.payload_crc;
	return ebt_writer_put_copy(copy->writer, &payload, chunk, class_of(table));
}

/* All rows were dropped; what the chunk tells of losses stays. */
static struct ebt_error *put_without_rows(struct copy *copy, const struct ebt_chunk_info *chunk,
					  const struct ebt_table *table)
{
	struct ebt_payload payload = ebt_payload_without_rows(table->id, chunk->time_max);

	return chunk->lost ? ebt_writer_put_copy(copy->writer, &payload, chunk, table->class)
			   : NULL;
}

static struct ebt_error *put_edited(struct copy *copy, size_t index, const struct ebt_table *table)
{
	const struct ebt_chunk_info *chunk = &copy->reader->chunks.chunk[index];
	bool ok, changed = true;
	struct ebt_payload payload;
	struct ebt_error *err;

	err = ebt_reader_load(copy->reader, index, table, ~UINT64_C(0), &copy->decoded, &ok);
	if (err || !ok)
		return err;
	err = ebt_edit_begin(&copy->edit, &copy->decoded.batch, &copy->writer->encoder);
	if (err)
		return err;
	err = copy->options->edit(copy->options->arg, &copy->edit, &changed);
	if (err)
		return err;
	if (!changed)
		return put_as_it_is(copy, index, table);
	err = ebt_edit_seal(&copy->edit, &payload);
	/* The new contents are too large for a chunk; no chunk of ebrec is so large. */
	if (err)
		return ebt_reader_blame(copy->reader, index, err);
	if (!payload.info.rows)
		return put_without_rows(copy, chunk, table);
	return ebt_writer_put_copy(copy->writer, &payload, chunk, table->class);
}

/* Tables that every writer makes for itself. */
static bool is_writers_own(uint16_t table)
{
	return table == EBT_T_index || table == EBT_T_schema || table == EBT_T_schema_value;
}

static struct ebt_error *copy_chunk(struct copy *copy, size_t index)
{
	const struct ebt_copy_options *options = copy->options;
	const struct ebt_chunk_info *chunk = &copy->reader->chunks.chunk[index];
	const struct ebt_table *table = NULL;

	if (chunk->type == EBT_CHUNK_TABLE) {
		if (chunk->table == EBT_T_schema && chunk->epoch > copy->writer->epoch)
			return ebt_writer_begin_epoch(copy->writer, chunk->epoch);
		if (is_writers_own(chunk->table))
			return NULL;
		table = ebt_reader_table(copy->reader, chunk->table);
	}
	switch (options->action(options->arg, chunk, table)) {
	case EBT_COPY_AS_IT_IS:
		return put_as_it_is(copy, index, table);
	case EBT_COPY_EDIT:
		return put_edited(copy, index, table);
	case EBT_COPY_DROP:
		break;
	}
	return NULL;
}

static struct ebt_error *append(struct copy *copy)
{
	const struct ebt_copy_options *options = copy->options;
	struct ebt_stream *stream;
	struct ebt_error *err;

	if (!options->append)
		return NULL;
	err = ebt_writer_add_stream(copy->writer, &stream);
	return err ? err : options->append(options->arg, stream);
}

struct ebt_error *ebt_copy(struct ebt_reader *reader, const struct ebt_copy_options *options)
{
	const struct ebt_reader_info *info = ebt_reader_info(reader);
	const struct ebt_writer_options writer_options = {
		.fd = options->fd,
		.name = options->name,
		.uuid = options->anew ? NULL : info->uuid,
		.created_ns = info->created_ns,
		.tables = options->anew ? NULL : reader->schema.tables,
		.n_tables = reader->schema.n_tables,
	};
	struct copy copy = { .reader = reader, .options = options };
	struct ebt_error *err = ebt_writer_create(&writer_options, &copy.writer);

	for (size_t i = 0; !err && i < reader->chunks.n; i++)
		err = copy_chunk(&copy, i);
	if (!err)
		err = append(&copy);
	if (!err)
		err = ebt_writer_finish(copy.writer);
	ebt_writer_destroy(copy.writer);
	ebt_edit_deinit(&copy.edit);
	ebt_decoded_deinit(&copy.decoded);
	return err;
}
