/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace for ClickHouse: a folder with a file in format Native for each table. clickhouse.c has
 * the rows, clickhouse_schema.c says what tables look like, clickhouse_stacks.c has stacks and
 * frames, clickhouse_names.c names frames that came without. docs/FLEET.md.
 *
 * A row is the same row however often it comes: it is known by trace, chunk and place in that.
 */
#ifndef REPORT_EXPORT_CLICKHOUSE_H
#define REPORT_EXPORT_CLICKHOUSE_H

#include "report/export/export.h"
#include "report/export/native.h"

/* Of the tree of stacks, which then begins anew. */
#define CLICKHOUSE_MOST_NODES (1u << 17)

/* What columns of the tables of events are made of. */
enum clickhouse_part {
	CLICKHOUSE_VALUE,
	CLICKHOUSE_TID,
	CLICKHOUSE_PID,
	CLICKHOUSE_COMM,
	CLICKHOUSE_STACK, /* of all fields that are one */
	CLICKHOUSE_NS,	  /* the time that a sample stands for */
};

/* All tables begin with these. */
enum { COLUMN_DAY, COLUMN_HOST, COLUMN_TRACE, COLUMN_CHUNK, COLUMN_ROW, COLUMN_TIME, N_FIRST };

#define CLICKHOUSE_COLUMNS (N_FIRST + 3 * EBT_MAX_FIELDS + 2)

struct clickhouse_table {
	const struct ebt_table *table;
	struct native_column columns[CLICKHOUSE_COLUMNS];
	struct {
		enum clickhouse_part part;
		uint8_t field;
	} parts[CLICKHOUSE_COLUMNS];
	size_t n;
	uint64_t fields;	  /* that are read */
	int task, kstack, ustack; /* fields of the stack; -1: none */
};

/* Does the format have it? */
bool clickhouse_has_table(const struct ebt_table *table);
void clickhouse_table_init(const struct ebt_table *table, struct clickhouse_table *ret);

/* A table that is made by hand: its columns, and what a row is known by. */
struct clickhouse_made {
	const char *name, *engine, *order, *doc;
	bool rows; /* of a trace and a day, and kept as long as rows of events are */
	const struct native_column *columns;
	size_t n;
};
enum { MADE_FRAME, MADE_STACK, MADE_OFFCPU, MADE_HOST, MADE_TRACE, N_MADE };
extern const struct clickhouse_made clickhouse_made[N_MADE];

/* Statements that make all tables. */
struct text;
struct ebt_error *clickhouse_schema(struct text *text);

/* --- stacks --- */

struct clickhouse_stacks;

/* Where a new stack, or frame, goes to; stacks is NULL where there are none. */
struct ebt_error *clickhouse_stacks_create(FILE *frames, FILE *stacks,
					   struct clickhouse_stacks **ret);
/* Accepts NULL. */
void clickhouse_stacks_destroy(struct clickhouse_stacks *stacks);
DEFINE_CLEANUP(struct clickhouse_stacks *, clickhouse_stacks_destroy);

/* The hash of the stack of a node; 0: it has none. */
struct ebt_error *clickhouse_stack(struct clickhouse_stacks *stacks, const struct calltree *tree,
				   uint32_t node, uint64_t *ret);
/* The frame of a node alone, once, if it is one that a file here names. */
struct ebt_error *clickhouse_frame(struct clickhouse_stacks *stacks, const struct calltree *tree,
				   uint32_t node);
/* Another tree comes: stacks may be written again. */
void clickhouse_stacks_forget(struct clickhouse_stacks *stacks);
struct ebt_error *clickhouse_stacks_finish(struct clickhouse_stacks *stacks);

/* --- names of frames --- */

/* Makes a trace of what unnamed.sql answered, in a file without a name. */
struct ebt_error *clickhouse_names_trace(const char *path, int *ret_fd);
/* Writes the frames of such a trace that have names here. */
struct ebt_error *clickhouse_names(struct export *e);

#endif
