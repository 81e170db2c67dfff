/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drawing counters; see counter_plot.h. */
#include "report/marks/counter_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/text.h"

#define DEFAULT_WIDTH 80
#define MIN_COLUMNS   10
#define MAX_COLUMNS   1000
#define MAX_NAME      40
#define SCALE_COLUMNS 23 /* "1023.9 MiB/s to 1023.9 MiB/s" hardly happens */
#define FEW	      4	 /* counters that get ROWS rows each */
#define ROWS	      6
#define LEVELS	      8 /* of a character */

struct plot {
	struct out *out;
	uint64_t from, to;
	unsigned int columns, rows, name_columns;
	bool utf8;
	double *bins;
	bool *drawn; /* is anything known of the column? */
};

/* What a terminal shows right. Nobody calls setlocale() here: numbers have points. */
static bool has_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

void counter_value(struct text *text, const struct counter *counter, double value, bool rate)
{
	const char *unit = counter->unit, *sign = value < 0 ? "-" : "";
	double size = fabs(value);

	if (!strcmp(unit, "s") && rate) {
		text_printf(text, "%.1f%%", value * 100);
		return;
	}
	if (!strcmp(unit, "s") && size < 1e9) {
		text_cstr(text, sign);
		text_duration(text, (uint64_t)(size * 1e9));
	} else if (!strcmp(unit, "bytes") && size < 1e18) {
		text_cstr(text, sign);
		text_bytes(text, (uint64_t)size);
	} else if (!strcmp(unit, "Hz") && size >= 1e6) {
		text_printf(text, size >= 1e9 ? "%.2f GHz" : "%.0f MHz",
			    value / (size >= 1e9 ? 1e9 : 1e6));
	} else {
		text_printf(text, size >= 1000 && size < 1e15 ? "%.0f" : "%.4g", value);
		if (*unit && strcmp(unit, "%"))
			text_addc(text, ' ');
		text_terminal(text, ebt_str_of(unit));
	}
	if (rate)
		text_cstr(text, "/s");
}

/* The parts of columns that a stretch of time covers. */
static void spread(const struct plot *p, uint64_t from, uint64_t to, double value, double *weights)
{
	double scale = (double)p->columns / (double)(p->to - p->from);
	double begin = (double)(from > p->from ? from - p->from : 0) * scale;
	double end = (double)(to > p->from ? to - p->from : 0) * scale;

	for (unsigned int i = (unsigned int)begin; i < p->columns && i < end; i++) {
		double part = fmin(end, i + 1) - fmax(begin, i);

		p->bins[i] += value * part;
		weights[i] += part;
	}
}

/* The mean of each column. */
static struct ebt_error *fill(struct plot *p, const struct counter *c)
{
	_cleanup_free_ double *weights = calloc(p->columns, sizeof(*weights));

	if (!weights)
		return &ebt_enomem;
	memset(p->bins, 0, p->columns * sizeof(*p->bins));
	for (size_t i = 0; i < c->n_points; i++) {
		const struct out_point *point = &c->points[i];
		bool last = i + 1 == c->n_points;
		uint64_t until = last ? p->to : c->points[i + 1].time;
		double value = point->value;

		if (c->cumulative && last)
			value = 0;
		else if (c->cumulative)
			value = c->points[i + 1].value < value ? c->points[i + 1].value
							       : c->points[i + 1].value - value;
		if (c->cumulative && until > point->time)
			value /= (double)(until - point->time) / 1e9;
		if (until > point->time)
			spread(p, point->time, until, value, weights);
	}
	for (unsigned int i = 0; i < p->columns; i++) {
		p->drawn[i] = weights[i] > 0;
		if (p->drawn[i])
			p->bins[i] /= weights[i];
	}
	return NULL;
}

static void put_cell(const struct plot *p, unsigned int level)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

	out_printf(p->out, "%s", p->utf8 ? blocks[level] : (char[]){ " .:-=+*#@"[level], 0 });
}

static void put_row(const struct plot *p, unsigned int row, double low, double high)
{
	double levels = (double)(p->rows * LEVELS), below = (double)row * LEVELS;

	for (unsigned int i = 0; i < p->columns; i++) {
		double level = 0;

		if (p->drawn[i] && high > low)
			level = (p->bins[i] - low) / (high - low) * levels;
		/* What is known and low is seen, too. */
		if (p->drawn[i] && level < 1)
			level = 1;
		level = round(level) - below;
		put_cell(p, !(level > 0) ? 0 : level >= LEVELS ? LEVELS : (unsigned int)level);
	}
}

static void bounds(const struct plot *p, const struct counter *c, double *ret_low, double *ret_high)
{
	bool any = false;

	*ret_low = *ret_high = 0;
	for (unsigned int i = 0; i < p->columns; i++) {
		if (!p->drawn[i])
			continue;
		*ret_low = any ? fmin(*ret_low, p->bins[i]) : p->bins[i];
		*ret_high = any ? fmax(*ret_high, p->bins[i]) : p->bins[i];
		any = true;
	}
	/* A rate begins at nothing. */
	if (c->cumulative)
		*ret_low = 0;
}

/* A name, as much of it as there is room for. */
static void put_name(const struct plot *p, const char *name)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	size_t fits;

	text_terminal(&text, ebt_str_of(name));
	fits = text_fit(text_get(&text), text.len, p->name_columns);
	out_printf(p->out, "%.*s%*s", (int)fits, text_get(&text),
		   (int)(p->name_columns - text_columns(text_get(&text), fits)) + 2, "");
}

static struct ebt_error *put_counter(struct plot *p, const struct counter *c)
{
	_cleanup_text_ struct text low_text = TEXT_INIT, high_text = TEXT_INIT;
	struct ebt_error *err = fill(p, c);
	double low, high;

	if (err)
		return err;
	bounds(p, c, &low, &high);
	counter_value(&low_text, c, low, c->cumulative);
	counter_value(&high_text, c, high, c->cumulative);
	for (unsigned int row = p->rows; row-- > 0;) {
		put_name(p, row == p->rows - 1 ? c->name : "");
		put_row(p, row, low, high);
		if (p->rows == 1)
			out_printf(p->out, "  %s to %s\n", text_get(&low_text),
				   text_get(&high_text));
		else
			out_printf(p->out, "  %s\n",
				   row == p->rows - 1 ? text_get(&high_text)
				   : row	      ? ""
						      : text_get(&low_text));
	}
	return text_error(&low_text) ? text_error(&low_text) : text_error(&high_text);
}

/* Seconds of the trace at both ends. */
static void put_axis(const struct plot *p, uint64_t start)
{
	_cleanup_text_ struct text left = TEXT_INIT, right = TEXT_INIT;
	size_t len;

	text_printf(&left, "%.3f s", (double)(p->from - start) / 1e9);
	text_printf(&right, "%.3f s", (double)(p->to - start) / 1e9);
	len = left.len + right.len;
	put_name(p, "");
	out_printf(p->out, "%s%*s%s\n", text_get(&left),
		   len < p->columns ? (int)(p->columns - len) : 1, "", text_get(&right));
}

static void layout(struct plot *p, const struct counter *const *counters, size_t n)
{
	unsigned int width = out_width(p->out) ? out_width(p->out) : DEFAULT_WIDTH, used;

	for (size_t i = 0; i < n; i++) {
		size_t columns = text_columns(counters[i]->name, strlen(counters[i]->name));

		if (columns > p->name_columns)
			p->name_columns = columns < MAX_NAME ? (unsigned int)columns : MAX_NAME;
	}
	if (p->name_columns > width / 3)
		p->name_columns = width / 3;
	used = p->name_columns + 4 + SCALE_COLUMNS;
	p->columns = width > used + MIN_COLUMNS ? width - used : MIN_COLUMNS;
	if (p->columns > MAX_COLUMNS)
		p->columns = MAX_COLUMNS;
	p->rows = n <= FEW ? ROWS : 1;
}

struct ebt_error *counter_plot(struct out *out, struct trace *trace, uint64_t from, uint64_t to,
			       const struct counter *const *counters, size_t n)
{
	_cleanup_free_ double *bins = NULL;
	_cleanup_free_ bool *drawn = NULL;
	struct plot plot = { .out = out, .from = from, .to = to, .utf8 = has_utf8() };
	uint64_t start = trace_start_ns(trace);
	struct ebt_error *err = NULL;

	if (to <= from || !n)
		return NULL;
	layout(&plot, counters, n);
	plot.bins = bins = calloc(plot.columns, sizeof(*bins));
	plot.drawn = drawn = calloc(plot.columns, sizeof(*drawn));
	if (!bins || !drawn)
		return &ebt_enomem;
	for (size_t i = 0; i < n && !err; i++)
		err = put_counter(&plot, counters[i]);
	if (!err)
		put_axis(&plot, start < plot.from ? start : plot.from);
	return err;
}
