/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A copy of a trace, see copy.h; and chunks that are written again, see edit.h. */
#include "format/edit/copy.h"

#include <string.h>

#include "format/base/space.h"
#include "format/read/reader_impl.h"
#include "format/write/writer_internal.h"

struct ebt_edit {
	const struct ebt_batch *batch;
	struct ebt_encoder *encoder; /* has the task dictionary */
	struct ebt_builder builder;
	struct ebt_space columns, dropped;
	uint32_t n_dropped;
	bool failed; /* memory ran out */
};

/* Begins with a batch, of any table. */
static struct ebt_error *edit_begin(struct ebt_edit *edit, const struct ebt_batch *batch,
				    struct ebt_encoder *encoder)
{
	size_t cells = (size_t)batch->rows * batch->table->n_fields;
	struct ebt_builder *builder = &edit->builder;
	uint64_t *columns = ebt_space_get(&edit->columns, cells * sizeof(*columns));
	bool *dropped = ebt_space_get(&edit->dropped, batch->rows);

	if (!columns || !dropped)
		return &ebt_enomem;
	edit->batch = batch;
	edit->encoder = encoder;
	edit->n_dropped = 0;
	edit->failed = false;
	ebt_dict_reset(&encoder->tasks);
	ebt_builder_reset(builder);
	memset(columns, 0, cells * sizeof(*columns));
	memset(dropped, 0, batch->rows);
	builder->table = batch->table;
	builder->columns = columns;
	builder->stride = batch->rows;
	builder->rows = batch->rows;
	if (batch->rows)
		memcpy(columns, batch->col[0], batch->rows * sizeof(*columns));
	return NULL;
}

static void edit_deinit(struct ebt_edit *edit)
{
	ebt_dict_deinit(&edit->builder.strings);
	ebt_dict_deinit(&edit->builder.stacks);
	ebt_space_deinit(&edit->columns);
	ebt_space_deinit(&edit->dropped);
}

const struct ebt_batch *ebt_edit_batch(const struct ebt_edit *edit)
{
	return edit->batch;
}

uint64_t *ebt_edit_column(struct ebt_edit *edit, uint32_t field)
{
	return ebt_builder_column(&edit->builder, field);
}

uint64_t ebt_edit_string(struct ebt_edit *edit, struct ebt_str s)
{
	uint64_t value = s.len ? ebt_dict_intern(&edit->builder.strings, s.data, s.len) : 0;

	edit->failed |= s.len && !value;
	return value;
}

uint64_t ebt_edit_stack(struct ebt_edit *edit, const struct ebt_stack *stack)
{
	struct {
		struct ebt_wire_stack head;
		uint64_t addresses[EBT_MAX_FRAMES];
	} bytes;
	uint32_t n;
	uint64_t value;

	if (!stack)
		return 0;
	n = stack->n < EBT_MAX_FRAMES ? stack->n : EBT_MAX_FRAMES;
	bytes.head = (struct ebt_wire_stack){ .attrs = stack->attrs, .n = n };
	if (n)
		memcpy(bytes.addresses, stack->addresses, n * sizeof(uint64_t));
	value = ebt_dict_intern(&edit->builder.stacks, &bytes,
				sizeof(bytes.head) + n * sizeof(uint64_t));
	edit->failed |= !value;
	return value;
}

uint64_t ebt_edit_task(struct ebt_edit *edit, const struct ebt_task *task, struct ebt_str comm)
{
	struct ebt_dict_task entry;
	uint64_t value;

	if (!task)
		return 0;
	entry = (struct ebt_dict_task){
		.tid = task->tid,
		.pid = task->pid,
		.start_ns = task->start_ns,
		.comm = ebt_edit_string(edit, comm),
	};
	value = ebt_dict_intern(&edit->encoder->tasks, &entry, sizeof(entry));
	edit->failed |= !value;
	return value;
}

void ebt_edit_keep_value(struct ebt_edit *edit, uint32_t field, uint32_t row)
{
	const struct ebt_batch *batch = edit->batch;
	const struct ebt_row r = { .batch = batch, .i = row };
	uint64_t *to = ebt_edit_column(edit, field) + row;
	const struct ebt_task *task;

	switch (batch->table->fields[field].type) {
	case EBT_TYPE_TASK:
		task = ebt_task(&r, field);
		if (task)
			*to = ebt_edit_task(edit, task, task->comm);
		break;
	case EBT_TYPE_STACK:
		*to = ebt_edit_stack(edit, ebt_stack(&r, field));
		break;
	case EBT_TYPE_STRING:
	case EBT_TYPE_BYTES:
		*to = ebt_edit_string(edit, ebt_str(&r, field));
		break;
	default:
		*to = batch->col[field][row];
	}
}

void ebt_edit_keep(struct ebt_edit *edit, uint32_t field)
{
	for (uint32_t i = 0; i < edit->batch->rows; i++)
		ebt_edit_keep_value(edit, field, i);
}

void ebt_edit_drop_row(struct ebt_edit *edit, uint32_t row)
{
	bool *dropped = edit->dropped.data;

	edit->n_dropped += !dropped[row];
	dropped[row] = true;
}

bool ebt_edit_dropped(const struct ebt_edit *edit, uint32_t row)
{
	const bool *dropped = edit->dropped.data;

	return dropped[row];
}

/* Closes the gaps that dropped rows leave. */
static void compact(struct ebt_edit *edit)
{
	struct ebt_builder *builder = &edit->builder;
	const bool *dropped = edit->dropped.data;

	for (uint32_t f = 0; f < builder->table->n_fields; f++) {
		uint64_t *column = ebt_builder_column(builder, f);
		uint32_t n = 0;

		for (uint32_t i = 0; i < builder->rows; i++) {
			if (!dropped[i])
				column[n++] = column[i];
		}
	}
	builder->rows -= edit->n_dropped;
}

/* The new chunk. Where no row is left, ret->info.rows is 0 and there is none. */
static struct ebt_error *edit_seal(struct ebt_edit *edit, struct ebt_payload *ret)
{
	struct ebt_builder *builder = &edit->builder;
	const uint64_t *times;

	if (edit->failed)
		return &ebt_enomem;
	if (edit->n_dropped)
		compact(edit);
	if (!builder->rows) {
		*ret = (struct ebt_payload){ 0 };
		return NULL;
	}
	times = ebt_builder_column(builder, 0);
	builder->time_min = times[0];
	builder->time_max = times[builder->rows - 1];
	return ebt_encoder_seal_resolved(edit->encoder, builder, ret);
}

/* --- chunk by chunk --- */

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
	err = edit_begin(&copy->edit, &copy->decoded.batch, &copy->writer->encoder);
	if (err)
		return err;
	err = copy->options->edit(copy->options->arg, &copy->edit, &changed);
	if (err)
		return err;
	if (!changed)
		return put_as_it_is(copy, index, table);
	err = edit_seal(&copy->edit, &payload);
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
	case EBT_COPY_NO_ROWS:
		return put_without_rows(copy, chunk, table);
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
	const bool cut = ebt_window_is_set(&options->window);
	const struct ebt_writer_options writer_options = {
		.fd = options->fd,
		.name = options->name,
		.uuid = options->anew ? NULL : info->uuid,
		.created_ns =
			info->created_ns +
			(cut && options->window.from ? options->window.from - info->start_ns : 0),
		.window = cut ? options->window : info->window,
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
	edit_deinit(&copy.edit);
	ebt_decoded_deinit(&copy.decoded);
	return err;
}
