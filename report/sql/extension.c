/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ebt.so, an extension that programs with SQLite load:
 *
 *	.load ./ebt
 *	SELECT ebt_open('t.ebt');
 *	SELECT comm, count(*) FROM syscall GROUP BY comm;
 *
 * ebt_open() adds a trace to the tables of the connection, and returns its name. ebt_damage() says
 * what could not be read of them so far.
 */
#include <string.h>

#include "report/base/text.h"
#include "report/sql/source.h"
#include "report/sql/sql.h"

SQLITE_EXTENSION_INIT1

__attribute__((visibility("default"))) int sqlite3_ebt_init(sqlite3 *db, char **message,
							    const sqlite3_api_routines *api);

static void ebt_open(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct sql_traces *traces = sqlite3_user_data(context);
	const char *path = (const char *)sqlite3_value_text(argv[0]);
	struct ebt_error *err;

	(void)argc;
	if (!path) {
		sqlite3_result_error(context, "ebt_open(): which file?", -1);
		return;
	}
	err = sql_traces_open(traces, path);
	if (err)
		sql_result_error(context, err);
	else
		sqlite3_result_value(context, argv[0]);
}

static struct ebt_error *add_line(void *arg, const char *sentence)
{
	struct text *text = arg;

	text_printf(text, "%s%s", text->len ? "\n" : "", sentence);
	return text_error(text);
}

/* A sentence a line; NULL: all could be read. */
static void ebt_damage(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct sql_traces *traces = sqlite3_user_data(context);
	_cleanup_text_ struct text text = TEXT_INIT;
	struct ebt_error *err = NULL;

	(void)argc;
	(void)argv;
	for (const struct sql_source *s = sql_traces_first(traces); !err && s; s = s->next)
		err = sql_source_damage(s, add_line, &text);
	if (err)
		sql_result_error(context, err);
	else if (text.len)
		sqlite3_result_text(context, text_get(&text), -1, SQLITE_TRANSIENT);
}

int sqlite3_ebt_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
	struct sql_traces *traces;
	struct ebt_error *err;

	SQLITE_EXTENSION_INIT2(api);
	err = sql_traces_create(db, &traces) ?: sql_functions_create(db, traces)
					?: sql_views_create(db, traces);
	if (err) {
		*message = sqlite3_mprintf("%s", err->message);
		ebt_error_destroy(err);
		return SQLITE_ERROR;
	}
	/* It opens files: no view or trigger of a database may call it. */
	return sqlite3_create_function(db, "ebt_open", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, traces,
				       ebt_open, NULL, NULL)
		       ?: sqlite3_create_function(db, "ebt_damage", 0, SQLITE_UTF8, traces,
						  ebt_damage, NULL, NULL);
}
