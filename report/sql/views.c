/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that users of Perfetto know: views of a schema `perfetto` that is attached, and tables that
 * are worked out (made.h), which SQLite finds in any schema. An event table of the same name as a
 * view is found first, by a temporary view.
 */
#include <stdio.h>
#include <string.h>

#include "report/sql/made.h"
#include "report/sql/sql.h"

static const char *const hidden[] = { "counter", "process", "thread" };

bool sql_views_hide(const char *name, char *ret, size_t size)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		if (!strcmp(name, hidden[i])) {
			snprintf(ret, size, "event_%s", name);
			return true;
		}
	}
	return false;
}

/* A thread's marks that nest: the end of one is the next row at its depth. */
static const char views[] =
	"CREATE VIEW IF NOT EXISTS perfetto.thread AS SELECT task AS utid, task AS id, tid,"
	" comm AS name, start_ts, end_ts, process AS upid, tid = pid AS is_main_thread, trace"
	" FROM task;\n"
	"CREATE VIEW IF NOT EXISTS perfetto.process AS SELECT t.task AS upid, t.task AS id, t.pid,"
	" t.comm AS name, t.start_ts, t.end_ts, t.parent AS parent_upid, e.uid,"
	" coalesce((SELECT x.cmdline FROM task_exec x WHERE x.task = t.task"
	" AND x.trace = t.trace AND x.pid = t.pid ORDER BY x.ts DESC LIMIT 1), e.cmdline)"
	" AS cmdline, t.trace"
	" FROM task t LEFT JOIN (SELECT trace, task, uid, cmdline FROM event_process GROUP BY "
	"trace, task) e"
	" ON e.task = t.task AND e.trace = t.trace"
	" WHERE t.task = t.process;\n"
	"CREATE VIEW IF NOT EXISTS perfetto.counter_track AS SELECT counter AS id, name, unit,"
	" category, instance, owner AS utid, doc AS description, trace FROM counter_def"
	" GROUP BY trace, counter;\n"
	"CREATE VIEW IF NOT EXISTS perfetto.counter AS SELECT c.ts, c.counter AS track_id,"
	" counter_value(c.value, d.type, d.divisor) AS value, c.trace FROM event_counter c JOIN"
	" (SELECT trace, counter, type, divisor FROM counter_def GROUP BY trace, counter) d"
	" ON d.trace = c.trace AND d.counter = c.counter;\n"
	"CREATE VIEW IF NOT EXISTS perfetto.perf_sample AS SELECT ts, task AS utid, cpu,"
	" iif(user, 'user', 'kernel') AS cpu_mode, callsite(ustack, kstack, trace) AS callsite_id,"
	" period, event, tid, pid, comm, trace FROM sample;\n"
	"CREATE VIEW IF NOT EXISTS perfetto.slice AS"
	" SELECT ts - duration AS ts, duration AS dur, task AS utid, 'syscall' AS category,"
	" syscall_name(nr, abi) AS name, 0 AS depth, 'syscall' AS track, tid, pid, comm, trace"
	" FROM syscall UNION ALL"
	" SELECT ts - late - duration, duration, task, \"group\", name, 0, 'mark', tid, pid, comm,"
	" trace FROM mark WHERE kind IN ('span', 'instant') UNION ALL"
	" SELECT ts, ifnull(ended - ts, -1), task, \"group\", name, level - 1, 'mark', tid, pid, "
	"comm,"
	" trace FROM (SELECT *, lead(ts - late) OVER (PARTITION BY trace, task, key, level"
	" ORDER BY ts) AS ended FROM (SELECT ts - late AS ts, late, task, key, kind, \"group\", "
	"name,"
	" tid, pid, comm, trace, sum(iif(kind = 'begin', 1, -1)) OVER (PARTITION BY trace, task, "
	"key"
	" ORDER BY ts ROWS UNBOUNDED PRECEDING) + (kind = 'end') AS level FROM mark"
	" WHERE kind IN ('begin', 'end'))) WHERE kind = 'begin' UNION ALL"
	" SELECT ts - duration, duration, task, 'block', op, 0, 'block', tid, pid, comm, trace"
	" FROM block_io;\n"
	"CREATE VIEW IF NOT EXISTS perfetto.module AS SELECT path, lower(hex(build_id)) AS "
	"build_id,"
	" count(*) AS mappings, count(DISTINCT pid) AS processes, min(ts) AS first_ts,"
	" max(length) AS bytes, trace FROM mmap GROUP BY trace, path, build_id;\n"
	"CREATE TEMP VIEW IF NOT EXISTS thread AS SELECT * FROM event_thread;\n"
	"CREATE TEMP VIEW IF NOT EXISTS process AS SELECT * FROM event_process;\n"
	"CREATE TEMP VIEW IF NOT EXISTS counter AS SELECT * FROM event_counter;\n";

static struct ebt_error *run(sqlite3 *db, const char *text)
{
	char *message = NULL;
	struct ebt_error *err = NULL;

	if (sqlite3_exec(db, text, NULL, NULL, &message))
		err = ebt_error_create(EBT_ERR_SYSTEM, "SQLite: %s",
				       message ? message : "no memory");
	sqlite3_free(message);
	return err;
}

struct ebt_error *sql_views_create(sqlite3 *db, struct sql_traces *traces)
{
	static const struct sql_made *const list[] = {
		&sql_made_sched,  &sql_made_states,    &sql_made_tasks,	   &sql_made_stacks,
		&sql_made_frames, &sql_made_callsites, &sql_made_mappings, &sql_made_symbols,
	};
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < sizeof(list) / sizeof(list[0]); i++)
		err = sql_made_create(db, traces, list[i]);
	if (!err && !sqlite3_db_filename(db, "perfetto"))
		err = run(db, "ATTACH ':memory:' AS perfetto");
	return err ?: run(db, views);
}
