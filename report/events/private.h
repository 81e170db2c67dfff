/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What those that read events of single kinds share. */
#ifndef REPORT_EVENTS_PRIVATE_H
#define REPORT_EVENTS_PRIVATE_H

#include "report/base/text.h"
#include "report/events/events.h"

struct ebt_error *events_read_calls(struct trace *trace, const struct event_sink *sink);
struct ebt_error *events_read_marks(struct trace *trace, const struct event_sink *sink);
struct ebt_error *events_read_block(struct trace *trace, const struct event_sink *sink);
struct ebt_error *events_read_net(struct trace *trace, const struct event_sink *sink);
struct ebt_error *events_read_dbus(struct trace *trace, const struct event_sink *sink);
struct ebt_error *events_read_logs(struct trace *trace, const struct event_sink *sink);
struct ebt_error *events_read_irqs(struct trace *trace, const struct event_sink *sink);
struct ebt_error *events_read_faults(struct trace *trace, const struct event_sink *sink);

/* The key of a track of a thread. */
static inline uint64_t event_thread_key(const struct ebt_task *task)
{
	return task ? task->id + UINT64_C(1) : 0;
}

/* Of what a row tells that was written when it ended. */
static inline void event_ended(struct event *event, uint64_t end, uint64_t duration)
{
	event->dur = duration < end ? duration : end;
	event->time = end - event->dur;
}

static inline int64_t event_value(uint64_t value)
{
	return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

static inline struct ebt_error *event_give(const struct event_sink *sink, const struct event *event)
{
	return sink->take(sink->arg, event);
}

#endif
