/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writer: what all streams share (file, sequence, index, totals), and its own chunks. */
#include "format/write/writer_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <time.h>

#include "format/base/cleanup.h"
#include "format/encoding/crc32c.h"

/* A copy of the error that ended writing, for one more caller. */
static struct ebt_error *copy_error(const struct ebt_error *err)
{
	struct ebt_error *copy;

	copy = ebt_error_create(err->code, "%s", err->message);
	if (copy != &ebt_enomem)
		copy->errnum = err->errnum;
	return copy;
}

/* Keeps err, which it takes, as the end of writing. The lock is held. */
static struct ebt_error *fail(struct ebt_writer *writer, struct ebt_error *err)
{
	if (writer->error) {
		ebt_error_destroy(err);
	} else {
		writer->error = err;
		atomic_store(&writer->failed, true);
	}
	return copy_error(writer->error);
}

struct ebt_error *ebt_writer_error(struct ebt_writer *writer)
{
	_cleanup_unlock_ pthread_mutex_t *lock = ebt_lock(&writer->lock);

	return writer->error ? copy_error(writer->error) : NULL;
}

struct ebt_error *ebt_writer_fail(struct ebt_writer *writer, struct ebt_error *err)
{
	_cleanup_unlock_ pthread_mutex_t *lock = ebt_lock(&writer->lock);

	return fail(writer, err);
}

/* --- the file --- */

static void advance(struct iovec **parts, int *n, size_t written)
{
	while (*n && written >= (*parts)->iov_len) {
		written -= (*parts)->iov_len;
		++*parts;
		--*n;
	}
	if (*n) {
		(*parts)->iov_base = (char *)(*parts)->iov_base + written;
		(*parts)->iov_len -= written;
	}
}

/* Appends all of the n parts, which it uses up, to a file, or to a pipe that may not block. After
 * an error some of the bytes may be there. */
static struct ebt_error *append(struct ebt_writer *writer, struct iovec *parts, int n)
{
	const int fd = writer->options.fd;

	advance(&parts, &n, 0);
	while (n) {
		ssize_t written = writev(fd, parts, n);

		if (written > 0) {
			writer->offset += (uint64_t)written;
			advance(&parts, &n, (size_t)written);
		} else if (!written) {
			return ebt_error_errno(EIO, "cannot write %s", writer->name);
		} else if (errno == EAGAIN) {
			poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
		} else if (errno != EINTR) {
			return ebt_error_errno(errno, "cannot write %s", writer->name);
		}
	}
	return NULL;
}

/* Adds a row to a table of the writer's own. */
static struct ebt_error *add_row(struct ebt_builder *builder, const void *record, size_t len)
{
	struct ebt_error *err;

	if (!ebt_builder_has_room(builder)) {
		err = ebt_builder_grow(builder);
		if (err)
			return err;
	}
	return ebt_builder_add(builder, record, len);
}

static struct ebt_error *add_index_row(struct ebt_writer *writer, const struct ebt_chunk_info *info)
{
	struct ebt_wire_index row = {
		.head = { .table = EBT_T_index, .len = sizeof(row) },
		.offset = info->offset,
		.stored = info->stored,
		.raw = info->raw,
		.time_min = info->time_min,
		.time_max = info->time_max,
		.watermark = info->watermark,
		.pids_low = info->pids[0],
		.pids_high = info->pids[1],
		.type = info->type,
		.table_id = info->table,
		.stream = info->stream,
		.epoch = info->epoch,
		.rows = info->rows,
		.lost = info->lost,
	};

	return add_row(&writer->index, &row, sizeof(row));
}

/* Later rows of a stream that promises nothing may have any time. */
static uint64_t watermark(const struct ebt_writer *writer)
{
	uint64_t low = UINT64_MAX;

	if (writer->n_streams < writer->max_streams)
		return 0;
	for (unsigned int i = 0; i < writer->n_streams; i++) {
		uint64_t stream_low = atomic_load(&writer->streams[i]->published_low);

		if (stream_low < low)
			low = stream_low;
	}
	return low;
}

/* Writes one chunk and its row of the index. The lock is held. */
static struct ebt_error *put_at(struct ebt_writer *writer, struct ebt_payload *payload,
				enum ebt_class class)
{
	struct ebt_chunk_info *info = &payload->info;
	static const unsigned char zeros[EBT_ALIGN];
	unsigned char header[EBT_CHUNK_HEADER_LEN];
	struct iovec parts[] = {
		{ header, sizeof(header) },
		{ (void *)payload->data, info->stored },
		{ (void *)zeros, -info->stored % EBT_ALIGN },
	};
	struct ebt_error *err;

	info->offset = writer->offset;
	info->seq = writer->stats.chunks;
	ebt_chunk_header_encode(payload, writer->tag, header);
	err = append(writer, parts, 3);
	if (err)
		return err;
	writer->stats.chunks++;
	if (class == EBT_CLASS_EVENT)
		writer->stats.rows += info->rows;
	if (class != EBT_CLASS_META && info->time_max > writer->time_max)
		writer->time_max = info->time_max;
	if (info->watermark > writer->time_max)
		writer->time_max = info->watermark;
	if (info->table == EBT_T_index)
		writer->index_offset = info->offset;
	return add_index_row(writer, info);
}

/* The same for a chunk of the writer's own. The lock is held. */
static struct ebt_error *put_chunk(struct ebt_writer *writer, struct ebt_payload *payload,
				   uint16_t stream)
{
	struct ebt_chunk_info *info = &payload->info;
	const struct ebt_table *table = ebt_table_by_id(info->table);
	uint64_t *lost = &writer->lost[table - ebt_tables];
	struct ebt_error *err;

	info->watermark = watermark(writer);
	info->epoch = writer->epoch;
	info->lost = *lost > UINT32_MAX ? UINT32_MAX : (uint32_t)*lost;
	info->stream = stream;
	info->host = stream ? writer->host : 0;
	err = put_at(writer, payload, table->class);
	if (!err)
		*lost -= info->lost;
	return err;
}

/* The chunk's own row is the first of the next index chunk. The lock is held. */
static struct ebt_error *put_index(struct ebt_writer *writer)
{
	struct ebt_payload payload;
	struct ebt_error *err = ebt_encoder_seal(&writer->encoder, &writer->index, &payload);

	return err ? err : put_chunk(writer, &payload, 0);
}

/* put_chunk(), then the index where that is due. The lock is held. */
static struct ebt_error *put_indexed(struct ebt_writer *writer, struct ebt_payload *payload,
				     uint16_t stream)
{
	struct ebt_error *err = put_chunk(writer, payload, stream);

	return !err && writer->index.rows == EBT_INDEX_ROWS ? put_index(writer) : err;
}

/* Seals and writes one of the two schema tables. The lock is held. */
static struct ebt_error *put_own(struct ebt_writer *writer, struct ebt_builder *builder)
{
	struct ebt_payload payload;
	struct ebt_error *err = ebt_encoder_seal(&writer->encoder, builder, &payload);

	return err ? err : put_indexed(writer, &payload, 0);
}

struct ebt_error *ebt_writer_put(struct ebt_writer *writer, struct ebt_payload *payload,
				 uint32_t inside, struct ebt_stream *stream)
{
	_cleanup_unlock_ pthread_mutex_t *lock = ebt_lock(&writer->lock);
	struct ebt_error *err;

	if (writer->error)
		return copy_error(writer->error);
	writer->inside[ebt_table_by_id(payload->info.table) - ebt_tables] += inside;
	/* Only now: while the chunk was sealed but not written, its rows held the low down. */
	ebt_stream_publish_low(stream);
	err = put_indexed(writer, payload, stream->id);
	return err ? fail(writer, err) : NULL;
}

struct ebt_error *ebt_writer_put_copy(struct ebt_writer *writer, struct ebt_payload *payload,
				      const struct ebt_chunk_info *original, enum ebt_class class)
{
	_cleanup_unlock_ pthread_mutex_t *lock = ebt_lock(&writer->lock);
	struct ebt_chunk_info *info = &payload->info;
	struct ebt_error *err;

	if (writer->error)
		return copy_error(writer->error);
	info->watermark = original->watermark;
	info->epoch = original->epoch;
	info->lost = original->lost;
	info->stream = original->stream;
	info->host = original->host;
	if (info->epoch > writer->epoch)
		writer->epoch = info->epoch;
	err = put_at(writer, payload, class);
	if (!err && class == EBT_CLASS_EVENT)
		writer->stats.lost += original->lost;
	if (!err && writer->index.rows == EBT_INDEX_ROWS)
		err = put_index(writer);
	return err ? fail(writer, err) : NULL;
}

void ebt_writer_count_lost(struct ebt_writer *writer, const struct ebt_table *table, uint64_t count)
{
	_cleanup_unlock_ pthread_mutex_t *lock = ebt_lock(&writer->lock);

	writer->lost[table - ebt_tables] += count;
	if (table->class == EBT_CLASS_EVENT)
		writer->stats.lost += count;
}

/* Chunks without rows, for losses that no chunk has told: the end is near. */
static struct ebt_error *put_losses(struct ebt_writer *writer)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < ebt_n_tables; i++) {
		struct ebt_payload payload =
			ebt_payload_without_rows(ebt_tables[i].id, writer->time_max);

		if (writer->lost[i])
			err = put_indexed(writer, &payload, 0);
	}
	return err;
}

/* --- the schema --- */

static struct ebt_error *add_record(struct ebt_builder *builder, const struct ebt_record *rec)
{
	return rec->failed ? &ebt_enomem : add_row(builder, rec->data, rec->len);
}

static struct ebt_error *add_schema_row(struct ebt_builder *builder, struct ebt_record *rec,
					const struct ebt_table *table,
					const struct ebt_field *field)
{
	struct ebt_wire_schema *row = ebt_record_begin(rec, EBT_T_schema, 0);

	row->table_id = table->id;
	row->field_id = field->id;
	row->table_class = table->class;
	row->type = field->type;
	ebt_record_str(rec, offsetof(struct ebt_wire_schema, table_name), table->name);
	ebt_record_str(rec, offsetof(struct ebt_wire_schema, field_name), field->name);
	ebt_record_str(rec, offsetof(struct ebt_wire_schema, unit), field->unit);
	ebt_record_str(rec, offsetof(struct ebt_wire_schema, table_doc), table->doc);
	ebt_record_str(rec, offsetof(struct ebt_wire_schema, field_doc), field->doc);
	return add_record(builder, rec);
}

static struct ebt_error *add_value_rows(struct ebt_builder *builder, struct ebt_record *rec,
					const struct ebt_table *table,
					const struct ebt_field *field)
{
	struct ebt_error *err = NULL;

	for (uint32_t i = 0; !err && i < field->n_values; i++) {
		struct ebt_wire_schema_value *row = ebt_record_begin(rec, EBT_T_schema_value, 0);

		row->table_id = table->id;
		row->field_id = field->id;
		row->value = field->values[i].value;
		ebt_record_str(rec, offsetof(struct ebt_wire_schema_value, name),
			       field->values[i].name);
		err = add_record(builder, rec);
	}
	return err;
}

/* The lock is held. */
static struct ebt_error *put_schema(struct ebt_writer *writer)
{
	_cleanup_(ebt_record_deinit) struct ebt_record rec = EBT_RECORD_INIT;
	const struct ebt_table *tables = writer->options.tables;
	size_t n_tables = tables ? writer->options.n_tables : ebt_n_tables;
	struct ebt_error *err;

	tables = tables ? tables : ebt_tables;
	for (size_t t = 0; t < n_tables; t++) {
		const struct ebt_table *table = &tables[t];

		for (uint32_t f = 0; f < table->n_fields; f++) {
			err = add_schema_row(&writer->schema, &rec, table, &table->fields[f]);
			if (err)
				return err;
			err = add_value_rows(&writer->schema_value, &rec, table, &table->fields[f]);
			if (err)
				return err;
		}
	}
	err = put_own(writer, &writer->schema);
	return err ? err : put_own(writer, &writer->schema_value);
}

struct ebt_error *ebt_writer_begin_epoch(struct ebt_writer *writer, uint32_t epoch)
{
	_cleanup_unlock_ pthread_mutex_t *lock = ebt_lock(&writer->lock);
	struct ebt_error *err;

	if (writer->error)
		return copy_error(writer->error);
	writer->epoch = epoch;
	err = put_schema(writer);
	return err ? fail(writer, err) : NULL;
}

struct ebt_error *ebt_writer_next_epoch(struct ebt_writer *writer)
{
	return ebt_writer_begin_epoch(writer, writer->epoch + 1);
}

/* --- beginning and end --- */

static uint64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct ebt_error *put_file_header(struct ebt_writer *writer,
					 const struct ebt_writer_options *options)
{
	unsigned char header[EBT_FILE_HEADER_LEN] = { 0 };
	struct iovec part = { header, sizeof(header) };

	memcpy(header + EBT_FH_MAGIC, EBT_FILE_MAGIC, EBT_FILE_MAGIC_LEN);
	ebt_store_u16(header + EBT_FH_MAJOR, EBT_MAJOR);
	ebt_store_u16(header + EBT_FH_MINOR, EBT_MINOR);
	ebt_store_u32(header + EBT_FH_LEN, EBT_FILE_HEADER_LEN);
	if (options->uuid)
		memcpy(header + EBT_FH_UUID, options->uuid, 16);
	else if (getrandom(header + EBT_FH_UUID, 16, 0) != 16)
		return ebt_error_errno(errno, "no random bytes for %s", writer->name);
	writer->tag = ebt_load_u32(header + EBT_FH_UUID);
	ebt_store_u64(header + EBT_FH_CREATED,
		      options->created_ns ? options->created_ns : realtime_ns());
	ebt_store_u64(header + EBT_FH_INCOMPAT,
		      (ebt_window_is_set(&options->window) ? EBT_WINDOW : 0) |
			      (options->hosts ? EBT_HOSTS : 0));
	if (ebt_window_is_set(&options->window)) {
		ebt_store_u64(header + EBT_FH_FROM, options->window.from);
		ebt_store_u64(header + EBT_FH_TO, options->window.to);
	}
	ebt_store_u32(header + EBT_FH_CRC, ebt_crc32c(header, EBT_FH_CRC));
	return append(writer, &part, 1);
}

static struct ebt_error *put_footer(struct ebt_writer *writer)
{
	unsigned char footer[EBT_FOOTER_LEN] = { 0 };
	struct iovec part = { footer, sizeof(footer) };

	ebt_store_u32(footer + EBT_FT_MAGIC, EBT_FOOTER_MAGIC);
	ebt_store_u32(footer + EBT_FT_LEN, EBT_FOOTER_LEN);
	ebt_store_u64(footer + EBT_FT_INDEX, writer->index_offset);
	ebt_store_u64(footer + EBT_FT_CHUNKS, writer->stats.chunks);
	ebt_store_u64(footer + EBT_FT_ROWS, writer->stats.rows);
	ebt_store_u64(footer + EBT_FT_LOST, writer->stats.lost);
	ebt_store_u32(footer + EBT_FT_TAG, writer->tag);
	ebt_store_u32(footer + EBT_FT_CRC, ebt_crc32c(footer, EBT_FT_CRC));
	return append(writer, &part, 1);
}

static struct ebt_error *init_own_tables(struct ebt_writer *writer)
{
	struct ebt_error *err;

	/* The schema is written whole, so that its limit is never met. */
	err = ebt_builder_init(&writer->schema, ebt_table_by_id(EBT_T_schema), EBT_MAX_ROWS);
	if (err)
		return err;
	err = ebt_builder_init(&writer->schema_value, ebt_table_by_id(EBT_T_schema_value),
			       EBT_MAX_ROWS);
	return err ? err
		   : ebt_builder_init(&writer->index, ebt_table_by_id(EBT_T_index), EBT_INDEX_ROWS);
}

struct ebt_error *ebt_writer_create(const struct ebt_writer_options *options,
				    struct ebt_writer **ret)
{
	_cleanup_(ebt_writer_destroyp) struct ebt_writer *writer = calloc(1, sizeof(*writer));
	struct ebt_error *err;

	if (!writer)
		return &ebt_enomem;
	pthread_mutex_init(&writer->lock, NULL);
	if (options->streams > EBT_MAX_STREAMS)
		return ebt_error_create(EBT_ERR_INVALID, "%u streams are more than %u",
					options->streams, EBT_MAX_STREAMS);
	writer->max_streams = options->streams ? options->streams : 1;
	writer->name = strdup(options->name);
	writer->lost = calloc(ebt_n_tables, sizeof(*writer->lost));
	writer->inside = calloc(ebt_n_tables, sizeof(*writer->inside));
	writer->to = UINT64_MAX;
	if (!writer->name || !writer->lost || !writer->inside)
		return &ebt_enomem;
	writer->options = *options;
	err = init_own_tables(writer);
	if (err)
		return err;
	err = ebt_encoder_init(&writer->encoder, options->zstd_level, options->resolve_task,
			       options->resolve_arg);
	if (err)
		return err;
	err = put_file_header(writer, options);
	if (err)
		return err;
	err = put_schema(writer);
	if (err)
		return err;
	*ret = take_ptr(writer);
	return NULL;
}

void ebt_writer_destroy(struct ebt_writer *writer)
{
	if (!writer)
		return;
	for (unsigned int i = 0; i < writer->n_streams; i++)
		ebt_stream_destroy(writer->streams[i]);
	ebt_builder_deinit(&writer->schema);
	ebt_builder_deinit(&writer->schema_value);
	ebt_builder_deinit(&writer->index);
	ebt_encoder_deinit(&writer->encoder);
	ebt_error_destroy(writer->error);
	pthread_mutex_destroy(&writer->lock);
	free(writer->name);
	free(writer->lost);
	free(writer->inside);
	free(writer);
}

struct ebt_error *ebt_writer_finish(struct ebt_writer *writer)
{
	struct ebt_error *err = ebt_writer_error(writer);

	for (unsigned int i = 0; !err && i < writer->n_streams; i++)
		err = ebt_stream_flush(writer->streams[i], 0, true);
	if (err)
		return err;

	_cleanup_unlock_ pthread_mutex_t *lock = ebt_lock(&writer->lock);

	err = put_losses(writer);
	if (!err)
		err = put_index(writer);
	if (!err)
		err = put_footer(writer);
	return err ? fail(writer, err) : NULL;
}

void ebt_writer_stats(struct ebt_writer *writer, struct ebt_writer_stats *ret)
{
	_cleanup_unlock_ pthread_mutex_t *lock = ebt_lock(&writer->lock);

	*ret = writer->stats;
	ret->bytes = writer->offset;
}

void ebt_writer_set_times(struct ebt_writer *writer, uint64_t from, uint64_t to)
{
	writer->from = from;
	writer->to = to;
}

uint64_t ebt_writer_inside(struct ebt_writer *writer, uint16_t table)
{
	_cleanup_unlock_ pthread_mutex_t *lock = ebt_lock(&writer->lock);
	uint64_t n = 0;

	for (size_t i = 0; i < ebt_n_tables; i++) {
		if (table ? ebt_tables[i].id == table : ebt_tables[i].class == EBT_CLASS_EVENT)
			n += writer->inside[i];
	}
	return n;
}

struct ebt_error *ebt_writer_add_stream(struct ebt_writer *writer, struct ebt_stream **ret)
{
	_cleanup_unlock_ pthread_mutex_t *lock = ebt_lock(&writer->lock);
	struct ebt_stream *stream;
	struct ebt_error *err;

	if (writer->n_streams == writer->max_streams)
		return ebt_error_create(EBT_ERR_INVALID, "%s was to have %u streams", writer->name,
					writer->max_streams);
	err = ebt_stream_create(writer, (uint16_t)(writer->n_streams + 1), &stream);
	if (err)
		return err;
	writer->streams[writer->n_streams++] = stream;
	*ret = stream;
	return NULL;
}
