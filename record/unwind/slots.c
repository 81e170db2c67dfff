/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Free slots by their place and by how many are side by side; see slots.h. */
#include "record/unwind/slots.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"

void unwind_slots_deinit(struct unwind_slots *slots)
{
	free(slots->pieces);
	free(slots->resting);
	ebt_map_deinit(&slots->by_edge);
	*slots = (struct unwind_slots){ .unit = slots->unit };
}

/* --- what can be taken --- */

/* Keys of by_edge: of what begins with this slot, and of what ends before it. */
static uint64_t begin_at(uint64_t slot)
{
	return slot << 1;
}

static uint64_t end_at(uint64_t slot)
{
	return slot << 1 | 1;
}

static uint32_t *of_size(struct unwind_slots *slots, uint32_t n)
{
	return &slots->by_size[n < UNWIND_N_SIZES ? n : UNWIND_N_SIZES - 1];
}

/* Puts a piece on the list of its size. */
static void set_piece(struct unwind_slots *slots, uint32_t number, uint32_t first, uint32_t n)
{
	uint32_t *head = of_size(slots, n);

	slots->pieces[number] = (struct unwind_piece){ .first = first, .n = n, .next = *head };
	if (*head)
		slots->pieces[*head].before = number;
	*head = number;
}

static void unlink_piece(struct unwind_slots *slots, uint32_t number)
{
	const struct unwind_piece *piece = &slots->pieces[number];

	*(piece->before ? &slots->pieces[piece->before].next : of_size(slots, piece->n)) =
		piece->next;
	if (piece->next)
		slots->pieces[piece->next].before = piece->before;
}

static bool add_piece(struct unwind_slots *slots, uint32_t first, uint32_t n)
{
	const uint64_t end = (uint64_t)first + n;
	uint32_t number = slots->by_size[0];

	if (!number) {
		if (ebt_array_reserve(&slots->pieces, slots->n_pieces + 1, &slots->pieces_capacity))
			return false;
		number = (uint32_t)++slots->n_pieces;
		set_piece(slots, number, 0, 0);
	}
	if (ebt_map_insert(&slots->by_edge, begin_at(first), number))
		return false;
	if (ebt_map_insert(&slots->by_edge, end_at(end), number)) {
		ebt_map_remove(&slots->by_edge, begin_at(first), number);
		return false;
	}
	unlink_piece(slots, number);
	set_piece(slots, number, first, n);
	return true;
}

static struct unwind_piece remove_piece(struct unwind_slots *slots, uint32_t number)
{
	const struct unwind_piece piece = slots->pieces[number];

	ebt_map_remove(&slots->by_edge, begin_at(piece.first), number);
	ebt_map_remove(&slots->by_edge, end_at((uint64_t)piece.first + piece.n), number);
	unlink_piece(slots, number);
	set_piece(slots, number, 0, 0);
	return piece;
}

/* Adds slots, as one piece with those before and behind them. */
static bool join(struct unwind_slots *slots, uint32_t first, uint32_t n)
{
	const uint64_t edges[] = { end_at(first), begin_at((uint64_t)first + n) };
	const uint32_t unit = first / slots->unit;

	for (int i = 0; i < 2; i++) {
		struct unwind_piece piece;
		uint32_t number;

		if (!ebt_map_find(&slots->by_edge, edges[i], &number) ||
		    slots->pieces[number].first / slots->unit != unit)
			continue;
		piece = remove_piece(slots, number);
		first = piece.first < first ? piece.first : first;
		n += piece.n;
	}
	return add_piece(slots, first, n);
}

/* --- what rests --- */

static bool has_rested(uint64_t since, uint64_t now_ns)
{
	return now_ns >= since && now_ns - since >= UNWIND_REST_NS;
}

/* Makes what has rested long enough a part of what can be taken. */
static void end_rest(struct unwind_slots *slots, uint64_t now_ns)
{
	while (slots->rested < slots->n_resting &&
	       has_rested(slots->resting[slots->rested].since, now_ns)) {
		const struct unwind_resting *piece = &slots->resting[slots->rested++];

		if (!join(slots, piece->first, piece->n))
			slots->n_free -= piece->n;
	}
	/* For each that has gone, at most one is moved. */
	if (2 * slots->rested >= slots->n_resting) {
		slots->n_resting -= slots->rested;
		if (slots->n_resting)
			memmove(slots->resting, slots->resting + slots->rested,
				slots->n_resting * sizeof(*slots->resting));
		slots->rested = 0;
	}
}

/* --- */

bool unwind_slots_give(struct unwind_slots *slots, uint32_t first, uint32_t n, uint64_t since)
{
	if (!n)
		return true;
	if (since ? ebt_array_reserve(&slots->resting, slots->n_resting,
				      &slots->resting_capacity) != NULL
		  : !join(slots, first, n))
		return false;
	if (since)
		slots->resting[slots->n_resting++] = (struct unwind_resting){ first, n, since };
	slots->n_free += n;
	return true;
}

/* The smallest piece that is large enough; of the last size, the first in the array. 0: none. */
static uint32_t find_piece(const struct unwind_slots *slots, uint32_t n)
{
	uint32_t found = 0;

	for (uint32_t size = n; size < UNWIND_N_SIZES - 1; size++) {
		if (slots->by_size[size])
			return slots->by_size[size];
	}
	for (uint32_t i = slots->by_size[UNWIND_N_SIZES - 1]; i; i = slots->pieces[i].next) {
		if (slots->pieces[i].n >= n &&
		    (!found || slots->pieces[i].first < slots->pieces[found].first))
			found = i;
	}
	return found;
}

bool unwind_slots_take(struct unwind_slots *slots, uint32_t n, uint64_t now_ns, uint32_t *ret)
{
	struct unwind_piece piece;
	uint32_t number;

	end_rest(slots, now_ns);
	number = find_piece(slots, n);
	if (!number)
		return false;
	piece = remove_piece(slots, number);
	slots->n_free -= n;
	if (piece.n > n && !add_piece(slots, piece.first + n, piece.n - n))
		slots->n_free -= piece.n - n;
	*ret = piece.first;
	return true;
}

uint64_t unwind_slots_free(const struct unwind_slots *slots)
{
	return slots->n_free;
}
