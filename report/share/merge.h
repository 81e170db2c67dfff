/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces of one machine made into one: which rows of each go into the copy. What several inputs
 * have recorded is taken from the first of them. docs/FORMAT.md section 14 has the rules.
 */
#ifndef REPORT_SHARE_MERGE_H
#define REPORT_SHARE_MERGE_H

#include "format/base/error.h"
#include "format/edit/copy.h"
#include "format/write/writer.h"

struct merge;

/* Of inputs of the same machine. Reads what two of them may both have. The readers must live
 * longer. arg: what merge_arg() is to give. */
struct ebt_error *merge_create(struct ebt_reader *const *readers, size_t n, void *arg,
			       struct merge **ret);
/* Accepts NULL. */
void merge_destroy(struct merge *merge);

/* Fills in what is to be done with each input. */
void merge_set_options(struct merge *merge, size_t input, struct ebt_copy_options *options);

/* The caller's own, by what the options have as theirs. */
void *merge_arg(void *options_arg);

/* Adds what is true of all inputs together; time: see copying_meta_at(). */
struct ebt_error *merge_append(const struct merge *merge, struct ebt_stream *stream, uint64_t time);

#endif
