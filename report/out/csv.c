/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables as comma separated values (RFC 4180): raw numbers, one line a row, nested rows flat. */
#include "report/out/private.h"

#include <inttypes.h>
#include <string.h>

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
	case OUT_I64:
	case OUT_HEX:
	case OUT_ID:
	case OUT_SIGNED_ID:
	case OUT_DURATION:
	case OUT_TIME:
	case OUT_BYTES:
	case OUT_BOOL:
		out_integer(out, column->type, value);
		break;
	}
	fwrite(text_get(cell), 1, cell->len, out->f);
}

static struct ebt_error *put_header(struct out *out, const struct text *header)
{
	if (text_error(header))
		return text_error(header);
	if (!out->header_written)
		fprintf(out->f, "%s\r\n", text_get(header));
	else if (out->host && strcmp(text_get(header), text_get(&out->header)) != 0)
		return trace_choose_one(out->trace, "this table has other columns for each");
	out->header_written = out->n_intervals || out->host;
	text_clear(&out->header);
	text_cstr(&out->header, text_get(header));
	return text_error(&out->header);
}

/* With --interval, and of several machines, one table has the rows of all. */
struct ebt_error *out_csv_stream_begin(struct out *out)
{
	const struct out_table *table = out->table;
	_cleanup_text_ struct text header = TEXT_INIT;
	bool first = !out_is_deep(table);

	if (out->host)
		text_cstr(&header, "host_number,host_name,");
	if (out->n_intervals)
		text_cstr(&header, "from_ns,to_ns,");
	if (!first)
		text_cstr(&header, "depth");
	for (size_t i = 0; i < table->n_columns; i++) {
		if (!is_written(&table->columns[i]))
			continue;
		text_printf(&header, "%s%s", first ? "" : ",", table->columns[i].key);
		first = false;
	}
	return put_header(out, &header);
}

static void put_host(struct out *out)
{
	text_clear(&out->cell);
	text_csv(&out->cell, text_str(&out->host_name));
	fprintf(out->f, "%" PRIu32 ",%s,", out->host, text_get(&out->cell));
}

/* A row deeper down has the identity of those that it belongs to, where it has none itself. */
static const struct out_value *inherited(const struct out_line *all, const struct out_line *line,
					 size_t column, unsigned int flags)
{
	while ((flags & OUT_PARENT) && line->values[column].null && line->parent != OUT_NO_PARENT)
		line = &all[line->parent];
	return &line->values[column];
}

static struct ebt_error *put_row(struct out *out, const struct out_line *all,
				 const struct out_line *line)
{
	const struct out_table *table = out->table;
	bool first = !out_is_deep(table);

	if (out->host)
		put_host(out);
	if (out->n_intervals)
		fprintf(out->f, "%" PRIu64 ",%" PRIu64 ",", out->interval_from, out->interval_to);
	if (!first)
		fprintf(out->f, "%u", line->depth);
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct out_column *column = &table->columns[i];
		const struct out_value *value = inherited(all, line, i, column->flags);

		if (!is_written(column))
			continue;
		if (!first)
			fputc(',', out->f);
		first = false;
		if (!value->null)
			put_value(out, column, value);
	}
	fputs("\r\n", out->f);
	return text_error(&out->cell);
}

struct ebt_error *out_csv_write(struct out *out, const struct out_lines *lines)
{
	struct ebt_error *err = out_csv_stream_begin(out);

	for (size_t n = 0; !err && n < lines->n; n++)
		err = put_row(out, lines->all, &lines->all[lines->order[n]]);
	return err;
}

struct ebt_error *out_csv_stream_row(struct out *out, const struct out_value *values)
{
	return put_row(out, NULL, &(struct out_line){ values, 0, OUT_NO_PARENT });
}
