/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables that are worked out of a trace, and are not in it: intervals of the scheduler, tasks,
 * stacks (docs/SQL.md). Rows of one trace after the other; a column `trace` comes behind those that
 * a kind names.
 */
#ifndef REPORT_SQL_MADE_H
#define REPORT_SQL_MADE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/sql/source.h"
#include "report/sql/sql.h"

/* What a query looks for; rows besides are passed over by SQLite. */
struct sql_made_query {
	uint64_t from; /* CLOCK_MONOTONIC: rows whose `ts` is earlier are not wanted */
	bool has_id;
	int64_t id; /* of column 0 */
};

struct sql_made {
	const char *name;
	const char *columns; /* as in CREATE TABLE, without `trace` */
	int n;		     /* of columns */
	int ts;		     /* which one is `ts`, where a lower bound is of use; -1: none */
	bool by_id;	     /* where column 0 is given, it is fast */
	struct ebt_error *(*begin)(struct sql_source *source, const struct sql_made_query *query,
				   void **ret);
	struct ebt_error *(*next)(void *rows, bool *ret_more);
	void (*column)(const void *rows, sqlite3_context *context, int i);
	void (*end)(void *rows);
};

struct ebt_error *sql_made_create(sqlite3 *db, const struct sql_traces *traces,
				  const struct sql_made *made);

/* `sched` and `thread_state`; `task`; `stack` and `stack_profile_*`. */
extern const struct sql_made sql_made_sched, sql_made_states, sql_made_tasks, sql_made_stacks,
	sql_made_callsites, sql_made_frames, sql_made_mappings, sql_made_symbols;

/* Since the start of the trace; as columns of tables have it. */
static inline int64_t sql_made_time(const struct sql_source *source, uint64_t time)
{
	return (int64_t)(time - source->start_ns);
}

#endif
