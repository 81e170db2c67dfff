/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables of mapped files, made once for each build-id and handed to the BPF programs.
 * Used by one thread at a time. What cannot be made is no error: the walk says so.
 */
#ifndef RECORD_UNWIND_TABLES_H
#define RECORD_UNWIND_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/base/mapping.h"

struct unwind_tables;
struct unwind_table;
struct ebrec_bpf;
struct stat;

struct unwind_tables_stats {
	uint32_t tables;  /* with rows */
	uint32_t empty;	  /* files without unwind information */
	uint32_t full;	  /* files that there never was room for */
	uint32_t evicted; /* how often rows went to make room for others */
	uint64_t rows;	  /* that are there */
	uint64_t bytes;
	uint64_t build_ns;
};

/* Before the programs are loaded: sizes of the maps for tables of `bytes` in all. */
void unwind_tables_configure(struct ebrec_bpf *skel, uint64_t bytes);

/* After that. The skeleton must live longer. */
struct ebt_error *unwind_tables_create(const struct ebrec_bpf *skel, struct unwind_tables **ret);
/* Accepts NULL. */
void unwind_tables_destroy(struct unwind_tables *tables);
DEFINE_CLEANUP(struct unwind_tables *, unwind_tables_destroy);

/* Number of the table of a file, known by a key of any bytes (its build-id), or
 * UNWIND_TABLE_NONE, or UNWIND_TABLE_LATER where nobody added it. */
uint32_t unwind_tables_find(const struct unwind_tables *tables, const void *key, size_t len);

/* Makes it, and returns what find will. Rows of a large one are there a little later. */
uint32_t unwind_tables_add(struct unwind_tables *tables, const void *key, size_t len, int fd);
/* The same for an image in memory. */
uint32_t unwind_tables_add_memory(struct unwind_tables *tables, const void *key, size_t key_len,
				  const void *data, size_t len);

/* Until the rows of all tables are there that have been added. */
void unwind_tables_wait(struct unwind_tables *tables);

/* Tells the exec program which table is that of a file whose code is one segment. Any number. */
void unwind_tables_tell_exec(const struct unwind_tables *tables, uint32_t table,
			     const struct stat *st);

/* See unwind_table_bias(). */
bool unwind_tables_bias(const struct unwind_tables *tables, uint32_t table, uint64_t start,
			uint64_t pgoff, uint64_t *ret);

/* A table whose rows are there, waiting for it if it is being made until that time, see
 * unwind_builder_next(), or NULL; good until something is added or unwind_tables_work(). */
const struct unwind_table *unwind_tables_get(struct unwind_tables *tables, uint32_t table,
					     uint64_t until);

/* Where the file can be found again, if its rows have to go meanwhile: the mapping, or a path
 * alone. Without that they stay. */
void unwind_tables_remember(struct unwind_tables *tables, uint32_t table,
			    const struct mapping *mapping);

/*
 * To be called often. Rows of tables that no walk looks for make room for those that are looked for
 * and are not there, which open() finds again; what is in use stays. open() returns a file
 * descriptor, or -1.
 */
void unwind_tables_work(struct unwind_tables *tables, uint64_t now_ns,
			int (*open)(const struct mapping *mapping));

void unwind_tables_stats(const struct unwind_tables *tables, struct unwind_tables_stats *ret);

#endif
