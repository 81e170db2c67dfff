/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An event kind as a virtual table; see sql.h, and sqlite.org/vtab.html for what SQLite asks. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/read/reader.h"
#include "report/sql/source.h"
#include "report/sql/sql.h"
#include "report/sql/stacks.h"

/* Of each field up to four, and the trace. */
#define MAX_COLUMNS (4 * EBT_MAX_FIELDS + 1)

enum sql_kind { COLUMN_TRACE, COLUMN_VALUE, COLUMN_TASK, COLUMN_TID, COLUMN_PID, COLUMN_COMM };

struct sql_column {
	char *name;
	enum sql_kind kind;
	uint8_t field;
};

/* What a module is of; lives as long as the module, and the tables of it. */
struct sql_module {
	const struct sql_traces *traces;
	const struct ebt_table *table; /* of the first trace that has it */
	struct sql_column columns[MAX_COLUMNS];
	int n_columns;
	struct sql_stack_fields stack;
	uint64_t rows; /* of the first trace, about */
};

struct sql_cursor {
	sqlite3_vtab_cursor base;
	struct sql_source *source;
	struct ebt_cursor *cursor;
	struct ebt_row row;
	sqlite3_int64 rowid;
	/* The query: times since the start, from <= ts < to. */
	__int128 from, to;
	uint32_t pid;
	uint64_t fields;
	/* Rows of other threads and CPUs are passed over: columns, or -1 where any will do. */
	int tid_column, cpu_column;
	int64_t tid, cpu;
};

/* What is pushed down, each with one argument, in this order. */
enum sql_plan {
	PLAN_FROM = 1 << 0,  /* ts >= */
	PLAN_AFTER = 1 << 1, /* ts > */
	PLAN_TO = 1 << 2,    /* ts < */
	PLAN_UNTIL = 1 << 3, /* ts <= */
	PLAN_AT = 1 << 4,    /* ts = */
	PLAN_PID = 1 << 5,
	PLAN_TID = 1 << 6,     /* rows of it; chunks do not tell */
	PLAN_CPU = 1 << 7,     /* likewise */
	PLAN_ORDERED = 1 << 8, /* has no argument: rows are to come in the order of ts */
};
#define N_PLANS 8 /* with an argument */

static const char *const plan_texts[N_PLANS] = { "ts>=?", "ts>?",  "ts<?",  "ts<=?",
						 "ts=?",  "pid=?", "tid=?", "cpu=?" };

static int failed(char **to, struct ebt_error *err)
{
	const int rc = err->code == EBT_ERR_NOMEM ? SQLITE_NOMEM : SQLITE_IOERR;

	sqlite3_free(*to);
	*to = sqlite3_mprintf("%s", err->message);
	ebt_error_destroy(err);
	return rc;
}

/* --- columns --- */

static void module_destroy(void *arg)
{
	struct sql_module *module = arg;

	for (int i = 0; i < module->n_columns; i++)
		free(module->columns[i].name);
	free(module);
}

static struct ebt_error *add_column(struct sql_module *module, enum sql_kind kind, uint8_t field,
				    const char *prefix, const char *name)
{
	struct sql_column *column = &module->columns[module->n_columns];

	if (asprintf(&column->name, "%s%s", prefix, name) < 0)
		return &ebt_enomem;
	column->kind = kind;
	column->field = field;
	module->n_columns++;
	return NULL;
}

/* Its number, tid, pid and name. Those of field `task` have no prefix, where no field has the name.
 */
static struct ebt_error *add_task(struct sql_module *module, uint8_t i, const char *name)
{
	static const struct {
		enum sql_kind kind;
		const char *name;
	} parts[] = { { COLUMN_TID, "tid" }, { COLUMN_PID, "pid" }, { COLUMN_COMM, "comm" } };
	struct ebt_error *err = add_column(module, COLUMN_TASK, i, name, "");
	char prefix[EBT_MAX_NAME + 16], full[EBT_MAX_NAME + 24];

	for (size_t k = 0; !err && k < sizeof(parts) / sizeof(parts[0]); k++) {
		snprintf(prefix, sizeof(prefix), "%s_", name);
		if (!strcmp(name, "task"))
			*prefix = '\0';
		snprintf(full, sizeof(full), "%s%s", prefix, parts[k].name);
		while (ebt_field_by_name(module->table, full) >= 0) {
			/* This ends: no name of a field is as long as these get. */
			snprintf(prefix + strlen(prefix), sizeof(prefix) - strlen(prefix), "task_");
			snprintf(full, sizeof(full), "%s%s", prefix, parts[k].name);
		}
		err = add_column(module, parts[k].kind, i, prefix, parts[k].name);
	}
	return err;
}

static struct ebt_error *add_columns(struct sql_module *module)
{
	struct ebt_error *err = add_column(module, COLUMN_VALUE, 0, "ts", "");

	for (uint8_t i = 1; !err && i < module->table->n_fields; i++) {
		const struct ebt_field *field = &module->table->fields[i];

		if (field->type == EBT_TYPE_TASK)
			err = add_task(module, i, field->name);
		else
			err = add_column(module, COLUMN_VALUE, i, field->name, "");
	}
	return err ?: add_column(module, COLUMN_TRACE, 0, "trace", "");
}

static const char *type_of(const struct sql_module *module, const struct sql_column *column)
{
	const enum ebt_type type = module->table->fields[column->field].type;

	if (column->kind == COLUMN_TRACE || column->kind == COLUMN_COMM)
		return "TEXT";
	if (column->kind != COLUMN_VALUE)
		return "INTEGER";
	return type == EBT_TYPE_STRING || type == EBT_TYPE_ENUM ? "TEXT"
	       : type == EBT_TYPE_BYTES				? "BLOB"
								: "INTEGER";
}

/* Two fields of a file may make the same name, as `task` and `tid`: SQLite refuses that. */
static bool is_first(const struct sql_module *module, int i)
{
	for (int k = 0; k < i; k++) {
		if (!sqlite3_stricmp(module->columns[k].name, module->columns[i].name))
			return false;
	}
	return true;
}

static char *declaration(const struct sql_module *module)
{
	sqlite3_str *s = sqlite3_str_new(NULL);

	for (int i = 0; i < module->n_columns; i++) {
		const struct sql_column *column = &module->columns[i];

		sqlite3_str_appendf(s, "%s\"%w%s\" %s", i ? ", " : "CREATE TABLE x(", column->name,
				    is_first(module, i) ? "" : "_value", type_of(module, column));
	}
	sqlite3_str_appendall(s, ")");
	return sqlite3_str_finish(s);
}

static int table_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **ret, char **message)
{
	(void)argc;
	(void)argv;
	(void)message;
	return sql_vtab_connect(db, aux, declaration(aux), ret);
}

/* --- plans --- */

static int plan_of(const struct sql_column *column, unsigned char op)
{
	if (column->kind != COLUMN_VALUE || column->field) {
		if (op != SQLITE_INDEX_CONSTRAINT_EQ)
			return 0;
		return column->kind == COLUMN_PID     ? PLAN_PID
		       : column->kind == COLUMN_TID   ? PLAN_TID
		       : column->kind != COLUMN_VALUE ? 0
		       : !strcmp(column->name, "cpu") ? PLAN_CPU
						      : 0;
	}
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_GE:
		return PLAN_FROM;
	case SQLITE_INDEX_CONSTRAINT_GT:
		return PLAN_AFTER;
	case SQLITE_INDEX_CONSTRAINT_LT:
		return PLAN_TO;
	case SQLITE_INDEX_CONSTRAINT_LE:
		return PLAN_UNTIL;
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return PLAN_AT;
	default:
		return 0;
	}
}

/* Bit 63 of those used stands for all columns from there on. */
static uint64_t used_fields(const struct sql_module *module, uint64_t used)
{
	uint64_t fields = 0;

	for (int i = 0; i < module->n_columns; i++) {
		const struct sql_column *column = &module->columns[i];

		if (!(used >> (i < 63 ? i : 63) & 1) || column->kind == COLUMN_TRACE)
			continue;
		fields |= UINT64_C(1) << column->field;
		if (module->table->fields[column->field].type == EBT_TYPE_STACK)
			fields |= sql_stack_wants(module->table);
	}
	return fields;
}

/* Rows are checked again by SQLite: what is pushed down is by chunks. */
static int choose(sqlite3_index_info *info, const struct sql_module *module, int columns[N_PLANS])
{
	int plan = 0, at[N_PLANS], argument = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
		int bit = constraint->usable && constraint->iColumn >= 0
				  ? plan_of(&module->columns[constraint->iColumn], constraint->op)
				  : 0;

		if (!bit || plan & bit)
			continue;
		plan |= bit;
		at[__builtin_ctz((unsigned int)bit)] = i;
		columns[__builtin_ctz((unsigned int)bit)] = constraint->iColumn;
	}
	for (int k = 0; k < N_PLANS; k++) {
		if (plan >> k & 1)
			info->aConstraintUsage[at[k]].argvIndex = ++argument;
	}
	return plan;
}

/* Behind the fields: the columns of PLAN_TID and PLAN_CPU. */
static char *plan_text(int plan, uint64_t fields, const int columns[N_PLANS])
{
	sqlite3_str *s = sqlite3_str_new(NULL);

	for (int k = 0; k < N_PLANS; k++) {
		if (plan >> k & 1)
			sqlite3_str_appendf(s, "%s ", plan_texts[k]);
	}
	sqlite3_str_appendf(s, "fields %llx", (unsigned long long)fields);
	if (plan & (PLAN_TID | PLAN_CPU))
		sqlite3_str_appendf(s, " columns %d %d", plan & PLAN_TID ? columns[6] : -1,
				    plan & PLAN_CPU ? columns[7] : -1);
	return sqlite3_str_finish(s);
}

static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct sql_module *module = ((struct sql_vtab *)base)->module;
	int columns[N_PLANS];
	int plan = choose(info, module, columns);
	double rows = (double)module->rows + 1;

	info->idxStr = plan_text(plan, used_fields(module, info->colUsed), columns);
	info->needToFreeIdxStr = 1;
	if (!info->idxStr)
		return SQLITE_NOMEM;
	if (plan & PLAN_AT)
		rows /= 1000;
	if (plan & (PLAN_FROM | PLAN_AFTER))
		rows /= 4;
	if (plan & (PLAN_TO | PLAN_UNTIL))
		rows /= 4;
	if (plan & PLAN_PID)
		rows /= 4;
	info->estimatedCost = rows + 100;
	if (plan & (PLAN_TID | PLAN_CPU))
		rows /= 4; /* they are read nonetheless */
	info->estimatedRows = (sqlite3_int64)rows + 1;
	info->estimatedCost += rows / 4;
	/* A trace is in order of time, and the next one begins anew. */
	if (info->nOrderBy == 1 && !info->aOrderBy[0].desc && info->aOrderBy[0].iColumn == 0 &&
	    !sql_traces_first(module->traces)->next) {
		info->orderByConsumed = 1;
		plan |= PLAN_ORDERED;
	}
	info->idxNum = plan;
	return SQLITE_OK;
}

/* --- rows --- */

static int cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct sql_cursor *cursor = calloc(1, sizeof(*cursor)); /* aligned as __int128 needs it */

	(void)base;
	if (!cursor)
		return SQLITE_NOMEM;
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *base)
{
	struct sql_cursor *cursor = (struct sql_cursor *)base;

	ebt_cursor_destroy(cursor->cursor);
	free(cursor);
	return SQLITE_OK;
}

static const struct sql_module *module_of(const struct sql_cursor *cursor)
{
	return ((const struct sql_vtab *)cursor->base.pVtab)->module;
}

/* Of this trace: the table may have another place there, or be missing. */
static struct ebt_error *begin_source(struct sql_cursor *cursor)
{
	const struct sql_source *source = cursor->source;
	const struct ebt_want want = { module_of(cursor)->table->id, cursor->fields };
	const __int128 from = cursor->from + source->start_ns, to = cursor->to + source->start_ns;
	const struct ebt_query query = {
		.wants = &want,
		.n_wants = 1,
		.from_ns = from <= 0	       ? 0
			   : from > UINT64_MAX ? UINT64_MAX
					       : (uint64_t)from,
		.to_ns = to <= 0	   ? 1
			 : to > UINT64_MAX ? 0
					   : (uint64_t)to,
		.pid = cursor->pid,
	};

	ebt_cursor_destroy(cursor->cursor);
	cursor->cursor = NULL;
	return ebt_cursor_create(source->reader, &query, &cursor->cursor);
}

/* A table that is not ours may have other fields in another file. */
static bool has_field(const struct sql_cursor *cursor, const struct sql_column *column)
{
	const struct ebt_batch *batch = cursor->row.batch;
	const bool is_task = column->kind != COLUMN_VALUE;

	return column->field < batch->table->n_fields && batch->col[column->field] &&
	       (batch->table->fields[column->field].type == EBT_TYPE_TASK) == is_task;
}

static bool passes(const struct sql_cursor *cursor)
{
	const struct sql_column *columns = module_of(cursor)->columns;
	const struct sql_column *tid = columns + cursor->tid_column;
	const struct sql_column *cpu = columns + cursor->cpu_column;
	const struct ebt_task *task;

	if (cursor->tid_column >= 0 && has_field(cursor, tid)) {
		task = ebt_task(&cursor->row, tid->field);
		if (!task || task->tid != cursor->tid)
			return false;
	}
	return cursor->cpu_column < 0 || !has_field(cursor, cpu) ||
	       ebt_u64(&cursor->row, cpu->field) == (uint64_t)cursor->cpu;
}

static int cursor_next(sqlite3_vtab_cursor *base)
{
	struct sql_cursor *cursor = (struct sql_cursor *)base;
	struct ebt_error *err = NULL;

	cursor->rowid++;
	while (!err && cursor->source) {
		err = cursor->cursor ? NULL : begin_source(cursor);
		err = err ?: ebt_cursor_next(cursor->cursor, &cursor->row);
		if (err)
			break;
		if (cursor->row.batch) {
			if (passes(cursor))
				break;
			continue;
		}
		ebt_cursor_destroy(cursor->cursor);
		cursor->cursor = NULL;
		cursor->source = cursor->source->next;
	}
	return err ? failed(&base->pVtab->zErrMsg, err) : SQLITE_OK;
}

/* The whole number that is not less, or not more; false: the value is none to push down. Times that
 * are floating point numbers are rounded: bounds among them are left to SQLite. */
static bool bound(sqlite3_value *value, bool up, __int128 *ret)
{
	double v;

	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		*ret = sqlite3_value_int64(value);
		return *ret != INT64_MIN;
	case SQLITE_FLOAT:
		v = sqlite3_value_double(value);
		if (!(fabs(v) < 4e18))
			return false;
		*ret = (__int128)(up ? ceil(v) : floor(v));
		return true;
	default:
		return false;
	}
}

static void take_bound(struct sql_cursor *cursor, int plan, sqlite3_value *value)
{
	const bool up = plan & (PLAN_FROM | PLAN_TO);
	__int128 v;

	if (plan == PLAN_PID) {
		if (sqlite3_value_type(value) == SQLITE_INTEGER && sqlite3_value_int64(value) > 0 &&
		    sqlite3_value_int64(value) <= UINT32_MAX)
			cursor->pid = (uint32_t)sqlite3_value_int64(value);
		return;
	}
	if (plan == PLAN_TID || plan == PLAN_CPU) {
		int *column = plan == PLAN_TID ? &cursor->tid_column : &cursor->cpu_column;

		if (sqlite3_value_type(value) != SQLITE_INTEGER)
			*column = -1;
		*(plan == PLAN_TID ? &cursor->tid : &cursor->cpu) = sqlite3_value_int64(value);
		return;
	}
	if (!bound(value, up, &v))
		return;
	if (plan & (PLAN_FROM | PLAN_AFTER | PLAN_AT)) {
		v += plan == PLAN_AFTER;
		cursor->from = v > cursor->from ? v : cursor->from;
		v -= plan == PLAN_AFTER;
	}
	if (plan & (PLAN_TO | PLAN_UNTIL | PLAN_AT)) {
		v += plan != PLAN_TO;
		cursor->to = v < cursor->to ? v : cursor->to;
	}
}

static int cursor_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
			 sqlite3_value **argv)
{
	struct sql_cursor *cursor = (struct sql_cursor *)base;
	const char *fields = strstr(text, "fields "), *columns = strstr(text, "columns ");
	int argument = 0;

	ebt_cursor_destroy(cursor->cursor);
	cursor->cursor = NULL;
	cursor->source = sql_traces_first(module_of(cursor)->traces);
	/* Prepared for one trace, and there are more now: SQLite prepares it again. */
	if (plan & PLAN_ORDERED && cursor->source->next)
		return SQLITE_SCHEMA;
	cursor->rowid = 0;
	cursor->from = -(__int128)UINT64_MAX;
	cursor->to = (__int128)UINT64_MAX + 1;
	cursor->pid = 0;
	cursor->fields = fields ? strtoull(fields + strlen("fields "), NULL, 16) : ~UINT64_C(0);
	cursor->tid_column = cursor->cpu_column = -1;
	if (columns)
		sscanf(columns, "columns %d %d", &cursor->tid_column, &cursor->cpu_column);
	for (int k = 0; k < N_PLANS; k++) {
		if (plan >> k & 1 && argument < argc)
			take_bound(cursor, 1 << k, argv[argument++]);
	}
	return cursor_next(base);
}

static int cursor_eof(sqlite3_vtab_cursor *base)
{
	return !((struct sql_cursor *)base)->source;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((struct sql_cursor *)base)->rowid;
	return SQLITE_OK;
}

/* --- values --- */

static void put_str(sqlite3_context *context, struct ebt_str s)
{
	sqlite3_result_text64(context, s.data ? s.data : "", s.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* What is too large for an integer of SQLite is a floating point number. */
static void put_u64(sqlite3_context *context, uint64_t v)
{
	if (v > INT64_MAX)
		sqlite3_result_double(context, (double)v);
	else
		sqlite3_result_int64(context, (sqlite3_int64)v);
}

/* Since the start, in the order of times, however far they are from it. */
static void put_time(sqlite3_context *context, uint64_t v, uint64_t start)
{
	if (v >= start)
		put_u64(context, v - start);
	else if (start - v > INT64_MAX)
		sqlite3_result_double(context, -(double)(start - v));
	else
		sqlite3_result_int64(context, -(sqlite3_int64)(start - v));
}

static void put_task(sqlite3_context *context, const struct ebt_task *task, enum sql_kind kind)
{
	if (!task || (kind == COLUMN_PID && !task->pid))
		return; /* NULL */
	if (kind == COLUMN_COMM)
		put_str(context, task->comm);
	else
		sqlite3_result_int64(context, kind == COLUMN_TID   ? task->tid
					      : kind == COLUMN_PID ? task->pid
								   : task->id);
}

static void put_stack(sqlite3_context *context, const struct sql_cursor *cursor,
		      const struct ebt_stack *stack)
{
	struct ebt_error *err;
	struct sql_stack s;
	int64_t number;

	if (!stack)
		return;
	s = sql_stack_of(&cursor->row, &module_of(cursor)->stack, stack);
	err = sql_stacks_number(&cursor->source->stacks, &s, &number);
	if (err)
		sql_result_error(context, err);
	else
		sqlite3_result_int64(context, number);
}

static void put_value(sqlite3_context *context, const struct sql_cursor *cursor, unsigned int i)
{
	const struct ebt_row *row = &cursor->row;
	const struct ebt_field *field = &row->batch->table->fields[i];
	const uint64_t v = ebt_u64(row, i), start = cursor->source->start_ns;
	struct ebt_str s;

	switch (field->type) {
	case EBT_TYPE_TIME:
		/* Table clock has what other clocks showed. */
		if (i && row->batch->table->id == EBT_T_clock)
			put_u64(context, v);
		else
			put_time(context, v, start);
		break;
	case EBT_TYPE_I64:
	case EBT_TYPE_HEX:
		sqlite3_result_int64(context, (sqlite3_int64)v);
		break;
	case EBT_TYPE_ENUM:
		if (ebt_value_name(field, v))
			sqlite3_result_text(context, ebt_value_name(field, v), -1,
					    SQLITE_TRANSIENT);
		else
			put_u64(context, v);
		break;
	case EBT_TYPE_STACK:
		put_stack(context, cursor, ebt_stack(row, i));
		break;
	case EBT_TYPE_STRING:
		put_str(context, ebt_str(row, i));
		break;
	case EBT_TYPE_BYTES:
		s = ebt_str(row, i);
		sqlite3_result_blob64(context, s.len ? s.data : "", s.len, SQLITE_TRANSIENT);
		break;
	default:
		put_u64(context, v);
		break;
	}
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int i)
{
	const struct sql_cursor *cursor = (const struct sql_cursor *)base;
	const struct sql_column *column = &module_of(cursor)->columns[i];

	if (column->kind == COLUMN_TRACE)
		sqlite3_result_text(context, cursor->source->name, -1, SQLITE_STATIC);
	else if (column->field == 0)
		put_time(context, cursor->row.time, cursor->source->start_ns);
	else if (!has_field(cursor, column))
		sqlite3_result_null(context);
	else if (column->kind == COLUMN_VALUE)
		put_value(context, cursor, column->field);
	else
		put_task(context, ebt_task(&cursor->row, column->field), column->kind);
	return SQLITE_OK;
}

/* --- the module --- */

static const sqlite3_module methods = {
	.iVersion = 1,
	.xConnect = table_connect, /* without xCreate: the table is there by itself */
	.xBestIndex = table_best_index,
	.xDisconnect = sql_vtab_disconnect,
	.xOpen = cursor_open,
	.xClose = cursor_close,
	.xFilter = cursor_filter,
	.xNext = cursor_next,
	.xEof = cursor_eof,
	.xColumn = cursor_column,
	.xRowid = cursor_rowid,
};

static uint64_t count_rows(const struct sql_traces *traces, uint16_t id)
{
	uint64_t rows = 0;

	for (const struct sql_source *s = sql_traces_first(traces); s; s = s->next) {
		size_t n;
		const struct ebt_chunk_info *chunks = ebt_reader_chunks(s->reader, &n);

		for (size_t i = 0; i < n; i++)
			rows += chunks[i].table == id ? chunks[i].rows : 0;
	}
	return rows;
}

struct ebt_error *sql_table_create(sqlite3 *db, const struct sql_traces *traces,
				   const struct ebt_table *table, const char *name)
{
	struct sql_module *module = calloc(1, sizeof(*module));
	struct ebt_error *err;
	int rc;

	if (!module)
		return &ebt_enomem;
	module->traces = traces;
	module->table = table;
	module->rows = count_rows(traces, table->id);
	module->stack = sql_stack_fields(table);
	err = add_columns(module);
	if (err) {
		module_destroy(module);
		return err;
	}
	rc = sqlite3_create_module_v2(db, name, &methods, module, module_destroy);
	return rc ? ebt_error_create(EBT_ERR_SYSTEM, "SQLite: %s: %s", name, sqlite3_errstr(rc))
		  : NULL;
}
