/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Free slots as a sorted list of extents; see slots.h. */
#include "record/unwind/slots.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"

void unwind_slots_deinit(struct unwind_slots *slots)
{
	free(slots->extents);
	*slots = (struct unwind_slots){ .unit = slots->unit };
}

static void remove_extent(struct unwind_slots *slots, size_t i)
{
	slots->n--;
	memmove(slots->extents + i, slots->extents + i + 1,
		(slots->n - i) * sizeof(*slots->extents));
}

bool unwind_slots_give(struct unwind_slots *slots, uint32_t first, uint32_t n, uint64_t since)
{
	size_t i = slots->n;

	if (!n)
		return true;
	if (ebt_array_reserve(&slots->extents, slots->n, &slots->capacity))
		return false;
	while (i && slots->extents[i - 1].first > first)
		i--;
	memmove(slots->extents + i + 1, slots->extents + i,
		(slots->n - i) * sizeof(*slots->extents));
	slots->extents[i] = (struct unwind_extent){ first, n, since };
	slots->n++;
	return true;
}

static bool has_rested(const struct unwind_extent *extent, uint64_t now_ns)
{
	return now_ns >= extent->since && now_ns - extent->since >= UNWIND_REST_NS;
}

/* Makes one of an extent and those behind it. */
static void join(struct unwind_slots *slots, size_t i, uint64_t now_ns)
{
	struct unwind_extent *extent = &slots->extents[i];

	while (i + 1 < slots->n) {
		const struct unwind_extent *next = extent + 1;

		if (next->first != extent->first + extent->n || !has_rested(next, now_ns) ||
		    next->first / slots->unit != extent->first / slots->unit)
			break;
		extent->n += next->n;
		extent->since = 0;
		remove_extent(slots, i + 1);
	}
}

bool unwind_slots_take(struct unwind_slots *slots, uint32_t n, uint64_t now_ns, uint32_t *ret)
{
	for (size_t i = 0; i < slots->n; i++) {
		struct unwind_extent *extent = &slots->extents[i];

		if (!has_rested(extent, now_ns))
			continue;
		join(slots, i, now_ns);
		if (extent->n < n)
			continue;
		*ret = extent->first;
		extent->first += n;
		extent->n -= n;
		if (!extent->n)
			remove_extent(slots, i);
		return true;
	}
	return false;
}

uint64_t unwind_slots_free(const struct unwind_slots *slots)
{
	uint64_t n = 0;

	for (size_t i = 0; i < slots->n; i++)
		n += slots->extents[i].n;
	return n;
}
