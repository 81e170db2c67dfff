/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing an .ebt file: append only, never seeking, so that a pipe gets the same bytes as a file.
 *
 * A writer owns the file; each thread that produces rows has a stream of its own, with one open
 * chunk a table. A chunk is sealed (sorted by time, encoded, compressed, written) when it is
 * large or a second old. Streams need no lock among each other; a sealed chunk takes the
 * writer's.
 *
 * A pipe whose reader has gone is an error (EPIPE) only if the program ignores SIGPIPE.
 *
 * Memory: all open chunks together stay below 64 MiB whatever the size of the file. Rows of an
 * open chunk cost 8 bytes a field, so a stream gets fewer rows a chunk the more streams there
 * are. The index costs 4096 rows until they are written.
 */
#ifndef FORMAT_WRITE_WRITER_H
#define FORMAT_WRITE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/encoding/chunk_info.h"
#include "format/schema/schema.h"
#include "format/write/task_id.h"

struct ebt_writer;
struct ebt_stream;

#define EBT_MAX_STREAMS 32u

struct ebt_writer_options {
	int fd;		      /* file or pipe, written from its current position; not closed */
	const char *name;     /* of the file, for messages */
	unsigned int streams; /* how many will be made, at most EBT_MAX_STREAMS; 0 means 1 */
	int zstd_level;	      /* 0 means 1 */
	ebt_resolve_task_fn *resolve_task; /* NULL: tids stay alone */
	void *resolve_arg;
	const unsigned char *uuid; /* 16 bytes; NULL: random ones */
	uint64_t created_ns;	   /* CLOCK_REALTIME; 0: now */
	struct ebt_window window;
	bool hosts;			/* chunks are of several machines */
	const struct ebt_table *tables; /* that the schema describes; NULL: the compiled-in ones */
	size_t n_tables;
};

struct ebt_writer_stats {
	uint64_t bytes, chunks;
	uint64_t rows; /* class event only, as in the footer */
	uint64_t lost;
};

/* Writes the file header and the schema. */
struct ebt_error *ebt_writer_create(const struct ebt_writer_options *options,
				    struct ebt_writer **ret);

/*
 * Seals what is open, writes the last index and the footer. No stream may be used after it. The
 * fd stays open. On error the file is as readable as after a kill.
 */
struct ebt_error *ebt_writer_finish(struct ebt_writer *writer);

/* Frees the writer and its streams; does not write. Accepts NULL. */
void ebt_writer_destroy(struct ebt_writer *writer);

/* Any thread, at any time. */
void ebt_writer_stats(struct ebt_writer *writer, struct ebt_writer_stats *ret);

/* The recording's own time, as far as it is known: from 0 (UINT64_MAX: it has not begun) to
 * UINT64_MAX. Any thread, at any time; holds for chunks that are sealed later. */
void ebt_writer_set_times(struct ebt_writer *writer, uint64_t from, uint64_t to);

/* Rows of a table with from <= time <= to in chunks that have been sealed; 0: of all tables of
 * class event. Any thread, at any time. */
uint64_t ebt_writer_inside(struct ebt_writer *writer, uint16_t table);

/* Begins an epoch: the schema is written again, and later chunks carry the next epoch number. The
 * caller then adds rows of `clock` and the STATE tables. */
struct ebt_error *ebt_writer_next_epoch(struct ebt_writer *writer);

/* The stream belongs to the writer. */
struct ebt_error *ebt_writer_add_stream(struct ebt_writer *writer, struct ebt_stream **ret);

/*
 * Adds one wire record (wire.h). The bytes are copied. A record that is not well formed (unknown
 * table, length or reference outside) is EBT_ERR_INVALID and adds nothing; the stream stays
 * usable. A failed write is returned too, by this and every later call.
 */
struct ebt_error *ebt_stream_add(struct ebt_stream *stream, const void *record, size_t len);

/* The stream promises never to add a row older than this. Never goes back. */
void ebt_stream_set_low(struct ebt_stream *stream, uint64_t time_ns);

/* Seals open chunks whose first row was added over a second ago (or all). now_ns: monotonic. */
struct ebt_error *ebt_stream_flush(struct ebt_stream *stream, uint64_t now_ns, bool all);

/*
 * A wire record put together in user space: a struct, then strings appended.
 *
 *	struct ebt_record rec = EBT_RECORD_INIT;
 *	struct ebt_wire_meta *row = ebt_record_begin(&rec, EBT_T_meta, now);
 *	ebt_record_str(&rec, offsetof(struct ebt_wire_meta, key), "host.name");
 *	err = ebt_record_add(&rec, stream);
 *
 * The pointer that begin returns is good until the first append; fill numbers first. Memory
 * failures are kept and returned by ebt_record_add(). The same record can be begun again.
 */
struct ebt_record {
	unsigned char *data;
	size_t len, capacity;
	bool failed;
	uint64_t scratch[32]; /* what begin returns when memory ran out */
};
#define EBT_RECORD_INIT ((struct ebt_record){ 0 })

/* Never returns NULL: on failure a scratch area of the record's table is returned. */
void *ebt_record_begin(struct ebt_record *rec, enum ebt_table_id table, uint64_t time_ns);
void ebt_record_bytes(struct ebt_record *rec, size_t ref_offset, const void *data, size_t len);
void ebt_record_str(struct ebt_record *rec, size_t ref_offset, const char *s);
/* attrs: EBT_STACK_*; addresses innermost first. More than EBT_MAX_FRAMES are cut off and marked
 * as truncated. */
void ebt_record_stack(struct ebt_record *rec, size_t ref_offset, uint32_t attrs,
		      const uint64_t *addresses, size_t n);
struct ebt_error *ebt_record_add(struct ebt_record *rec, struct ebt_stream *stream);
void ebt_record_deinit(struct ebt_record *rec);

#endif
