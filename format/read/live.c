/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading a trace while it is being written to a pipe: its chunks, as they come. */
#include <stdlib.h>

#include "format/base/cleanup.h"
#include "format/encoding/layout.h"
#include "format/read/reader_impl.h"

DEFINE_CLEANUP(struct ebt_reader *, ebt_reader_close);

/* A chunk is taken when it is there as a whole. */
static struct ebt_error *take_chunk(struct ebt_reader *reader, bool *ret_taken)
{
	struct ebt_live *live = &reader->live;
	uint64_t size = reader->input.size, left = size > live->pos ? size - live->pos : 0;
	struct ebt_chunk_header header;
	struct ebt_error *err;

	*ret_taken = false;
	if (live->lost || left < EBT_CHUNK_HEADER_LEN)
		return NULL;
	err = ebt_chunk_reader_header(&reader->chunk_reader, live->pos, &header);
	if (err && ebt_damage_is(err)) {
		/* Perhaps it is the footer. */
		ebt_error_destroy(err);
		live->lost = true;
		return NULL;
	}
	if (err || header.len + header.info.stored > left)
		return err;
	if (header.info.seq != live->next_seq) {
		live->lost = true;
		return NULL;
	}
	live->pos += ebt_chunk_extent(&header);
	live->next_seq++;
	*ret_taken = true;
	return ebt_chunk_list_add(&reader->chunks, &header.info);
}

/* What could not be followed is found as in a file without an index. */
static struct ebt_error *take_rest(struct ebt_reader *reader)
{
	struct ebt_footer footer = { .offset = reader->input.size };
	struct ebt_error *err;

	err = ebt_footer_read(&reader->input, reader->chunk_reader.tag, &footer,
			      &reader->info.complete);
	if (!err && reader->live.pos < footer.offset)
		err = ebt_recover(&reader->chunk_reader, reader->live.pos, footer.offset,
				  reader->live.next_seq, &reader->chunks, &reader->damage);
	reader->live.pos = UINT64_MAX;
	return err;
}

struct ebt_error *ebt_reader_more(struct ebt_reader *reader, bool *ret_end)
{
	struct ebt_live *live = &reader->live;
	size_t before = reader->chunks.n;
	struct ebt_error *err = NULL;
	bool taken = true;

	/* More may be long in coming. */
	if (!live->ended && !live->ahead)
		err = ebt_input_more(&reader->input, &live->ended);
	live->ahead = false;
	while (!err && taken)
		err = take_chunk(reader, &taken);
	if (!err && live->ended && live->pos != UINT64_MAX)
		err = take_rest(reader);
	reader->info.size = reader->input.size;
	if (!err && reader->chunks.n > before)
		err = ebt_reader_take(reader, before);
	if (!err)
		*ret_end = live->ended;
	return err;
}

/* Rows of the schema come before those of all others. */
static bool has_rows(const struct ebt_reader *reader)
{
	for (size_t i = 0; i < reader->chunks.n; i++) {
		const struct ebt_chunk_info *chunk = &reader->chunks.chunk[i];
		const struct ebt_table *table = ebt_table_by_id(chunk->table);

		if (chunk->rows && (!table || table->class != EBT_CLASS_META))
			return true;
	}
	return false;
}

static struct ebt_error *begin(struct ebt_reader *reader)
{
	struct ebt_error *err = NULL;
	bool end = false;

	while (!err && !end && reader->input.size < EBT_FILE_HEADER_LEN)
		err = ebt_input_more(&reader->input, &end);
	reader->live.ended = end;
	if (!err)
		err = ebt_reader_header(reader, &reader->live.pos);
	if (!err && reader->info.several_hosts)
		err = ebt_error_create(
			EBT_ERR_UNSUPPORTED,
			"%s: is of several machines, and can be read when it is in a file",
			reader->input.path);
	reader->live.ahead = true;
	end = false;
	while (!err && !end && !has_rows(reader))
		err = ebt_reader_more(reader, &end);
	reader->live.ahead = true;
	return err ? err : ebt_reader_schema(reader);
}

struct ebt_error *ebt_reader_open_live(const char *path, struct ebt_reader **ret)
{
	_cleanup_(ebt_reader_closep) struct ebt_reader *reader = NULL;
	struct ebt_error *err = ebt_reader_create(&reader);

	if (err)
		return err;
	err = ebt_input_open_live(path, &reader->input);
	if (err)
		return err;
	if (reader->input.pipe < 0) {
		ebt_reader_close(take_ptr(reader));
		return ebt_reader_open(path, ret);
	}
	err = begin(reader);
	if (!err)
		*ret = take_ptr(reader);
	return err;
}

void ebt_reader_pass(struct ebt_reader *reader, size_t n)
{
	reader->passed = n;
}
