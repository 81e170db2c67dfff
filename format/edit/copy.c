/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A copy of a trace, see copy.h; and chunks that are written again, see edit.h. */
#include "format/edit/copy.h"

#include <stdlib.h>
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
	bool no_losses;
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
	edit->no_losses = false;
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

void ebt_edit_drop_losses(struct ebt_edit *edit)
{
	edit->no_losses = true;
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

struct original {
	struct ebt_reader *reader;
	const struct ebt_copy_options *options;
	size_t next; /* chunk */
	/* Of several originals, for each chunk: no row of it or of those behind it is older, but
	 * for tables of class meta. One more at the end. */
	uint64_t *lows;
	uint32_t epoch;	       /* the newest that the copy has begun */
	uint16_t more_streams; /* numbers that its streams move by */
};

struct copy {
	struct original *originals;
	size_t n;
	struct ebt_writer *writer;
	struct ebt_decoded decoded;
	struct ebt_edit edit;
};

static enum ebt_class class_of(const struct ebt_table *table)
{
	return table ? table->class : EBT_CLASS_META;
}

/* Times of several machines say nothing of each other. */
static uint64_t host_low(const struct copy *copy, uint32_t host)
{
	uint64_t low = UINT64_MAX;

	for (size_t i = 0; i < copy->n; i++) {
		const struct original *from = &copy->originals[i];

		if (from->options->host == host && from->lows[from->next] < low)
			low = from->lows[from->next];
	}
	return low;
}

/* What the header in the copy says of a chunk of the original. */
static struct ebt_chunk_info place_chunk(const struct copy *copy, const struct original *from,
					 const struct ebt_chunk_info *chunk)
{
	struct ebt_chunk_info place = *chunk;

	place.host = from->options->host;
	if (copy->n == 1)
		return place;
	place.epoch = copy->writer->epoch;
	place.watermark = host_low(copy, place.host);
	if (place.stream)
		place.stream += from->more_streams;
	return place;
}

static struct ebt_error *put(struct copy *copy, const struct original *from,
			     struct ebt_payload *payload, const struct ebt_chunk_info *chunk,
			     const struct ebt_table *table)
{
	const struct ebt_chunk_info place = place_chunk(copy, from, chunk);

	return ebt_writer_put_copy(copy->writer, payload, &place, class_of(table));
}

static struct ebt_error *put_as_it_is(struct copy *copy, const struct original *from, size_t index,
				      const struct ebt_table *table)
{
	const struct ebt_chunk_info *chunk = &from->reader->chunks.chunk[index];
	struct ebt_chunk_header header;
	struct ebt_payload payload = { .info = *chunk };
	struct ebt_bytes stored;
	struct ebt_error *err;

	err = ebt_chunk_reader_stored(&from->reader->chunk_reader, chunk, &header, &stored);
	if (err)
		return ebt_reader_blame(from->reader, index, err);
	payload.info.flags = header.info.flags;
	payload.data = stored.pos;
	payload.crc = header.payload_crc;
	return put(copy, from, &payload, chunk, table);
}

/* All rows were dropped; what the chunk tells of losses stays. */
static struct ebt_error *put_without_rows(struct copy *copy, const struct original *from,
					  const struct ebt_chunk_info *chunk,
					  const struct ebt_table *table)
{
	struct ebt_payload payload = ebt_payload_without_rows(table->id, chunk->time_max);

	return chunk->lost ? put(copy, from, &payload, chunk, table) : NULL;
}

static struct ebt_error *put_edited(struct copy *copy, const struct original *from, size_t index,
				    const struct ebt_table *table)
{
	struct ebt_chunk_info chunk = from->reader->chunks.chunk[index];
	bool ok, changed = true;
	struct ebt_payload payload;
	struct ebt_error *err;

	err = ebt_reader_load(from->reader, index, table, ~UINT64_C(0), &copy->decoded, &ok);
	if (err || !ok)
		return err;
	err = edit_begin(&copy->edit, &copy->decoded.batch, &copy->writer->encoder);
	if (err)
		return err;
	err = from->options->edit(from->options->arg, &copy->edit, &changed);
	if (err)
		return err;
	if (!changed)
		return put_as_it_is(copy, from, index, table);
	if (copy->edit.no_losses)
		chunk.lost = 0;
	err = edit_seal(&copy->edit, &payload);
	/* The new contents are too large for a chunk; no chunk of ebrec is so large. */
	if (err)
		return ebt_reader_blame(from->reader, index, err);
	if (!payload.info.rows)
		return put_without_rows(copy, from, &chunk, table);
	return put(copy, from, &payload, &chunk, table);
}

/* Tables that every writer makes for itself. */
static bool is_writers_own(uint16_t table)
{
	return table == EBT_T_index || table == EBT_T_schema || table == EBT_T_schema_value;
}

/* Each epoch that an original begins is one of the copy. */
static struct ebt_error *begin_epoch(struct copy *copy, struct original *from, uint32_t epoch)
{
	from->epoch = epoch;
	return copy->n == 1 ? ebt_writer_begin_epoch(copy->writer, epoch)
			    : ebt_writer_next_epoch(copy->writer);
}

static struct ebt_error *copy_chunk(struct copy *copy, struct original *from, size_t index)
{
	const struct ebt_copy_options *options = from->options;
	const struct ebt_chunk_info *chunk = &from->reader->chunks.chunk[index];
	const struct ebt_table *table = NULL;

	if (chunk->type == EBT_CHUNK_TABLE) {
		if (chunk->table == EBT_T_schema && chunk->epoch > from->epoch)
			return begin_epoch(copy, from, chunk->epoch);
		if (is_writers_own(chunk->table))
			return NULL;
		table = ebt_reader_table(from->reader, chunk->table);
	}
	switch (options->action(options->arg, chunk, table)) {
	case EBT_COPY_AS_IT_IS:
		return put_as_it_is(copy, from, index, table);
	case EBT_COPY_EDIT:
		return put_edited(copy, from, index, table);
	case EBT_COPY_NO_ROWS:
		return put_without_rows(copy, from, chunk, table);
	case EBT_COPY_DROP:
		break;
	}
	return NULL;
}

/* The original whose next rows are the oldest. NULL: all are copied. */
static struct original *choose(const struct copy *copy)
{
	struct original *best = NULL;

	for (size_t i = 0; i < copy->n; i++) {
		struct original *from = &copy->originals[i];

		if (from->next == from->reader->chunks.n)
			continue;
		if (copy->n == 1)
			return from;
		if (!best || from->lows[from->next] < best->lows[best->next])
			best = from;
	}
	return best;
}

static struct ebt_error *copy_chunks(struct copy *copy)
{
	struct original *from;
	struct ebt_error *err = NULL;

	while (!err && (from = choose(copy)))
		err = copy_chunk(copy, from, from->next++);
	return err;
}

static struct ebt_error *append(struct copy *copy)
{
	struct ebt_stream *stream;
	struct ebt_error *err = ebt_writer_add_stream(copy->writer, &stream);

	for (size_t i = 0; !err && i < copy->n; i++) {
		const struct ebt_copy_options *options = copy->originals[i].options;

		if (!options->append)
			continue;
		copy->writer->host = options->host;
		err = options->append(options->arg, stream) ?: ebt_stream_flush(stream, 0, true);
	}
	return err;
}

static struct ebt_error *copy_run(struct copy *copy, const struct ebt_writer_options *options)
{
	struct ebt_error *err = ebt_writer_create(options, &copy->writer)
					?: copy_chunks(copy)
					?: append(copy)
					?: ebt_writer_finish(copy->writer);

	ebt_writer_destroy(copy->writer);
	edit_deinit(&copy->edit);
	ebt_decoded_deinit(&copy->decoded);
	return err;
}

/* When the file was made that is copied, CLOCK_MONOTONIC: about, or for a part by definition. */
static uint64_t made_ns(const struct ebt_reader_info *info)
{
	return info->window.from ? info->start_ns : info->recorded_ns;
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
			(cut && options->window.from ? options->window.from - made_ns(info) : 0),
		.window = cut ? options->window : info->window,
		.tables = options->anew ? NULL : reader->schema.tables,
		.n_tables = reader->schema.n_tables,
	};
	struct original from = { .reader = reader, .options = options };
	struct copy copy = { .originals = &from, .n = 1 };

	return copy_run(&copy, &writer_options);
}

/* --- several originals --- */

static struct ebt_error *find_lows(struct original *from)
{
	const struct ebt_chunk_list *chunks = &from->reader->chunks;
	uint64_t low = UINT64_MAX;

	from->lows = malloc((chunks->n + 1) * sizeof(*from->lows));
	if (!from->lows)
		return &ebt_enomem;
	from->lows[chunks->n] = low;
	for (size_t i = chunks->n; i--;) {
		const struct ebt_chunk_info *chunk = &chunks->chunk[i];
		const struct ebt_table *table = ebt_reader_table(from->reader, chunk->table);

		if (class_of(table) != EBT_CLASS_META && chunk->time_min < low)
			low = chunk->time_min;
		from->lows[i] = low;
	}
	return NULL;
}

/* Streams of different originals have different numbers. */
static struct ebt_error *number_streams(struct original *from, uint32_t *taken)
{
	const struct ebt_chunk_list *chunks = &from->reader->chunks;
	uint32_t most = 0;

	for (size_t i = 0; i < chunks->n; i++) {
		if (chunks->chunk[i].stream > most)
			most = chunks->chunk[i].stream;
	}
	if (*taken + most > UINT16_MAX)
		return ebt_error_create(EBT_ERR_LIMIT, "%s: more than %u streams in all",
					from->reader->input.path, UINT16_MAX);
	from->more_streams = (uint16_t)*taken;
	*taken += most;
	return NULL;
}

static struct ebt_error *prepare(struct copy *copy, struct ebt_file_schema *schema)
{
	uint32_t streams = 0;
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < copy->n; i++) {
		struct original *from = &copy->originals[i];

		err = find_lows(from) ?: number_streams(from, &streams)
				      ?: ebt_reader_merge_schema(from->reader, schema);
	}
	return err ?: ebt_file_schema_finish(schema);
}

/* Parts of one recording make a part of it. NULL: they are of several. */
static const uint8_t *common_uuid(const struct copy *copy)
{
	const struct ebt_reader_info *first = ebt_reader_info(copy->originals[0].reader);

	for (size_t i = 1; i < copy->n; i++) {
		const struct ebt_reader_info *info = ebt_reader_info(copy->originals[i].reader);

		if (memcmp(info->uuid, first->uuid, sizeof(first->uuid)) != 0)
			return NULL;
	}
	return first->uuid;
}

static struct ebt_error *copy_several(struct copy *copy, struct ebt_file_schema *schema)
{
	const struct ebt_copy_options *options = copy->originals[0].options;
	struct ebt_writer_options writer_options = {
		.fd = options->fd,
		.name = options->name,
		.uuid = common_uuid(copy),
		.window = options->window,
	};
	struct ebt_error *err = prepare(copy, schema);

	if (err)
		return err;
	writer_options.tables = schema->tables;
	writer_options.n_tables = schema->n_tables;
	for (size_t i = 0; i < copy->n; i++) {
		uint64_t created = ebt_reader_info(copy->originals[i].reader)->created_ns;

		if (!i || created < writer_options.created_ns)
			writer_options.created_ns = created;
		writer_options.hosts |= copy->originals[i].options->host != 0;
	}
	return copy_run(copy, &writer_options);
}

struct ebt_error *ebt_copy_several(struct ebt_reader *const *readers,
				   const struct ebt_copy_options *options, size_t n)
{
	struct copy copy = { .originals = calloc(n, sizeof(*copy.originals)), .n = n };
	struct ebt_file_schema schema = { 0 };
	struct ebt_error *err;

	if (!copy.originals)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++)
		copy.originals[i] =
			(struct original){ .reader = readers[i], .options = &options[i] };
	err = ebt_file_schema_init(&schema) ?: copy_several(&copy, &schema);
	ebt_file_schema_deinit(&schema);
	for (size_t i = 0; i < n; i++)
		free(copy.originals[i].lows);
	free(copy.originals);
	return err;
}
