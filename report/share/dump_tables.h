/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a file and their fields, for commands that write rows of any table (dump, export).
 */
#ifndef REPORT_SHARE_DUMP_TABLES_H
#define REPORT_SHARE_DUMP_TABLES_H

#include "report/share/dump.h"
#include "report/trace/trace.h"

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
struct ebt_error *dump_tables_choose(struct dump_tables *tables, struct trace *trace,
				     const struct options *options, const char *list);

static inline struct dump_fields *dump_tables_fields(const struct dump_tables *tables, uint16_t id)
{
	return &tables->fields[tables->by_id[id] - 1];
}

#endif
