/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions for questions: names of stacks, calls and errors. */
#include <stdlib.h>

#include "report/base/text.h"
#include "report/calls/names.h"
#include "report/sql/source.h"
#include "report/sql/sql.h"
#include "report/sql/stacks.h"
#include "symbolize/symbolize.h"

static void result_text(sqlite3_context *context, const struct text *text)
{
	if (text_error(text))
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_text64(context, text_get(text), text->len, SQLITE_TRANSIENT,
				      SQLITE_UTF8);
}

void sql_result_error(sqlite3_context *context, struct ebt_error *err)
{
	if (err->code == EBT_ERR_NOMEM)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_error(context, err->message, -1);
	ebt_error_destroy(err);
}

/* frames(kstack), frames(ustack): NULL for a number that no row has had. */
static void frames(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct sql_traces *traces = sqlite3_user_data(context);
	_cleanup_text_ struct text text = TEXT_INIT;
	struct ebt_error *err = NULL;
	bool found = false;

	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER)
		return;
	for (struct sql_source *s = sql_traces_first(traces); !err && !found && s; s = s->next) {
		if (!s->stacks)
			continue;
		err = sql_source_sym(s);
		err = err
			      ?: sql_stacks_folded(s->stacks, s->sym, sqlite3_value_int64(argv[0]),
						   &text, &found);
	}
	if (err)
		sql_result_error(context, err);
	else if (found)
		result_text(context, &text);
}

/* syscall_name(nr), syscall_name(nr, abi): of the machine of the first trace. */
static void call_name(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct sql_traces *traces = sqlite3_user_data(context);
	const struct sql_source *first = sql_traces_first(traces);
	const char *abi = argc > 1 ? (const char *)sqlite3_value_text(argv[1]) : NULL;
	_cleanup_text_ struct text text = TEXT_INIT;
	const char *machine = NULL;
	struct ebt_error *err;

	if (!first || sqlite3_value_type(argv[0]) != SQLITE_INTEGER)
		return;
	err = ebt_reader_meta(first->reader, "host.machine", &machine);
	if (err) {
		sql_result_error(context, err);
		return;
	}
	syscall_name_add(&text, machine ? syscall_machine(machine) : NULL,
			 abi && strcmp(abi, "native") != 0, (uint32_t)sqlite3_value_int64(argv[0]));
	result_text(context, &text);
}

/* errno_name(ret): of what a call returned; NULL: no error. */
static void error_name(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const sqlite3_int64 v = sqlite3_value_int64(argv[0]);
	const char *name = v < 0 && v >= -4095 ? errno_name((uint64_t)-v) : NULL;

	(void)argc;
	if (name)
		sqlite3_result_text(context, name, -1, SQLITE_STATIC);
}

struct ebt_error *sql_functions_create(sqlite3 *db, struct sql_traces *traces)
{
	static const struct {
		const char *name;
		int n;
		void (*fn)(sqlite3_context *context, int argc, sqlite3_value **argv);
	} list[] = {
		{ "frames", 1, frames },
		{ "syscall_name", 1, call_name },
		{ "syscall_name", 2, call_name },
		{ "errno_name", 1, error_name },
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; !rc && i < sizeof(list) / sizeof(list[0]); i++)
		rc = sqlite3_create_function(db, list[i].name, list[i].n, SQLITE_UTF8, traces,
					     list[i].fn, NULL, NULL);
	return rc ? ebt_error_create(EBT_ERR_SYSTEM, "SQLite: %s", sqlite3_errstr(rc)) : NULL;
}
