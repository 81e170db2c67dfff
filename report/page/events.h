/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of a page: what happened at a moment or for a time, on tracks. Whoever reads rows of a
 * kind gives them one by one; there is room for so many, and where more come, those that are next
 * to each other on a track are put together. Sums of counts and durations stay exact.
 */
#ifndef REPORT_PAGE_EVENTS_H
#define REPORT_PAGE_EVENTS_H

#include "report/page/page.h"

#define EVENT_FAILED 1
#define EVENT_OPEN   2 /* its beginning or its end is not in the trace */
/* Several: `dur` is from the first to the last, `value` the sum of theirs. */
#define EVENT_JOINED 4

struct page_event {
	uint64_t time, dur;    /* CLOCK_MONOTONIC ns, ns; of an instant 0 */
	int64_t value;	       /* what it is depends on the kind */
	uint32_t track;	       /* of page_events_track() */
	uint32_t name, detail; /* of page_events_text() */
	uint32_t node;	       /* of the tree of calls; 0: none */
	uint32_t other;	       /* 1 + a thread of the page that took part; 0: none */
	uint32_t count;	       /* 0 stands for 1 */
	uint8_t flags;	       /* EVENT_… */
	bool notable;	       /* it is put together within less */
};

struct page_events;

/* The track with this key among those of its kind. task: whose it is, or NULL. Where there are too
 * many, one for all others. */
struct ebt_error *page_events_track(struct page_events *events, enum page_event_kind kind,
				    uint64_t key, const struct ebt_task *task, struct ebt_str name,
				    uint32_t *ret);
/* That of a thread; NULL: of those that are not known. */
struct ebt_error *page_events_thread_track(struct page_events *events, enum page_event_kind kind,
					   const struct ebt_task *task, const char *name,
					   uint32_t *ret);
/* The number of a text until the next event is added; long ones are cut, and end with "…" then. 0
 * where there is no more room. */
struct ebt_error *page_events_text(struct page_events *events, struct ebt_str s, uint32_t *ret);
struct ebt_error *page_events_add(struct page_events *events, enum page_event_kind kind,
				  const struct page_event *event);
/* The same of one in which another thread took part; NULL: none did. */
struct ebt_error *page_events_add_of(struct page_events *events, enum page_event_kind kind,
				     struct page_event *event, const struct ebt_task *other);

/* Of what a row tells that was written when it ended. */
static inline void page_event_ended(struct page_event *event, uint64_t end, uint64_t duration)
{
	event->dur = duration < end ? duration : end;
	event->time = end - event->dur;
}

static inline struct ebt_error *page_events_cstr(struct page_events *events, const char *s,
						 uint32_t *ret)
{
	return page_events_text(events, (struct ebt_str){ s, strlen(s) }, ret);
}

/* Those that read rows; where a trace has none, they do nothing. */
struct ebt_error *page_read_calls(struct page *page, struct page_events *events);
struct ebt_error *page_read_marks(struct page *page, struct page_events *events);
struct ebt_error *page_read_block(struct page *page, struct page_events *events);
struct ebt_error *page_read_net(struct page *page, struct page_events *events);
struct ebt_error *page_read_dbus(struct page *page, struct page_events *events);
struct ebt_error *page_read_logs(struct page *page, struct page_events *events);
struct ebt_error *page_read_irqs(struct page *page, struct page_events *events);
struct ebt_error *page_read_faults(struct page *page, struct page_events *events);

#endif
