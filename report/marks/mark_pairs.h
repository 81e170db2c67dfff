/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Begins of marks whose end has not been seen. Those without a key lie on a stack for each thread;
 * those with one on a stack for each process, name and key, which is nearly always of one.
 */
#ifndef REPORT_MARKS_MARK_PAIRS_H
#define REPORT_MARKS_MARK_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/base/map.h"

/* All zero is empty. */
struct mark_pairs {
	struct mark_open_begin *list;
	size_t n, capacity;
	uint32_t free;	       /* 1 + the first of those that are not used */
	struct ebt_map stacks; /* by hash of the place: 1 + the newest */
};

struct mark_place {
	uint32_t owner; /* key 0: a thread; else a process */
	uint32_t name;
	uint64_t key;
};

void mark_pairs_deinit(struct mark_pairs *pairs);

struct ebt_error *mark_pairs_begin(struct mark_pairs *pairs, const struct mark_place *place,
				   uint32_t mark);

/* Is there a begin for this end? Not looked for beyond the 1024 newest. */
bool mark_pairs_find(const struct mark_pairs *pairs, const struct mark_place *place);

/* Takes the newest begin off its stack. Call it where mark_pairs_find() found one, until it returns
 * true: that begin has the name of the end. Begins that came off before lay inside, and have no
 * end. */
bool mark_pairs_take(struct mark_pairs *pairs, const struct mark_place *place, uint32_t *ret);

#endif
