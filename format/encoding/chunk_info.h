/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of a chunk without reading its payload. */
#ifndef FORMAT_ENCODING_CHUNK_INFO_H
#define FORMAT_ENCODING_CHUNK_INFO_H

#include <stdint.h>

/* What a chunk's header and the index say. */
struct ebt_chunk_info {
	uint64_t offset; /* of the chunk header in the file */
	uint64_t seq, stored, raw;
	uint64_t time_min, time_max, watermark;
	uint64_t pids[2]; /* all ones where not known */
	uint32_t epoch, rows, lost;
	uint16_t type, flags, table, stream;
};

#endif
