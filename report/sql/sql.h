/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces as tables of SQLite: one for each event kind, with the columns that the event table has
 * (docs/SQL.md), made of the schema alone. They are virtual: rows are read from the file when a
 * query asks for them. A range of `ts`, one process, and columns that no query names are left to
 * the reader, which passes over such chunks (EXPLAIN QUERY PLAN shows it).
 */
#ifndef REPORT_SQL_SQL_H
#define REPORT_SQL_SQL_H

#include <stdbool.h>
#include <stddef.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "report/sql/sqlite.h"

/* All traces that a database shows, one after the other in each table. */
struct sql_traces;

/* The tables are in the database as long as it is open, and go with it. */
struct ebt_error *sql_traces_create(sqlite3 *db, struct sql_traces **ret);
/* One more; of a file of several machines each. Tables that only its file knows come with the first
 * trace that has them. */
struct ebt_error *sql_traces_open(struct sql_traces *traces, const char *path);
/* The same of a trace that is open, which must outlive the database. find_sym() gives its
 * symbolizer when that is first needed. */
struct ebt_reader;
struct sym;
typedef struct ebt_error *sql_find_sym_fn(void *arg, struct sym **ret);
struct ebt_error *sql_traces_add(struct sql_traces *traces, struct ebt_reader *reader,
				 sql_find_sym_fn *find_sym, void *arg);

/* What could not be read so far of a trace that was opened here, a sentence each. */
typedef struct ebt_error *sql_tell_fn(void *arg, const char *sentence);
struct sql_source;
struct ebt_error *sql_source_damage(const struct sql_source *source, sql_tell_fn *tell, void *arg);

/* A virtual table of either kind, made with this declaration, which is freed. */
struct sql_vtab {
	sqlite3_vtab base;
	const void *module;
};
int sql_vtab_connect(sqlite3 *db, const void *module, char *declaration, sqlite3_vtab **ret);
int sql_vtab_disconnect(sqlite3_vtab *vtab);

/* The virtual table of an event kind; see table.c. */
struct ebt_table;
struct ebt_error *sql_table_create(sqlite3 *db, const struct sql_traces *traces,
				   const struct ebt_table *table, const char *name);
/* Tables that are worked out, and the views in the names that Perfetto's users know; views.c. */
struct ebt_error *sql_views_create(sqlite3 *db, struct sql_traces *traces);
/* Where a view has the name of an event table, `event_NAME` is the table for views. */
bool sql_views_hide(const char *name, char *ret, size_t size);
/* The traces in order. */
struct sql_source *sql_traces_first(const struct sql_traces *traces);

/* frames(), syscall_name(), errno_name(); see docs/SQL.md. */
struct ebt_error *sql_functions_create(sqlite3 *db, struct sql_traces *traces);
/* Takes the error over. */
void sql_result_error(sqlite3_context *context, struct ebt_error *err);

#endif
