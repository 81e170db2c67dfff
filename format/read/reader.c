/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening a file: its header, where its chunks are, its schema. */
#include "format/read/reader_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/limits.h"
#include "format/encoding/crc32c.h"
#include "format/encoding/layout.h"
#include "format/read/unpack.h"

static struct ebt_error *check_version(const struct ebt_reader *reader, const unsigned char *bytes)
{
	unsigned int major = ebt_load_u16(bytes + EBT_FH_MAJOR);

	if (major != EBT_MAJOR)
		return ebt_error_create(EBT_ERR_UNSUPPORTED,
					"%s: format version %u.%u, this program knows %u",
					reader->input.path, major,
					ebt_load_u16(bytes + EBT_FH_MINOR), EBT_MAJOR);
	return NULL;
}

static struct ebt_error *check_header(const struct ebt_reader *reader, const unsigned char *bytes,
				      uint64_t *ret_len)
{
	const char *path = reader->input.path;
	uint64_t incompat = ebt_load_u64(bytes + EBT_FH_INCOMPAT);
	uint32_t len = ebt_load_u32(bytes + EBT_FH_LEN);

	if (ebt_load_u32(bytes + EBT_FH_CRC) != ebt_crc32c(bytes, EBT_FH_CRC))
		return ebt_error_create(EBT_ERR_CORRUPT, "%s: the CRC of the file header is wrong",
					path);
	if (incompat & ~(uint64_t)EBT_KNOWN_FEATURES)
		return ebt_error_create(
			EBT_ERR_UNSUPPORTED,
			"%s: needs feature bit %d, which this program does not know", path,
			__builtin_ctzll(incompat & ~(uint64_t)EBT_KNOWN_FEATURES));
	if (len < EBT_FILE_HEADER_LEN || len > EBT_MAX_HEADER || len % EBT_ALIGN ||
	    len > reader->input.size)
		return ebt_error_create(EBT_ERR_CORRUPT, "%s: the file header is %u bytes long",
					path, len);
	*ret_len = len;
	return NULL;
}

static struct ebt_error *read_window(struct ebt_reader *reader, const unsigned char *bytes)
{
	struct ebt_window window = { 0 };

	if (ebt_load_u64(bytes + EBT_FH_INCOMPAT) & EBT_WINDOW) {
		window.from = ebt_load_u64(bytes + EBT_FH_FROM);
		window.to = ebt_load_u64(bytes + EBT_FH_TO);
		if (window.to <= window.from)
			return ebt_error_create(EBT_ERR_CORRUPT,
						"%s: its window ends before it begins",
						reader->input.path);
	}
	reader->info.window = window;
	return NULL;
}

struct ebt_error *ebt_reader_header(struct ebt_reader *reader, uint64_t *ret_first)
{
	const char *path = reader->input.path;
	unsigned char bytes[EBT_FILE_HEADER_LEN] = { 0 };
	size_t len =
		reader->input.size < sizeof(bytes) ? (size_t)reader->input.size : sizeof(bytes);
	struct ebt_error *err;

	err = ebt_input_read(&reader->input, 0, bytes, len);
	if (err)
		return ebt_error_prefix(err, "%s", path);
	if (!len)
		return ebt_error_create(EBT_ERR_CORRUPT, "%s: is empty", path);
	if (memcmp(bytes, EBT_FILE_MAGIC, len < EBT_FILE_MAGIC_LEN ? len : EBT_FILE_MAGIC_LEN))
		return ebt_not_a_trace(path, bytes, len);
	if (len < sizeof(bytes))
		return ebt_error_create(EBT_ERR_CORRUPT, "%s: ends within the file header", path);
	err = check_version(reader, bytes);
	if (err)
		return err;
	err = check_header(reader, bytes, ret_first);
	if (err)
		return err;
	err = read_window(reader, bytes);
	if (err)
		return err;
	reader->info.several_hosts = ebt_load_u64(bytes + EBT_FH_INCOMPAT) & EBT_HOSTS;
	reader->info.path = path;
	reader->info.size = reader->input.size;
	memcpy(reader->info.uuid, bytes + EBT_FH_UUID, sizeof(reader->info.uuid));
	reader->info.major = ebt_load_u16(bytes + EBT_FH_MAJOR);
	reader->info.minor = ebt_load_u16(bytes + EBT_FH_MINOR);
	reader->info.compat = ebt_load_u64(bytes + EBT_FH_COMPAT);
	reader->info.created_ns = ebt_load_u64(bytes + EBT_FH_CREATED);
	ebt_chunk_reader_init(&reader->chunk_reader, &reader->input,
			      ebt_load_u32(bytes + EBT_FH_UUID));
	return NULL;
}

static struct ebt_error *find_chunks(struct ebt_reader *reader, uint64_t first)
{
	struct ebt_footer footer = { .offset = reader->input.size };
	struct ebt_error *err;

	err = ebt_footer_read(&reader->input, reader->chunk_reader.tag, &footer,
			      &reader->info.complete);
	if (err)
		return err;
	if (reader->info.complete) {
		err = ebt_index_load(&reader->chunk_reader, &footer, first, &reader->chunks);
		reader->info.indexed = !err;
		if (!err)
			return NULL;
		err = ebt_damage_absorb(&reader->damage, footer.offset, 0, err);
		if (err)
			return err;
	}
	return ebt_recover(&reader->chunk_reader, first, footer.offset, 0, &reader->chunks,
			   &reader->damage);
}

/* Chunks of a type that this program does not know. The index does not have their flags. */
static struct ebt_error *check_types(struct ebt_reader *reader, size_t first)
{
	for (size_t i = first; i < reader->chunks.n; i++) {
		struct ebt_chunk_info *chunk = &reader->chunks.chunk[i];
		struct ebt_chunk_header header;
		struct ebt_error *err;

		if (chunk->type == EBT_CHUNK_TABLE)
			continue;
		reader->info.skipped_chunks++;
		err = ebt_chunk_reader_header(&reader->chunk_reader, chunk->offset, &header);
		if (err) {
			err = ebt_reader_blame(reader, i, err);
			if (err)
				return err;
			continue;
		}
		chunk->flags = header.info.flags;
		if (chunk->flags & EBT_CHUNK_CRITICAL)
			return ebt_error_create(EBT_ERR_UNSUPPORTED,
						"%s: chunk type %u at offset %" PRIu64
						" is critical, and this program does not know it",
						reader->input.path, chunk->type, chunk->offset);
	}
	return NULL;
}

static bool is_schema(const struct ebt_chunk_info *chunk)
{
	return chunk->type == EBT_CHUNK_TABLE &&
	       (chunk->table == EBT_T_schema || chunk->table == EBT_T_schema_value);
}

static struct ebt_error *merge_chunk(struct ebt_reader *reader, size_t chunk,
				     struct ebt_file_schema *schema, struct ebt_decoded *decoded,
				     bool *ret_ok)
{
	const struct ebt_chunk_info *info = &reader->chunks.chunk[chunk];
	struct ebt_error *err;

	err = ebt_reader_load(reader, chunk, ebt_table_by_id(info->table), ~UINT64_C(0), decoded,
			      ret_ok);
	if (!err && *ret_ok)
		err = ebt_file_schema_merge(schema, &decoded->batch);
	return err;
}

/* Each epoch has the whole schema: the first one that can be read is enough. */
static struct ebt_error *read_schema(struct ebt_reader *reader, struct ebt_file_schema *schema,
				     struct ebt_decoded *decoded)
{
	const struct ebt_chunk_list *chunks = &reader->chunks;
	bool fields = false, values = false, ok;
	struct ebt_error *err;
	uint32_t epoch = 0;

	for (size_t i = 0; i < chunks->n; i++) {
		const struct ebt_chunk_info *chunk = &chunks->chunk[i];

		if (!is_schema(chunk))
			continue;
		if (chunk->epoch != epoch) {
			if (fields && values)
				break;
			epoch = chunk->epoch;
			fields = values = false;
		}
		err = merge_chunk(reader, i, schema, decoded, &ok);
		if (err)
			return err;
		if (chunk->table == EBT_T_schema)
			fields = ok;
		else
			values = ok;
	}
	return NULL;
}

struct ebt_error *ebt_reader_merge_schema(struct ebt_reader *reader, struct ebt_file_schema *schema)
{
	struct ebt_decoded decoded = { 0 };
	struct ebt_error *err = read_schema(reader, schema, &decoded);

	ebt_decoded_deinit(&decoded);
	return ebt_error_prefix(err, "%s", reader->input.path);
}

/* What table `clock` says of the recording. */
struct moments {
	uint64_t begin, end; /* the earliest, the latest */
	bool begin_told, end_told;
	bool read;
	uint64_t time, realtime; /* of one reading: at the beginning, if it tells */
};

static struct ebt_error *take_clock(void *arg, const struct ebt_row *row)
{
	struct moments *m = arg;
	const uint64_t moment = ebt_clock_moment(row);
	const bool begins = moment == EBT_V_clock_moment_begin && !m->begin_told;

	if (!m->read || begins) {
		m->read = true;
		m->time = row->time;
		m->realtime = ebt_clock_realtime(row);
	}
	/* Rows are in order of time. */
	if (begins) {
		m->begin = row->time;
		m->begin_told = true;
	}
	if (moment == EBT_V_clock_moment_end) {
		m->end = row->time;
		m->end_told = true;
	}
	return NULL;
}

/* Everything that is there, whenever it was. */
static void find_recorded(struct ebt_reader *reader, size_t first)
{
	struct ebt_reader_info *info = &reader->info;
	uint64_t start = UINT64_MAX, end = info->recorded_to_ns;

	if (info->recorded_ns || info->recorded_to_ns)
		start = info->recorded_ns;
	for (size_t i = first; i < reader->chunks.n; i++) {
		const struct ebt_chunk_info *chunk = &reader->chunks.chunk[i];
		const struct ebt_table *table = ebt_reader_table(reader, chunk->table);

		if (chunk->type != EBT_CHUNK_TABLE || !chunk->rows || !table ||
		    (table->class != EBT_CLASS_EVENT && chunk->table != EBT_T_clock))
			continue;
		if (chunk->time_min < start)
			start = chunk->time_min;
		if (chunk->time_max > end)
			end = chunk->time_max;
	}
	if (start <= end) {
		info->recorded_ns = start;
		info->recorded_to_ns = end;
	}
}

/* From when to when events count: what is told, within the window of a part. */
static void find_range(struct ebt_reader *reader, const struct moments *moments)
{
	struct ebt_reader_info *info = &reader->info;
	const struct ebt_window *window = &info->window;
	uint64_t start = info->recorded_ns, end = info->recorded_to_ns;

	info->start_told = moments->begin_told;
	info->end_told = moments->end_told;
	if (info->start_told)
		start = moments->begin;
	if (info->end_told)
		end = moments->end;
	if (ebt_window_is_set(window) && window->to < end)
		end = window->to;
	/* What a part has from before the recording's beginning is not of it either. */
	if (window->from && (!info->start_told || window->from > start))
		start = window->from;
	info->start_ns = start;
	info->end_ns = end < start ? start : end;
	info->start_realtime_ns =
		moments->read ? moments->realtime + (start - moments->time) : info->created_ns;
}

struct ebt_error *ebt_reader_take(struct ebt_reader *reader, size_t first)
{
	struct ebt_error *err = ebt_array_reserve_zeroed(&reader->reported, reader->chunks.n,
							 &reader->reported_capacity);

	if (err)
		return err;
	find_recorded(reader, first);
	find_range(reader, &(struct moments){ 0 });
	return check_types(reader, first);
}

struct ebt_error *ebt_reader_schema(struct ebt_reader *reader)
{
	struct ebt_error *err = ebt_reader_merge_schema(reader, &reader->schema);

	if (!err)
		err = ebt_error_prefix(ebt_file_schema_finish(&reader->schema), "%s",
				       reader->input.path);
	/* Tables that only the file knows are known now. */
	if (!err) {
		find_recorded(reader, 0);
		find_range(reader, &(struct moments){ 0 });
	}
	return err;
}

struct ebt_error *ebt_reader_moments(struct ebt_reader *reader)
{
	const struct ebt_want want = EBT_WANT(clock, realtime, moment);
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };
	struct moments moments = { 0 };
	struct ebt_error *err = ebt_read_rows(reader, &query, take_clock, &moments);

	if (!err)
		find_range(reader, &moments);
	return err;
}

static struct ebt_error *read_all(struct ebt_reader *reader)
{
	struct ebt_error *err;
	uint64_t first = 0;

	reader->live = (struct ebt_live){ .pos = UINT64_MAX, .ended = true };
	err = ebt_reader_header(reader, &first);
	if (err)
		return err;
	err = find_chunks(reader, first);
	if (err)
		return err;
	if (reader->info.several_hosts)
		return ebt_reader_find_hosts(reader);
	err = ebt_reader_take(reader, 0);
	return err ?: ebt_reader_schema(reader) ?: ebt_reader_moments(reader);
}

struct ebt_error *ebt_reader_create(struct ebt_reader **ret)
{
	struct ebt_reader *reader = calloc(1, sizeof(*reader));
	struct ebt_error *err;

	if (!reader)
		return &ebt_enomem;
	reader->input.fd = reader->input.pipe = -1;
	ebt_arena_init(&reader->kept.arena, EBT_MAX_KEPT);
	ebt_task_set_init(&reader->tasks);
	err = ebt_file_schema_init(&reader->schema);
	if (err) {
		ebt_reader_close(reader);
		return err;
	}
	*ret = reader;
	return NULL;
}

struct ebt_error *ebt_reader_open(const char *path, struct ebt_reader **ret)
{
	struct ebt_reader *reader;
	struct ebt_error *err = ebt_reader_create(&reader);

	if (err)
		return err;
	err = ebt_input_open(path, &reader->input);
	if (!err)
		err = read_all(reader);
	if (err) {
		ebt_reader_close(reader);
		return err;
	}
	*ret = reader;
	return NULL;
}

void ebt_reader_close(struct ebt_reader *reader)
{
	if (!reader)
		return;
	ebt_kept_deinit(&reader->kept);
	ebt_task_set_deinit(&reader->tasks);
	ebt_file_schema_deinit(&reader->schema);
	ebt_damage_deinit(&reader->damage);
	free(reader->reported);
	ebt_chunk_list_deinit(&reader->chunks);
	ebt_chunk_list_deinit(&reader->all);
	ebt_chunk_reader_deinit(&reader->chunk_reader);
	ebt_input_close(&reader->input);
	free(reader);
}

const struct ebt_reader_info *ebt_reader_info(const struct ebt_reader *reader)
{
	return &reader->info;
}

const struct ebt_damage *ebt_reader_damage(const struct ebt_reader *reader, size_t *ret_n,
					   uint64_t *ret_total)
{
	*ret_n = reader->damage.n;
	*ret_total = reader->damage.total;
	return reader->damage.list;
}

const struct ebt_chunk_info *ebt_reader_chunks(const struct ebt_reader *reader, size_t *ret_n)
{
	*ret_n = reader->chunks.n;
	return reader->chunks.chunk;
}

bool ebt_reader_has_rows(const struct ebt_reader *reader, uint16_t table)
{
	for (size_t i = 0; i < reader->chunks.n; i++) {
		if (reader->chunks.chunk[i].table == table && reader->chunks.chunk[i].rows)
			return true;
	}
	return false;
}

const struct ebt_table *ebt_reader_tables(const struct ebt_reader *reader, size_t *ret_n)
{
	*ret_n = reader->schema.n_tables;
	return reader->schema.tables;
}

const struct ebt_table *ebt_reader_table(const struct ebt_reader *reader, uint16_t id)
{
	return ebt_file_schema_table(&reader->schema, id);
}

uint32_t ebt_reader_n_tasks(const struct ebt_reader *reader)
{
	return (uint32_t)reader->tasks.by_incarnation.n;
}

struct ebt_error *ebt_reader_blame(struct ebt_reader *reader, size_t chunk, struct ebt_error *err)
{
	const struct ebt_chunk_info *info = &reader->chunks.chunk[chunk];
	const struct ebt_table *table = ebt_reader_table(reader, info->table);
	char number[24];

	snprintf(number, sizeof(number), "table %u", info->table);
	err = ebt_error_prefix(err, "chunk %" PRIu64 " (%s)", info->seq,
			       table ? table->name : number);
	/* A machine that is chosen again meets what it has met before. */
	if (ebt_damage_is(err) &&
	    (reader->reported[chunk] || ebt_damage_has(&reader->damage, info->offset))) {
		reader->reported[chunk] = true;
		ebt_error_destroy(err);
		return NULL;
	}
	err = ebt_damage_absorb(&reader->damage, info->offset, EBT_CHUNK_HEADER_LEN + info->stored,
				err);
	reader->reported[chunk] = !err;
	return err;
}

struct ebt_error *ebt_reader_load(struct ebt_reader *reader, size_t chunk,
				  const struct ebt_table *table, uint64_t columns,
				  struct ebt_decoded *decoded, bool *ret_ok)
{
	const struct ebt_chunk_info *info = &reader->chunks.chunk[chunk];
	struct ebt_bytes payload;
	struct ebt_error *err;

	reader->info.read_chunks++;
	err = ebt_chunk_reader_load(&reader->chunk_reader, info, &payload);
	if (!err)
		err = ebt_batch_decode(payload, info, table, columns, &reader->tasks, decoded);
	*ret_ok = !err;
	return err ? ebt_reader_blame(reader, chunk, err) : NULL;
}
