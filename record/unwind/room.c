/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Free places as a sorted list of extents; see room.h. */
#include "record/unwind/room.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"

void unwind_room_deinit(struct unwind_room *room)
{
	free(room->extents);
	*room = (struct unwind_room){ .unit = room->unit };
}

static void remove_extent(struct unwind_room *room, size_t i)
{
	room->n--;
	memmove(room->extents + i, room->extents + i + 1, (room->n - i) * sizeof(*room->extents));
}

bool unwind_room_give(struct unwind_room *room, uint32_t first, uint32_t n, uint64_t since)
{
	size_t i = room->n;

	if (!n)
		return true;
	if (ebt_array_reserve(&room->extents, room->n, &room->capacity))
		return false;
	while (i && room->extents[i - 1].first > first)
		i--;
	memmove(room->extents + i + 1, room->extents + i, (room->n - i) * sizeof(*room->extents));
	room->extents[i] = (struct unwind_extent){ first, n, since };
	room->n++;
	return true;
}

static bool has_rested(const struct unwind_extent *extent, uint64_t now_ns)
{
	return now_ns >= extent->since && now_ns - extent->since >= UNWIND_REST_NS;
}

/* Makes one of an extent and those behind it. */
static void join(struct unwind_room *room, size_t i, uint64_t now_ns)
{
	struct unwind_extent *extent = &room->extents[i];

	while (i + 1 < room->n) {
		const struct unwind_extent *next = extent + 1;

		if (next->first != extent->first + extent->n || !has_rested(next, now_ns) ||
		    next->first / room->unit != extent->first / room->unit)
			break;
		extent->n += next->n;
		extent->since = 0;
		remove_extent(room, i + 1);
	}
}

bool unwind_room_take(struct unwind_room *room, uint32_t n, uint64_t now_ns, uint32_t *ret)
{
	for (size_t i = 0; i < room->n; i++) {
		struct unwind_extent *extent = &room->extents[i];

		if (!has_rested(extent, now_ns))
			continue;
		join(room, i, now_ns);
		if (extent->n < n)
			continue;
		*ret = extent->first;
		extent->first += n;
		extent->n -= n;
		if (!extent->n)
			remove_extent(room, i);
		return true;
	}
	return false;
}

uint64_t unwind_room_free(const struct unwind_room *room)
{
	uint64_t n = 0;

	for (size_t i = 0; i < room->n; i++)
		n += room->extents[i].n;
	return n;
}
