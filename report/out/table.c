/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables for people: aligned, no wider than the terminal, nothing in it that could harm one. */
#include "report/out/private.h"

#include <limits.h>
#include <stdlib.h>

#define GAP	     2
#define WIDEST	     1000 /* so that one endless name does not fill a file with blanks */
#define NARROWEST    8	  /* a shortened column */
#define COMFORTABLE  24	  /* one that is shortened before columns are left out */
#define STREAM_WIDTH 12	  /* of columns where rows are not known beforehand */

static bool is_shown(const struct out_column *column)
{
	return !(column->flags & (OUT_DETAIL | OUT_HIDDEN));
}

static bool is_left(const struct out_column *column)
{
	return (column->type == OUT_STRING || column->type == OUT_LIST) &&
	       !(column->flags & OUT_RIGHT);
}

/* One value as people read it, into out->cell. */
static void format_cell(struct out *out, const struct out_column *column,
			const struct out_value *value, unsigned int depth)
{
	struct text *cell = &out->cell;

	text_clear(cell);
	if (value->null)
		return;
	if (column->flags & OUT_INDENT)
		text_printf(cell, "%*s", (int)depth * 2, "");
	switch (column->type) {
	case OUT_STRING:
		text_terminal(cell, value->s);
		break;
	case OUT_LIST:
		text_terminal(cell, out_join(out, value->s));
		break;
	case OUT_U64:
	case OUT_I64:
	case OUT_HEX:
	case OUT_ID:
	case OUT_SIGNED_ID:
		out_integer(out, column->type, value);
		break;
	case OUT_DURATION:
		text_duration(cell, value->u);
		break;
	case OUT_TIME:
		text_seconds(cell, value->u, trace_start_ns(out->trace));
		break;
	case OUT_BYTES:
		text_bytes(cell, value->u);
		break;
	case OUT_PERCENT:
		text_printf(cell, "%.2f%%", value->f);
		break;
	case OUT_SERIES:
		break;
	case OUT_NUMBER:
	case OUT_FLOAT:
		text_printf(cell, "%.2f", value->f);
		break;
	case OUT_BOOL:
		text_cstr(cell, value->u ? "yes" : "no");
		break;
	}
}

static size_t cell_columns(const struct out *out)
{
	return text_columns(text_get(&out->cell), out->cell.len);
}

static void put_padding(struct out *out, size_t n)
{
	fprintf(out->f, "%*s", (int)n, "");
}

/* What is in out->cell, cut to the width with an ellipsis. */
static void put_cell(struct out *out, size_t width, bool left, bool last)
{
	const char *s = text_get(&out->cell);
	size_t len = out->cell.len, columns = cell_columns(out);
	bool cut = columns > width;

	if (cut) {
		len = text_fit(s, len, width - 1);
		columns = text_columns(s, len) + 1;
	}
	if (!left)
		put_padding(out, width - columns);
	fwrite(s, 1, len, out->f);
	if (cut)
		fputs("…", out->f);
	if (left && !last)
		put_padding(out, width - columns);
}

/* The last column that is shown gets no padding behind it. Width 0: not shown. */
static size_t last_shown(const struct out_table *table, const size_t *widths)
{
	size_t last = 0;

	for (size_t i = 0; i < table->n_columns; i++) {
		if (widths[i])
			last = i;
	}
	return last;
}

static void put_line(struct out *out, const size_t *widths, const struct out_value *values,
		     unsigned int depth)
{
	const struct out_table *table = out->table;
	size_t last = last_shown(table, widths);
	bool first = true;

	for (size_t i = 0; i < table->n_columns; i++) {
		const struct out_column *column = &table->columns[i];

		if (!widths[i])
			continue;
		if (!first)
			put_padding(out, GAP);
		first = false;
		if (values) {
			format_cell(out, column, &values[i], depth);
		} else {
			text_clear(&out->cell);
			text_cstr(&out->cell, column->header);
		}
		put_cell(out, widths[i], is_left(column), i == last);
	}
	fputc('\n', out->f);
}

static void put_header(struct out *out, const size_t *widths)
{
	if (out->table->title)
		fprintf(out->f, "%s\n", out->table->title);
	if (out->colors)
		fputs("\033[1m", out->f);
	put_line(out, widths, NULL, 0);
	if (out->colors)
		fputs("\033[0m", out->f);
}

/* The column to take width from: a flexible one while it is wide, then the widest text. */
static size_t *widest(const struct out_table *table, size_t *widths)
{
	size_t *best = NULL;

	for (size_t i = 0; i < table->n_columns; i++) {
		const struct out_column *column = &table->columns[i];

		if (!is_left(column) || widths[i] <= NARROWEST)
			continue;
		if ((column->flags & OUT_FLEX) && widths[i] > 2 * NARROWEST)
			return &widths[i];
		if (!best || widths[i] > *best)
			best = &widths[i];
	}
	return best;
}

static size_t total_width(const struct out_table *table, const size_t *widths)
{
	size_t total = 0;

	for (size_t i = 0; i < table->n_columns; i++) {
		if (widths[i])
			total += widths[i] + (total ? GAP : 0);
	}
	return total;
}

/* What a row cannot do without: what it is called, and what it is sorted by. */
static bool is_needed(const struct out_table *table, size_t i)
{
	size_t name = 0, text = 0;

	while (name < table->n_columns &&
	       !(table->columns[name].flags & (OUT_INDENT | OUT_NAME | OUT_FLEX)))
		name++;
	while (text < table->n_columns && !is_left(&table->columns[text]))
		text++;
	if (name == table->n_columns)
		name = text == table->n_columns ? 0 : text;
	return i == name || table->columns[i].flags & (OUT_SORT | OUT_INDENT);
}

/* How soon a column is left out; 0: only where there is no other way. */
static unsigned int rank(const struct out_column *column)
{
	return column->flags & OUT_OPTIONAL ? UINT_MAX : column->narrow;
}

/* Leaves out columns until the others fit, texts being no wider than `text`: those that are needed
 * least first, and the last one of several. */
static void drop(const struct out *out, size_t *widths, size_t text, bool all)
{
	const struct out_table *table = out->table;

	for (;;) {
		size_t total = 0, last = table->n_columns;

		for (size_t i = 0; i < table->n_columns; i++) {
			bool shrinks = is_left(&table->columns[i]) &&
				       (all || table->columns[i].flags & (OUT_FLEX | OUT_NAME));

			if (!widths[i])
				continue;
			total += (shrinks && widths[i] > text ? text : widths[i]) +
				 (total ? GAP : 0);
			if ((all || rank(&table->columns[i])) && !is_needed(table, i) &&
			    (last == table->n_columns ||
			     rank(&table->columns[i]) >= rank(&table->columns[last])))
				last = i;
		}
		if (total <= out->width || last == table->n_columns)
			return;
		widths[last] = 0;
	}
}

/* What was left out is told once, at the end. */
static void note_dropped(struct out *out, const size_t *widths)
{
	for (size_t i = 0; i < out->table->n_columns; i++) {
		const char *header = out->table->columns[i].header;

		if (is_shown(&out->table->columns[i]) && !widths[i])
			out_note_dropped(out, header);
	}
}

/* First leaves out columns that can be missed, then shortens text. Those that were chosen stay. */
static void fit(struct out *out, size_t *widths)
{
	const struct out_table *table = out->table;
	size_t *column;

	if (!out->width || out->options->wide)
		return;
	if (!out->chosen.n) {
		drop(out, widths, COMFORTABLE, false);
		drop(out, widths, NARROWEST, true);
		note_dropped(out, widths);
	}
	while (total_width(table, widths) > out->width) {
		column = widest(table, widths);
		if (!column)
			return;
		(*column)--;
	}
}

struct ebt_error *out_table_write(struct out *out, const struct out_lines *lines)
{
	const struct out_table *table = out->table;
	_cleanup_free_ size_t *widths = calloc(table->n_columns + 1, sizeof(*widths));

	if (!widths)
		return &ebt_enomem;
	for (size_t i = 0; i < table->n_columns; i++) {
		if (!is_shown(&table->columns[i]))
			continue;
		widths[i] =
			text_columns(table->columns[i].header, strlen(table->columns[i].header));
		for (size_t n = 0; n < lines->n; n++) {
			const struct out_line *line = &lines->all[lines->order[n]];

			format_cell(out, &table->columns[i], &line->values[i], line->depth);
			if (cell_columns(out) > widths[i])
				widths[i] = cell_columns(out);
		}
		if (widths[i] > WIDEST)
			widths[i] = WIDEST;
	}
	fit(out, widths);
	put_header(out, widths);
	for (size_t n = 0; n < lines->n; n++) {
		const struct out_line *line = &lines->all[lines->order[n]];

		put_line(out, widths, line->values, line->depth);
	}
	return text_error(&out->cell);
}

static void stream_widths(struct out *out, size_t *widths)
{
	const struct out_table *table = out->table;

	for (size_t i = 0; i < table->n_columns; i++) {
		const char *header = table->columns[i].header;

		if (!is_shown(&table->columns[i]))
			continue;
		widths[i] = text_columns(header, strlen(header));
		if (widths[i] < STREAM_WIDTH)
			widths[i] = STREAM_WIDTH;
	}
	fit(out, widths);
}

struct ebt_error *out_table_stream_begin(struct out *out)
{
	_cleanup_free_ size_t *widths = calloc(out->table->n_columns + 1, sizeof(*widths));

	if (!widths)
		return &ebt_enomem;
	stream_widths(out, widths);
	put_header(out, widths);
	return text_error(&out->cell);
}

struct ebt_error *out_table_stream_row(struct out *out, const struct out_value *values)
{
	_cleanup_free_ size_t *widths = calloc(out->table->n_columns + 1, sizeof(*widths));

	if (!widths)
		return &ebt_enomem;
	stream_widths(out, widths);
	put_line(out, widths, values, 0);
	return text_error(&out->cell);
}
