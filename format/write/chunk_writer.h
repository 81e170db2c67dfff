/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sealing an open chunk: its tids become tasks, its rows are put in order of time, its columns
 * are encoded and the whole is compressed. And the 96 bytes that stand before it in the file.
 */
#ifndef FORMAT_WRITE_CHUNK_WRITER_H
#define FORMAT_WRITE_CHUNK_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include <zstd.h>

#include "format/base/bytes.h"
#include "format/base/error.h"
#include "format/base/sort.h"
#include "format/encoding/chunk_info.h"
#include "format/encoding/layout.h"
#include "format/write/dict_writer.h"
#include "format/write/table.h"
#include "format/write/task_id.h"

/* The times at which a chunk has a tid, and the task value that it has at all of them. */
struct ebt_tid_span {
	uint64_t first, last;
	uint64_t value; /* EBT_TID_VARIES: it stands for several tasks */
};

/* One a stream: what sealing needs, kept from chunk to chunk. */
struct ebt_encoder {
	ZSTD_CCtx *zstd;
	ebt_resolve_task_fn *resolve_task;
	void *resolve_arg;
	struct ebt_buffer raw, stored;
	struct ebt_dict tasks, tids;
	struct ebt_tid_span *spans; /* of the entries of tids */
	size_t n_spans;		    /* allocated */
	struct ebt_sorter sorter;
	uint64_t *column; /* one column in order of time */
	size_t n_column;
};

/* A sealed chunk. Offset, seq, watermark, epoch, lost and stream are known to the writer, which
 * fills them in. */
struct ebt_payload {
	struct ebt_chunk_info info;
	const unsigned char *data; /* the encoder's, until it seals again */
	uint32_t crc;
};

/* As in struct ebt_writer_options. */
struct ebt_error *ebt_encoder_init(struct ebt_encoder *encoder, int zstd_level,
				   ebt_resolve_task_fn *resolve_task, void *resolve_arg);
void ebt_encoder_deinit(struct ebt_encoder *encoder);

/* Encodes the rows, at least one, and empties the builder. */
struct ebt_error *ebt_encoder_seal(struct ebt_encoder *encoder, struct ebt_builder *builder,
				   struct ebt_payload *ret);

/* The same for a builder whose TASK columns hold values of encoder->tasks. */
struct ebt_error *ebt_encoder_seal_resolved(struct ebt_encoder *encoder,
					    struct ebt_builder *builder, struct ebt_payload *ret);

/* A chunk that only tells of losses. */
struct ebt_payload ebt_payload_without_rows(uint16_t table, uint64_t time_ns);

/* Fills EBT_CHUNK_HEADER_LEN bytes. */
void ebt_chunk_header_encode(const struct ebt_payload *payload, uint32_t tag, unsigned char *ret);

#endif
