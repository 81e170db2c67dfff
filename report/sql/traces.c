/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The traces of a database; see sql.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/read/reader.h"
#include "report/base/text.h"
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
	sql_profile_destroy(source->profile);
	sql_tasks_destroy(source->tasks);
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
	char hidden[EBT_MAX_NAME + 8];
	size_t n;
	const struct ebt_table *tables = ebt_reader_tables(reader, &n);

	/* Those that this program knows are there since the first trace. */
	for (size_t i = 0; !err && i < n; i++) {
		if (reader != traces->first->reader && ebt_table_by_id(tables[i].id))
			continue;
		err = sql_table_create(traces->db, traces, &tables[i], tables[i].name);
		if (!err && sql_views_hide(tables[i].name, hidden, sizeof(hidden)))
			err = sql_table_create(traces->db, traces, &tables[i], hidden);
	}
	return err;
}

static struct ebt_error *add(struct sql_traces *traces, struct ebt_reader *reader,
			     struct sql_source **ret)
{
	const struct ebt_reader_info *info = ebt_reader_info(reader);
	const char *slash = strrchr(info->path, '/');
	const char *name = slash ? slash + 1 : info->path;
	struct sql_source *source = calloc(1, sizeof(*source));
	struct ebt_error *err;

	if (!source)
		return &ebt_enomem;
	source->reader = reader;
	err = info->n_hosts ? ebt_format(&source->name, "%s:%" PRIu32, name, info->host)
			    : ebt_format(&source->name, "%s", name);
	source->start_ns = info->start_ns;
	*traces->end = *ret = source;
	traces->end = &source->next;
	return err ?: make_tables(traces, reader);
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

/* *ret_n: of how many machines the file is; 0: it is of one. */
static struct ebt_error *open_host(struct sql_traces *traces, const char *path, size_t host,
				   size_t *ret_n)
{
	const struct ebt_reader_info *info;
	struct sql_source *source = NULL;
	struct ebt_reader *reader;
	struct ebt_error *err = ebt_reader_open(path, &reader);

	*ret_n = 0;
	if (err)
		return err;
	info = ebt_reader_info(reader);
	*ret_n = info->n_hosts;
	if (host) /* the first is read by itself */
		err = ebt_reader_choose_host(reader, info->hosts[host]);
	err = err ?: add(traces, reader, &source);
	if (source)
		source->owned = true;
	else
		ebt_reader_close(reader);
	return err;
}

struct ebt_error *sql_traces_open(struct sql_traces *traces, const char *path)
{
	size_t n, again;
	struct ebt_error *err = open_host(traces, path, 0, &n);

	for (size_t i = 1; !err && i < n; i++)
		err = open_host(traces, path, i, &again);
	return err;
}

struct ebt_error *sql_source_damage(const struct sql_source *source, sql_tell_fn *tell, void *arg)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	const struct ebt_damage *damage;
	struct ebt_error *err = NULL;
	uint64_t total;
	size_t n;

	damage = ebt_reader_damage(source->reader, &n, &total);
	if (n) {
		text_printf(&text,
			    "%s: %" PRIu64 " part%s of the file could not be read; the first is at "
			    "offset %" PRIu64 ": %s",
			    source->name, total, text_plural(total, "", "s"), damage[0].offset,
			    damage[0].what ? damage[0].what : "damaged");
		err = text_error(&text) ?: tell(arg, text_get(&text));
	}
	if (err || ebt_reader_info(source->reader)->complete)
		return err;
	text_clear(&text);
	text_printf(&text, "%s: the file has no end: its recorder was killed or it was cut",
		    source->name);
	return text_error(&text) ?: tell(arg, text_get(&text));
}
