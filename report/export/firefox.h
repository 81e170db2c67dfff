/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processed profile of the Firefox Profiler, version 62: firefox.c has the file and its
 * threads, firefox_tables.c what threads share.
 * https://github.com/firefox-devtools/profiler/blob/main/docs-developer/processed-profile-format.md
 *
 * Readers upgrade older versions, and refuse those that are newer than they are.
 */
#ifndef REPORT_EXPORT_FIREFOX_H
#define REPORT_EXPORT_FIREFOX_H

#include "report/base/interned.h"
#include "report/export/export.h"

/* Categories of meta, of frames by what they are, and one of markers. */
#define FIREFOX_OTHER	CALLTREE_ROOT
#define FIREFOX_MARKERS CALLTREE_N_KINDS

struct firefox_tables {
	const struct calltree *tree;
	struct interned texts;
	uint64_t left_out; /* texts for which there was no room */
	/* By func of the tree: function, of which there are n_functions; and library, or -1. */
	uint32_t *function_of;
	int32_t *lib_of;
	uint32_t n_functions, n_libs;
	uint32_t *first; /* func of the tree of each function; and of each library */
	uint32_t *first_of_lib;
};

/* Number of a text in the table of texts, in which there is "" for what has no room. */
struct ebt_error *firefox_text(struct firefox_tables *tables, struct ebt_str s, uint32_t *ret);
/* After the last stack. */
struct ebt_error *firefox_tables_make(struct firefox_tables *tables, const struct calltree *tree);
void firefox_put_categories(struct json *json);
void firefox_put_libs(const struct firefox_tables *tables, struct json *json);
/* All tables that threads share, the texts last. */
struct ebt_error *firefox_put_shared(struct firefox_tables *tables, struct json *json);
void firefox_tables_deinit(struct firefox_tables *tables);

#endif
