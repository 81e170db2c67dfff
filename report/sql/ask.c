/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked, and the answer; see ask.h. */
#include "report/sql/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/text.h"
#include "report/out/out.h"
#include "report/sql/source.h"
#include "report/sql/sql.h"
#include "report/trace/trace.h"

struct asker {
	struct report *report;
	sqlite3 *db;
	bool as_table;
	/* Columns of the query. */
	struct out_column *columns;
	struct out_value *values;
	char **names;
	size_t n;
	struct text line;
};

static void close_database(sqlite3 **db)
{
	sqlite3_close_v2(*db);
}

static void finalize(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

static struct ebt_error *sql_error(sqlite3 *db)
{
	const int rc = sqlite3_errcode(db) & 0xff;

	if (rc == SQLITE_NOMEM)
		return &ebt_enomem;
	return ebt_error_create(rc == SQLITE_IOERR ? EBT_ERR_SYSTEM : EBT_ERR_INVALID, "SQL: %s",
				sqlite3_errmsg(db));
}

/* --- rows --- */

/* As the shell of SQLite prints rows, | between columns; but nothing that could harm a terminal. */
static struct ebt_error *put_line(struct asker *asker, sqlite3_stmt *statement)
{
	const int n = sqlite3_column_count(statement);
	struct text *line = &asker->line;

	text_clear(line);
	for (int i = 0; i < n; i++) {
		const unsigned char *text = sqlite3_column_text(statement, i);

		if (i)
			text_addc(line, '|');
		if (text)
			text_terminal(line, (struct ebt_str){
						    (const char *)text,
						    (size_t)sqlite3_column_bytes(statement, i) });
	}
	text_addc(line, '\n');
	fwrite(text_get(line), 1, line->len, out_file(asker->report->out));
	return text_error(line);
}

/* A column of SQLite may have another type in each row; and so the output is told before each. */
static struct out_value value_of(const struct asker *asker, sqlite3_stmt *statement, int i,
				 enum out_type *type)
{
	const int kind = sqlite3_column_type(statement, i);

	if (kind == SQLITE_NULL)
		return out_null();
	if (kind == SQLITE_INTEGER && !asker->as_table) {
		*type = OUT_I64;
		return out_i64(sqlite3_column_int64(statement, i));
	}
	if (kind == SQLITE_FLOAT && !asker->as_table) {
		const double v = sqlite3_column_double(statement, i);

		*type = OUT_NUMBER;
		return isfinite(v) || out_format(asker->report->out) != FORMAT_JSON ? out_f64(v)
										    : out_null();
	}
	*type = OUT_STRING;
	return out_str((struct ebt_str){ (const char *)sqlite3_column_text(statement, i),
					 (size_t)sqlite3_column_bytes(statement, i) });
}

static struct ebt_error *put_row(struct asker *asker, sqlite3_stmt *statement)
{
	for (size_t i = 0; i < asker->n; i++)
		asker->values[i] = value_of(asker, statement, (int)i, &asker->columns[i].type);
	return out_row_n(asker->report->out, 0, asker->values, asker->n);
}

static void asker_deinit(struct asker *asker)
{
	for (size_t i = 0; asker->names && i < asker->n; i++)
		free(asker->names[i]);
	free(asker->names);
	free(asker->columns);
	free(asker->values);
	text_deinit(&asker->line);
}

static bool has_name(const struct asker *asker, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(asker->names[i], name))
			return true;
	}
	return false;
}

/* Members of an object have each a name of its own: `a`, and then `a:1`, as SQLite calls those of a
 * table that is made of a query. */
static struct ebt_error *add_name(struct asker *asker, size_t i, const char *name)
{
	struct ebt_error *err = name ? ebt_format(&asker->names[i], "%s", name) : &ebt_enomem;

	for (unsigned int k = 1; !err && has_name(asker, i, asker->names[i]); k++) {
		free(asker->names[i]);
		asker->names[i] = NULL;
		err = ebt_format(&asker->names[i], "%s:%u", name, k);
	}
	if (!err)
		asker->columns[i] =
			(struct out_column){ asker->names[i], asker->names[i], OUT_STRING, 0 };
	return err;
}

static struct ebt_error *make_columns(struct asker *asker, sqlite3_stmt *statement)
{
	struct ebt_error *err = NULL;

	asker->n = (size_t)sqlite3_column_count(statement);
	asker->columns = calloc(asker->n, sizeof(*asker->columns));
	asker->values = calloc(asker->n, sizeof(*asker->values));
	asker->names = calloc(asker->n, sizeof(*asker->names));
	if (!asker->columns || !asker->values || !asker->names)
		return &ebt_enomem;
	for (size_t i = 0; !err && i < asker->n; i++)
		err = add_name(asker, i, sqlite3_column_name(statement, (int)i));
	return err;
}

static struct ebt_error *step_all(struct asker *asker, sqlite3_stmt *statement, bool lines)
{
	const uint64_t top = asker->report->options->top;
	struct ebt_error *err = NULL;
	uint64_t n = 0;
	int rc;

	while (!err && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
		err = lines ? put_line(asker, statement) : put_row(asker, statement);
		if (err || ++n == top)
			return err;
	}
	return err ? err : rc == SQLITE_DONE ? NULL : sql_error(asker->db);
}

/* Before anything is printed. */
static struct ebt_error *check_alone(struct asker *asker, const char *rest)
{
	__attribute__((cleanup(finalize))) sqlite3_stmt *next = NULL;

	if (!sqlite3_prepare_v2(asker->db, rest, -1, &next, NULL) && !next)
		return NULL;
	return ebt_error_create(
		EBT_ERR_INVALID,
		"SQL: --json, --csv and --table are for one query, which comes last");
}

static struct ebt_error *put_table(struct asker *asker, sqlite3_stmt *statement, const char *rest)
{
	struct out_table table = { .key = "rows" };
	struct ebt_error *err = check_alone(asker, rest) ?: make_columns(asker, statement);

	if (err)
		return err;
	table.columns = asker->columns;
	table.n_columns = asker->n;
	table.flags = OUT_KEEP_ORDER | OUT_CUT | (asker->as_table ? 0 : OUT_STREAM);
	err = out_begin(asker->report->out, &table);
	if (err)
		return err;
	err = step_all(asker, statement, false);
	return err ? err : out_end(asker->report->out);
}

static struct ebt_error *run_statement(struct asker *asker, sqlite3_stmt *statement,
				       const char *rest)
{
	const bool lines = !asker->as_table && out_format(asker->report->out) == FORMAT_TABLE;

	if (lines || !sqlite3_column_count(statement))
		return step_all(asker, statement, true);
	return put_table(asker, statement, rest);
}

static struct ebt_error *run_text(struct asker *asker, const char *text)
{
	struct ebt_error *err = NULL;

	while (!err && *text) {
		__attribute__((cleanup(finalize))) sqlite3_stmt *statement = NULL;

		if (sqlite3_prepare_v2(asker->db, text, -1, &statement, &text))
			return sql_error(asker->db);
		if (statement)
			err = run_statement(asker, statement, text);
	}
	return err;
}

/* --- what is asked of what --- */

static struct ebt_error *read_question(char **ret)
{
	size_t size = 0;

	if (isatty(STDIN_FILENO))
		return ebt_error_create(EBT_ERR_INVALID,
					"which question? `ebreport sql FILE 'SELECT …'`, or SQL on "
					"standard input");
	errno = 0;
	if (getdelim(ret, &size, '\0', stdin) >= 0)
		return NULL;
	if (ferror(stdin))
		return ebt_error_errno(errno, "cannot read standard input");
	free(*ret); /* has no text, and no end */
	*ret = NULL;
	return NULL;
}

static struct ebt_error *find_sym(void *arg, struct sym **ret)
{
	return trace_sym(arg, ret);
}

/* Asked when a query is prepared: what a table that it reads has lost is told below the answer. */
static int note_table(void *arg, int action, const char *table, const char *column,
		      const char *database, const char *inner)
{
	const struct ebt_table *known = NULL;

	(void)column;
	if (action == SQLITE_READ && table && !(database && !strcmp(database, "perfetto")))
		known = ebt_table_by_name(table);
	(void)inner;
	if (known)
		trace_note_table(arg, known->id);
	return SQLITE_OK;
}

/* Words that are files are traces; the last one, where it is none, is the question. */
static struct ebt_error *open_traces(const struct report *report, struct sql_traces *traces,
				     const char **ret)
{
	const struct options *o = report->options;
	struct ebt_error *err =
		sql_traces_add(traces, trace_reader(report->trace), find_sym, report->trace);

	*ret = NULL;
	for (size_t i = 0; !err && i < o->n_words; i++) {
		if (i + 1 < o->n_words || !access(o->words[i], F_OK))
			err = sql_traces_open(traces, o->words[i]);
		else
			*ret = o->words[i];
	}
	return err;
}

static struct ebt_error *add_warning(void *arg, const char *sentence)
{
	return trace_warn(arg, "%s", sentence);
}

/* Of the first trace it is said anyway. */
static struct ebt_error *warn_of_others(const struct asker *asker, const struct sql_traces *traces)
{
	const struct sql_source *source = sql_traces_first(traces);
	struct ebt_error *err = NULL;

	while (!err && (source = source->next))
		err = sql_source_damage(source, add_warning, asker->report->trace);
	return err;
}

static struct ebt_error *ask(struct asker *asker)
{
	_cleanup_free_ char *read = NULL;
	struct sql_traces *traces;
	const char *question;
	struct ebt_error *err = sql_traces_create(asker->db, &traces)
					?: sql_functions_create(asker->db, traces)
					?: sql_views_create(asker->db, traces)
					?: open_traces(asker->report, traces, &question);

	if (!err && !question)
		err = read_question(&read);
	if (!err)
		err = run_text(asker, question ? question : read ? read : "");
	return err ? err : warn_of_others(asker, traces);
}

struct ebt_error *sql_run(struct report *report)
{
	__attribute__((cleanup(close_database))) sqlite3 *db = NULL;
	struct asker asker = { .report = report,
			       .as_table = options_flag(report->options, "table") &&
					   out_format(report->out) == FORMAT_TABLE };
	struct ebt_error *err;

	if (sqlite3_open(":memory:", &db))
		return db ? sql_error(db) : &ebt_enomem;
	asker.db = db;
	sqlite3_set_authorizer(db, note_table, report->trace);
	err = ask(&asker);
	asker_deinit(&asker);
	return err;
}
