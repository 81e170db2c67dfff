/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows as blocks of ClickHouse's format Native: column by column, with names and types, so that a
 * server needs no other description. `INSERT INTO table FORMAT Native` reads any number of blocks.
 */
#ifndef REPORT_EXPORT_NATIVE_H
#define REPORT_EXPORT_NATIVE_H

#include <stdint.h>
#include <stdio.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/base/limits.h"
#include "format/read/rows.h"

enum native_type {
	NATIVE_U8,
	NATIVE_U32,
	NATIVE_U64,
	NATIVE_I64,
	NATIVE_TIME, /* ns of CLOCK_REALTIME */
	NATIVE_DAY,  /* since 1970 */
	NATIVE_UUID,
	NATIVE_STRING,
	NATIVE_WORD, /* a string of which there are few different ones */
	NATIVE_U32S, /* arrays */
	NATIVE_U64S,
	NATIVE_STRINGS,
	NATIVE_N_TYPES,
};

/* As SQL calls it. */
const char *native_type_name(enum native_type type);

#define NATIVE_NAME (EBT_MAX_NAME + 16)

struct native_column {
	char name[NATIVE_NAME];
	enum native_type type;
};

struct native_block;

/* The columns must outlive it. */
struct ebt_error *native_block_create(const struct native_column *columns, size_t n,
				      struct native_block **ret);
/* Accepts NULL. */
void native_block_destroy(struct native_block *block);
DEFINE_CLEANUP(struct native_block *, native_block_destroy);

/* One value of each column, in any order; of an array any number of them, then its end. Memory
 * failures are kept until native_block_write(). */
void native_u64(struct native_block *block, size_t column, uint64_t v);
void native_str(struct native_block *block, size_t column, struct ebt_str s);
void native_cstr(struct native_block *block, size_t column, const char *s);
void native_uuid(struct native_block *block, size_t column, const uint8_t uuid[16]);
void native_array_end(struct native_block *block, size_t column);
void native_row_end(struct native_block *block);

uint64_t native_block_rows(const struct native_block *block);
/* Bytes that it holds. */
size_t native_block_size(const struct native_block *block);

/* Writes the block, if it has a row, and empties it. Write errors stay in the FILE. */
struct ebt_error *native_block_write(struct native_block *block, FILE *f);

#endif
