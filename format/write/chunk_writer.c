/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From an open chunk to the bytes of a sealed one; docs/FORMAT.md sections 3 and 4. */
#include "format/write/chunk_writer.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/encoding/column.h"
#include "format/encoding/crc32c.h"

#define EBT_TID_VARIES UINT64_MAX

/* Room for a payload's directory, which is written before the contents but known after them:
 * a count, and for each entry an id, an encoding and a length. */
#define MAX_DIRECTORY (EBT_VARINT_MAX + (EBT_MAX_FIELDS + 3) * (2 * EBT_VARINT_MAX + 1))

struct directory {
	unsigned int n;
	struct {
		uint32_t id;
		uint8_t encoding;
		size_t len;
	} entries[EBT_MAX_FIELDS + 3];
};

struct ebt_error *ebt_encoder_init(struct ebt_encoder *encoder, int zstd_level,
				   ebt_resolve_task_fn *resolve_task, void *resolve_arg)
{
	int level = zstd_level ? zstd_level : 1;
	size_t result;

	*encoder = (struct ebt_encoder){
		.resolve_task = resolve_task,
		.resolve_arg = resolve_arg,
		.zstd = ZSTD_createCCtx(),
	};
	if (!encoder->zstd)
		return &ebt_enomem;
	/* The window needs no limit of its own: it is never larger than the content. */
	result = ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_compressionLevel, level);
	if (ZSTD_isError(result))
		return ebt_error_create(EBT_ERR_INVALID, "zstd level %d: %s", level,
					ZSTD_getErrorName(result));
	return NULL;
}

void ebt_encoder_deinit(struct ebt_encoder *encoder)
{
	ZSTD_freeCCtx(encoder->zstd);
	ebt_buffer_deinit(&encoder->raw);
	ebt_buffer_deinit(&encoder->stored);
	ebt_dict_deinit(&encoder->tasks);
	ebt_dict_deinit(&encoder->tids);
	ebt_sorter_deinit(&encoder->sorter);
	free(encoder->spans);
	free(encoder->column);
}

/* --- tids to tasks --- */

/* Puts 1 + entry of tids in the place of each tid, and notes when it is met. */
static struct ebt_error *collect_tids(struct ebt_encoder *encoder, uint64_t *column,
				      const uint64_t *times, uint32_t rows)
{
	uint64_t last_tid = 0, value = 0;

	for (uint32_t i = 0; i < rows; i++) {
		uint64_t tid = column[i];
		struct ebt_tid_span *span;

		if (!tid)
			continue;
		if (tid != last_tid) {
			uint32_t before = encoder->tids.n;
			struct ebt_error *err;

			value = ebt_dict_intern(&encoder->tids, &tid, sizeof(tid));
			if (!value)
				return &ebt_enomem;
			err = ebt_array_reserve(&encoder->spans, value - 1, &encoder->n_spans);
			if (err)
				return err;
			if (encoder->tids.n != before)
				encoder->spans[value - 1] =
					(struct ebt_tid_span){ times[i], times[i], 0 };
			last_tid = tid;
		}
		span = &encoder->spans[value - 1];
		if (times[i] < span->first)
			span->first = times[i];
		if (times[i] > span->last)
			span->last = times[i];
		column[i] = value;
	}
	return NULL;
}

static uint32_t tid_of(const struct ebt_encoder *encoder, uint64_t value)
{
	uint64_t tid;

	memcpy(&tid, encoder->tids.bytes.data + encoder->tids.entries[value - 1].offset,
	       sizeof(tid));
	return (uint32_t)tid;
}

/* Who had this tid then, as a value of the task dictionary; 0 where memory ran out. */
static uint64_t resolve(struct ebt_encoder *encoder, struct ebt_dict *strings, uint32_t tid,
			uint64_t time)
{
	struct ebt_task_id id = { .tid = tid };
	struct ebt_dict_task task;
	size_t len;

	if (encoder->resolve_task)
		encoder->resolve_task(encoder->resolve_arg, tid, time, &id);
	task = (struct ebt_dict_task){ .tid = id.tid, .pid = id.pid, .start_ns = id.start_ns };
	len = strnlen(id.comm, sizeof(id.comm));
	if (len) {
		task.comm = ebt_dict_intern(strings, id.comm, len);
		if (!task.comm)
			return 0;
	}
	return ebt_dict_intern(&encoder->tasks, &task, sizeof(task));
}

/* One task for a tid, where it is the same at its first and its last row. */
static struct ebt_error *resolve_spans(struct ebt_encoder *encoder, struct ebt_dict *strings)
{
	for (uint32_t i = 0; i < encoder->tids.n; i++) {
		struct ebt_tid_span *span = &encoder->spans[i];
		uint32_t tid = tid_of(encoder, i + 1);
		uint64_t first = resolve(encoder, strings, tid, span->first), last = first;

		if (span->last != span->first)
			last = resolve(encoder, strings, tid, span->last);
		if (!first || !last)
			return &ebt_enomem;
		span->value = first == last ? first : EBT_TID_VARIES;
	}
	return NULL;
}

static struct ebt_error *replace_tids(struct ebt_encoder *encoder, struct ebt_dict *strings,
				      uint64_t *column, const uint64_t *times, uint32_t rows)
{
	for (uint32_t i = 0; i < rows; i++) {
		uint64_t value;

		if (!column[i])
			continue;
		value = encoder->spans[column[i] - 1].value;
		if (value == EBT_TID_VARIES)
			value = resolve(encoder, strings, tid_of(encoder, column[i]), times[i]);
		if (!value)
			return &ebt_enomem;
		column[i] = value;
	}
	return NULL;
}

static struct ebt_error *resolve_tasks(struct ebt_encoder *encoder, struct ebt_builder *builder)
{
	const struct ebt_table *table = builder->table;
	const uint64_t *times = ebt_builder_column(builder, 0);
	struct ebt_error *err = NULL;

	ebt_dict_reset(&encoder->tids);
	ebt_dict_reset(&encoder->tasks);
	for (uint32_t i = 0; !err && i < table->n_fields; i++) {
		if (table->fields[i].type == EBT_TYPE_TASK)
			err = collect_tids(encoder, ebt_builder_column(builder, i), times,
					   builder->rows);
	}
	if (err)
		return err;
	err = resolve_spans(encoder, &builder->strings);
	for (uint32_t i = 0; !err && i < table->n_fields; i++) {
		if (table->fields[i].type == EBT_TYPE_TASK)
			err = replace_tids(encoder, &builder->strings,
					   ebt_builder_column(builder, i), times, builder->rows);
	}
	return err;
}

static void fill_pids(const struct ebt_encoder *encoder, const struct ebt_table *table,
		      struct ebt_chunk_info *info)
{
	bool has_tasks = false;

	for (uint32_t i = 0; i < table->n_fields; i++)
		has_tasks |= table->fields[i].type == EBT_TYPE_TASK;
	info->pids[0] = info->pids[1] = has_tasks ? 0 : UINT64_MAX;
	for (uint32_t i = 0; i < encoder->tasks.n; i++) {
		uint32_t bit = (ebt_dict_task(&encoder->tasks, i).pid * 0x9E3779B1u) >> 25;

		info->pids[bit / 64] |= UINT64_C(1) << bit % 64;
	}
}

/* --- the payload --- */

static void add_entry(struct directory *directory, uint32_t id, uint8_t encoding, size_t len)
{
	directory->entries[directory->n].id = id;
	directory->entries[directory->n].encoding = encoding;
	directory->entries[directory->n].len = len;
	directory->n++;
}

static void encode_dicts(struct ebt_encoder *encoder, const struct ebt_builder *builder,
			 struct directory *directory)
{
	struct ebt_buffer *raw = &encoder->raw;
	size_t begin = raw->len;

	if (builder->strings.n) {
		ebt_dict_encode_strings(&builder->strings, raw);
		add_entry(directory, 0, EBT_ENC_STRINGS, raw->len - begin);
		begin = raw->len;
	}
	if (builder->stacks.n) {
		ebt_dict_encode_stacks(&builder->stacks, raw);
		add_entry(directory, 0, EBT_ENC_STACKS, raw->len - begin);
		begin = raw->len;
	}
	if (encoder->tasks.n) {
		ebt_dict_encode_tasks(&encoder->tasks, raw);
		add_entry(directory, 0, EBT_ENC_TASKS, raw->len - begin);
	}
}

/* The values of a column in order of time. */
static const uint64_t *in_order(struct ebt_encoder *encoder, const struct ebt_builder *builder,
				uint32_t i)
{
	const uint64_t *values = ebt_builder_column(builder, i);

	if (builder->sorted)
		return values;
	for (uint32_t row = 0; row < builder->rows; row++)
		encoder->column[row] = values[encoder->sorter.keys[row].row];
	return encoder->column;
}

static void encode_columns(struct ebt_encoder *encoder, const struct ebt_builder *builder,
			   struct directory *directory)
{
	for (uint32_t i = 0; i < builder->table->n_fields; i++) {
		const uint64_t *values = in_order(encoder, builder, i);
		struct ebt_column_plan plan = ebt_column_plan(values, builder->rows);

		if (plan.encoding == EBT_ENC_CONST && !plan.first)
			continue;
		ebt_column_encode(&plan, values, builder->rows, &encoder->raw);
		add_entry(directory, builder->table->fields[i].id, (uint8_t)plan.encoding,
			  plan.size);
	}
}

/* Puts the directory right before the contents, which begin at MAX_DIRECTORY of the buffer. */
static struct ebt_bytes put_directory(struct ebt_encoder *encoder,
				      const struct directory *directory)
{
	unsigned char bytes[MAX_DIRECTORY], *p = bytes, *begin;

	p = ebt_store_varint(p, directory->n);
	for (unsigned int i = 0; i < directory->n; i++) {
		p = ebt_store_varint(p, directory->entries[i].id);
		*p++ = directory->entries[i].encoding;
		p = ebt_store_varint(p, directory->entries[i].len);
	}
	begin = encoder->raw.data + MAX_DIRECTORY - (p - bytes);
	memcpy(begin, bytes, (size_t)(p - bytes));
	return ebt_bytes(begin, (size_t)(encoder->raw.data + encoder->raw.len - begin));
}

static struct ebt_error *encode(struct ebt_encoder *encoder, struct ebt_builder *builder,
				struct ebt_bytes *ret)
{
	struct directory directory = { 0 };
	struct ebt_error *err;

	if (!builder->sorted) {
		err = ebt_array_reserve(&encoder->column, builder->rows, &encoder->n_column);
		if (err)
			return err;
		err = ebt_sorter_sort(&encoder->sorter, ebt_builder_column(builder, 0),
				      builder->rows);
		if (err)
			return err;
	}
	ebt_buffer_clear(&encoder->raw);
	if (!ebt_buffer_reserve(&encoder->raw, MAX_DIRECTORY))
		return &ebt_enomem;
	encoder->raw.len = MAX_DIRECTORY;
	encode_dicts(encoder, builder, &directory);
	encode_columns(encoder, builder, &directory);
	if (encoder->raw.failed)
		return &ebt_enomem;
	*ret = put_directory(encoder, &directory);
	return NULL;
}

static struct ebt_error *compress(struct ebt_encoder *encoder, struct ebt_bytes raw,
				  struct ebt_payload *payload)
{
	size_t len = ebt_bytes_left(&raw), result;

	if (len > EBT_MAX_RAW)
		return ebt_error_create(EBT_ERR_LIMIT, "a chunk of %zu bytes is larger than %u",
					len, EBT_MAX_RAW);
	ebt_buffer_clear(&encoder->stored);
	if (!ebt_buffer_reserve(&encoder->stored, ZSTD_compressBound(len)))
		return &ebt_enomem;
	result = ZSTD_compress2(encoder->zstd, encoder->stored.data, encoder->stored.capacity,
				raw.pos, len);
	if (ZSTD_isError(result))
		return ebt_error_create(EBT_ERR_NOMEM, "cannot compress a chunk: %s",
					ZSTD_getErrorName(result));
	payload->info.raw = len;
	if (result < len) {
		payload->data = encoder->stored.data;
		payload->info.stored = result;
		payload->info.flags = EBT_CHUNK_ZSTD;
	} else {
		payload->data = raw.pos;
		payload->info.stored = len;
	}
	payload->crc = ebt_crc32c(payload->data, payload->info.stored);
	return NULL;
}

struct ebt_error *ebt_encoder_seal_resolved(struct ebt_encoder *encoder,
					    struct ebt_builder *builder, struct ebt_payload *ret)
{
	struct ebt_payload payload = {
		.info.type = EBT_CHUNK_TABLE,
		.info.time_min = builder->time_min,
		.info.time_max = builder->time_max,
		.info.rows = builder->rows,
		.info.table = builder->table->id,
	};
	struct ebt_bytes raw;
	struct ebt_error *err = encode(encoder, builder, &raw);

	if (!err)
		err = compress(encoder, raw, &payload);
	if (!err) {
		fill_pids(encoder, builder->table, &payload.info);
		*ret = payload;
	}
	ebt_builder_reset(builder);
	return err;
}

struct ebt_error *ebt_encoder_seal(struct ebt_encoder *encoder, struct ebt_builder *builder,
				   struct ebt_payload *ret)
{
	struct ebt_error *err = resolve_tasks(encoder, builder);

	if (!err)
		return ebt_encoder_seal_resolved(encoder, builder, ret);
	ebt_builder_reset(builder);
	return err;
}

struct ebt_payload ebt_payload_without_rows(uint16_t table, uint64_t time_ns)
{
	static const unsigned char empty_directory[1];

	return (struct ebt_payload){
		.data = empty_directory,
		.crc = ebt_crc32c(empty_directory, sizeof(empty_directory)),
		.info.type = EBT_CHUNK_TABLE,
		.info.table = table,
		.info.stored = sizeof(empty_directory),
		.info.raw = sizeof(empty_directory),
		.info.time_min = time_ns,
		.info.time_max = time_ns,
	};
}

void ebt_chunk_header_encode(const struct ebt_payload *payload, uint32_t tag, unsigned char *ret)
{
	memset(ret, 0, EBT_CHUNK_HEADER_LEN);
	ebt_store_u32(ret + EBT_CH_MAGIC, EBT_CHUNK_MAGIC);
	ebt_store_u16(ret + EBT_CH_FLAGS, payload->info.flags);
	ebt_store_u32(ret + EBT_CH_LEN, EBT_CHUNK_HEADER_LEN);
	ebt_store_u32(ret + EBT_CH_TAG, tag);
#define STORE(member, type, at, name) ebt_store_##type(ret + EBT_CH_##at, payload->info.member);
	EBT_CHUNK_INFO(STORE)
	ebt_store_u32(ret + EBT_CH_HOST, payload->info.host);
	ebt_store_u32(ret + EBT_CH_CRC, payload->crc);
	ebt_store_u32(ret + EBT_CH_HEADER_CRC, ebt_crc32c(ret, EBT_CH_HEADER_CRC));
}
