/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call tree of any table with stacks, weighed by one of its columns. It goes by the schema of
 * the trace, so that tables which this version has never heard of will do.
 */
#ifndef REPORT_TREES_TABLE_H
#define REPORT_TREES_TABLE_H

#include "report/trees/feed.h"

/* What to weigh, looked up in the trace; names belong to it. */
struct tree_table {
	const struct ebt_table *table;
	int weight; /* index of the field; -1: each row is one event */
};

/* name: of a table, or of probes, which are *ret_probes then, in theirs. weight NULL: the table's
 * duration, if it has that, else rows, also for probes that take no time; "rows": those. Errors say
 * what there is. */
struct ebt_error *tree_table_find(struct trace *trace, const char *name, const char *weight,
				  struct tree_probes *ret_probes, struct tree_table *ret);

/* "ns", "bytes", …, as the schema has it; "" where a number has none. */
const char *tree_table_unit(const struct tree_table *what);

/* Adds the rows that pass the filters, and are of feed->probes if there are any, to feed->tree. */
struct ebt_error *tree_table_read(struct trace *trace, const struct tree_table *what,
				  struct tree_feed *feed);

#endif
