/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The open chunk of one table: rows as columns of u64, and the dictionaries of their strings and
 * stacks. TASK columns hold tids until the chunk is sealed (chunk_writer.h).
 */
#ifndef FORMAT_WRITE_TABLE_H
#define FORMAT_WRITE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/base/limits.h"
#include "format/schema/schema.h"
#include "format/write/dict_writer.h"

/* Where a field stands in the wire record, and which column it becomes. */
struct ebt_copy {
	uint16_t offset, column;
};

struct ebt_builder {
	const struct ebt_table *table;

	/* Column c begins at columns + c × stride. The stride is no power of two, so that the
	 * columns of a row fall into different sets of the cache. */
	uint64_t *columns;
	size_t stride;
	uint32_t rows, capacity, limit;

	bool sorted; /* rows are in order of time */
	uint64_t time_min, time_max;
	uint64_t opened_ns; /* about when the first row came; 0: not known yet */
	struct ebt_dict strings, stacks;

	/* Fields in groups of one kind, so that a row is a few loops without a switch. */
	struct ebt_copy copies[EBT_MAX_FIELDS];
	uint8_t n_wide, n_u32, n_s32, n_string, n_stack;
};

/* Refuses a wire type that it cannot copy. limit: rows that an open chunk may have. */
struct ebt_error *ebt_builder_init(struct ebt_builder *builder, const struct ebt_table *table,
				   uint32_t limit);
void ebt_builder_deinit(struct ebt_builder *builder);

/* Empties it and keeps its memory. */
void ebt_builder_reset(struct ebt_builder *builder);

/* Frees the columns; it must be empty. */
void ebt_builder_release(struct ebt_builder *builder);

/* Makes room for at least one more row; there must be less than limit. */
struct ebt_error *ebt_builder_grow(struct ebt_builder *builder);

static inline bool ebt_builder_has_room(const struct ebt_builder *builder)
{
	return builder->rows < builder->capacity;
}

static inline size_t ebt_builder_dict_bytes(const struct ebt_builder *builder)
{
	return builder->strings.bytes.len + builder->stacks.bytes.len;
}

static inline size_t ebt_builder_column_memory(const struct ebt_builder *builder)
{
	return builder->stride * builder->table->n_fields * sizeof(uint64_t);
}

static inline uint64_t *ebt_builder_column(const struct ebt_builder *builder, unsigned int column)
{
	return builder->columns + column * builder->stride;
}

/* Adds a row; there must be room. The record is of this table and is at least its wire_size long.
 * On failure there is no new row. */
struct ebt_error *ebt_builder_add(struct ebt_builder *builder, const void *record, size_t len);

#endif
