/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers that recorders give, in a merged trace: each input has numbered its embedded files,
 * probes, counters and the like from 1. What is the same thing in two inputs gets one number, and
 * the first input that describes it does so for all.
 */
#ifndef REPORT_SHARE_MERGE_IDS_H
#define REPORT_SHARE_MERGE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"

struct merge_ids;

/* Reads the tables that describe what is numbered. parts: inputs are parts of one recording. */
struct ebt_error *merge_ids_create(struct ebt_reader *const *readers, size_t n, bool parts,
				   struct merge_ids **ret);
void merge_ids_destroy(struct merge_ids *ids);

/* The field of this table that holds such a number; -1: none. */
int merge_ids_field(uint16_t table);

/* Has the input numbers in this table, or entries of stacks, that are others in the copy? */
bool merge_ids_moved(const struct merge_ids *ids, size_t input, const struct ebt_table *table);

/* Does the table describe things of which several inputs may tell? */
bool merge_ids_are_shared(uint16_t table);
/* The number in the copy. A field of a table that has one. */
uint64_t merge_ids_of(const struct merge_ids *ids, size_t input, const struct ebt_row *row);
/* Has an input before this one described what the row is about? */
bool merge_ids_known(const struct merge_ids *ids, size_t input, const struct ebt_row *row);

/* Puts the numbers of functions in the copy into a stack's entries, of which `to` has room for
 * EBT_MAX_FRAMES. false: it has none, and nothing was written. */
bool merge_ids_stack(const struct merge_ids *ids, size_t input, const struct ebt_stack *stack,
		     uint64_t *to);

#endif
