/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of one kind, put together until there are few enough. */
#ifndef REPORT_PAGE_EVENTS_JOIN_H
#define REPORT_PAGE_EVENTS_JOIN_H

#include "report/page/events.h"

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
