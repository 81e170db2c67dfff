/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables that are worked out; see made.h. */
#include "report/sql/made.h"

#include <stdlib.h>

struct made_module {
	const struct sql_traces *traces;
	const struct sql_made *made;
};

struct made_cursor {
	sqlite3_vtab_cursor base;
	struct sql_source *source;
	void *rows;
	sqlite3_int64 rowid;
	/* The query: `ts` since the start. */
	int64_t from;
	bool has_id;
	int64_t id;
};

enum made_plan { PLAN_FROM = 1, PLAN_ID = 2 };

static const struct made_module *module_of(const struct made_cursor *cursor)
{
	return ((const struct sql_vtab *)cursor->base.pVtab)->module;
}

int sql_vtab_connect(sqlite3 *db, const void *module, char *declaration, sqlite3_vtab **ret)
{
	struct sql_vtab *vtab = sqlite3_malloc(sizeof(*vtab));
	int rc = vtab && declaration ? sqlite3_declare_vtab(db, declaration) : SQLITE_NOMEM;

	sqlite3_free(declaration);
	if (rc) {
		sqlite3_free(vtab);
		return rc;
	}
	/* It shows what was opened, and changes nothing: views may use it. */
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	*vtab = (struct sql_vtab){ .module = module };
	*ret = &vtab->base;
	return SQLITE_OK;
}

int sql_vtab_disconnect(sqlite3_vtab *vtab)
{
	sqlite3_free(vtab);
	return SQLITE_OK;
}

static int made_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			sqlite3_vtab **ret, char **message)
{
	const struct made_module *module = aux;

	(void)argc;
	(void)argv;
	(void)message;
	return sql_vtab_connect(db, module,
				sqlite3_mprintf("CREATE TABLE x(%s, \"trace\" TEXT)",
						module->made->columns),
				ret);
}

static int made_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct made_module *module = ((struct sql_vtab *)base)->module;
	const struct sql_made *made = module->made;
	int from = -1, id = -1, argument = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];

		if (!c->usable)
			continue;
		if (made->ts >= 0 && c->iColumn == made->ts &&
		    (c->op == SQLITE_INDEX_CONSTRAINT_GE || c->op == SQLITE_INDEX_CONSTRAINT_GT))
			from = i;
		if (made->by_id && c->iColumn == 0 && c->op == SQLITE_INDEX_CONSTRAINT_EQ)
			id = i;
	}
	if (from >= 0)
		info->aConstraintUsage[from].argvIndex = ++argument;
	if (id >= 0)
		info->aConstraintUsage[id].argvIndex = ++argument;
	info->idxNum = (from >= 0 ? PLAN_FROM : 0) | (id >= 0 ? PLAN_ID : 0);
	info->idxStr = (char *)(from >= 0 ? "ts>=?" : id >= 0 ? "id=?" : "all");
	info->estimatedRows = id >= 0 ? 1 : from >= 0 ? 100000 : 1000000;
	info->estimatedCost = id >= 0 ? 10 : (double)info->estimatedRows * 4;
	return SQLITE_OK;
}

static int made_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct made_cursor *cursor = calloc(1, sizeof(*cursor));

	(void)base;
	if (!cursor)
		return SQLITE_NOMEM;
	*ret = &cursor->base;
	return SQLITE_OK;
}

static void end_rows(struct made_cursor *cursor)
{
	if (cursor->rows)
		module_of(cursor)->made->end(cursor->rows);
	cursor->rows = NULL;
}

static int made_close(sqlite3_vtab_cursor *base)
{
	struct made_cursor *cursor = (struct made_cursor *)base;

	end_rows(cursor);
	free(cursor);
	return SQLITE_OK;
}

static struct ebt_error *begin_rows(struct made_cursor *cursor)
{
	const __int128 from = (__int128)cursor->from + cursor->source->start_ns;
	const struct sql_made_query query = {
		.from = from < 0	    ? 0
			: from > UINT64_MAX ? UINT64_MAX
					    : (uint64_t)from,
		.has_id = cursor->has_id,
		.id = cursor->id,
	};

	return module_of(cursor)->made->begin(cursor->source, &query, &cursor->rows);
}

static int made_next(sqlite3_vtab_cursor *base)
{
	struct made_cursor *cursor = (struct made_cursor *)base;
	struct ebt_error *err = NULL;
	bool more = false;
	int rc;

	cursor->rowid++;
	while (!err && cursor->source) {
		err = cursor->rows ? NULL : begin_rows(cursor);
		err = err ?: module_of(cursor)->made->next(cursor->rows, &more);
		if (err || more)
			break;
		end_rows(cursor);
		cursor->source = cursor->source->next;
	}
	if (!err)
		return SQLITE_OK;
	rc = err->code == EBT_ERR_NOMEM ? SQLITE_NOMEM : SQLITE_IOERR;
	sqlite3_free(base->pVtab->zErrMsg);
	base->pVtab->zErrMsg = sqlite3_mprintf("%s", err->message);
	ebt_error_destroy(err);
	return rc;
}

static int made_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
		       sqlite3_value **argv)
{
	struct made_cursor *cursor = (struct made_cursor *)base;
	int i = 0;

	(void)text;
	end_rows(cursor);
	cursor->source = sql_traces_first(module_of(cursor)->traces);
	cursor->rowid = 0;
	cursor->from = INT64_MIN;
	cursor->has_id = false;
	if (plan & PLAN_FROM && i < argc) {
		if (sqlite3_value_type(argv[i]) == SQLITE_INTEGER)
			cursor->from = sqlite3_value_int64(argv[i]);
		i++;
	}
	if (plan & PLAN_ID && i < argc && sqlite3_value_type(argv[i]) == SQLITE_NULL)
		cursor->source = NULL; /* no row has that */
	if (plan & PLAN_ID && i < argc && sqlite3_value_type(argv[i]) == SQLITE_INTEGER) {
		cursor->has_id = true;
		cursor->id = sqlite3_value_int64(argv[i]);
	}
	return cursor->source ? made_next(base) : SQLITE_OK;
}

static int made_eof(sqlite3_vtab_cursor *base)
{
	return !((struct made_cursor *)base)->source;
}

static int made_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((struct made_cursor *)base)->rowid;
	return SQLITE_OK;
}

static int made_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int i)
{
	const struct made_cursor *cursor = (const struct made_cursor *)base;
	const struct sql_made *made = module_of(cursor)->made;

	if (i == made->n)
		sqlite3_result_text(context, cursor->source->name, -1, SQLITE_STATIC);
	else
		made->column(cursor->rows, context, i);
	return SQLITE_OK;
}

static const sqlite3_module methods = {
	.iVersion = 1,
	.xConnect = made_connect,
	.xBestIndex = made_best_index,
	.xDisconnect = sql_vtab_disconnect,
	.xOpen = made_open,
	.xClose = made_close,
	.xFilter = made_filter,
	.xNext = made_next,
	.xEof = made_eof,
	.xColumn = made_column,
	.xRowid = made_rowid,
};

struct ebt_error *sql_made_create(sqlite3 *db, const struct sql_traces *traces,
				  const struct sql_made *made)
{
	struct made_module *module = calloc(1, sizeof(*module));
	int rc;

	if (!module)
		return &ebt_enomem;
	*module = (struct made_module){ traces, made };
	rc = sqlite3_create_module_v2(db, made->name, &methods, module, free);
	return rc ? ebt_error_create(EBT_ERR_SYSTEM, "SQLite: %s: %s", made->name,
				     sqlite3_errstr(rc))
		  : NULL;
}
