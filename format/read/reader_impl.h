/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the reader share: reader.c, cursor.c, files.c. */
#ifndef FORMAT_READ_READER_IMPL_H
#define FORMAT_READ_READER_IMPL_H

#include "format/base/arena.h"
#include "format/read/batch.h"
#include "format/read/chunk_reader.h"
#include "format/read/file_schema.h"
#include "format/read/index.h"
#include "format/read/reader.h"
#include "format/read/task_set.h"

/* What files.c keeps, once it is asked for. */
struct ebt_kept {
	struct ebt_arena arena;
	struct ebt_kept_meta *metas;
	struct ebt_file *files;
	struct ebt_file_piece *pieces;
	size_t n_metas, n_files, n_pieces;
	size_t metas_capacity, files_capacity, pieces_capacity;
	bool metas_read, files_read, pieces_read;
};

struct ebt_reader {
	struct ebt_input input;
	struct ebt_reader_info info;
	struct ebt_chunk_reader chunk_reader;
	struct ebt_chunk_list chunks;
	struct ebt_chunk_list all;     /* of a file of several machines: theirs too; see hosts.c */
	uint64_t created_ns;	       /* with it: of the file */
	uint8_t uuid[16];	       /* with it: of the file */
	uint64_t began[EBT_MAX_HOSTS]; /* with it: CLOCK_REALTIME, as info.hosts; 0: not known */
	bool *reported;		       /* by chunk: its damage is in the list */
	size_t reported_capacity;
	struct ebt_damage_list damage;
	struct ebt_file_schema schema;
	struct ebt_task_set tasks;
	struct ebt_kept kept;
	size_t passed;	    /* chunks that cursors do not look at */
	uint32_t n_cursors; /* that were made: numbers of batches begin with it */
	/* Of a trace that is still being written: see live.c. */
	struct ebt_live {
		uint64_t pos, next_seq; /* of the next chunk */
		bool lost, ended;	/* what is at pos is no chunk; nothing more will come */
		bool ahead;		/* what has been read was not given yet */
	} live;
};

/* When the recording began and ended, of a file that is there as a whole; after the schema. */
struct ebt_error *ebt_reader_moments(struct ebt_reader *reader);
/* Of a file of several machines, before the chunks in the list are taken. */
struct ebt_error *ebt_reader_find_hosts(struct ebt_reader *reader);

/* Nothing but what needs no file. */
struct ebt_error *ebt_reader_create(struct ebt_reader **ret);
/* Of the file. *ret_first: where the first chunk begins. */
struct ebt_error *ebt_reader_header(struct ebt_reader *reader, uint64_t *ret_first);
/* The chunks from number `first` on have come into the list. */
struct ebt_error *ebt_reader_take(struct ebt_reader *reader, size_t first);
/* The schema, of the chunks that are there. */
struct ebt_error *ebt_reader_schema(struct ebt_reader *reader);
/* Takes the file's tables into a schema, which is not finished then. */
struct ebt_error *ebt_reader_merge_schema(struct ebt_reader *reader,
					  struct ebt_file_schema *schema);

/*
 * Reads and decodes one chunk. Where that fails because of the file, the damage is noted once
 * and *ret_ok is false.
 */
struct ebt_error *ebt_reader_load(struct ebt_reader *reader, size_t chunk,
				  const struct ebt_table *table, uint64_t columns,
				  struct ebt_decoded *decoded, bool *ret_ok);

/* Notes that a chunk could not be used because of err, which is about the file, and takes err
 * over; returns any other error. */
struct ebt_error *ebt_reader_blame(struct ebt_reader *reader, size_t chunk, struct ebt_error *err);

void ebt_kept_deinit(struct ebt_kept *kept);

#endif
