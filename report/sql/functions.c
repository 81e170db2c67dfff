/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions for questions: names of stacks, calls and errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* The trace that argument i names; without a name the first. */
static struct sql_source *source_of(sqlite3_context *context, int argc, int i, sqlite3_value **argv)
{
	struct sql_source *first = sql_traces_first(sqlite3_user_data(context));
	const char *name = i < argc ? (const char *)sqlite3_value_text(argv[i]) : NULL;

	for (struct sql_source *s = first; name && s; s = s->next) {
		if (!strcmp(s->name, name))
			return s;
	}
	return name ? NULL : first;
}

/* callsite(ustack, kstack, trace): in stack_profile_callsite. */
static void callsite(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct sql_source *source = source_of(context, argc, 2, argv);
	const int64_t user = sqlite3_value_int64(argv[0]), kernel = sqlite3_value_int64(argv[1]);
	struct ebt_error *err = NULL;
	bool found = false;
	int64_t v = 0;

	if (source)
		err = sql_profile_callsite(
			source, sqlite3_value_type(argv[0]) == SQLITE_NULL ? NULL : &user,
			sqlite3_value_type(argv[1]) == SQLITE_NULL ? NULL : &kernel, &v, &found);
	if (err)
		sql_result_error(context, err);
	else if (found)
		sqlite3_result_int64(context, v);
}

/* counter_value(value, type, divisor): of tables `counter` and `counter_def`, in its unit. */
static void counter_value(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const sqlite3_int64 bits = sqlite3_value_int64(argv[0]);
	const double divisor = sqlite3_value_double(argv[2]);
	const char *type = (const char *)sqlite3_value_text(argv[1]);
	double v = (double)bits;

	(void)argc;
	if (type && !strcmp(type, "double"))
		memcpy(&v, &bits, sizeof(v));
	sqlite3_result_double(context, divisor > 0 ? v / divisor : v);
}

/* ebt_chunks(), ebt_chunks_read(): of all traces; those that were decoded so far, each time. */
static void chunks(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	uint64_t sum = 0;
	size_t n;

	(void)argc;
	(void)argv;
	for (const struct sql_source *s = sql_traces_first(sqlite3_user_data(context)); s;
	     s = s->next) {
		ebt_reader_chunks(s->reader, &n);
		sum += n;
	}
	sqlite3_result_int64(context, (sqlite3_int64)sum);
}

static void chunks_read(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	uint64_t sum = 0;

	(void)argc;
	(void)argv;
	for (const struct sql_source *s = sql_traces_first(sqlite3_user_data(context)); s;
	     s = s->next)
		sum += ebt_reader_info(s->reader)->read_chunks;
	sqlite3_result_int64(context, (sqlite3_int64)sum);
}

/* --- times --- */

/* trace_end(), trace_end(trace): as `ts`. */
static void trace_end(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct sql_source *source = source_of(context, argc, 0, argv);

	if (source)
		sqlite3_result_int64(context,
				     (sqlite3_int64)(ebt_reader_info(source->reader)->end_ns -
						     source->start_ns));
}

static bool realtime(sqlite3_context *context, int argc, sqlite3_value **argv, uint64_t *ret)
{
	const struct sql_source *source = source_of(context, argc, 1, argv);

	if (!source || sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return false;
	*ret = ebt_reader_info(source->reader)->start_realtime_ns +
	       (uint64_t)sqlite3_value_int64(argv[0]);
	return true;
}

/* to_realtime(ts), to_realtime(ts, trace): ns since 1970. */
static void to_realtime(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	uint64_t ns;

	if (realtime(context, argc, argv, &ns))
		sqlite3_result_int64(context, (sqlite3_int64)ns);
}

/* abs_time_str(ts), abs_time_str(ts, trace): in UTC, to the ns. */
static void abs_time_str(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	char date[64], text[96];
	struct tm tm;
	uint64_t ns;
	time_t s;

	if (!realtime(context, argc, argv, &ns))
		return;
	s = (time_t)(ns / 1000000000);
	if (!gmtime_r(&s, &tm) || !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm))
		return;
	snprintf(text, sizeof(text), "%s.%09u", date, (unsigned int)(ns % 1000000000));
	sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
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
		{ "callsite", 3, callsite },
		{ "counter_value", 3, counter_value },
		{ "ebt_chunks", 0, chunks },
		{ "ebt_chunks_read", 0, chunks_read },
		{ "trace_end", 0, trace_end },
		{ "trace_end", 1, trace_end },
		{ "to_realtime", 1, to_realtime },
		{ "to_realtime", 2, to_realtime },
		{ "abs_time_str", 1, abs_time_str },
		{ "abs_time_str", 2, abs_time_str },
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; !rc && i < sizeof(list) / sizeof(list[0]); i++)
		rc = sqlite3_create_function(db, list[i].name, list[i].n,
					     SQLITE_UTF8 | SQLITE_INNOCUOUS, traces, list[i].fn,
					     NULL, NULL);
	return rc ? ebt_error_create(EBT_ERR_SYSTEM, "SQLite: %s", sqlite3_errstr(rc)) : NULL;
}
