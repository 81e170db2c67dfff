/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables as comma separated values (RFC 4180): raw numbers, one line a row, nested rows flat. */
#include "report/out/private.h"

#include <inttypes.h>

static bool is_written(const struct out_column *column)
{
	return !(column->flags & (OUT_TEXT_ONLY | OUT_HIDDEN)) && column->type != OUT_SERIES;
}

static void put_value(struct out *out, const struct out_column *column,
		      const struct out_value *value)
{
	struct text *cell = &out->cell;

	text_clear(cell);
	switch (column->type) {
	case OUT_STRING:
		text_csv(cell, value->s);
		break;
	case OUT_LIST:
		text_csv(cell, out_join(out, value->s));
		break;
	case OUT_I64:
	case OUT_SIGNED_ID:
		text_printf(cell, "%" PRId64, value->i);
		break;
	case OUT_HEX:
		text_printf(cell, "0x%" PRIx64, value->u);
		break;
	case OUT_PERCENT:
	case OUT_FLOAT:
		text_printf(cell, "%.6g", value->f);
		break;
	case OUT_NUMBER:
		text_printf(cell, "%.15g", value->f);
		break;
	case OUT_SERIES:
		break;
	case OUT_U64:
	case OUT_ID:
	case OUT_DURATION:
	case OUT_TIME:
	case OUT_BYTES:
	case OUT_BOOL:
		text_printf(cell, "%" PRIu64, value->u);
		break;
	}
	fwrite(text_get(cell), 1, cell->len, out->f);
}

/* With --interval one table has the rows of all intervals. */
static void put_header(struct out *out)
{
	const struct out_table *table = out->table;
	bool first = !out_is_deep(table);

	if (out->header_written)
		return;
	out->header_written = out->n_intervals;
	if (out->n_intervals)
		fputs("from_ns,to_ns,", out->f);
	if (!first)
		fputs("depth", out->f);
	for (size_t i = 0; i < table->n_columns; i++) {
		if (!is_written(&table->columns[i]))
			continue;
		fprintf(out->f, "%s%s", first ? "" : ",", table->columns[i].key);
		first = false;
	}
	fputs("\r\n", out->f);
}

static void begin_row(struct out *out)
{
	if (out->n_intervals)
		fprintf(out->f, "%" PRIu64 ",%" PRIu64 ",", out->interval_from, out->interval_to);
}

/* A row deeper down has the identity of those that it belongs to, where it has none itself. */
static const struct out_value *inherited(const struct out_line *all, const struct out_line *line,
					 size_t column, unsigned int flags)
{
	while ((flags & OUT_PARENT) && line->values[column].null && line->parent != OUT_NO_PARENT)
		line = &all[line->parent];
	return &line->values[column];
}

struct ebt_error *out_csv_write(struct out *out, const struct out_lines *lines)
{
	const struct out_table *table = out->table;

	put_header(out);
	for (size_t n = 0; n < lines->n; n++) {
		const struct out_line *line = &lines->all[lines->order[n]];
		bool first = !out_is_deep(table);

		begin_row(out);
		if (!first)
			fprintf(out->f, "%u", line->depth);
		for (size_t i = 0; i < table->n_columns; i++) {
			const struct out_value *value =
				inherited(lines->all, line, i, table->columns[i].flags);

			if (!is_written(&table->columns[i]))
				continue;
			if (!first)
				fputc(',', out->f);
			first = false;
			if (!value->null)
				put_value(out, &table->columns[i], value);
		}
		fputs("\r\n", out->f);
	}
	return text_error(&out->cell);
}

void out_csv_stream_begin(struct out *out)
{
	put_header(out);
}

struct ebt_error *out_csv_stream_row(struct out *out, const struct out_value *values)
{
	const struct out_table *table = out->table;
	bool first = true;

	begin_row(out);
	for (size_t i = 0; i < table->n_columns; i++) {
		if (!is_written(&table->columns[i]))
			continue;
		if (!first)
			fputc(',', out->f);
		first = false;
		if (!values[i].null)
			put_value(out, &table->columns[i], &values[i]);
	}
	fputs("\r\n", out->f);
	return text_error(&out->cell);
}
