/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every chunk read, checked against its header and the index, and decoded; see reader.h. */
#include <inttypes.h>

#include "format/encoding/layout.h"
#include "format/read/reader_impl.h"

/* Zero bytes up to the next multiple of 8, which no CRC covers. */
static struct ebt_error *check_padding(struct ebt_reader *reader, const struct ebt_chunk_info *info,
				       const struct ebt_chunk_header *header)
{
	unsigned char bytes[EBT_ALIGN];
	uint64_t from = info->offset + header->len + info->stored;
	uint64_t to = info->offset + ebt_chunk_extent(header);
	struct ebt_error *err;

	to = to < reader->input.size ? to : reader->input.size;
	if (from >= to)
		return NULL;
	err = ebt_input_read(&reader->input, from, bytes, (size_t)(to - from));
	for (size_t i = 0; !err && i < to - from; i++) {
		if (bytes[i])
			err = ebt_error_create(EBT_ERR_CORRUPT,
					       "the byte at offset %" PRIu64 " is not zero",
					       from + i);
	}
	return err;
}

static struct ebt_error *check_chunk(struct ebt_reader *reader, size_t i,
				     struct ebt_decoded *decoded)
{
	const struct ebt_chunk_info *info = &reader->chunks.chunk[i];
	const struct ebt_table *table = ebt_reader_table(reader, info->table);
	struct ebt_chunk_header header;
	struct ebt_bytes stored;
	struct ebt_error *err;
	bool ok = true;

	err = ebt_chunk_reader_stored(&reader->chunk_reader, info, &header, &stored)
		      ?: check_padding(reader, info, &header);
	if (err)
		return ebt_reader_blame(reader, i, err);
	/* What a later version writes is not known to be wrong. */
	if (info->type != EBT_CHUNK_TABLE || !table)
		return NULL;
	return ebt_reader_load(reader, i, table, ~UINT64_C(0), decoded, &ok);
}

struct ebt_error *ebt_reader_verify(struct ebt_reader *reader)
{
	struct ebt_decoded decoded = { 0 };
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < reader->chunks.n; i++)
		err = check_chunk(reader, i, &decoded);
	ebt_decoded_deinit(&decoded);
	return err;
}
