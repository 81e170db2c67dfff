/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace that somebody compressed with zstd or gzip: unpacked as a stream into a temporary file,
 * since reports read at offsets. Memory is bounded by the window of the stream, the file by what a
 * trace can be: one that unpacks to something else, or beyond all measure, is refused at once.
 */
#ifndef FORMAT_READ_UNPACK_H
#define FORMAT_READ_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

/* Bytes of the beginning by which a file is known. */
#define EBT_HEAD 64

enum ebt_packing { EBT_NOT_PACKED, EBT_PACKED_ZSTD, EBT_PACKED_GZIP };

enum ebt_packing ebt_packing_of(const unsigned char *head, size_t len);

struct ebt_packed {
	const char *path; /* for messages */
	int fd;		  /* read from `offset` on if it can seek, else from where it is */
	bool seeks;
	uint64_t offset;
	unsigned char head[EBT_HEAD]; /* of what cannot seek: what has been read of it */
	size_t head_len, head_taken;
};

/* Writes to the file `to`, and says how much. A stream that ends too early gives what there is of
 * it, as a file that was cut. */
struct ebt_error *ebt_unpack(struct ebt_packed *packed, enum ebt_packing packing, int to,
			     uint64_t *ret_size);

/* What is no trace: "PATH: not an .ebt file", and what it is where that can be told. */
struct ebt_error *ebt_not_a_trace(const char *path, const unsigned char *head, size_t len);

#endif
