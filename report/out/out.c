/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collecting, sorting and cutting the rows of a table; choosing the writer. See out.h. */
#include "report/out/private.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/fill.h"
#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "report/cli/command.h"

/* With --top no line is dropped before there are so many. */
#define MIN_KEPT 1024u

static unsigned int terminal_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	int width = cli_terminal_width(fd);

	if (width)
		return (unsigned int)width;
	return columns ? (unsigned int)strtoul(columns, NULL, 10) : 80;
}

static bool wants_colors(const struct options *options)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return !options->no_color && !(no_color && *no_color) && term && strcmp(term, "dumb");
}

static enum out_kind kind_written(const struct options *options)
{
	if (options->command->flags & COMMAND_COPY)
		return OUT_KIND_TRACE;
	return options->command->flags & COMMAND_PICTURE ? OUT_KIND_PICTURE : OUT_KIND_TEXT;
}

struct ebt_error *out_create(const struct options *options, struct trace *trace, struct out **ret)
{
	_cleanup_(out_destroyp) struct out *out = calloc(1, sizeof(*out));
	unsigned int flags = options->command->flags;
	struct ebt_error *err;
	struct stat before;

	if (!out)
		return &ebt_enomem;
	out->options = options;
	out->format = options->format;
	out->trace = trace;
	out->f = stdout;
	out->path = "standard output";
	if (options->output && !(flags & COMMAND_FOLDER) && !options->folder) {
		out->made = flags & COMMAND_COPY && lstat(options->output, &before);
		err = out_open(options, "-o", options->output, kind_written(options),
			       &out->own_file);
		if (err)
			return err;
	}
	if (flags & COMMAND_COPY) {
		out->copy = out->own_file ? out->own_file : stdout;
		out->f = out->own_file ? stdout : stderr;
	} else if (out->own_file) {
		out->f = out->own_file;
		out->path = options->output;
	}
	out->terminal = isatty(fileno(out->f));
	if (out->terminal) {
		out->width = terminal_width(fileno(out->f));
		out->colors = wants_colors(options);
	}
	json_init(&out->json, out->f);
	*ret = take_ptr(out);
	return NULL;
}

void out_page(struct out *out, FILE *f)
{
	out->f = f;
	json_init(&out->json, f);
}

static void forget_lines(struct out *out)
{
	for (size_t i = 0; i < out->n_lines; i++)
		free((void *)out->lines[i].values);
	out->n_lines = 0;
}

void out_drop_table(struct out *out)
{
	forget_lines(out);
	out_chosen_deinit(&out->chosen);
	out->table = NULL;
}

void out_destroy(struct out *out)
{
	if (!out)
		return;
	forget_lines(out);
	free(out->lines);
	out_chosen_deinit(&out->chosen);
	text_deinit(&out->cell);
	text_deinit(&out->joined);
	text_deinit(&out->dropped);
	text_deinit(&out->header);
	text_deinit(&out->host_name);
	if (out->own_file)
		fclose(out->own_file);
	/* There is no copy, or a piece of one that nobody can read. */
	if (out->made && out->own_file)
		unlink(out->options->output);
	free(out);
}

/* Below the tables; beside what has no lines of the kind. */
static struct ebt_error *put_left_out(struct out *out)
{
	uint64_t n = trace_n_left_out(out->trace);
	const char *of = out->left_out ? out->left_out : "";
	const char *s = text_plural(n, "", "s");

	if (!n || out->format == FORMAT_JSON)
		return NULL;
	if (!out->has_text || out->format == FORMAT_CSV)
		return trace_warn(out->trace,
				  "%s%" PRIu64 " kernel thread%s left out: --kernel-threads", of, n,
				  s);
	out_printf(out, "%s%" PRIu64 " kernel thread%s left out: --kernel-threads\n", of, n, s);
	return NULL;
}

void out_leaves_out(struct out *out, const char *of)
{
	out->left_out = of;
}

void out_note_dropped(struct out *out, const char *header)
{
	const char *known = text_get(&out->dropped);
	size_t n = strlen(header);

	for (; *known; known += strcspn(known, ",") + 2) {
		if (strcspn(known, ",") == n && !memcmp(known, header, n))
			return;
		if (!known[strcspn(known, ",")])
			break;
	}
	text_printf(&out->dropped, "%s%s", out->dropped.len ? ", " : "", header);
	out->n_dropped++;
}

/* With their names, where there is room for them. */
static void put_dropped(struct out *out)
{
	_cleanup_text_ struct text line = TEXT_INIT;

	if (!out->n_dropped)
		return;
	text_printf(&line, "%zu column%s left out: --wide (%s)", out->n_dropped,
		    text_plural(out->n_dropped, "", "s"), text_get(&out->dropped));
	if (text_columns(text_get(&line), line.len) > out->width)
		out_printf(out, "%zu column%s left out: --wide, --columns\n", out->n_dropped,
			   text_plural(out->n_dropped, "", "s"));
	else
		out_printf(out, "%s\n", text_get(&line));
}

static struct ebt_error *warn_no_table(const struct out *out, const char *option)
{
	return trace_warn(out->trace,
			  "%s: there is no table in this output (--json and --csv have one)",
			  option);
}

struct ebt_error *out_finish_trace(struct out *out)
{
	struct ebt_error *err = put_left_out(out);

	put_dropped(out);
	if (!err && out->options->columns && !out->columns_taken)
		err = warn_no_table(out, "--columns");
	if (!err && out->options->sort && !out->sort_taken)
		err = warn_no_table(out, "--sort");
	return err || out->format != FORMAT_JSON ? err : out_json_close(out);
}

struct ebt_error *out_finish(struct out *out)
{
	struct ebt_error *err = out->host ? NULL : out_finish_trace(out);
	bool failed;

	out->made = false;
	if (out->hosts_opened)
		out_json_close_hosts(out);
	errno = 0;
	failed = fflush(out->f) || ferror(out->f);
	if (failed && !errno) { /* it failed before: why, only another try tells */
		clearerr(out->f);
		fputc('\n', out->f);
		fflush(out->f);
	}
	if (!err && failed)
		err = ebt_error_errno(errno ? errno : EIO, "cannot write %s", out->path);
	return err;
}

enum option_format out_format(const struct out *out)
{
	return out->format;
}

struct json *out_json(struct out *out)
{
	if (out->format != FORMAT_JSON)
		return NULL;
	out_json_open(out);
	return &out->json;
}

FILE *out_file(struct out *out)
{
	return out->f;
}

struct ebt_error *out_copy_fd(struct out *out, int *ret)
{
	int fd = fileno(out->copy);

	if (out->own_file && ftruncate(fd, 0) && errno != EINVAL) /* a FIFO has no length */
		return ebt_error_errno(errno, "cannot write '%s'", out->options->output);
	*ret = fd;
	return NULL;
}

bool out_is_terminal(const struct out *out)
{
	return out->terminal;
}

bool out_colors(const struct out *out)
{
	return out->colors;
}

unsigned int out_width(const struct out *out)
{
	return out->width;
}

void out_printf(struct out *out, const char *format, ...)
{
	va_list args;

	if (out->format != FORMAT_TABLE)
		return;
	out->has_text = true;
	va_start(args, format);
	vfprintf(out->f, format, args);
	va_end(args);
}

void out_fill(struct out *out, const char *head, int indent, const char *words)
{
	const int at = cli_columns(head), width = out->options->wide ? 0 : (int)out->width;

	if (out->format != FORMAT_TABLE)
		return;
	out->has_text = true;
	fputs(head, out->f);
	if (width && at + cli_columns(words) > width)
		cli_fill(out->f, words, strlen(words), at, indent, width);
	else
		fputs(words, out->f);
	fputc('\n', out->f);
}

struct ebt_str out_join(struct out *out, struct ebt_str items)
{
	text_clear(&out->joined);
	while (items.len && !items.data[items.len - 1])
		items.len--;
	for (size_t i = 0; i < items.len; i++)
		text_addc(&out->joined, items.data[i] ? items.data[i] : ' ');
	return (struct ebt_str){ text_get(&out->joined), out->joined.len };
}

void out_integer(struct out *out, enum out_type type, const struct out_value *value)
{
	if (type == OUT_HEX)
		text_printf(&out->cell, "0x%" PRIx64, value->u);
	else if (type == OUT_I64 || type == OUT_SIGNED_ID)
		text_printf(&out->cell, "%" PRId64, value->i);
	else
		text_printf(&out->cell, "%" PRIu64, value->u);
}

struct json *out_line_begin(struct out *out)
{
	out->format = FORMAT_JSON;
	out->json.one_line = true;
	out_json_line_begin(out);
	return &out->json;
}

void out_line_end(struct out *out)
{
	json_end(&out->json);
	out->json.comma = false;
	out->format = FORMAT_TABLE;
	fflush(out->f);
}

/* --- intervals --- */

void out_intervals_begin(struct out *out)
{
	if (out->format == FORMAT_JSON)
		out_json_intervals_begin(out);
}

static void put_headline(struct out *out)
{
	uint64_t start = trace_start_ns(out->trace);

	out_printf(out, "%s%s%.6f s to %.6f s:%s\n", out->n_intervals > 1 ? "\n" : "",
		   out->colors ? "\033[1m" : "", (double)(out->interval_from - start) / 1e9,
		   (double)(out->interval_to - start) / 1e9, out->colors ? "\033[0m" : "");
}

void out_interval_begin(struct out *out, uint64_t from_ns, uint64_t to_ns)
{
	out->interval_from = from_ns;
	out->interval_to = to_ns;
	out->n_intervals++;
	if (out->format == FORMAT_JSON)
		out_json_interval_begin(out);
	else if (!options_flag(out->options, "ndjson")) /* lines of JSON say it themselves */
		put_headline(out);
}

void out_interval_end(struct out *out)
{
	if (out->format == FORMAT_JSON)
		json_end(&out->json);
}

void out_intervals_end(struct out *out)
{
	if (out->format == FORMAT_JSON)
		json_end(&out->json);
}

/* --- sorting --- */

static bool is_text(enum out_type type)
{
	return type == OUT_STRING || type == OUT_LIST;
}

static struct ebt_error *find_sort(const struct out *out, const struct out_column **ret,
				   bool *ret_reverse)
{
	const struct out_table *table = out->table;
	const char *name = out->options->sort;

	*ret = NULL;
	*ret_reverse = false;
	if (table->flags & OUT_FIXED)
		name = NULL;
	if (name) {
		size_t i = out_find_column(table, name, strlen(name));

		if (i == table->n_columns)
			return out_no_column(table, "--sort", name, strlen(name));
		*ret = &table->columns[i];
		*ret_reverse = out->options->sort_reverse;
		return NULL;
	}
	for (size_t i = 0; i < table->n_columns && !(table->flags & OUT_KEEP_ORDER); i++) {
		if (table->columns[i].flags & OUT_SORT) {
			*ret = &table->columns[i];
			return NULL;
		}
	}
	return NULL;
}

struct sort {
	const struct out_line *lines;
	size_t column;
	enum out_type type;
	bool reverse;
};

/* Numbers: the largest first; text: A to Z. */
static int compare_values(const struct out_value *a, const struct out_value *b, enum out_type type)
{
	switch (type) {
	case OUT_STRING:
	case OUT_LIST:
		return text_compare(a->s, b->s);
	case OUT_I64:
	case OUT_SIGNED_ID:
		return (a->i < b->i) - (a->i > b->i);
	case OUT_PERCENT:
	case OUT_FLOAT:
	case OUT_NUMBER:
		return (a->f < b->f) - (a->f > b->f);
	case OUT_SERIES:
		return (a->points.n < b->points.n) - (a->points.n > b->points.n);
	case OUT_U64:
	case OUT_ID:
	case OUT_HEX:
	case OUT_DURATION:
	case OUT_TIME:
	case OUT_BYTES:
	case OUT_BOOL:
		break;
	}
	return (a->u < b->u) - (a->u > b->u);
}

/* Null stands behind everything; equal rows stay in the order in which they came. */
static int compare_lines(const void *a, const void *b, void *arg)
{
	const struct sort *sort = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct out_value *v = &sort->lines[x].values[sort->column];
	const struct out_value *w = &sort->lines[y].values[sort->column];
	int c;

	if (v->null || w->null)
		c = (int)v->null - (int)w->null;
	else
		c = compare_values(v, w, sort->type) * (sort->reverse ? -1 : 1);
	return c ? c : (x > y) - (x < y);
}

/* Lines grouped by parent: those of line p are by_parent[first[p + 1] … first[p + 2] - 1]; p + 1
 * is 0 for lines without a parent. */
struct out_groups {
	uint32_t *first, *by_parent, *position;
	uint32_t *order;
};

static void groups_deinit(struct out_groups *g)
{
	free(g->first);
	free(g->by_parent);
	free(g->position);
	free(g->order);
}

static struct ebt_error *groups_init(const struct out *out, struct out_groups *g)
{
	size_t n = out->n_lines;

	g->first = calloc(n + 2, sizeof(*g->first));
	g->position = calloc(n + 2, sizeof(*g->position));
	g->by_parent = calloc(n + 1, sizeof(*g->by_parent));
	g->order = calloc(n + 1, sizeof(*g->order));
	if (!g->first || !g->position || !g->by_parent || !g->order)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++)
		g->first[(uint32_t)(out->lines[i].parent + 1) + 1]++;
	for (size_t p = 1; p < n + 2; p++)
		g->first[p] += g->first[p - 1];
	memcpy(g->position, g->first, (n + 2) * sizeof(*g->position));
	for (size_t i = 0; i < n; i++)
		g->by_parent[g->position[(uint32_t)(out->lines[i].parent + 1)]++] = (uint32_t)i;
	return NULL;
}

/* Parents before children, siblings in sorted order, of these only the first `top`; of a tree of
 * any depth the first rows. */
static size_t walk_groups(const struct out *out, struct out_groups *g, uint64_t top)
{
	size_t n = 0;
	uint32_t group = 0;
	bool tree = out->table->flags & OUT_TREE;

	memcpy(g->position, g->first, (out->n_lines + 2) * sizeof(*g->position));
	for (;;) {
		uint32_t end = g->first[group + 1], line;

		if (tree && top && n == top)
			return n;
		if (top && !tree && top < end - g->first[group])
			end = g->first[group] + (uint32_t)top;
		if (g->position[group] < end) {
			line = g->by_parent[g->position[group]++];
			g->order[n++] = line;
			group = line + 1;
		} else if (group) {
			group = out->lines[group - 1].parent + 1;
		} else {
			return n;
		}
	}
}

static struct ebt_error *write_lines(struct out *out, const struct out_lines *lines)
{
	if (out->capture)
		return out_capture_write(out, lines);
	switch (out->format) {
	case FORMAT_TABLE:
		return out_table_write(out, lines);
	case FORMAT_JSON:
		return out_json_write(out, lines);
	case FORMAT_CSV:
		return out_csv_write(out, lines);
	}
	return NULL;
}

/* No row has rows below it. */
static bool is_flat(const struct out_table *table)
{
	bool flat = !out_is_deep(table);

	for (size_t i = 0; i < table->n_columns; i++)
		flat &= !(table->columns[i].flags & OUT_INDENT);
	return flat;
}

static uint64_t top_of(const struct out *out)
{
	if (out->capture)
		return is_flat(out->table) ? out->capture->max_rows : 0;
	if (out->table->flags & OUT_CUT)
		return 0;
	if (out->options->top || out->format != FORMAT_TABLE)
		return out->options->top;
	return out->table->top;
}

/* Of the lines so far those that can still be among the first `top`, in the order in which they
 * came. */
static struct ebt_error *drop_lines(struct out *out)
{
	const uint64_t top = top_of(out);
	_cleanup_free_ uint32_t *order = calloc(out->n_lines, sizeof(*order));
	_cleanup_free_ bool *kept = calloc(out->n_lines, sizeof(*kept));
	const struct out_column *column;
	struct ebt_error *err;
	bool reverse;
	size_t n = 0;

	if (!order || !kept)
		return &ebt_enomem;
	err = find_sort(out, &column, &reverse);
	if (err)
		return err;
	for (size_t i = 0; i < out->n_lines; i++)
		order[i] = (uint32_t)i;
	if (column)
		qsort_r(order, out->n_lines, sizeof(*order), compare_lines,
			&(struct sort){ out->lines, (size_t)(column - out->table->columns),
					column->type, reverse });
	for (size_t i = 0; i < top && i < out->n_lines; i++)
		kept[order[i]] = true;
	for (size_t i = 0; i < out->n_lines; i++) {
		if (kept[i])
			out->lines[n++] = out->lines[i];
		else
			free((void *)out->lines[i].values);
	}
	out->n_passed += out->n_lines - n;
	out->n_lines = n;
	return NULL;
}

/* Of rows below rows the same number below each, as many as there is room for. */
static size_t order_lines(const struct out *out, struct out_groups *g)
{
	const size_t max = out->capture ? out->capture->max_rows : SIZE_MAX;
	size_t n = walk_groups(out, g, top_of(out));

	for (size_t top = max; n > max && top; top /= 2)
		n = walk_groups(out, g, top);
	return n < max ? n : max;
}

static struct ebt_error *sort_and_write(struct out *out)
{
	__attribute__((cleanup(groups_deinit))) struct out_groups g = { 0 };
	const struct out_column *column;
	struct out_lines lines;
	struct ebt_error *err;
	struct sort sort;
	bool reverse;

	err = find_sort(out, &column, &reverse) ?: groups_init(out, &g);
	if (err)
		return err;
	if (column) {
		sort = (struct sort){ out->lines, (size_t)(column - out->table->columns),
				      column->type, reverse };
		for (size_t p = 0; p < out->n_lines + 1; p++) {
			if (g.first[p + 1] - g.first[p] > 1)
				qsort_r(g.by_parent + g.first[p], g.first[p + 1] - g.first[p],
					sizeof(*g.by_parent), compare_lines, &sort);
		}
	}
	lines.n = order_lines(out, &g);
	lines.all = out->lines;
	lines.order = g.order;
	return write_lines(out, &lines);
}

/* --- tables --- */

/* The table that --csv and --columns are about. */
static bool is_main(const struct out_table *table)
{
	return !strcmp(table->key, "rows");
}

static bool is_skipped(const struct out *out)
{
	return out->format == FORMAT_CSV && !is_main(out->table);
}

/* From here on it is the table of `out`, with the columns that were chosen. */
static struct ebt_error *take_table(struct out *out, const struct out_table *table)
{
	const struct out_column *column;
	struct ebt_error *err;
	bool reverse;

	out->table = table;
	if (out->options->columns && is_main(table)) {
		err = out_choose_columns(out->options->columns, table, &out->chosen);
		if (err)
			return err;
		out->table = table = &out->chosen.table;
		out->columns_taken = true;
	}
	if (table->flags & OUT_STREAM) {
		/* So many rows that whoever has them has put them in order. */
		out->sort_taken |= table->flags & OUT_KEEP_ORDER;
		return NULL;
	}
	out->sort_taken |= !(table->flags & OUT_FIXED);
	/* A wrong --sort is said before the work, not after it. */
	return find_sort(out, &column, &reverse);
}

struct ebt_error *out_leave_out(struct out *out, const struct out_table *table)
{
	struct ebt_error *err = take_table(out, table);

	out_chosen_deinit(&out->chosen);
	return err;
}

struct ebt_error *out_begin(struct out *out, const struct out_table *table)
{
	struct ebt_error *err = take_table(out, table);

	if (err)
		return err;
	table = out->table;
	out->has_text = true;
	if (out->format == FORMAT_JSON)
		out_json_open(out);
	if (!(table->flags & OUT_STREAM) || is_skipped(out) || out->capture)
		return NULL;
	switch (out->format) {
	case FORMAT_TABLE:
		return out_table_stream_begin(out);
	case FORMAT_JSON:
		out_json_stream_begin(out);
		break;
	case FORMAT_CSV:
		return out_csv_stream_begin(out);
	}
	return NULL;
}

/* Values and the bytes of their strings in one piece of memory. */
static struct out_value *copy_values(const struct out_table *table, const struct out_value *values)
{
	size_t size = table->n_columns * sizeof(*values);
	struct out_value *copy;
	char *bytes;

	for (size_t i = 0; i < table->n_columns; i++) {
		if (is_text(table->columns[i].type) && !values[i].null)
			size += values[i].s.len;
	}
	copy = malloc(size ? size : 1);
	if (!copy)
		return NULL;
	memcpy(copy, values, table->n_columns * sizeof(*values));
	bytes = (char *)(copy + table->n_columns);
	for (size_t i = 0; i < table->n_columns; i++) {
		if (!is_text(table->columns[i].type) || values[i].null)
			continue;
		if (values[i].s.len)
			memcpy(bytes, values[i].s.data, values[i].s.len);
		copy[i].s.data = bytes;
		bytes += values[i].s.len;
	}
	return copy;
}

static struct ebt_error *collect(struct out *out, unsigned int depth,
				 const struct out_value *values)
{
	const uint64_t top = top_of(out);
	struct ebt_error *err = NULL;
	struct out_line *line;

	/* Twice as many, so that a line takes part in few sorts. */
	if (top && out->n_lines / 2 >= top && out->n_lines >= MIN_KEPT && is_flat(out->table))
		err = drop_lines(out);
	if (err)
		return err;
	if (out->n_lines == UINT32_MAX - 2)
		return ebt_error_create(EBT_ERR_LIMIT, "more than four billion rows in one table");
	err = ebt_array_reserve(&out->lines, out->n_lines, &out->capacity);
	if (err)
		return err;
	line = &out->lines[out->n_lines];
	line->values = copy_values(out->table, values);
	if (!line->values)
		return &ebt_enomem;
	line->depth = depth;
	line->parent = depth ? out->last[depth - 1] : OUT_NO_PARENT;
	out->last[depth] = (uint32_t)out->n_lines++;
	return NULL;
}

struct ebt_error *out_row_n(struct out *out, unsigned int depth, const struct out_value *values,
			    size_t n)
{
	assert(n == out->table->n_columns);
	(void)n;
	if (is_skipped(out) || depth >= JSON_MAX_DEPTH)
		return NULL;
	if (out->chosen.n)
		values = out_chosen_values(&out->chosen, values);
	if (!(out->table->flags & OUT_STREAM))
		return collect(out, depth, values);
	if (out->capture)
		return out->n_lines < out->capture->max_rows ? collect(out, depth, values)
							     : (out->n_passed++, NULL);
	switch (out->format) {
	case FORMAT_TABLE:
		return out_table_stream_row(out, values);
	case FORMAT_JSON:
		out_json_stream_row(out, values);
		break;
	case FORMAT_CSV:
		return out_csv_stream_row(out, values);
	}
	return NULL;
}

struct ebt_error *out_end(struct out *out)
{
	struct ebt_error *err = NULL;

	if (!(out->table->flags & OUT_STREAM) && !is_skipped(out))
		err = sort_and_write(out);
	else if (out->capture)
		err = out_capture_write(out, NULL);
	else if (out->format == FORMAT_JSON)
		out_json_stream_end(out);
	out_drop_table(out);
	return err;
}
