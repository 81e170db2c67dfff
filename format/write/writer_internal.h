/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What writer.c and stream.c know of each other. */
#ifndef FORMAT_WRITE_WRITER_INTERNAL_H
#define FORMAT_WRITE_WRITER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "format/base/cleanup.h"
#include "format/encoding/chunk_info.h"
#include "format/write/chunk_writer.h"
#include "format/write/table.h"
#include "format/write/writer.h"

struct ebt_stream {
	struct ebt_writer *writer;
	uint16_t id; /* in chunk headers; 0 is the writer itself */

	/* By table id; NULL: no row of this table came yet. */
	struct ebt_builder **builders;
	size_t n_ids;
	size_t dict_limit; /* bytes of dictionaries at which a chunk is sealed */

	struct ebt_encoder encoder;
	uint64_t low;	 /* promised: no later row is older */
	uint64_t now_ns; /* of the last flush */

	/* No row that is not yet in the file is older: low, or an open chunk's first row. */
	_Atomic uint64_t published_low;
};

struct ebt_writer {
	pthread_mutex_t lock; /* of everything below that changes, and of the file */
	struct ebt_writer_options options;
	char *name;
	uint64_t offset; /* bytes written */
	uint32_t tag, epoch;
	uint32_t host;		       /* of the rows that streams write */
	uint64_t index_offset;	       /* of the last chunk of table index */
	struct ebt_writer_stats stats; /* but for bytes */
	uint64_t *lost;		       /* by table index: not yet told by a chunk header */
	uint64_t *inside;	       /* by table index: rows of the recording's own time */
	uint64_t time_max;	       /* of rows written, and of promises */
	struct ebt_builder schema, schema_value, index;
	struct ebt_encoder encoder; /* of these three */
	struct ebt_stream *streams[EBT_MAX_STREAMS];
	unsigned int n_streams, max_streams;
	struct ebt_error *error;   /* why writing ended */
	_Atomic bool failed;	   /* there is an error: read without the lock */
	_Atomic uint64_t from, to; /* the recording's own time */
};

DEFINE_CLEANUP(struct ebt_writer *, ebt_writer_destroy);

static inline pthread_mutex_t *ebt_lock(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	return lock;
}

static inline void ebt_unlockp(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

/* A lock until the end of the block. Clang 14 does not count the cleanup as a use. */
#define _cleanup_unlock_ _cleanup_(ebt_unlockp) __attribute__((unused))

struct ebt_error *ebt_stream_create(struct ebt_writer *writer, uint16_t id,
				    struct ebt_stream **ret);
void ebt_stream_destroy(struct ebt_stream *stream);
void ebt_stream_publish_low(struct ebt_stream *stream);

/* A copy of what ended writing, or NULL. */
struct ebt_error *ebt_writer_error(struct ebt_writer *writer);

/* Ends writing because of err, which it takes; returns what its caller is to return. */
struct ebt_error *ebt_writer_fail(struct ebt_writer *writer, struct ebt_error *err);

/* Writes a sealed chunk of the stream; so many of its rows are of the recording's own time. */
struct ebt_error *ebt_writer_put(struct ebt_writer *writer, struct ebt_payload *payload,
				 uint32_t inside, struct ebt_stream *stream);

/* As ebt_writer_next_epoch(), with a number. */
struct ebt_error *ebt_writer_begin_epoch(struct ebt_writer *writer, uint32_t epoch);

/* Writes a chunk of another file, which was `original` there, of a table of this class. The order
 * of its times among other chunks is its own affair. */
struct ebt_error *ebt_writer_put_copy(struct ebt_writer *writer, struct ebt_payload *payload,
				      const struct ebt_chunk_info *original, enum ebt_class class);

/* Rows of a table were lost: whichever stream writes its next chunk tells. */
void ebt_writer_count_lost(struct ebt_writer *writer, const struct ebt_table *table,
			   uint64_t count);

#endif
