/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A slot allocator: which slots of an array that BPF programs read are free. A slot that is given
 * back is not taken again for a while, since a walk that began before may still read the slot.
 */
#ifndef RECORD_UNWIND_SLOTS_H
#define RECORD_UNWIND_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Programs run for microseconds, with preemption off. */
#define UNWIND_REST_NS UINT64_C(100000000)

struct unwind_extent {
	uint32_t first, n;
	uint64_t since; /* when they were given back; 0: they can be taken at once */
};

/* All zeros but for unit: an array without slots. */
struct unwind_slots {
	uint32_t unit;		       /* no piece reaches over a multiple of this */
	struct unwind_extent *extents; /* what is free, ascending */
	size_t n, capacity;
};

void unwind_slots_deinit(struct unwind_slots *slots);

/* n slots from `first` on, within a unit, are free; since as above. False where memory is short:
 * then they stay taken for ever. */
bool unwind_slots_give(struct unwind_slots *slots, uint32_t first, uint32_t n, uint64_t since);

/* n slots side by side, which were given back long enough ago. */
bool unwind_slots_take(struct unwind_slots *slots, uint32_t n, uint64_t now_ns, uint32_t *ret);

/* Free slots, those too that cannot be taken yet. */
uint64_t unwind_slots_free(const struct unwind_slots *slots);

#endif
