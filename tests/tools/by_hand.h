/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that the writer would not make, put together byte by byte, from docs/FORMAT.md: of other
 * versions, or hostile.
 */
#ifndef TESTS_TOOLS_BY_HAND_H
#define TESTS_TOOLS_BY_HAND_H

#include "format/base/bytes.h"
#include "format/encoding/layout.h"
#include "format/read/reader.h"

/* A file being made, and in it one chunk at a time. */
struct by_hand {
	struct ebt_buffer file, directory, contents;
	unsigned int entries, chunks;
	unsigned int header_extra; /* bytes that headers are longer than this version's */
};

void hand_begin(struct by_hand *hand);

/* An entry of the directory of the chunk that is being made. */
void hand_entry(struct by_hand *hand, uint64_t id, uint8_t encoding, const void *data, size_t len);

/* A column of numbers below 128: each is its own varint. */
void hand_column(struct by_hand *hand, uint64_t id, const char *values, size_t rows);

/* A dictionary of strings that end with a NUL byte each. */
void hand_strings(struct by_hand *hand, const char *all, size_t len);

/* Ends the chunk. Its header says that the times of its rows are 1 to `rows`. */
void hand_chunk(struct by_hand *hand, uint16_t table, unsigned int rows);

/* A chunk whose header says what `header` says (type, table, flags, raw, rows, times), and whose
 * payload is stored as it is. */
void hand_raw_chunk(struct by_hand *hand, const struct ebt_chunk_info *header, const void *stored,
		    size_t len);

struct schema_row {
	uint16_t table;
	uint8_t field, class, type;
	const char *table_name, *field_name;
};

/* The chunk of table `schema` for these rows, at most 60. */
void hand_schema(struct by_hand *hand, const struct schema_row *rows, unsigned int n);

/* Writes the file, frees what it was made of, and opens it. */
struct ebt_error *hand_open(struct by_hand *hand, const char *path, struct ebt_reader **ret);

/* The first row of a table, or one without a batch. */
struct ebt_row first_row(struct ebt_reader *reader, uint16_t table, struct ebt_cursor **ret_cursor);

/* So many places were damaged, and the first one's text has this part. */
void assert_damage(struct ebt_reader *reader, size_t expected, const char *part);

#endif
