/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The traces of a database; see sql.h. */
#include <stdlib.h>
#include <string.h>

#include "format/read/reader.h"
#include "report/sql/source.h"
#include "report/sql/sql.h"
#include "report/sql/stacks.h"
#include "symbolize/symbolize.h"

struct sql_traces {
	sqlite3 *db;
	struct sql_source *first, **end;
};

static void source_destroy(struct sql_source *source)
{
	sql_stacks_destroy(source->stacks);
	if (source->owned) {
		sym_destroy(source->sym);
		ebt_reader_close(source->reader);
	}
	free(source->name);
	free(source);
}

static void destroy(void *arg)
{
	struct sql_traces *traces = arg;

	while (traces->first) {
		struct sql_source *source = traces->first;

		traces->first = source->next;
		source_destroy(source);
	}
	free(traces);
}

/* Without xDestroy, `CREATE VIRTUAL TABLE` does not find the module; and with an xCreate it is no
 * table by itself. */
static int no_table(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret,
		    char **message)
{
	(void)db;
	(void)aux;
	(void)argc;
	(void)argv;
	(void)ret;
	(void)message;
	return SQLITE_ERROR;
}

/* A module without a table of its own: what SQLite destroys when the database is closed. */
static struct ebt_error *keep(struct sql_traces *traces)
{
	static const sqlite3_module none = { .iVersion = 1, .xCreate = no_table };
	const int rc = sqlite3_create_module_v2(traces->db, "ebt_traces", &none, traces, destroy);

	return rc ? ebt_error_create(EBT_ERR_SYSTEM, "SQLite: %s", sqlite3_errstr(rc)) : NULL;
}

struct ebt_error *sql_traces_create(sqlite3 *db, struct sql_traces **ret)
{
	struct sql_traces *traces = calloc(1, sizeof(*traces));
	struct ebt_error *err;

	if (!traces)
		return &ebt_enomem;
	traces->db = db;
	traces->end = &traces->first;
	err = keep(traces); /* destroys them where it fails */
	if (!err)
		*ret = traces;
	return err;
}

struct sql_source *sql_traces_first(const struct sql_traces *traces)
{
	return traces->first;
}

static struct ebt_error *make_tables(struct sql_traces *traces, const struct ebt_reader *reader)
{
	struct ebt_error *err = NULL;
	size_t n;
	const struct ebt_table *tables = ebt_reader_tables(reader, &n);

	/* Those that this program knows are there since the first trace. */
	for (size_t i = 0; !err && i < n; i++) {
		if (reader != traces->first->reader && ebt_table_by_id(tables[i].id))
			continue;
		err = sql_table_create(traces->db, traces, &tables[i]);
	}
	return err;
}

static struct ebt_error *add(struct sql_traces *traces, struct ebt_reader *reader,
			     struct sql_source **ret)
{
	const struct ebt_reader_info *info = ebt_reader_info(reader);
	const char *slash = strrchr(info->path, '/');
	struct sql_source *source = calloc(1, sizeof(*source));

	if (!source)
		return &ebt_enomem;
	source->reader = reader;
	source->name = strdup(slash ? slash + 1 : info->path);
	source->start_ns = info->start_ns;
	*traces->end = *ret = source;
	traces->end = &source->next;
	return source->name ? make_tables(traces, reader) : &ebt_enomem;
}

struct ebt_error *sql_traces_add(struct sql_traces *traces, struct ebt_reader *reader,
				 sql_find_sym_fn *find_sym, void *arg)
{
	struct sql_source *source = NULL;
	struct ebt_error *err = add(traces, reader, &source);

	if (source) {
		source->find_sym = find_sym;
		source->arg = arg;
	}
	return err;
}

struct ebt_error *sql_source_sym(struct sql_source *source)
{
	const struct sym_options options = { .cache = true };

	if (source->sym)
		return NULL;
	return source->owned ? sym_create(source->reader, &options, &source->sym)
			     : source->find_sym(source->arg, &source->sym);
}

struct ebt_error *sql_traces_open(struct sql_traces *traces, const char *path)
{
	struct sql_source *source = NULL;
	struct ebt_reader *reader;
	struct ebt_error *err = ebt_reader_open(path, &reader);

	if (err)
		return err;
	err = add(traces, reader, &source);
	if (source)
		source->owned = true;
	else
		ebt_reader_close(reader);
	return err;
}
