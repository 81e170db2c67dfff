/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of any table as text (FORMAT.md section 7) and as JSON, by the schema alone: tables that
 * this program has never heard of come out like all others.
 */
#ifndef REPORT_SHARE_DUMP_H
#define REPORT_SHARE_DUMP_H

#include "format/read/reader.h"
#include "report/base/json.h"
#include "report/base/text.h"
#include "report/trace/trace.h"

/* Fields of one table that the file has, in the order of its schema; without `time`. */
struct dump_fields {
	const struct ebt_table *table;
	uint64_t start_ns; /* of the trace: times in JSON count from it */
	uint8_t index[EBT_MAX_FIELDS];
	uint32_t n;
	char *head;		      /* " name" of the table, as a line has it */
	char *labels[EBT_MAX_FIELDS]; /* " name=", of the fields that index names */
};

/* "meta", "state" or "event". */
const char *dump_class_name(const struct ebt_table *table);

/* One value. */
void dump_value(struct text *text, const struct ebt_row *row, const struct ebt_field *field,
		unsigned int index);

/* One line, with the newline. */
void dump_line(struct text *text, const struct ebt_row *row, const struct dump_fields *fields);

/* The members of an object: table, time_ns, values. */
void dump_json(struct json *json, struct text *scratch, const struct ebt_row *row,
	       const struct dump_fields *fields);

/* Key of a field in JSON; those in ns have names ending in _ns. */
void dump_json_key(struct text *text, const struct ebt_field *field);

struct dump_tables {
	const struct ebt_table *tables; /* of the reader */
	struct dump_fields *fields;	/* by index of tables */
	bool *chosen;			/* likewise */
	uint16_t *by_id;		/* 1 + index of a table, 0: none */
	size_t n;
	uint64_t start_ns; /* of the trace: times in JSON count from it */
};

/* Fields are those that the file has, in the order of its own schema. */
struct ebt_error *dump_tables_init(struct trace *trace, struct dump_tables *ret);
void dump_tables_deinit(struct dump_tables *tables);

/* list: "NAME,…"; NULL: all, but with filters without tables that describe the file, as they know
 * neither tasks nor time. */
struct ebt_error *dump_tables_choose(struct dump_tables *tables, const struct options *options,
				     const char *list);

static inline struct dump_fields *dump_tables_fields(const struct dump_tables *tables, uint16_t id)
{
	return &tables->fields[tables->by_id[id] - 1];
}

#endif
