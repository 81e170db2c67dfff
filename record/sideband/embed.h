/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of the recorded machine that travel in the trace: tables file and file_data. */
#ifndef RECORD_SIDEBAND_EMBED_H
#define RECORD_SIDEBAND_EMBED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/write/writer.h"

/* A row of file_data holds this much at the most: well below the size of a chunk. */
#define EMBED_PIECE (256u << 10)

struct embed_file {
	const char *role, *path;
	enum ebt_file_sensitivity sensitivity;
	uint32_t pid;	  /* 0: of no process */
	uint64_t ns;	  /* inode of the namespace, or 0 */
	int64_t mtime_ns; /* 0: not known */
	uint64_t time;	  /* that it is of; 0: now */
	bool truncated;
};

/* last_id: the number of the trace's latest embedded file, counted up by one. */
struct ebt_error *embed_bytes(struct ebt_stream *stream, uint64_t *last_id,
			      const struct embed_file *file, const void *content, size_t len);

#endif
