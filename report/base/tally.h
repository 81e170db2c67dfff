/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For each of a few owners, which of many things weighs most. */
#ifndef REPORT_BASE_TALLY_H
#define REPORT_BASE_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/base/map.h"

/* All zero is an empty one. */
struct tally {
	struct tally_entry {
		uint32_t owner;
		uint64_t what, weight;
	} * entries;
	size_t n, capacity;
	struct ebt_map at;
};

void tally_deinit(struct tally *tally);

/* owner: below 2^24; what: below 2^40. */
struct ebt_error *tally_add(struct tally *tally, uint32_t owner, uint64_t what, uint64_t weight);

/* ret[owner], for each below n: the entry that weighs most; weight 0: there is none. */
void tally_heaviest(const struct tally *tally, struct tally_entry *ret, uint32_t n);

#endif
