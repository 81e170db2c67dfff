/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Build-ids by a key of bytes. Bounded: what comes after `max` keys is not remembered. */
#ifndef RECORD_BASE_BUILDID_MAP_H
#define RECORD_BASE_BUILDID_MAP_H

#include "record/base/buildid.h"
#include "record/base/keymap.h"

struct buildid_map {
	struct keymap keys; /* to an index of ids */
	struct buildid *ids;
	size_t capacity, max;
};

/* Accepts a map that is all zero. */
void buildid_map_deinit(struct buildid_map *map);
bool buildid_map_find(const struct buildid_map *map, const void *key, size_t len,
		      struct buildid *ret);
/* Adds or replaces. What there is no memory for is not remembered either. */
void buildid_map_put(struct buildid_map *map, const void *key, size_t len,
		     const struct buildid *id);

#endif
