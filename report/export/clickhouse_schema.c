/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tables in ClickHouse look like: those of events follow from the event table alone. */
#include <inttypes.h>
#include <string.h>

#include "report/base/text.h"
#include "report/export/clickhouse.h"

static const struct native_column frame_columns[] = {
	{ "frame", NATIVE_U64 },	 { "build_id", NATIVE_WORD }, { "object", NATIVE_WORD },
	{ "offset", NATIVE_U64 },	 { "kind", NATIVE_WORD },     { "named", NATIVE_U8 },
	{ "functions", NATIVE_STRINGS }, { "files", NATIVE_STRINGS }, { "lines", NATIVE_U32S },
};

static const struct native_column stack_columns[] = {
	{ "stack", NATIVE_U64 },
	{ "frames", NATIVE_U64S },
};

static const struct native_column offcpu_columns[] = {
	{ "day", NATIVE_DAY },	       { "host", NATIVE_WORD },	    { "trace", NATIVE_UUID },
	{ "chunk", NATIVE_U64 },       { "row", NATIVE_U32 },	    { "time", NATIVE_TIME },
	{ "cpu", NATIVE_U32 },	       { "tid", NATIVE_U32 },	    { "pid", NATIVE_U32 },
	{ "comm", NATIVE_WORD },       { "why", NATIVE_WORD },	    { "duration", NATIVE_U64 },
	{ "queued", NATIVE_U64 },      { "waker_tid", NATIVE_U32 }, { "waker_pid", NATIVE_U32 },
	{ "waker_comm", NATIVE_WORD }, { "stack", NATIVE_U64 },
};

static const struct native_column host_columns[] = {
	{ "host", NATIVE_WORD },    { "seen", NATIVE_TIME },  { "kernel", NATIVE_WORD },
	{ "machine", NATIVE_WORD }, { "os", NATIVE_WORD },    { "cpu", NATIVE_WORD },
	{ "cpus", NATIVE_U32 },	    { "memory", NATIVE_U64 },
};

static const struct native_column trace_columns[] = {
	{ "day", NATIVE_DAY },
	{ "host", NATIVE_WORD },
	{ "trace", NATIVE_UUID },
	{ "start", NATIVE_TIME },
	{ "end", NATIVE_TIME },
	{ "kernel", NATIVE_WORD },
	{ "machine", NATIVE_WORD },
	{ "command_line", NATIVE_STRING },
	{ "complete", NATIVE_U8 },
	{ "rows", NATIVE_U64 },
	{ "size", NATIVE_U64 },
	{ "sources", NATIVE_STRINGS },
	{ "lost_tables", NATIVE_STRINGS },
	{ "lost_rows", NATIVE_U64S },
};

#define MADE(name_, ...)                                                             \
	{                                                                            \
		.name = #name_, .columns = name_##_columns,                          \
		.n = sizeof(name_##_columns) / sizeof(*name_##_columns), __VA_ARGS__ \
	}
#define ROWS_ORDER "host, trace, chunk, row"

const struct clickhouse_made clickhouse_made[N_MADE] = {
	[MADE_FRAME] = MADE(frame, .engine = "ReplacingMergeTree(named)", .order = "frame",
			    .doc = "a place in a file, each once: its function and those inlined "
				   "there, innermost first; named 1 wins"),
	[MADE_STACK] = MADE(stack, .engine = "ReplacingMergeTree", .order = "stack",
			    .doc = "the frames of a stack, each once, outermost first"),
	[MADE_OFFCPU] =
		MADE(offcpu, .engine = "ReplacingMergeTree", .order = ROWS_ORDER, .rows = true,
		     .doc = "a thread was off CPU until time, and queued for one in the "
			    "end; chunk is the minute since the start of the trace, and its part "
			    "above 2^32"),
	[MADE_HOST] = MADE(host, .engine = "ReplacingMergeTree(seen)", .order = "host",
			   .doc = "a machine, as its last trace says"),
	[MADE_TRACE] = MADE(trace, .engine = "ReplacingMergeTree(rows)", .order = "host, trace",
			    .rows = true, .doc = "a trace; of one that came cut and whole: whole"),
};

/* --- tables of events --- */

bool clickhouse_has_table(const struct ebt_table *table)
{
	return table->class == EBT_CLASS_EVENT || table->class == EBT_CLASS_STATE ||
	       table->id == EBT_T_lost;
}

static void add(struct clickhouse_table *t, const char *name, enum native_type type,
		enum clickhouse_part part, uint8_t field)
{
	struct native_column *column = &t->columns[t->n];

	snprintf(column->name, sizeof(column->name), "%s", name);
	column->type = type;
	t->parts[t->n].part = part;
	t->parts[t->n++].field = field;
}

/* Those of field `task` have no prefix, and none has the name of a field; as in `ebreport sql`. */
static void add_task(struct clickhouse_table *t, uint8_t i)
{
	static const struct {
		const char *name;
		enum native_type type;
		enum clickhouse_part part;
	} parts[] = { { "tid", NATIVE_U32, CLICKHOUSE_TID },
		      { "pid", NATIVE_U32, CLICKHOUSE_PID },
		      { "comm", NATIVE_WORD, CLICKHOUSE_COMM } };
	const char *field = t->table->fields[i].name;
	char name[NATIVE_NAME];

	for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
		snprintf(name, sizeof(name), "%s_%s", field, parts[k].name);
		if (ebt_field_by_name(t->table, name) >= 0)
			snprintf(name, sizeof(name), "%s_task_%s", field, parts[k].name);
		if (!strcmp(field, "task") && ebt_field_by_name(t->table, parts[k].name) < 0)
			snprintf(name, sizeof(name), "%s", parts[k].name);
		add(t, name, parts[k].type, parts[k].part, i);
	}
}

static void add_stack(struct clickhouse_table *t, uint8_t i)
{
	int *to = !strcmp(t->table->fields[i].name, "kstack") ? &t->kstack : &t->ustack;

	if (*to < 0)
		*to = i;
}

static void add_field(struct clickhouse_table *t, uint8_t i)
{
	static const enum native_type types[EBT_N_TYPES] = {
		[EBT_TYPE_U64] = NATIVE_U64,	   [EBT_TYPE_I64] = NATIVE_I64,
		[EBT_TYPE_HEX] = NATIVE_U64,	   [EBT_TYPE_TIME] = NATIVE_TIME,
		[EBT_TYPE_DURATION] = NATIVE_U64,  [EBT_TYPE_ENUM] = NATIVE_WORD,
		[EBT_TYPE_STRING] = NATIVE_STRING, [EBT_TYPE_BYTES] = NATIVE_STRING,
	};
	const struct ebt_field *field = &t->table->fields[i];

	if (!strcmp(field->name, "unused") || !strcmp(field->name, "udump"))
		return;
	t->fields |= UINT64_C(1) << i;
	if (field->type == EBT_TYPE_TASK && t->task < 0)
		t->task = i;
	if (field->type == EBT_TYPE_TASK)
		add_task(t, i);
	else if (field->type == EBT_TYPE_STACK)
		add_stack(t, i);
	else
		add(t, field->name,
		    field->type == EBT_TYPE_U64 && field->wire_size == 4 ? NATIVE_U32
									 : types[field->type],
		    CLICKHOUSE_VALUE, i);
}

void clickhouse_table_init(const struct ebt_table *table, struct clickhouse_table *ret)
{
	*ret = (struct clickhouse_table){ .table = table, .task = -1, .kstack = -1, .ustack = -1 };
	for (size_t i = 0; i < N_FIRST; i++)
		ret->columns[i] = offcpu_columns[i];
	ret->n = N_FIRST;
	for (uint32_t i = 1; i < table->n_fields && i < EBT_MAX_FIELDS; i++)
		add_field(ret, (uint8_t)i);
	if (ret->kstack >= 0 || ret->ustack >= 0)
		add(ret, "stack", NATIVE_U64, CLICKHOUSE_STACK, 0);
	if (table->id == EBT_T_sample)
		add(ret, "ns", NATIVE_U64, CLICKHOUSE_NS, 0);
}

/* --- as SQL --- */

static void put_quoted(struct text *text, const char *s)
{
	text_addc(text, '\'');
	for (; *s; s++) {
		if (*s == '\'' || *s == '\\')
			text_addc(text, '\\');
		text_addc(text, *s);
	}
	text_addc(text, '\'');
}

static void put_column(struct text *text, const struct native_column *column, const char *doc)
{
	text_printf(text, "\t`%s` %s", column->name, native_type_name(column->type));
	if (doc && *doc) {
		text_cstr(text, " COMMENT ");
		put_quoted(text, doc);
	}
	if (!strcmp(column->name, "time") || !strcmp(column->name, "row"))
		text_cstr(text, " CODEC(Delta, ZSTD(1))");
	else
		text_cstr(text, " CODEC(ZSTD(1))");
	text_cstr(text, ",\n");
}

static void put_end(struct text *text, const char *engine, const char *order, bool rows,
		    const char *doc)
{
	text->len -= strlen(",\n");
	text_printf(text, "\n)\nENGINE = %s\n", engine);
	if (rows)
		text_cstr(text, "PARTITION BY day\n");
	text_printf(text, "ORDER BY (%s)\n", order);
	if (rows)
		text_cstr(text, "TTL day + INTERVAL 30 DAY\nSETTINGS ttl_only_drop_parts = 1\n");
	text_cstr(text, "COMMENT ");
	put_quoted(text, doc);
	text_cstr(text, ";\n\n");
}

static void put_table(struct text *text, const struct ebt_table *table)
{
	struct clickhouse_table t;

	clickhouse_table_init(table, &t);
	text_printf(text, "CREATE TABLE IF NOT EXISTS `%s`\n(\n", table->name);
	for (size_t i = 0; i < t.n; i++) {
		const bool value = i >= N_FIRST && t.parts[i].part == CLICKHOUSE_VALUE;

		put_column(text, &t.columns[i], value ? table->fields[t.parts[i].field].doc : NULL);
	}
	text_cstr(text, "\tINDEX time time TYPE minmax GRANULARITY 1,\n");
	put_end(text, "ReplacingMergeTree", ROWS_ORDER, true, table->doc ? table->doc : "");
}

struct ebt_error *clickhouse_schema(struct text *text)
{
	text_cstr(text, "-- Made by `ebreport export --to clickhouse` from the event table: do not "
			"edit.\n-- docs/FLEET.md says what the columns are.\n\n");
	for (size_t i = 0; i < N_MADE; i++) {
		const struct clickhouse_made *made = &clickhouse_made[i];

		text_printf(text, "CREATE TABLE IF NOT EXISTS `%s`\n(\n", made->name);
		for (size_t k = 0; k < made->n; k++)
			put_column(text, &made->columns[k], NULL);
		put_end(text, made->engine, made->order, made->rows, made->doc);
	}
	for (size_t i = 0; i < ebt_n_tables; i++) {
		if (clickhouse_has_table(&ebt_tables[i]))
			put_table(text, &ebt_tables[i]);
	}
	text->len--;
	return text_error(text);
}
