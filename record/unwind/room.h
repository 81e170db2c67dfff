/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which places of an array that BPF programs read are free. Places that are given back rest for a
 * while, since a walk that began before may still read them.
 */
#ifndef RECORD_UNWIND_ROOM_H
#define RECORD_UNWIND_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Programs run for microseconds, with preemption off. */
#define UNWIND_REST_NS UINT64_C(100000000)

struct unwind_extent {
	uint32_t first, n;
	uint64_t since; /* given back; 0: rests no more */
};

/* All zeros but for unit: an array without places. */
struct unwind_room {
	uint32_t unit;		       /* no piece reaches over a multiple of this */
	struct unwind_extent *extents; /* what is free, ascending */
	size_t n, capacity;
};

void unwind_room_deinit(struct unwind_room *room);

/* n places from `first` on, within a unit, are free; since as above. False where memory is short:
 * then they stay taken for ever. */
bool unwind_room_give(struct unwind_room *room, uint32_t first, uint32_t n, uint64_t since);

/* n places side by side that have rested. */
bool unwind_room_take(struct unwind_room *room, uint32_t n, uint64_t now_ns, uint32_t *ret);

/* Free places, those that rest too. */
uint64_t unwind_room_free(const struct unwind_room *room);

#endif
