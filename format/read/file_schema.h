/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The schema of one file: the compiled-in tables, whose fields keep their places, and behind
 * them what only the file knows: fields, tables, names of enum values.
 */
#ifndef FORMAT_READ_FILE_SCHEMA_H
#define FORMAT_READ_FILE_SCHEMA_H

#include "format/base/arena.h"
#include "format/read/rows.h"

struct ebt_file_schema {
	struct ebt_table *tables;
	size_t n_tables, capacity;
	uint16_t *place;	      /* of each of the 2^16 ids: 1 + index in tables; 0: none */
	struct ebt_new_value *values; /* not yet part of their fields */
	size_t n_values, values_capacity;
	struct ebt_arena arena;
};

/* Begins with the compiled-in tables alone. */
struct ebt_error *ebt_file_schema_init(struct ebt_file_schema *schema);
void ebt_file_schema_deinit(struct ebt_file_schema *schema);

const struct ebt_table *ebt_file_schema_table(const struct ebt_file_schema *schema, uint16_t id);

/* Takes in the rows of a batch of table `schema` or `schema_value`, all columns wanted. A field
 * whose type is not the compiled-in one is EBT_ERR_CORRUPT. */
struct ebt_error *ebt_file_schema_merge(struct ebt_file_schema *schema,
					const struct ebt_batch *batch);

/* After the last merge: gives the fields their names of values. */
struct ebt_error *ebt_file_schema_finish(struct ebt_file_schema *schema);

#endif
