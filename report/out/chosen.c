/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --columns: a table with these columns alone, in this order. The others stay, hidden: rows may be
 * sorted by them, and rows below rows need the one that is indented. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "report/out/private.h"

/* As people type a heading: LAT-MAX, lat_max, 'Lat max'. */
static char plain(char c)
{
	return c == '_' || c == ' ' ? '-' : (char)tolower((unsigned char)c);
}

static bool is_spelled(const char *as, const char *name, size_t n)
{
	if (strlen(as) != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (plain(as[i]) != plain(name[i]))
			return false;
	}
	return true;
}

/* COL may be the key, the key without _ns, or the header. */
static bool is_called(const struct out_column *column, const char *name, size_t n)
{
	size_t len = strlen(column->key);

	if (len == n + 3 && !strcmp(column->key + n, "_ns"))
		len = n;
	return (len == n && !strncasecmp(column->key, name, n)) ||
	       (column->header && is_spelled(column->header, name, n));
}

/* Headers of earlier versions that say no more than that, which an option may still be given. */
static const struct {
	const char *was, *is; /* is: the key */
} headers[] = {
	{ "avg", "latency_avg_ns" },
	{ "p50", "latency_p50_ns" },
	{ "p99", "latency_p99_ns" },
	{ "max", "latency_max_ns" },
	{ "max-at", "latency_max_at_ns" },
	{ "p99", "queue_p99_ns" },
	{ "max", "queue_max_ns" },
	{ "q-p99", "queue_p99_ns" },
	{ "q-max", "queue_max_ns" },
	{ "d-p99", "device_p99_ns" },
	{ "d-max", "device_max_ns" },
	{ "max", "depth_max" },
	{ "depth", "depth_mean" },
	{ "after", "duration_ns" },
	{ "time", "duration_ns" },
	{ "time", "total_ns" },
	{ "entry", "time_ns" },
	{ "at", "time_ns" },
	{ "waits", "count" },
	{ "wake-ups", "count" },
	{ "times", "count" },
	{ "longest", "max_ns" },
	{ "waits", "wait_ns" },
	{ "cpu-time", "run_ns" },
	{ "size", "bytes" },
	{ "arguments", "args" },
	{ "per-second", "count_per_s" },
	{ "at-s", "time_ns" },
	{ "from-s", "from_ns" },
	{ "to-s", "to_ns" },
	{ "since-s", "oldest_at_ns" },
	{ "total", "duration_ns" },
	{ "time", "spent_ns" },
	{ "woke-n", "waker_count" },
	{ "latency", "latency_total_ns" },
	{ "per-mark", "mean_ns" },
	{ "late-by-more-than", "over_ns" },
	{ "system-call", "call" },
	{ "alloc/s", "allocated_bytes_per_s" },
	{ "pages-got", "page_allocated_bytes" },
	{ "per-s", "rx_bytes_per_s" },
	{ "% of a cpu", "cpu_percent" },
	{ "% of calls", "percent" },
};

size_t out_find_column(const struct out_table *table, const char *name, size_t n)
{
	for (size_t i = 0; i < table->n_columns; i++) {
		if (is_called(&table->columns[i], name, n))
			return i;
	}
	for (size_t h = 0; h < sizeof(headers) / sizeof(headers[0]); h++) {
		for (size_t i = 0; is_spelled(headers[h].was, name, n) && i < table->n_columns;
		     i++) {
			if (!strcmp(table->columns[i].key, headers[h].is))
				return i;
		}
	}
	return table->n_columns;
}

/* Keys of version 1 of the JSON contract that an option may still be given. */
static const struct {
	const char *was, *is;
} renamed[] = {
	{ "time_ns", "duration_ns" },	{ "start_ns", "begin_ns" },
	{ "open", "open_count" },	{ "coverage", "coverage_percent" },
	{ "threads", "thread_count" },	{ "rate", "count_per_s" },
	{ "intensity", "percent" },	{ "stacks", "stack_count" },
	{ "command", "shell_command" }, { "file", "file_found" },
	{ "ns", "namespace" },		{ "rows", "row_count" },
	{ "lost", "lost_rows" },	{ "first_ns", "first_at_ns" },
	{ "last_ns", "last_at_ns" },	{ "cpu_time_ns", "run_ns" },
	{ "cpu_usage", "cpu_percent" }, { "cmdline", "args" },
	{ "calls", "call_count" },	{ "id", "file_id" },
};

static const char *new_key(const struct out_table *table, const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++) {
		if (strlen(renamed[i].was) != n || strncasecmp(renamed[i].was, name, n) != 0)
			continue;
		for (size_t k = 0; k < table->n_columns; k++) {
			if (!strcmp(table->columns[k].key, renamed[i].is))
				return renamed[i].is;
		}
	}
	return NULL;
}

struct ebt_error *out_no_column(const struct out_table *table, const char *option, const char *name,
				size_t n)
{
	_cleanup_text_ struct text keys = TEXT_INIT;
	const char *now = new_key(table, name, n);

	if (now)
		return ebt_error_create(EBT_ERR_INVALID, "%s: the column '%.*s' is called '%s' now",
					option, (int)n, name, now);
	for (size_t i = 0; i < table->n_columns; i++)
		text_printf(&keys, "%s%s", i ? ", " : "", table->columns[i].key);
	return ebt_error_create(EBT_ERR_INVALID, "%s: there is no column '%.*s'; there are %s",
				option, (int)n, name, text_get(&keys));
}

void out_chosen_deinit(struct out_chosen *c)
{
	for (size_t i = 0; c->headers && i < c->n; i++)
		free(c->headers[i]);
	free(c->headers);
	free(c->columns);
	free(c->from);
	free(c->values);
	*c = (struct out_chosen){ 0 };
}

/* A column that is for JSON and CSV as a rule has no header: HIT_PERCENT becomes HIT-PERCENT. */
static struct ebt_error *add_header(struct out_chosen *c, size_t at)
{
	char *header = strdup(c->columns[at].key);

	if (!header)
		return &ebt_enomem;
	for (char *p = header; *p; p++)
		*p = *p == '_' ? '-' : (char)toupper((unsigned char)*p);
	c->headers[at] = header;
	c->columns[at].header = header;
	return NULL;
}

static struct ebt_error *choose(struct out_chosen *c, const struct out_table *table, size_t from)
{
	struct out_column *column = &c->columns[c->n];

	c->from[c->n] = from;
	*column = table->columns[from];
	column->flags &= ~(unsigned int)(OUT_DETAIL | OUT_OPTIONAL);
	column->narrow = 0;
	return column->header ? (c->n++, NULL) : add_header(c, c->n++);
}

static bool is_chosen(const struct out_chosen *c, size_t from)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->from[i] == from)
			return true;
	}
	return false;
}

static struct ebt_error *choose_named(struct out_chosen *c, const struct out_table *table,
				      const char *list)
{
	struct ebt_error *err = NULL;
	size_t i, len;

	while (!err && list) {
		const char *name = cli_take_piece(&list, &len);

		i = out_find_column(table, name, len);
		if (i == table->n_columns)
			return out_no_column(table, "--columns", name, len);
		err = is_chosen(c, i) ? NULL : choose(c, table, i);
	}
	return err;
}

struct ebt_error *out_choose_columns(const char *list, const struct out_table *table,
				     struct out_chosen *c)
{
	size_t n = table->n_columns;
	struct ebt_error *err = NULL;

	out_chosen_deinit(c);
	c->columns = calloc(n, sizeof(*c->columns));
	c->headers = calloc(n, sizeof(*c->headers));
	c->from = calloc(n, sizeof(*c->from));
	c->values = calloc(n, sizeof(*c->values));
	if (!c->columns || !c->headers || !c->from || !c->values)
		return &ebt_enomem;
	for (size_t i = 0; !err && i < n; i++) {
		if (table->columns[i].flags & OUT_INDENT)
			err = choose(c, table, i);
	}
	if (!err)
		err = choose_named(c, table, list);
	for (size_t i = 0; !err && i < n; i++) {
		if (is_chosen(c, i))
			continue;
		err = choose(c, table, i);
		c->columns[c->n - 1].flags |= OUT_HIDDEN;
	}
	c->all = table->columns;
	c->table = *table;
	c->table.columns = c->columns;
	return err;
}

const struct out_value *out_chosen_values(const struct out_chosen *c,
					  const struct out_value *values)
{
	for (size_t i = 0; i < c->n; i++) {
		c->values[i] = values[c->from[i]];
		c->columns[i].type = c->all[c->from[i]].type;
	}
	return c->values;
}
