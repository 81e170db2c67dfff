/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chunk headers and payloads. Each length is checked before it is believed. */
#include "format/read/chunk_reader.h"

#include <inttypes.h>
#include <zstd.h>

#include "format/base/limits.h"
#include "format/encoding/crc32c.h"

uint64_t ebt_chunk_extent(const struct ebt_chunk_header *header)
{
	return (header->len + header->info.stored + EBT_ALIGN - 1) & ~(uint64_t)(EBT_ALIGN - 1);
}

static struct ebt_chunk_info load_info(const unsigned char *bytes)
{
	return (struct ebt_chunk_info){
#define LOAD(member, type, at, name) .member = ebt_load_##type(bytes + EBT_CH_##at),
		.flags = ebt_load_u16(bytes + EBT_CH_FLAGS),
		.host = ebt_load_u32(bytes + EBT_CH_HOST),
		.pids = { UINT64_MAX, UINT64_MAX },
		EBT_CHUNK_INFO(LOAD)
	};
}

const char *ebt_chunk_header_parse(const unsigned char *bytes, uint32_t tag,
				   struct ebt_chunk_header *ret)
{
	struct ebt_chunk_header header;

	if (ebt_load_u32(bytes + EBT_CH_MAGIC) != EBT_CHUNK_MAGIC)
		return "no chunk begins here";
	if (ebt_load_u32(bytes + EBT_CH_TAG) != tag)
		return "a chunk of another file";
	if (ebt_load_u32(bytes + EBT_CH_HEADER_CRC) != ebt_crc32c(bytes, EBT_CH_HEADER_CRC))
		return "the header's CRC is wrong";
	header.info = load_info(bytes);
	header.len = ebt_load_u32(bytes + EBT_CH_LEN);
	header.payload_crc = ebt_load_u32(bytes + EBT_CH_CRC);
	if (header.len < EBT_CHUNK_HEADER_LEN || header.len > EBT_MAX_HEADER)
		return "the header's length is out of bounds";
	if (header.info.stored > EBT_MAX_STORED || header.info.raw > EBT_MAX_RAW)
		return "the payload's length is out of bounds";
	if (header.info.rows > EBT_MAX_ROWS)
		return "the number of rows is out of bounds";
	*ret = header;
	return NULL;
}

void ebt_chunk_reader_init(struct ebt_chunk_reader *chunks, const struct ebt_input *input,
			   uint32_t tag)
{
	*chunks = (struct ebt_chunk_reader){ .input = input, .tag = tag };
}

void ebt_chunk_reader_deinit(struct ebt_chunk_reader *chunks)
{
	ebt_space_deinit(&chunks->stored);
	ebt_space_deinit(&chunks->raw);
	ZSTD_freeDCtx(chunks->zstd);
	chunks->zstd = NULL;
}

struct ebt_error *ebt_chunk_reader_header(const struct ebt_chunk_reader *chunks, uint64_t offset,
					  struct ebt_chunk_header *ret)
{
	unsigned char bytes[EBT_CHUNK_HEADER_LEN];
	struct ebt_error *err;
	const char *wrong;

	err = ebt_input_read(chunks->input, offset, bytes, sizeof(bytes));
	if (err)
		return err;
	wrong = ebt_chunk_header_parse(bytes, chunks->tag, ret);
	if (wrong)
		return ebt_error_create(EBT_ERR_CORRUPT, "%s", wrong);
	ret->info.offset = offset;
	return NULL;
}

/* The first that differs of what the index and the header both say. */
static const char *difference(const struct ebt_chunk_info *a, const struct ebt_chunk_info *b)
{
	const struct {
		const char *name;
		bool same;
	} parts[] = {
#define PART(member, type, at, name) { name, a->member == b->member },
		EBT_CHUNK_INFO(PART)
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!parts[i].same)
			return parts[i].name;
	}
	return NULL;
}

/* A frame may ask for a window of its own only below the limit; one that has none uses its
 * content's size. */
static bool window_is_too_large(const unsigned char *frame, size_t len)
{
	const unsigned int single_segment = 1 << 5;

	if (len < 6 || frame[4] & single_segment)
		return false;
	return 10 + (frame[5] >> 3) > EBT_MAX_WINDOW_LOG ||
	       (10 + (frame[5] >> 3) == EBT_MAX_WINDOW_LOG && (frame[5] & 7));
}

static struct ebt_error *decompress(struct ebt_chunk_reader *chunks, const void *frame, size_t len,
				    uint64_t raw, struct ebt_bytes *ret)
{
	unsigned long long content = ZSTD_getFrameContentSize(frame, len);
	size_t n;

	if (content != raw)
		return ebt_error_create(EBT_ERR_CORRUPT,
					"not a zstd frame of %" PRIu64 " bytes of content", raw);
	if (window_is_too_large(frame, len))
		return ebt_error_create(EBT_ERR_LIMIT,
					"the zstd frame asks for too large a window");
	if (ZSTD_findFrameCompressedSize(frame, len) != len)
		return ebt_error_create(EBT_ERR_CORRUPT, "not exactly one zstd frame");
	if (!chunks->zstd)
		chunks->zstd = ZSTD_createDCtx();
	if (!chunks->zstd || !ebt_space_get(&chunks->raw, (size_t)raw))
		return &ebt_enomem;
	n = ZSTD_decompressDCtx(chunks->zstd, chunks->raw.data, (size_t)raw, frame, len);
	if (ZSTD_isError(n))
		return ebt_error_create(EBT_ERR_CORRUPT, "zstd: %s", ZSTD_getErrorName(n));
	if (n != raw)
		return ebt_error_create(EBT_ERR_CORRUPT, "zstd gives %zu bytes of %" PRIu64, n,
					raw);
	*ret = ebt_bytes(chunks->raw.data, n);
	return NULL;
}

/* Decompresses the stored bytes, or takes them as they are. */
static struct ebt_error *unpack(struct ebt_chunk_reader *chunks, struct ebt_bytes stored,
				unsigned int flags, uint64_t raw, struct ebt_bytes *ret)
{
	size_t len = ebt_bytes_left(&stored);

	if (flags & EBT_CHUNK_ZSTD)
		return decompress(chunks, stored.pos, len, raw, ret);
	if (len != raw)
		return ebt_error_create(EBT_ERR_CORRUPT,
					"%zu bytes are stored uncompressed for %" PRIu64, len, raw);
	*ret = stored;
	return NULL;
}

struct ebt_error *ebt_chunk_reader_stored(struct ebt_chunk_reader *chunks,
					  const struct ebt_chunk_info *chunk,
					  struct ebt_chunk_header *ret_header,
					  struct ebt_bytes *ret)
{
	struct ebt_chunk_header header;
	const char *what;
	unsigned char *bytes;
	struct ebt_error *err;
	size_t len = EBT_CHUNK_HEADER_LEN + (size_t)chunk->stored;

	if (chunk->stored > EBT_MAX_STORED || chunk->raw > EBT_MAX_RAW)
		return ebt_error_create(EBT_ERR_LIMIT, "the payload's length is out of bounds");
	bytes = ebt_space_get(&chunks->stored, len);
	if (!bytes)
		return &ebt_enomem;
	err = ebt_input_read(chunks->input, chunk->offset, bytes, len);
	if (err)
		return err;
	what = ebt_chunk_header_parse(bytes, chunks->tag, &header);
	if (what)
		return ebt_error_create(EBT_ERR_CORRUPT, "%s", what);
	what = difference(&header.info, chunk);
	if (what)
		return ebt_error_create(EBT_ERR_CORRUPT, "header and index differ in the %s", what);
	if (header.len == EBT_CHUNK_HEADER_LEN) {
		bytes += EBT_CHUNK_HEADER_LEN;
	} else { /* a header of a later version is longer: the payload lies behind it */
		err = ebt_input_read(chunks->input, chunk->offset + header.len, bytes,
				     (size_t)chunk->stored);
		if (err)
			return err;
	}
	if (ebt_crc32c(bytes, (size_t)chunk->stored) != header.payload_crc)
		return ebt_error_create(EBT_ERR_CORRUPT, "the payload's CRC is wrong");
	*ret_header = header;
	*ret = ebt_bytes(bytes, (size_t)chunk->stored);
	return NULL;
}

struct ebt_error *ebt_chunk_reader_load(struct ebt_chunk_reader *chunks,
					const struct ebt_chunk_info *chunk, struct ebt_bytes *ret)
{
	struct ebt_chunk_header header;
	struct ebt_bytes stored;
	struct ebt_error *err = ebt_chunk_reader_stored(chunks, chunk, &header, &stored);

	return err ? err : unpack(chunks, stored, header.info.flags, chunk->raw, ret);
}
