/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A slot allocator for ranges of the BPF map that holds all processes' mappings. A range is
 * counted: processes that forked share one. What is given back is used again only after a while,
 * since a walk that began before may still read it.
 */
#ifndef RECORD_UNWIND_RANGES_H
#define RECORD_UNWIND_RANGES_H

#include <linux/types.h>
#include <stdint.h>

#include "format/base/error.h"
#include "record/bpf/unwind_maps.h"

struct unwind_ranges;
struct unwind_range;

/* map_fd: an array of n entries that can be mapped; those before first are not ours. */
struct ebt_error *unwind_ranges_create(int map_fd, uint32_t first, uint32_t n,
				       struct unwind_ranges **ret);
/* All ranges must have been put. Accepts NULL. */
void unwind_ranges_destroy(struct unwind_ranges *ranges);

/* Room for n entries, or NULL. */
struct unwind_range *unwind_ranges_alloc(struct unwind_ranges *ranges, uint32_t n, uint64_t now_ns);
/* Where to write them; no program reads a range before a process names it. */
struct ebrec_unwind_mapping *unwind_ranges_entries(const struct unwind_ranges *ranges,
						   const struct unwind_range *range);

/* One more owner; accepts NULL. */
struct unwind_range *unwind_range_get(struct unwind_range *range);
/* One owner less; accepts NULL. */
void unwind_range_put(struct unwind_ranges *ranges, struct unwind_range *range);
uint32_t unwind_range_first(const struct unwind_range *range);

#endif
