/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows as a reader gives them, their values, and queries for them. No function of the reader. */
#ifndef FORMAT_READ_ROWS_H
#define FORMAT_READ_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/limits.h"
#include "format/encoding/chunk_info.h"
#include "format/schema/schema.h"

struct ebt_str {
	const char *data; /* not NUL-terminated; any bytes */
	size_t len;
};

/* A life of a tid. Tasks live as long as the reader. */
struct ebt_task {
	uint32_t tid, pid; /* pid 0: not known */
	uint64_t start_ns; /* 0: not known */
	struct ebt_str comm;
	uint32_t id; /* dense, from 0; one for each (tid, start_ns), whatever its comm */
};

struct ebt_stack {
	uint32_t attrs; /* EBT_STACK_* of wire.h */
	uint32_t n;
	const uint64_t *addresses; /* innermost first */
};

/*
 * Decoded rows of one chunk. Only the wanted columns are there. Lives until the cursor goes on
 * past its last row; while it lives, id tells it from every other batch of the cursor, so that
 * a caller can keep what it worked out for each dictionary entry.
 */
struct ebt_batch {
	const struct ebt_table *table;
	uint64_t id;
	uint32_t rows;
	const struct ebt_chunk_info *chunk;
	const uint64_t *col[EBT_MAX_FIELDS]; /* by field index; NULL: not wanted */
	const struct ebt_task **tasks;	     /* dictionaries: entry 0 is value 1 of a column */
	const struct ebt_stack *stacks;
	const struct ebt_str *strings;
	uint32_t n_tasks, n_stacks, n_strings;
};

/* A row: rows of the batch before it in time have been given already. */
struct ebt_row {
	const struct ebt_batch *batch; /* NULL: no more rows */
	uint64_t time;
	uint32_t i;
};

/* Columns of one table that are wanted: EBT_COL(sched_switch, prev) | … ; `time` always is. */
struct ebt_want {
	uint16_t table;
	uint64_t columns; /* bit n: field index n; ~0: all */
};
#define EBT_COL(table, field) (UINT64_C(1) << EBT_F_##table##_##field)

struct ebt_query {
	const struct ebt_want *wants;
	size_t n_wants;
	uint64_t from_ns, to_ns; /* rows with from <= time < to; to 0: no end */
	uint32_t pid; /* not 0: chunks without any task of this process are passed over */
};

/* Values of a row. The column must have been wanted, and be of that type. */
static inline uint64_t ebt_u64(const struct ebt_row *row, unsigned int field)
{
	return row->batch->col[field][row->i];
}

static inline int64_t ebt_i64(const struct ebt_row *row, unsigned int field)
{
	return (int64_t)row->batch->col[field][row->i];
}

/* NULL: none. */
static inline const struct ebt_task *ebt_task(const struct ebt_row *row, unsigned int field)
{
	uint64_t v = row->batch->col[field][row->i];

	return v ? row->batch->tasks[v - 1] : NULL;
}

/* NULL: none. */
static inline const struct ebt_stack *ebt_stack(const struct ebt_row *row, unsigned int field)
{
	uint64_t v = row->batch->col[field][row->i];

	return v ? &row->batch->stacks[v - 1] : NULL;
}

static inline struct ebt_str ebt_str(const struct ebt_row *row, unsigned int field)
{
	uint64_t v = row->batch->col[field][row->i];

	return v ? row->batch->strings[v - 1] : (struct ebt_str){ "", 0 };
}

#endif
