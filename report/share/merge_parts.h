/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of one recording that are joined again. Each has its window, and of tables whose rows
 * explain others more than that: a row is taken from the first part whose window it is in and that
 * can be read there, or, before and behind all windows, from the part that begins or ends there.
 */
#ifndef REPORT_SHARE_MERGE_PARTS_H
#define REPORT_SHARE_MERGE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"

struct merge_parts;

/* Are several inputs all parts of one recording? */
bool merge_parts_are(struct ebt_reader *const *readers, size_t n);

/* The window of all together; not set: they are the whole. EBT_ERR_INVALID: they do not adjoin, or
 * one has nothing that another lacks. */
struct ebt_error *merge_parts_window(struct ebt_reader *const *readers, size_t n,
				     struct ebt_window *ret);

/* Reads parts that overlap, to know what of them cannot be read. The readers must live longer. */
struct ebt_error *merge_parts_create(struct ebt_reader *const *readers, size_t n,
				     struct merge_parts **ret);
/* Accepts NULL. */
void merge_parts_destroy(struct merge_parts *parts);

/* From which part a row of this time is taken. */
size_t merge_parts_home(const struct merge_parts *parts, uint16_t table, uint64_t time);

#endif
