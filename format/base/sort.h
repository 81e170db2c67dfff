/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Order of rows by time. Rows of an open chunk come as a few ascending runs (one a ring buffer
 * and turn), so that runs are found and merged: nearly sorted rows cost one or two passes.
 */
#ifndef FORMAT_BASE_SORT_H
#define FORMAT_BASE_SORT_H

#include <stdint.h>

#include "format/base/error.h"

struct ebt_sort_key {
	uint64_t time;
	uint64_t row;
};

struct ebt_sorter {
	struct ebt_sort_key *keys, *other;
	uint32_t capacity;
};
#define EBT_SORTER_INIT ((struct ebt_sorter){ 0 })

void ebt_sorter_deinit(struct ebt_sorter *sorter);

/* Afterwards keys[0 … n-1] are in order of time; rows of the same time stay in order. */
struct ebt_error *ebt_sorter_sort(struct ebt_sorter *sorter, const uint64_t *times, uint32_t n);

#endif
