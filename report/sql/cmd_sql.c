/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport sql`: questions in SQL. */
#include "report/sql/ask.h"

static const struct option_def options[] = {
	{ "table", OPTION_FLAG, NULL, "columns below their names, instead of | between them" },
	{ .name = NULL },
};

static const char help[] =
	"Asks one trace, or several at once, in SQL (SQLite). Each event kind of `dump --schema` "
	"is\n"
	"a table: `ts` is ns since the start of the trace, a task is its tid, pid and comm, "
	"`trace` is\n"
	"the file. A range of ts and a pid are looked up in the index of the file. Without "
	"SELECT,\n"
	"SQL is read from standard input.\n"
	"\n"
	"  ebreport sql t.ebt 'SELECT comm, count(*) FROM syscall GROUP BY comm'\n"
	"  ebreport sql --json t.ebt 'SELECT * FROM sched_switch WHERE ts < 1000000'\n";

const struct command command_sql = {
	.name = "sql",
	.fn = sql_run,
	.flags = COMMAND_NO_FILTERS | COMMAND_NO_SORT,
	.summary = "questions in SQL, of one trace or several",
	.help = help,
	.options = options,
	.words = "[FILE…] [SELECT]",
	.max_words = 1000,
};
