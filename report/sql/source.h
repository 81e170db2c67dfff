/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One trace of a database. */
#ifndef REPORT_SQL_SOURCE_H
#define REPORT_SQL_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"

struct ebt_reader;
struct sql_stacks;
struct sym;

struct sql_source {
	struct sql_source *next;
	struct ebt_reader *reader;
	char *name;		   /* column `trace`: of the file, without its folder */
	uint64_t start_ns;	   /* CLOCK_MONOTONIC; times in tables are since it */
	bool owned;		   /* the reader is closed with it, and the symbolizer is its own */
	struct sql_stacks *stacks; /* that rows have had so far */
	struct sym *sym;	   /* NULL: not needed yet */
	/* Where it is not owned: gives the symbolizer of somebody else. */
	struct ebt_error *(*find_sym)(void *arg, struct sym **ret);
	void *arg;
};

/* Makes its symbolizer, if need be: one that asks no servers, where it is its own. */
struct ebt_error *sql_source_sym(struct sql_source *source);

#endif
