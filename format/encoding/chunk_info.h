/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of a chunk without reading its payload. */
#ifndef FORMAT_ENCODING_CHUNK_INFO_H
#define FORMAT_ENCODING_CHUNK_INFO_H

#include <stdbool.h>
#include <stdint.h>

/* What a trace is of: from <= time < to. Both 0: all of it; else to UINT64_MAX: it has no end. */
struct ebt_window {
	uint64_t from, to;
};

static inline bool ebt_window_is_set(const struct ebt_window *window)
{
	return window->to != 0;
}

/* What a chunk's header and the index say. */
struct ebt_chunk_info {
	uint64_t offset; /* of the chunk header in the file */
	uint64_t seq, stored, raw;
	uint64_t time_min, time_max, watermark;
	uint64_t pids[2]; /* all ones where not known; only the index has them */
	uint32_t epoch, rows, lost;
	uint32_t host; /* of which machine, of a file of several; 0: of all; only the header has it
			*/
	uint16_t type, flags, table, stream; /* flags: only the header has them */
};

/* X(member, its type, EBT_CH_… where the header has it, what people call it), for all that both the
 * header and the index say. */
#define EBT_CHUNK_INFO(X)                         \
	X(seq, u64, SEQ, "sequence number")       \
	X(type, u16, TYPE, "type")                \
	X(table, u16, TABLE, "table")             \
	X(stream, u16, STREAM, "stream")          \
	X(epoch, u32, EPOCH, "epoch")             \
	X(stored, u64, STORED, "stored length")   \
	X(raw, u64, RAW, "raw length")            \
	X(time_min, u64, TIME_MIN, "first time")  \
	X(time_max, u64, TIME_MAX, "last time")   \
	X(watermark, u64, WATERMARK, "watermark") \
	X(rows, u32, ROWS, "number of rows")      \
	X(lost, u32, LOST, "number of lost rows")

#endif
