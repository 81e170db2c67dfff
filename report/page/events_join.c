/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Putting events together; see events_join.h. */
#include "report/page/events_join.h"

#include <stdlib.h>

#include "format/base/compare.h"
#include "report/page/private.h"

#define SHORTEST 1000 /* ns: the time that is tried first */
#define NOTABLE	 16   /* within such a part of it notable events are put together, too */

static int compare_time(const struct page_event *x, const struct page_event *y)
{
	return ebt_compare(x->time, y->time) ?: ebt_compare(y->dur, x->dur);
}

static int compare(const void *a, const void *b)
{
	const struct page_event *x = a, *y = b;

	return ebt_compare(x->track, y->track)
		       ?: compare_time(x, y)
		       ?: ebt_compare(x->name, y->name)
		       ?: ebt_compare(x->detail, y->detail);
}

/* Those that may be put together are neighbours then, but for the time. */
static int compare_groups(const void *a, const void *b)
{
	const struct page_event *x = a, *y = b;

	return ebt_compare(x->track, y->track)
		       ?: ebt_compare(x->node, y->node)
		       ?: ebt_compare(x->flags & EVENT_FAILED, y->flags & EVENT_FAILED)
		       ?: compare_time(x, y);
}

void page_events_sort(struct page_event_list *list)
{
	if (list->n)
		qsort(list->list, list->n, sizeof(*list->list), compare);
}

static uint64_t end_of(const struct page_event *event)
{
	return event->time + event->dur < event->time ? UINT64_MAX : event->time + event->dur;
}

/* Time of all that were put together. */
static int64_t sum_of(const struct page_event *event)
{
	return event->flags & EVENT_JOINED ? event->value : (int64_t)event->dur;
}

static void join(struct page_event *to, const struct page_event *from)
{
	const int64_t a = sum_of(to), b = sum_of(from);
	const uint64_t end = end_of(to) > end_of(from) ? end_of(to) : end_of(from);

	to->time = to->time < from->time ? to->time : from->time;
	to->value = a > INT64_MAX - b ? INT64_MAX : a + b;
	to->dur = end - to->time < PAGE_MOST_NS ? end - to->time : PAGE_MOST_NS;
	to->count = to->count > UINT32_MAX - from->count ? UINT32_MAX : to->count + from->count;
	to->name = to->name == from->name ? to->name : 0;
	to->node = to->node == from->node ? to->node : 0;
	to->other = to->other == from->other ? to->other : 0;
	to->detail = 0;
	to->flags |= from->flags | EVENT_JOINED;
	to->notable |= from->notable;
}

static bool may_join(const struct page_event *a, const struct page_event *b, uint64_t within)
{
	if (a->track != b->track || a->node != b->node || (a->flags ^ b->flags) & EVENT_FAILED)
		return false;
	if (a->notable || b->notable)
		within /= NOTABLE;
	return b->time - a->time <= within && end_of(b) - a->time <= within && a->dur <= within;
}

/* whole: all of a track. */
static void join_all(struct page_event_list *list, bool whole)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct page_event *last = n ? &list->list[n - 1] : NULL;
		const struct page_event *event = &list->list[i];

		if (last &&
		    (whole ? last->track == event->track : may_join(last, event, list->within)))
			join(last, event);
		else
			list->list[n++] = *event;
	}
	list->n = n;
}

void page_events_join(struct page_event_list *list, size_t most)
{
	if (!list->n)
		return;
	qsort(list->list, list->n, sizeof(*list->list), compare_groups);
	/* Those that have come since then first. */
	if (list->within)
		join_all(list, false);
	while (list->n > most && list->within < PAGE_MOST_NS) {
		list->within = list->within ? list->within * 2 : SHORTEST;
		join_all(list, false);
	}
	if (list->n > most)
		join_all(list, true);
}
