/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes out of rows what says who recorded what where; see cmd_scrub.c. */
#ifndef REPORT_SHARE_SCRUB_H
#define REPORT_SHARE_SCRUB_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/edit/copy.h"
#include "format/read/reader.h"
#include "report/share/scrub_rules.h"

struct scrub;
struct trace;

/* What is done otherwise than scrub.def says. */
struct scrub_options {
	bool keep_args, keep_comms, keep_host, keep_users, keep_paths, keep_syscalls;
	bool drop_names, drop_kernel, drop_system_paths;
	const char *keep_files; /* roles, comma-separated; or NULL */
};

/* Reads what decides: programs of the system, kernel threads, embedded files. The reader and the
 * options must live longer. */
struct ebt_error *scrub_create(struct ebt_reader *reader, const struct scrub_options *options,
			       struct scrub **ret);
void scrub_destroy(struct scrub *scrub);

/* For struct ebt_copy_options, whose arg is the scrub. */
enum ebt_copy_action scrub_action(void *arg, const struct ebt_chunk_info *chunk,
				  const struct ebt_table *table);
struct ebt_error *scrub_edit(void *arg, struct ebt_edit *edit, bool *ret_changed);

/* What was done, so far. */
struct scrub_count {
	const char *table, *field; /* field NULL: whole rows */
	uint64_t changed;	   /* values, or rows, that are gone or another */
};
/* Only what is not 0. Belongs to the scrub. */
struct ebt_error *scrub_counts(struct scrub *scrub, const struct scrub_count **ret, size_t *ret_n);
/* Says of the trace that there were more words than are told from each other by kind. */
struct ebt_error *scrub_warn(const struct scrub *scrub, struct trace *trace);
/* Chunks that this version does not know, and dropped for that. */
uint64_t scrub_unknown(const struct scrub *scrub);

#endif
