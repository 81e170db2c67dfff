/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chunks as bytes of a file: checking a header, and getting a payload, checked and decompressed.
 */
#ifndef FORMAT_READ_CHUNK_READER_H
#define FORMAT_READ_CHUNK_READER_H

#include "format/base/bytes.h"
#include "format/base/space.h"
#include "format/encoding/chunk_info.h"
#include "format/encoding/layout.h"
#include "format/read/input.h"

struct ebt_chunk_header {
	struct ebt_chunk_info info; /* without offset and pids, which a header does not say */
	uint32_t len, payload_crc;
};

/* Bytes that a chunk takes in the file, up to the next multiple of 8. */
uint64_t ebt_chunk_extent(const struct ebt_chunk_header *header);

/*
 * Parses EBT_CHUNK_HEADER_LEN bytes. Returns what is wrong, NULL: nothing, and *ret is filled.
 * No ebt_error, because a search for the next good header asks this of every place.
 */
const char *ebt_chunk_header_parse(const unsigned char *bytes, uint32_t tag,
				   struct ebt_chunk_header *ret);

/* Reads payloads of one file. */
struct ebt_chunk_reader {
	const struct ebt_input *input;
	uint32_t tag;
	struct ebt_space stored, raw;
	struct ZSTD_DCtx_s *zstd;
};

void ebt_chunk_reader_init(struct ebt_chunk_reader *chunks, const struct ebt_input *input,
			   uint32_t tag);
void ebt_chunk_reader_deinit(struct ebt_chunk_reader *chunks);

/* The header at an offset. EBT_ERR_CORRUPT says what is wrong with it. */
struct ebt_error *ebt_chunk_reader_header(const struct ebt_chunk_reader *chunks, uint64_t offset,
					  struct ebt_chunk_header *ret);

/*
 * The payload of a chunk as it is stored, its CRC checked. The header must say what *chunk says.
 * It lies in memory of *chunks until the next call.
 */
struct ebt_error *ebt_chunk_reader_stored(struct ebt_chunk_reader *chunks,
					  const struct ebt_chunk_info *chunk,
					  struct ebt_chunk_header *ret_header,
					  struct ebt_bytes *ret);

/* The same, decompressed. */
struct ebt_error *ebt_chunk_reader_load(struct ebt_chunk_reader *chunks,
					const struct ebt_chunk_info *chunk, struct ebt_bytes *ret);

#endif
