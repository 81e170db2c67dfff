/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows as text and JSON, and the tables of a file; see dump.h. */
#include "report/share/dump.h"

#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

const char *dump_class_name(const struct ebt_table *table)
{
	static const char *const names[] = { "meta", "state", "event" };

	return names[table->class];
}

/* As it is where it has only letters, digits, `_`, `-` and `.`, else as a string. */
static void add_name(struct text *text, const char *name)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_-.";
	size_t len = strlen(name);

	if (len && strspn(name, plain) == len)
		text_add(text, name, len);
	else
		text_dump_string(text, (struct ebt_str){ name, len });
}

static void add_i64(struct text *text, int64_t v)
{
	if (v < 0)
		text_addc(text, '-');
	text_u64(text, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

static void add_task(struct text *text, const struct ebt_task *task)
{
	if (!task) {
		text_addc(text, '-');
		return;
	}
	text_u64(text, task->tid);
	text_addc(text, '/');
	text_u64(text, task->pid);
	text_addc(text, '/');
	text_u64(text, task->start_ns);
	text_addc(text, '/');
	text_dump_string(text, task->comm);
}

static void add_stack(struct text *text, const struct ebt_stack *stack)
{
	if (!stack) {
		text_addc(text, '-');
		return;
	}
	text_cstr(text, stack->attrs & EBT_STACK_USER ? "u:" : "k:");
	for (uint32_t i = 0; i < stack->n; i++) {
		if (i)
			text_addc(text, ',');
		text_hex(text, stack->addresses[i]);
	}
	if (stack->attrs & EBT_STACK_TRUNCATED)
		text_addc(text, '+');
}

void dump_value(struct text *text, const struct ebt_row *row, const struct ebt_field *field,
		unsigned int index)
{
	uint64_t v = ebt_u64(row, index);
	const char *name;

	switch (field->type) {
	case EBT_TYPE_I64:
		add_i64(text, (int64_t)v);
		return;
	case EBT_TYPE_HEX:
		text_add(text, "0x", 2);
		text_hex(text, v);
		return;
	case EBT_TYPE_ENUM:
		name = ebt_value_name(field, v);
		if (!name)
			break;
		add_name(text, name);
		return;
	case EBT_TYPE_TASK:
		add_task(text, ebt_task(row, index));
		return;
	case EBT_TYPE_STACK:
		add_stack(text, ebt_stack(row, index));
		return;
	case EBT_TYPE_STRING:
		text_dump_string(text, ebt_str(row, index));
		return;
	case EBT_TYPE_BYTES:
		text_addc(text, 'x');
		text_hex_bytes(text, ebt_str(row, index));
		return;
	case EBT_TYPE_U64:
	case EBT_TYPE_TIME:
	case EBT_TYPE_DURATION:
	case EBT_N_TYPES:
		break;
	}
	text_u64(text, v);
}

/* " name" and what follows it. */
static char *make_label(const char *name, const char *after)
{
	struct text label = TEXT_INIT;

	text_addc(&label, ' ');
	add_name(&label, name);
	text_cstr(&label, after);
	if (!text_error(&label))
		return label.data;
	text_deinit(&label);
	return NULL;
}

/* Makes head and labels, when index and n are as they should be. */
static struct ebt_error *fields_prepare(struct dump_fields *fields)
{
	fields->head = make_label(fields->table->name, "");
	if (!fields->head)
		return &ebt_enomem;
	for (uint32_t i = 0; i < fields->n; i++) {
		fields->labels[i] = make_label(fields->table->fields[fields->index[i]].name, "=");
		if (!fields->labels[i])
			return &ebt_enomem;
	}
	return NULL;
}

static void fields_deinit(struct dump_fields *fields)
{
	free(fields->head);
	for (uint32_t i = 0; i < fields->n; i++)
		free(fields->labels[i]);
}

void dump_line(struct text *text, const struct ebt_row *row, const struct dump_fields *fields)
{
	text_u64(text, row->time);
	text_cstr(text, fields->head);
	for (uint32_t i = 0; i < fields->n; i++) {
		text_cstr(text, fields->labels[i]);
		dump_value(text, row, &fields->table->fields[fields->index[i]], fields->index[i]);
	}
	text_addc(text, '\n');
}

/* --- JSON --- */

static bool in_ns(const struct ebt_field *field)
{
	return field->type == EBT_TYPE_TIME || field->type == EBT_TYPE_DURATION ||
	       (field->unit && !strcmp(field->unit, "ns"));
}

static void json_text(struct json *json, const struct text *text)
{
	json_str(json, text_get(text), text->len);
}

static void json_task(struct json *json, const struct ebt_task *task, uint64_t start_ns)
{
	if (!task) {
		json_put_null(json);
		return;
	}
	json_open_object(json);
	json_put(json, "tid", u64, task->tid);
	json_put(json, "pid", u64, task->pid);
	json_put(json, "begin_ns", time, task->start_ns, start_ns);
	json_put(json, "comm", str, task->comm.data, task->comm.len);
	json_end(json);
}

static void json_stack(struct json *json, struct text *scratch, const struct ebt_stack *stack)
{
	if (!stack) {
		json_put_null(json);
		return;
	}
	json_open_object(json);
	json_put(json, "kind", cstr, stack->attrs & EBT_STACK_USER ? "user" : "kernel");
	json_put(json, "truncated", bool, !!(stack->attrs & EBT_STACK_TRUNCATED));
	json_put(json, "addresses", open_array);
	for (uint32_t i = 0; i < stack->n; i++) {
		text_clear(scratch);
		text_cstr(scratch, "0x");
		text_hex(scratch, stack->addresses[i]);
		json_text(json, scratch);
	}
	json_end(json);
	json_end(json);
}

/* May a number of the field exceed 2^53? Those of 32 bits, amounts and durations do not. */
static bool is_wide(const struct ebt_field *field)
{
	bool small = field->wire_size && field->wire_size < sizeof(uint64_t);
	const char *unit = field->unit ? field->unit : "";

	if (field->type == EBT_TYPE_I64)
		return !small && (!*unit || !strcmp(unit, "ns"));
	return field->type == EBT_TYPE_U64 && !small && !*unit;
}

/* Table clock has what other clocks showed. */
static bool is_other_clock(const struct ebt_row *row, const struct ebt_field *field)
{
	return row->batch->table->id == EBT_T_clock && field->type == EBT_TYPE_TIME;
}

static void json_value(struct json *json, struct text *scratch, const struct ebt_row *row,
		       const struct ebt_field *field, unsigned int index, uint64_t start_ns)
{
	uint64_t v = ebt_u64(row, index);
	struct ebt_str s;

	text_clear(scratch);
	switch (field->type) {
	case EBT_TYPE_TIME:
		if (is_other_clock(row, field))
			json_wide_u64(json, v);
		else
			json_time(json, v, start_ns);
		break;
	case EBT_TYPE_U64:
	case EBT_TYPE_DURATION:
	case EBT_N_TYPES:
		if (is_wide(field))
			json_wide_u64(json, v);
		else
			json_u64(json, v);
		break;
	case EBT_TYPE_I64:
		if (is_wide(field))
			json_wide_i64(json, (int64_t)v);
		else
			json_i64(json, (int64_t)v);
		break;
	case EBT_TYPE_HEX:
		dump_value(scratch, row, field, index);
		json_text(json, scratch);
		break;
	case EBT_TYPE_ENUM:
		if (ebt_value_name(field, v))
			json_cstr(json, ebt_value_name(field, v));
		else
			json_u64(json, v);
		break;
	case EBT_TYPE_TASK:
		json_task(json, ebt_task(row, index), start_ns);
		break;
	case EBT_TYPE_STACK:
		json_stack(json, scratch, ebt_stack(row, index));
		break;
	case EBT_TYPE_STRING:
		s = ebt_str(row, index);
		json_str(json, s.data, s.len);
		break;
	case EBT_TYPE_BYTES:
		text_hex_bytes(scratch, ebt_str(row, index));
		json_text(json, scratch);
		break;
	}
}

void dump_json_key(struct text *text, const struct ebt_field *field)
{
	text_printf(text, "%s%s", field->name, in_ns(field) ? "_ns" : "");
}

void dump_json(struct json *json, struct text *scratch, const struct ebt_row *row,
	       const struct dump_fields *fields)
{
	json_put(json, "table", cstr, fields->table->name);
	json_put(json, "time_ns", time, row->time, fields->start_ns);
	json_put(json, "values", open_object);
	for (uint32_t i = 0; i < fields->n; i++) {
		const struct ebt_field *field = &fields->table->fields[fields->index[i]];

		text_clear(scratch);
		dump_json_key(scratch, field);
		json_key(json, text_get(scratch));
		json_value(json, scratch, row, field, fields->index[i], fields->start_ns);
	}
	json_end(json);
}

/* --- tables --- */

void dump_tables_deinit(struct dump_tables *tables)
{
	for (size_t i = 0; tables->fields && i < tables->n; i++)
		fields_deinit(&tables->fields[i]);
	free(tables->fields);
	free(tables->chosen);
	free(tables->by_id);
}

static int field_by_id(const struct ebt_table *table, uint64_t id)
{
	for (uint32_t i = 0; i < table->n_fields; i++) {
		if (table->fields[i].id == id)
			return (int)i;
	}
	return -1;
}

static void add_field(struct dump_fields *fields, int index)
{
	if (index <= 0 || index >= (int)EBT_MAX_FIELDS)
		return;
	for (uint32_t i = 0; i < fields->n; i++) {
		if (fields->index[i] == index)
			return;
	}
	fields->index[fields->n++] = (uint8_t)index;
}

static struct ebt_error *add_row(void *arg, const struct ebt_row *row)
{
	uint64_t id = ebt_schema_table_id(row);
	struct dump_tables *t = arg;
	uint16_t at = id <= UINT16_MAX ? t->by_id[id] : 0;

	if (at)
		add_field(&t->fields[at - 1],
			  field_by_id(&t->tables[at - 1], ebt_schema_field_id(row)));
	return NULL;
}

/* A field that only this program knows is not printed. */
static struct ebt_error *read_fields(struct trace *trace, struct dump_tables *t)
{
	static const struct ebt_want want = EBT_WANT(schema, table_id, field_id);

	return trace_read_rows(trace, &want, 1, TRACE_UNFILTERED | TRACE_QUIET, add_row, t);
}

struct ebt_error *dump_tables_init(struct trace *trace, struct dump_tables *t)
{
	struct ebt_error *err;

	t->tables = ebt_reader_tables(trace_reader(trace), &t->n);
	t->fields = calloc(t->n + 1, sizeof(*t->fields));
	t->chosen = calloc(t->n + 1, sizeof(*t->chosen));
	t->by_id = calloc(UINT16_MAX + 1, sizeof(*t->by_id));
	if (!t->fields || !t->chosen || !t->by_id)
		return &ebt_enomem;
	for (size_t i = 0; i < t->n; i++) {
		t->fields[i].table = &t->tables[i];
		t->by_id[t->tables[i].id] = (uint16_t)(i + 1);
	}
	err = read_fields(trace, t);
	t->start_ns = trace_start_ns(trace);
	/* No schema could be read: print what this program knows. */
	for (size_t i = 0; !err && i < t->n; i++) {
		for (uint32_t f = 1; !t->fields[i].n && f < t->tables[i].n_fields; f++)
			t->fields[i].index[f - 1] = (uint8_t)f;
		if (!t->fields[i].n && t->tables[i].n_fields)
			t->fields[i].n = t->tables[i].n_fields - 1;
		t->fields[i].start_ns = t->start_ns;
		err = fields_prepare(&t->fields[i]);
	}
	return err;
}

static struct ebt_error *choose_named(struct dump_tables *t, const char *list)
{
	while (list) {
		size_t len;
		const char *name = cli_take_piece(&list, &len);
		bool found = false;

		for (size_t i = 0; i < t->n; i++) {
			if (strlen(t->tables[i].name) == len &&
			    !memcmp(t->tables[i].name, name, len))
				found = t->chosen[i] = true;
		}
		if (!found)
			return ebt_error_create(EBT_ERR_INVALID,
						"--table: there is no table '%.*s': see `ebreport "
						"dump --schema`",
						(int)len, name);
	}
	return NULL;
}

struct ebt_error *dump_tables_choose(struct dump_tables *t, const struct options *options,
				     const char *list)
{
	bool filtered = options->pids.n || options->tids.n || options->comms.n ||
			options->cpu_first.n || options->from.set || options->to.set;

	if (list)
		return choose_named(t, list);
	for (size_t i = 0; i < t->n; i++)
		t->chosen[i] = t->tables[i].class != EBT_CLASS_META || !filtered;
	return NULL;
}
