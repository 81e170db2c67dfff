/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was where, when: ranges of addresses that begin at a time and hold until a later one
 * covers them. Entries are only ever appended, in order of time; nothing is cut or moved, so that
 * a question about any past moment has its answer. All timelines of a store share one array.
 */
#ifndef SYMBOLIZE_SPACES_TIMELINE_H
#define SYMBOLIZE_SPACES_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

#define TIMELINE_NONE UINT32_MAX

struct timeline_entry {
	uint64_t start, end; /* end is the first address behind */
	uint64_t from;	     /* ns */
	uint32_t value;
	uint32_t before; /* previous entry of the same timeline, or TIMELINE_NONE */
};

struct timeline_store {
	struct timeline_entry *entries;
	size_t n, capacity;
};

struct timeline {
	uint32_t last; /* newest entry, or TIMELINE_NONE */
	uint32_t n;
	struct timeline_index *index; /* made when many entries are searched */
};
#define TIMELINE_INIT                 \
	{                             \
		.last = TIMELINE_NONE \
	}

/* What covers an address at a time, and for how long that is the answer. */
struct timeline_hit {
	bool found;
	uint64_t start, end; /* of the entry */
	uint32_t value;
	uint64_t from, to; /* the answer is the same for from <= time < to */
};

void timeline_store_deinit(struct timeline_store *store);
void timeline_deinit(struct timeline *timeline);

/* `from` must not be less than that of the entry before. An entry that changes nothing is left
 * out. No look-up may have been made before. */
struct ebt_error *timeline_add(struct timeline_store *store, struct timeline *timeline,
			       uint64_t start, uint64_t end, uint64_t from, uint32_t value);

struct ebt_error *timeline_find(const struct timeline_store *store, struct timeline *timeline,
				uint64_t address, uint64_t time, struct timeline_hit *ret);

#endif
