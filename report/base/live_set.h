/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of memory that are live, by address: added when allocated, removed when freed.
 * Memory is bounded, since a trace can claim anything.
 */
#ifndef REPORT_BASE_LIVE_SET_H
#define REPORT_BASE_LIVE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/base/map.h"

/* Blocks at the most: some 800 MiB. */
#define LIVE_SET_MAX (1u << 23)

struct live_block {
	uint64_t key;		   /* address */
	uint64_t time;		   /* of the allocation */
	uint64_t origin;	   /* key then, before it was cut into pieces */
	uint64_t bytes, requested; /* as recorded; of pages: of this piece */
	double weight;		   /* how many of its kind it stands for */
	uint32_t group;		   /* of whoever allocated it */
	uint32_t order;		   /* of pages: 2^order */
};

struct live_set {
	struct live_block *blocks; /* all that are live, in no order */
	size_t n, capacity;
	struct ebt_map places; /* by key */
};

/* All zero is an empty set. */
void live_set_deinit(struct live_set *set);

/* NULL: not there. Good until the next change. */
struct live_block *live_set_find(const struct live_set *set, uint64_t key);

/* Copies a block whose key is not there. EBT_ERR_LIMIT: there are too many. */
struct ebt_error *live_set_add(struct live_set *set, const struct live_block *block);

void live_set_remove(struct live_set *set, struct live_block *block);

#endif
