/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One trace of a database. */
#ifndef REPORT_SQL_SOURCE_H
#define REPORT_SQL_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"

struct ebt_reader;
struct sql_profile;
struct sql_stacks;
struct sql_tasks;
struct sym;

struct sql_source {
	struct sql_source *next;
	struct ebt_reader *reader;
	char *name;		   /* column `trace`: of the file, without its folder */
	uint64_t start_ns;	   /* CLOCK_MONOTONIC; times in tables are since it */
	bool owned;		   /* the reader is closed with it, and the symbolizer is its own */
	struct sql_stacks *stacks; /* that rows have had so far */
	struct sql_tasks *tasks;   /* NULL: not needed yet */
	struct sql_profile *profile; /* likewise */
	struct sym *sym;	     /* NULL: not needed yet */
	/* Where it is not owned: gives the symbolizer of somebody else. */
	struct ebt_error *(*find_sym)(void *arg, struct sym **ret);
	void *arg;
};

/* Makes its symbolizer, if need be: one that asks no servers, where it is its own. */
struct ebt_error *sql_source_sym(struct sql_source *source);

/* See tasks.c and profile.c. */
void sql_tasks_destroy(struct sql_tasks *tasks);
void sql_profile_destroy(struct sql_profile *profile);
/* The call site of a kernel stack on top of a user stack, by their numbers; either may be of none.
 * *ret_found: are they numbers of this trace? */
struct ebt_error *sql_profile_callsite(struct sql_source *source, const int64_t *ustack,
				       const int64_t *kstack, int64_t *ret, bool *ret_found);

#endif
