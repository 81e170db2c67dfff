/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport dump: every row as it is, and the schema that says what rows look like. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/share/dump.h"

/* Text is handed to stdio in pieces of about this size. */
#define PIECE (64u << 10)

struct dump {
	struct report *report;
	struct dump_tables t;
	struct text text;
	uint64_t rows;
	/* --csv: the one table */
	struct out_table table;
	struct out_column *columns;
	struct out_value *values;
	struct text *cells;
};

static void dump_deinit(struct dump *d)
{
	for (size_t i = 0; d->cells && i < EBT_MAX_FIELDS; i++)
		text_deinit(&d->cells[i]);
	free(d->cells);
	free(d->values);
	free(d->columns);
	dump_tables_deinit(&d->t);
	text_deinit(&d->text);
}

/* --- rows --- */

static void flush_text(struct dump *d, size_t at_least)
{
	if (d->text.len < at_least)
		return;
	fwrite(text_get(&d->text), 1, d->text.len, out_file(d->report->out));
	text_clear(&d->text);
}

static struct ebt_error *csv_row(struct dump *d, const struct ebt_row *row,
				 const struct dump_fields *fields)
{
	d->values[0] = out_u64(row->time);
	for (uint32_t i = 0; i < fields->n; i++) {
		const struct ebt_field *field = &fields->table->fields[fields->index[i]];
		struct text *cell = &d->cells[i];

		d->values[i + 1] = out_u64(ebt_u64(row, fields->index[i]));
		if (d->columns[i + 1].type != OUT_STRING)
			continue;
		text_clear(cell);
		if (field->type == EBT_TYPE_STRING) {
			d->values[i + 1] = out_str(ebt_str(row, fields->index[i]));
			continue;
		}
		dump_value(cell, row, field, fields->index[i]);
		if (text_error(cell))
			return text_error(cell);
		d->values[i + 1] = out_str(text_str(cell));
	}
	return out_row_n(d->report->out, 0, d->values, fields->n + 1);
}

static struct ebt_error *put_row(struct dump *d, const struct ebt_row *row)
{
	const struct dump_fields *fields = dump_tables_fields(&d->t, row->batch->table->id);

	switch (out_format(d->report->out)) {
	case FORMAT_TABLE:
		dump_line(&d->text, row, fields);
		flush_text(d, PIECE);
		break;
	case FORMAT_JSON:
		json_newline(out_json(d->report->out));
		json_open_object(out_json(d->report->out));
		dump_json(out_json(d->report->out), &d->text, row, fields);
		json_end(out_json(d->report->out));
		break;
	case FORMAT_CSV:
		return csv_row(d, row, fields);
	}
	return text_error(&d->text);
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	struct dump *d = arg;
	struct ebt_error *err = put_row(d, row);

	return err ? err : ++d->rows == d->report->options->top ? &trace_enough : NULL;
}

/* All rows of these tables, merged. What was lost of them is told, even where --top leaves none. */
static struct ebt_error *put_tables(struct dump *d, const struct ebt_want *wants, size_t n)
{
	for (size_t i = 0; i < n; i++)
		trace_note_table(d->report->trace, wants[i].table);
	if (!n || (d->rows && d->rows == d->report->options->top))
		return NULL;
	return trace_read_rows(d->report->trace, wants, n, 0, take_row, d);
}

static struct ebt_error *put_all(struct dump *d)
{
	_cleanup_free_ struct ebt_want *wants = calloc(d->t.n + 1, sizeof(*wants));
	struct ebt_error *err = NULL;
	size_t n = 0;

	if (!wants)
		return &ebt_enomem;
	for (uint32_t id = 0; !err && id <= UINT16_MAX; id++) {
		const struct ebt_want want = { (uint16_t)id, ~UINT64_C(0) };
		size_t i = d->t.by_id[id];

		if (!i || !d->t.chosen[i - 1])
			continue;
		if (d->t.tables[i - 1].class == EBT_CLASS_META)
			err = put_tables(d, &want, 1);
		else
			wants[n++] = want;
	}
	return err ? err : put_tables(d, wants, n);
}

/* --- the three formats --- */

static enum out_type csv_type(enum ebt_type type)
{
	switch (type) {
	case EBT_TYPE_U64:
	case EBT_TYPE_TIME:
	case EBT_TYPE_DURATION:
		return OUT_U64;
	case EBT_TYPE_I64:
		return OUT_I64;
	case EBT_TYPE_HEX:
		return OUT_HEX;
	case EBT_TYPE_ENUM:
	case EBT_TYPE_TASK:
	case EBT_TYPE_STACK:
	case EBT_TYPE_STRING:
	case EBT_TYPE_BYTES:
	case EBT_N_TYPES:
		break;
	}
	return OUT_STRING;
}

static struct ebt_error *csv_begin(struct dump *d)
{
	const struct dump_fields *fields = NULL;

	for (size_t i = 0; i < d->t.n; i++) {
		if (!d->t.chosen[i])
			continue;
		if (fields)
			return ebt_error_create(EBT_ERR_INVALID,
						"--csv: one table at a time, with --table NAME");
		fields = &d->t.fields[i];
	}
	d->columns = calloc(EBT_MAX_FIELDS + 1, sizeof(*d->columns));
	d->values = calloc(EBT_MAX_FIELDS + 1, sizeof(*d->values));
	d->cells = calloc(EBT_MAX_FIELDS, sizeof(*d->cells));
	if (!d->columns || !d->values || !d->cells)
		return &ebt_enomem;
	d->columns[0] = (struct out_column){ "time_ns", "TIME", OUT_U64, 0 };
	for (uint32_t i = 0; fields && i < fields->n; i++) {
		const struct ebt_field *field = &fields->table->fields[fields->index[i]];

		d->columns[i + 1] =
			(struct out_column){ field->name, field->name, csv_type(field->type), 0 };
	}
	d->table = (struct out_table){ .key = "rows",
				       .columns = d->columns,
				       .n_columns = fields ? fields->n + 1 : 1,
				       .flags = OUT_STREAM };
	return out_begin(d->report->out, &d->table);
}

static struct ebt_error *dump_rows(struct dump *d)
{
	struct json *json = out_json(d->report->out);
	struct ebt_error *err = dump_tables_choose(&d->t, d->report->options,
						   options_string(d->report->options, "table"));

	if (err)
		return err;
	if (out_format(d->report->out) == FORMAT_CSV)
		err = csv_begin(d);
	if (err)
		return err;
	if (json) {
		json_newline(json);
		json_put(json, "rows", open_array);
	}
	err = put_all(d);
	if (json)
		json_end(json);
	else
		flush_text(d, 0);
	if (!err && out_format(d->report->out) == FORMAT_CSV)
		err = out_end(d->report->out);
	return err;
}

#define SCHEMA(X)                                                             \
	X("table", "TABLE", OUT_STRING, out_cstr(table->name))                \
	X("table_id", "ID", OUT_U64, out_u64(table->id))                      \
	X("class", "CLASS", OUT_STRING, out_cstr(dump_class_name(table)))     \
	X("field", "FIELD", OUT_STRING, out_cstr(field->name))                \
	X("field_id", "ID", OUT_U64, out_u64(field->id))                      \
	X("type", "TYPE", OUT_STRING, out_cstr(ebt_type_name(field->type)))   \
	X("unit", "UNIT", OUT_STRING, out_cstr(field->unit ?: ""))            \
	X("doc", "MEANING", OUT_STRING, out_cstr(field->doc ?: ""), OUT_FLEX) \
	X("table_doc", NULL, OUT_STRING, out_cstr(table->doc ?: ""), OUT_DETAIL)

static struct ebt_error *dump_schema(struct dump *d)
{
	const struct out_table schema = OUT_TABLE_OF("rows", SCHEMA);
	struct out *out = d->report->out;
	struct ebt_error *err = dump_tables_choose(&d->t, d->report->options,
						   options_string(d->report->options, "table"));

	if (!err)
		err = out_begin(out, &schema);
	for (size_t t = 0; !err && t < d->t.n; t++) {
		const struct ebt_table *table = &d->t.tables[t];

		for (uint32_t f = 0; !err && d->t.chosen[t] && f < table->n_fields; f++) {
			const struct ebt_field *field = &table->fields[f];

			err = out_row(out, 0, OUT_VALUES(SCHEMA));
		}
	}
	return err ? err : out_end(out);
}

static struct ebt_error *cmd_dump(struct report *report)
{
	__attribute__((cleanup(dump_deinit))) struct dump d = { .report = report };
	bool schema = options_flag(report->options, "schema");
	struct ebt_error *err;

	if (report->options->sort && !schema)
		return ebt_error_create(EBT_ERR_INVALID,
					"dump is in order of time: --sort is of --schema");
	if (report->options->columns && !schema && out_format(report->out) != FORMAT_CSV)
		return ebt_error_create(EBT_ERR_INVALID,
					"dump has whole rows: --columns is of --csv and --schema");
	err = dump_tables_init(report->trace, &d.t);
	if (err)
		return err;
	return schema ? dump_schema(&d) : dump_rows(&d);
}

static const struct option_def dump_options[] = {
	{ "table", OPTION_STRING, "NAME,…", "only these tables" },
	{ "schema", OPTION_FLAG, NULL, "the tables and fields instead of rows" },
	{ "sort", OPTION_APPLY, "COL",
	  "of --schema: sort by this column; -COL: the other way round", .apply = option_sort },
	{ 0 },
};

const struct command command_dump = {
	.name = "dump",
	.fn = cmd_dump,
	.flags = COMMAND_NO_INTERVALS | COMMAND_NO_SORT | COMMAND_ALL_ROWS,
	.summary = "every row as it is in the file",
	.help = "One line a row: time, table, fields; docs/FORMAT.md section 7 has the rules. "
		"Tables\n"
		"that describe the file come first, then all others merged in order of time. With\n"
		"a filter (--pid, --from …) the former are left out unless --table names them.\n"
		"\n"
		"  ebreport dump t.ebt | less\n"
		"  ebreport dump --table sched_switch --from 2s --to 2.5s --cpu 0 t.ebt\n"
		"  ebreport dump --table syscall --csv t.ebt > syscalls.csv\n"
		"  ebreport dump --schema t.ebt\n",
	.options = dump_options,
};
