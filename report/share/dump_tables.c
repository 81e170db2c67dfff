/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a file and their fields; see dump_tables.h. */
#include "report/share/dump_tables.h"

#include <stdlib.h>
#include <string.h>

void dump_tables_deinit(struct dump_tables *tables)
{
	for (size_t i = 0; tables->fields && i < tables->n; i++)
		dump_fields_deinit(&tables->fields[i]);
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
		err = dump_fields_prepare(&t->fields[i]);
	}
	return err;
}

static struct ebt_error *choose_named(struct dump_tables *t, const char *list)
{
	_cleanup_free_ char *copy = strdup(list);
	char *rest = copy, *name;

	if (!copy)
		return &ebt_enomem;
	while ((name = strsep(&rest, ","))) {
		bool found = false;

		for (size_t i = 0; i < t->n; i++) {
			if (!strcmp(t->tables[i].name, name))
				found = t->chosen[i] = true;
		}
		if (!found)
			return ebt_error_create(EBT_ERR_INVALID,
						"--table: there is no table '%s': see `ebreport "
						"dump --schema`",
						name);
	}
	return NULL;
}

struct ebt_error *dump_tables_choose(struct dump_tables *t, struct trace *trace,
				     const struct options *options, const char *list)
{
	bool filtered = trace_has_task_filter(trace) || trace_has_cpu_filter(trace) ||
			options->from.set || options->to.set;

	if (list)
		return choose_named(t, list);
	for (size_t i = 0; i < t->n; i++)
		t->chosen[i] = t->tables[i].class != EBT_CLASS_META || !filtered;
	return NULL;
}
