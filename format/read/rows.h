/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows as a reader gives them, their values, and queries for them. No function of the reader. */
#ifndef FORMAT_READ_ROWS_H
#define FORMAT_READ_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/base/limits.h"
#include "format/encoding/chunk_info.h"
#include "format/schema/schema.h"

struct ebt_str {
	const char *data; /* not NUL-terminated; any bytes */
	size_t len;
};

/* Of a text with NUL behind it. */
static inline struct ebt_str ebt_str_of(const char *s)
{
	return (struct ebt_str){ s, strlen(s) };
}

static inline bool ebt_str_equal(struct ebt_str a, struct ebt_str b)
{
	return a.len == b.len && (!a.len || !memcmp(a.data, b.data, a.len));
}

/* An incarnation of a tid. Tasks live as long as the reader. */
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
 * past its last row; id tells it from every other batch of all cursors of the reader, so that a
 * caller can keep what it worked out for each dictionary entry.
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

/* Columns of one table that are wanted: EBT_WANT(sched_switch, prev, …); `time` always is. */
struct ebt_want {
	uint16_t table;
	uint64_t columns; /* bit n: field index n; ~0: all */
};
#define EBT_COL(table, field) (UINT64_C(1) << EBT_F_##table##_##field)
/* EBT_COLS(sched_switch, prev, next), of up to 30 fields: the bits of all. */
#define EBT_COLS(table, ...) (EBT_COLS_SCAN(EBT_COLS_OF(table, __VA_ARGS__)))
#define EBT_WANT(table, ...)                                \
	{                                                   \
		EBT_T_##table, EBT_COLS(table, __VA_ARGS__) \
	}

/* A macro may not name itself: each scan of the text finds one more EBT_COLS_MORE () in it. */
#define EBT_COLS_OF(table, field, ...) \
	EBT_COL(table, field) __VA_OPT__(| EBT_COLS_MORE EBT_COLS_NOW(table, __VA_ARGS__))
#define EBT_COLS_MORE()	     EBT_COLS_OF
#define EBT_COLS_NOW	     ()
#define EBT_COLS_SCAN(...)   EBT_COLS_SCAN_9(EBT_COLS_SCAN_9(EBT_COLS_SCAN_9(__VA_ARGS__)))
#define EBT_COLS_SCAN_9(...) EBT_COLS_SCAN_3(EBT_COLS_SCAN_3(EBT_COLS_SCAN_3(__VA_ARGS__)))
#define EBT_COLS_SCAN_3(...) EBT_COLS_SCAN_1(EBT_COLS_SCAN_1(EBT_COLS_SCAN_1(__VA_ARGS__)))
#define EBT_COLS_SCAN_1(...) __VA_ARGS__

struct ebt_query {
	const struct ebt_want *wants;
	size_t n_wants;
	uint64_t from_ns, to_ns; /* rows with from <= time < to; to 0: no end */
	/* Classes of tables, bits 1 << EBT_CLASS_…, to which from, or to, does not apply. */
	uint32_t any_from, any_to;
	uint32_t pid; /* not 0: chunks without any task of this process are passed over */
};

/*
 * --- values of a row ---
 *
 * ebt_TABLE_FIELD(row), as ebt_block_io_bytes(row), is the value in C: uint64_t, int64_t of an I64,
 * a task or a stack or NULL for none, a struct ebt_str. Of a STACK, ebt_TABLE_FIELD_id(row) is the
 * number in the batch's dictionary: the same for the same stack; 0: none.
 *
 * The row must be one of that table, and the query must have wanted the column. Unless NDEBUG is
 * defined, anything else ends the program with a message that names the column.
 *
 * Code that walks a schema uses ebt_u64(row, field) and its like, by field index.
 */
#ifndef NDEBUG
__attribute__((noreturn, cold)) void ebt_row_misread(const struct ebt_row *row, uint16_t table,
						     unsigned int field);
#endif

static inline uint64_t ebt_u64(const struct ebt_row *row, unsigned int field)
{
#ifndef NDEBUG
	if (__builtin_expect(!row->batch->col[field], 0))
		ebt_row_misread(row, row->batch->table->id, field);
#endif
	return row->batch->col[field][row->i];
}

static inline int64_t ebt_i64(const struct ebt_row *row, unsigned int field)
{
	return (int64_t)ebt_u64(row, field);
}

/* What the file calls this value of an ENUM; NULL: the value has no name. */
static inline const char *ebt_row_value_name(const struct ebt_row *row, unsigned int field)
{
	return ebt_value_name(&row->batch->table->fields[field], ebt_u64(row, field));
}

/* NULL: none. */
static inline const struct ebt_task *ebt_task(const struct ebt_row *row, unsigned int field)
{
	uint64_t v = ebt_u64(row, field);

	return v ? row->batch->tasks[v - 1] : NULL;
}

/* NULL: none. */
static inline const struct ebt_stack *ebt_stack(const struct ebt_row *row, unsigned int field)
{
	uint64_t v = ebt_u64(row, field);

	return v ? &row->batch->stacks[v - 1] : NULL;
}

static inline struct ebt_str ebt_str(const struct ebt_row *row, unsigned int field)
{
	uint64_t v = ebt_u64(row, field);

	return v ? row->batch->strings[v - 1] : (struct ebt_str){ "", 0 };
}

static inline void ebt_row_check(const struct ebt_row *row, uint16_t table, unsigned int field)
{
#ifndef NDEBUG
	if (__builtin_expect(row->batch->table->id != table, 0))
		ebt_row_misread(row, table, field);
#else
	(void)row, (void)table, (void)field;
#endif
}

/* clang-format off */
#define EBT_ACCESSOR(table, name, ctype, get)                                                      \
	static inline ctype ebt_##table##_##name(const struct ebt_row *row)                        \
	{                                                                                          \
		ebt_row_check(row, EBT_T_##table, EBT_F_##table##_##name);                         \
		return get(row, EBT_F_##table##_##name);                                           \
	}
#define EBT_ACCESSOR_U64(table, name)	   EBT_ACCESSOR(table, name, uint64_t, ebt_u64)
#define EBT_ACCESSOR_I64(table, name)	   EBT_ACCESSOR(table, name, int64_t, ebt_i64)
#define EBT_ACCESSOR_HEX(table, name)	   EBT_ACCESSOR_U64(table, name)
#define EBT_ACCESSOR_TIME(table, name)	   EBT_ACCESSOR_U64(table, name)
#define EBT_ACCESSOR_DURATION(table, name) EBT_ACCESSOR_U64(table, name)
#define EBT_ACCESSOR_ENUM(table, name)	   EBT_ACCESSOR_U64(table, name)
#define EBT_ACCESSOR_TASK(table, name)	   EBT_ACCESSOR(table, name, const struct ebt_task *, ebt_task)
#define EBT_ACCESSOR_STRING(table, name)   EBT_ACCESSOR(table, name, struct ebt_str, ebt_str)
#define EBT_ACCESSOR_BYTES(table, name)	   EBT_ACCESSOR(table, name, struct ebt_str, ebt_str)
#define EBT_ACCESSOR_STACK(table, name)                                                            \
	EBT_ACCESSOR(table, name, const struct ebt_stack *, ebt_stack)                             \
	static inline uint64_t ebt_##table##_##name##_id(const struct ebt_row *row)                \
	{                                                                                          \
		ebt_row_check(row, EBT_T_##table, EBT_F_##table##_##name);                         \
		return ebt_u64(row, EBT_F_##table##_##name);                                       \
	}
#define EBT_FIELD(table, id, ctype, name, type, unit, doc) EBT_ACCESSOR_##type(table, name)
#include "format/events/all.def"
/* clang-format on */

#endif
