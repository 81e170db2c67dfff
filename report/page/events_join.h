/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of a page, and how those of one kind are put together until there are few enough. Sums of
 * counts and durations stay exact.
 */
#ifndef REPORT_PAGE_EVENTS_JOIN_H
#define REPORT_PAGE_EVENTS_JOIN_H

#include "report/events/events.h"

/* Beside EVENT_FAILED and EVENT_OPEN. Several: `dur` is from the first to the last, `value` the sum
 * of theirs. */
#define EVENT_JOINED 4

struct page_event {
	uint64_t time, dur;    /* CLOCK_MONOTONIC ns, ns; of an instant 0 */
	int64_t value;	       /* what it is depends on the kind */
	uint32_t track;	       /* its number in the page */
	uint32_t name, detail; /* numbers of texts */
	uint32_t node;	       /* of the tree of calls; 0: none */
	uint32_t other;	       /* 1 + a thread of the page that took part; 0: none */
	uint32_t count;
	uint8_t flags; /* EVENT_… */
	bool notable;  /* it is put together within less */
};

struct page_event_list {
	struct page_event *list;
	size_t n, capacity;
	uint64_t within; /* those within such a time were put together; 0: none were */
};

/* By track and time. */
void page_events_sort(struct page_event_list *list);

/*
 * Puts events together until no more than `most` are left. Neighbours on a track that lie within a
 * time, which is doubled as long as there are too many; failed ones apart from others, and those of
 * a stack apart from those of another. At last, if tracks are many, whatever is on one.
 */
void page_events_join(struct page_event_list *list, size_t most);

#endif
