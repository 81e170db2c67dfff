/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading an .ebt file. Opening reads the header, the index (or, where there is none, hops from
 * chunk header to chunk header) and the schema: no rows. A cursor then reads the tables and
 * columns that it was asked for, and nothing else, and gives rows in time order over all tables.
 *
 * Memory: 96 bytes a chunk for the index; a cursor holds the decoded columns of the chunks that
 * overlap in time at its position, for each table one to a few.
 *
 * Whatever the bytes, a reader returns an error or goes on with less: see ebt_reader_damage().
 */
#ifndef FORMAT_READ_READER_H
#define FORMAT_READ_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/base/limits.h"
#include "format/encoding/chunk_info.h"
#include "format/read/damage.h"
#include "format/read/rows.h"
#include "format/schema/schema.h"

struct ebt_reader;
struct ebt_cursor;

struct ebt_reader_info {
	const char *path;
	uint8_t uuid[16]; /* of one of several machines: the file's and its number */
	uint16_t major, minor;
	uint64_t compat;
	uint64_t created_ns; /* CLOCK_REALTIME; of one of several machines: when it began */
	uint64_t size;	     /* of the file, bytes */
	bool complete;	     /* it has a footer: the recorder finished */
	bool indexed;	     /* the index could be used */
	/* When the recording began and when its end was asked for, as far as the file tells; else
	 * the earliest and the latest event or clock reading. Equal: there is none. */
	uint64_t start_ns, end_ns;
	bool start_told, end_told;
	uint64_t start_realtime_ns; /* CLOCK_REALTIME at start_ns */
	struct ebt_window window;   /* of a part of a recording: start and end are within it */
	uint64_t recorded_ns, recorded_to_ns; /* earliest and latest without regard to all that */
	uint64_t skipped_chunks;	      /* of a type that this reader does not know */
	uint32_t hosts[EBT_MAX_HOSTS];	      /* of a file of several machines: their numbers */
	size_t n_hosts;			      /* 0: it is of one */
	bool several_hosts;		      /* so says the file's header */
	uint32_t host;			      /* whose rows are read */
	uint64_t other_chunks;		      /* that are of other machines */
	uint64_t read_chunks; /* whose rows were decoded so far, each time that they were */
	/* How much later this one began than the first, as their CLOCK_REALTIME tell. */
	uint64_t later_ns;
};

/*
 * path "-" is standard input; what cannot seek is copied to an unlinked temporary file first.
 * EBT_ERR_CORRUPT: not an .ebt file; EBT_ERR_UNSUPPORTED: from a future version, named.
 */
struct ebt_error *ebt_reader_open(const char *path, struct ebt_reader **ret);
void ebt_reader_close(struct ebt_reader *reader);

/*
 * Of a file of several machines one is read at a time: first the one of the smallest number, then
 * the one that is chosen here, as if the file had been opened anew. No cursor may be open.
 */
struct ebt_error *ebt_reader_choose_host(struct ebt_reader *reader, uint32_t host);

/*
 * The same for a trace that is still being written to a pipe: it returns when the schema and a
 * first chunk of rows are there. The first ebt_reader_more() takes what opening has read, each
 * later one waits for more, while no cursor is open; *ret_end says that there will be none, and
 * that all is as if the trace had been opened now. What comes behind damage is read at the end. A
 * file is opened as a whole.
 */
struct ebt_error *ebt_reader_open_live(const char *path, struct ebt_reader **ret);
struct ebt_error *ebt_reader_more(struct ebt_reader *reader, bool *ret_end);
/* Cursors that are created from now on pass over the first n chunks. */
void ebt_reader_pass(struct ebt_reader *reader, size_t n);

const struct ebt_reader_info *ebt_reader_info(const struct ebt_reader *reader);

/* What could not be read so far, in file order; grows while cursors meet bad chunks. The array
 * belongs to the reader and is valid until the next call of a cursor. *ret_total counts those
 * beyond EBT_MAX_DAMAGE too. */
const struct ebt_damage *ebt_reader_damage(const struct ebt_reader *reader, size_t *ret_n,
					   uint64_t *ret_total);

/* Reads and decodes every chunk of the file and compares it with the index: whatever does not check
 * is in the damage then. Errors are those that end reading. */
struct ebt_error *ebt_reader_verify(struct ebt_reader *reader);

/* Chunks in file order. */
const struct ebt_chunk_info *ebt_reader_chunks(const struct ebt_reader *reader, size_t *ret_n);

/* Has the file any row of this table? */
bool ebt_reader_has_rows(const struct ebt_reader *reader, uint16_t table);

/* Tables of the schema of this file: compiled-in ones (whether the file has them or not), then
 * those that only the file knows. */
const struct ebt_table *ebt_reader_tables(const struct ebt_reader *reader, size_t *ret_n);
const struct ebt_table *ebt_reader_table(const struct ebt_reader *reader, uint16_t id);

/* Number of distinct task ids given so far. */
uint32_t ebt_reader_n_tasks(const struct ebt_reader *reader);

/* The query is copied. A table that the file lacks gives no rows. */
struct ebt_error *ebt_cursor_create(struct ebt_reader *reader, const struct ebt_query *query,
				    struct ebt_cursor **ret);
void ebt_cursor_destroy(struct ebt_cursor *cursor);

/* The next row, in order of (time, table, place in the file). A chunk that is damaged is passed
 * over and added to the reader's damage; errors are those that end reading (memory, I/O). */
struct ebt_error *ebt_cursor_next(struct ebt_cursor *cursor, struct ebt_row *ret);

/* For who wants all rows of a query, one after the other: until there are no more, or `take` has an
 * error, which is returned. */
typedef struct ebt_error *ebt_row_fn(void *arg, const struct ebt_row *row);
struct ebt_error *ebt_read_rows(struct ebt_reader *reader, const struct ebt_query *query,
				ebt_row_fn *take, void *arg);
/* The same for all rows and columns of a table. */
struct ebt_error *ebt_read_table(struct ebt_reader *reader, uint16_t table, ebt_row_fn *take,
				 void *arg);

/* --- embedded files --- */

struct ebt_file {
	uint64_t time; /* of its row */
	uint64_t id, size, ns;
	int64_t mtime_ns;
	uint32_t pid, sensitivity; /* enum of table `file` */
	bool truncated;
	char *role, *path; /* NUL-terminated; control characters are as recorded */
};

/* All of them, in order of id. The array belongs to the reader. */
struct ebt_error *ebt_reader_files(struct ebt_reader *reader, const struct ebt_file **ret,
				   size_t *ret_n);

/* Content of one; freed with free(). A missing piece is EBT_ERR_CORRUPT. A NUL is appended
 * beyond *ret_len. */
struct ebt_error *ebt_reader_file_content(struct ebt_reader *reader, uint64_t file_id, char **ret,
					  size_t *ret_len);

/* Value of a key of table `meta` (the last one given wins), NULL: none. Belongs to the reader. */
struct ebt_error *ebt_reader_meta(struct ebt_reader *reader, const char *key, const char **ret);
/* The number that it begins with; 0: none. */
struct ebt_error *ebt_reader_meta_number(struct ebt_reader *reader, const char *key, uint64_t *ret);

#endif
