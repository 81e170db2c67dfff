/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of several machines: the reader has the chunks of one at a time, and those of all. */
#include <string.h>

#include "format/base/array.h"
#include "format/base/limits.h"
#include "format/read/reader_impl.h"

static struct ebt_error *note_host(struct ebt_reader *reader, uint32_t host)
{
	struct ebt_reader_info *info = &reader->info;
	size_t i = info->n_hosts;

	for (size_t k = 0; k < info->n_hosts; k++) {
		if (info->hosts[k] == host)
			return NULL;
	}
	if (i == EBT_MAX_HOSTS)
		return ebt_error_create(EBT_ERR_LIMIT, "%s: is of more than %u machines",
					reader->input.path, EBT_MAX_HOSTS);
	for (; i && info->hosts[i - 1] > host; i--)
		info->hosts[i] = info->hosts[i - 1];
	info->hosts[i] = host;
	info->n_hosts++;
	return NULL;
}

/* The index does not have it. Who wrote what cannot be read is not known, nor does it matter. */
static struct ebt_error *read_host(struct ebt_reader *reader, size_t i)
{
	struct ebt_chunk_info *chunk = &reader->chunks.chunk[i];
	struct ebt_chunk_header header;
	struct ebt_error *err =
		ebt_chunk_reader_header(&reader->chunk_reader, chunk->offset, &header);

	if (err)
		return ebt_reader_blame(reader, i, err);
	chunk->host = header.info.host;
	return chunk->host ? note_host(reader, chunk->host) : NULL;
}

/* Nothing of another machine is kept. */
static struct ebt_error *take_chunks(struct ebt_reader *reader, uint32_t host)
{
	struct ebt_reader_info *info = &reader->info;
	struct ebt_error *err = NULL;

	reader->chunks.n = 0;
	for (size_t i = 0; !err && i < reader->all.n; i++) {
		const struct ebt_chunk_info *chunk = &reader->all.chunk[i];

		if (!chunk->host || chunk->host == host)
			err = ebt_chunk_list_add(&reader->chunks, chunk);
	}
	info->host = host;
	info->other_chunks = reader->all.n - reader->chunks.n;
	info->start_ns = info->end_ns = info->recorded_ns = info->recorded_to_ns = 0;
	info->skipped_chunks = 0;
	return err;
}

/* The machine whose chunk this is; 0: it is of all, or no chunk. */
static uint32_t host_at(const struct ebt_reader *reader, uint64_t offset)
{
	const struct ebt_chunk_info *chunks = reader->all.chunk;
	size_t low = 0, high = reader->all.n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (chunks[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < reader->all.n && chunks[low].offset == offset ? chunks[low].host : 0;
}

static void forget_damage(struct ebt_reader *reader)
{
	for (size_t i = reader->damage.n; i--;) {
		if (host_at(reader, reader->damage.list[i].offset))
			ebt_damage_remove(&reader->damage, i);
	}
}

static void forget(struct ebt_reader *reader)
{
	forget_damage(reader);
	ebt_kept_deinit(&reader->kept);
	reader->kept = (struct ebt_kept){ 0 };
	ebt_arena_init(&reader->kept.arena, EBT_MAX_KEPT);
	ebt_task_set_deinit(&reader->tasks);
	ebt_task_set_init(&reader->tasks);
	reader->passed = 0;
	for (size_t i = 0; i < reader->reported_capacity; i++)
		reader->reported[i] = false;
}

/* What is copied of two machines is not of one recording. */
static void set_uuid(struct ebt_reader *reader, uint32_t host)
{
	uint8_t *uuid = reader->info.uuid;

	memcpy(uuid, reader->uuid, sizeof(reader->uuid));
	for (size_t i = 0; i < sizeof(host); i++)
		uuid[sizeof(reader->uuid) - 1 - i] ^= (uint8_t)(host >> (8 * i));
}

struct ebt_error *ebt_reader_choose_host(struct ebt_reader *reader, uint32_t host)
{
	struct ebt_reader_info *info = &reader->info;
	uint64_t first = UINT64_MAX, began = 0;
	struct ebt_error *err;

	forget(reader);
	set_uuid(reader, host);
	err = take_chunks(reader, host) ?: ebt_reader_take(reader, 0);
	for (size_t i = 0; i < info->n_hosts; i++) {
		if (reader->began[i] && reader->began[i] < first)
			first = reader->began[i];
		if (info->hosts[i] == host)
			began = reader->began[i];
	}
	info->later_ns = began ? began - first : 0;
	info->created_ns = began ? began : reader->created_ns;
	return err ?: ebt_reader_moments(reader);
}

static struct ebt_error *take_clock(void *arg, const struct ebt_row *row)
{
	uint64_t *offset = arg;

	if (!*offset)
		*offset = ebt_clock_realtime(row) - row->time;
	return NULL;
}

static struct ebt_error *find_beginning(struct ebt_reader *reader, size_t i)
{
	uint64_t offset = 0;
	struct ebt_error *err = ebt_reader_choose_host(reader, reader->info.hosts[i])
					?: ebt_read_table(reader, EBT_T_clock, take_clock, &offset);

	reader->began[i] = offset ? offset + reader->info.start_ns : 0;
	return err;
}

struct ebt_error *ebt_reader_find_hosts(struct ebt_reader *reader)
{
	struct ebt_reader_info *info = &reader->info;
	struct ebt_error *err = ebt_array_reserve_zeroed(&reader->reported, reader->chunks.n,
							 &reader->reported_capacity);

	for (size_t i = 0; !err && i < reader->chunks.n; i++)
		err = read_host(reader, i);
	if (err)
		return err;
	reader->created_ns = info->created_ns;
	memcpy(reader->uuid, info->uuid, sizeof(reader->uuid));
	reader->all = reader->chunks;
	reader->chunks = (struct ebt_chunk_list){ 0 };
	err = take_chunks(reader, 0) ?: ebt_reader_take(reader, 0) ?: ebt_reader_schema(reader);
	for (size_t i = 0; !err && i < info->n_hosts; i++)
		err = find_beginning(reader, i);
	return err ?: ebt_reader_choose_host(reader, info->n_hosts ? info->hosts[0] : 0);
}
