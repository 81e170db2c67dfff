/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A slot allocator: which slots of an array that BPF programs read are free. A slot that is given
 * back is not taken again for a while, since a walk that began before may still read the slot.
 * However many pieces are free, giving and taking cost about the same, but for the largest pieces:
 * all of these are looked at.
 */
#ifndef RECORD_UNWIND_SLOTS_H
#define RECORD_UNWIND_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/map.h"

/* Programs run for microseconds, with preemption off. */
#define UNWIND_REST_NS UINT64_C(100000000)

/* Sizes that are told apart; the last is all that is larger too. */
#define UNWIND_N_SIZES 64

struct unwind_piece {
	uint32_t first, n;
	uint32_t next, before; /* of its size; 0: none */
};

struct unwind_resting {
	uint32_t first, n;
	uint64_t since;
};

/* All zeros but for unit: an array without slots. */
struct unwind_slots {
	uint32_t unit; /* no piece reaches over a multiple of this */
	uint64_t n_free;

	/* What can be taken, from number 1 on. No two of a unit are side by side. */
	struct unwind_piece *pieces;
	size_t n_pieces, pieces_capacity;
	uint32_t by_size[UNWIND_N_SIZES]; /* the first of each size; of size 0: not in use */
	struct ebt_map by_edge;		  /* by the first slot, and by that behind the last */

	/* What has been given back, in the order of time: those from `rested` on are left. */
	struct unwind_resting *resting;
	size_t rested, n_resting, resting_capacity;
};

void unwind_slots_deinit(struct unwind_slots *slots);

/* n slots from `first` on, within a unit, are free; since as above. False where memory is short:
 * then they stay taken for ever. */
bool unwind_slots_give(struct unwind_slots *slots, uint32_t first, uint32_t n, uint64_t since);

/* n slots side by side, at least one, which were given back long enough ago. */
bool unwind_slots_take(struct unwind_slots *slots, uint32_t n, uint64_t now_ns, uint32_t *ret);

/* Free slots, those too that cannot be taken yet. */
uint64_t unwind_slots_free(const struct unwind_slots *slots);

#endif
