/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events as spans and moments, time off CPU, counters, and what was lost; see perfetto.h. */
#include <inttypes.h>
#include <string.h>

#include "report/export/perfetto.h"

#define NOBODY UINT64_MAX /* key of what is no thread's */

static void note_thread(struct perfetto *p, const char *key, const struct ebt_task *task)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	text_task(&text, names_task(p->e->names, task), task->tid);
	perfetto_note_text(p, key, text_str(&text));
}

/* Of a thread, and where it is not known, of nobody. */
static struct ebt_error *below_thread(struct perfetto *p, const struct ebt_task *task,
				      struct perfetto_place *place)
{
	return task ? perfetto_thread_track(p, task, &place->parent) : NULL;
}

/* --- time off CPU --- */

static struct ebt_error *take_off(void *arg, const struct sched_off *off, uint32_t node)
{
	struct perfetto *p = arg;
	struct perfetto_place place = {
		.kind = PERFETTO_OFF_CPU,
		.key = off->task->id,
		.name = ebt_str_of("off CPU"),
	};
	struct ebt_error *err = below_thread(p, off->task, &place);
	uint64_t track;

	err = err ?: perfetto_lane(p, &place, off->start, off->end, &track)
		  ?: perfetto_stack(p, node);
	if (err || !track)
		return err;
	perfetto_begin(p, "offcpu", ebt_str_of(sched_why_name(off->why)), track);
	if (node) {
		PERFETTO_SET(&p->event.message, callstack_iid, node);
		PERFETTO_SET(&p->event.message, callstack_weight, (double)(off->end - off->start));
	}
	if (off->runnable)
		perfetto_note_i64(p, "runqueue_ns", (int64_t)(off->end - off->runnable));
	if (off->woken && off->waker)
		note_thread(p, "waker", off->waker);
	else if (off->woken)
		perfetto_note_text(p, "waker", ebt_str_of("[interrupt]"));
	if (sched_is_open(off->flags))
		perfetto_note_true(p, "open");
	if (off->flags & SCHED_DOUBTFUL)
		perfetto_note_true(p, "doubtful");
	return perfetto_put_span(p, off->start, off->end);
}

struct ebt_error *perfetto_put_off(struct perfetto *p)
{
	const struct export_intervals intervals = { .off = take_off, .arg = p };

	return export_intervals(p->e, &intervals);
}

/* --- events --- */

static struct ebt_error *place_irq(struct perfetto *p, const struct event *event,
				   struct perfetto_place *place)
{
	struct ebt_error *err = NULL;

	if (event->track & EVENT_WORK_TRACKS)
		return below_thread(p, event->task, place);
	if (!p->interrupts)
		err = perfetto_track(p, ebt_str_of("interrupts"), 0, NULL, &p->interrupts);
	place->parent = p->interrupts;
	return err;
}

/* Marks are on the track of their thread, and only what does not fit there is below it. */
static struct ebt_error *place_mark(struct perfetto *p, const struct event *event,
				    struct perfetto_place *place)
{
	struct ebt_error *err = below_thread(p, event->task, place);

	place->nests = true;
	place->key = event->task ? event->task->id : NOBODY;
	place->first = place->parent;
	if (!event->task)
		place->name = ebt_str_of("marks");
	return err;
}

static struct ebt_error *place_event(struct perfetto *p, const struct event *event,
				     struct text *name, struct perfetto_place *place)
{
	*place = (struct perfetto_place){
		.kind = (enum perfetto_groups)event->kind,
		.key = event->track,
		.name = event->track_name,
	};
	switch (event->kind) {
	case EVENT_SYSCALL:
	case EVENT_FAULT:
	case EVENT_LOG:
		return below_thread(p, event->task, place);
	case EVENT_MARK:
		return place_mark(p, event, place);
	case EVENT_IRQ:
		return place_irq(p, event, place);
	case EVENT_NET:
		return event->task ? perfetto_process_track(p, event->task, &place->parent) : NULL;
	case EVENT_BLOCK:
	case EVENT_DBUS:
		text_cstr(name, event->kind == EVENT_BLOCK ? "disk " : "D-Bus ");
		text_add(name, event->track_name.data, event->track_name.len);
		place->name = text_str(name);
		return text_error(name);
	case EVENT_N_KINDS:
		break;
	}
	return NULL;
}

static void note_event(struct perfetto *p, const struct event *event)
{
	const char *value = event_kinds[event->kind].value;

	if (event->node)
		PERFETTO_SET(&p->event.message, callstack_iid, event->node);
	if (event->kind == EVENT_LOG)
		perfetto_note_text(p, "severity", event->name);
	else if (event->detail.len)
		perfetto_note_text(p, "detail", event->detail);
	if (event->kind == EVENT_MARK)
		perfetto_note_text(p, "group", event->track_name);
	if (event->kind == EVENT_FAULT && event->dur)
		perfetto_note_i64(p, "duration_ns", (int64_t)event->dur);
	if (event->kind == EVENT_FAULT)
		perfetto_note_address(p, value, (uint64_t)event->value);
	else if (value && event->kind != EVENT_LOG)
		perfetto_note_i64(p, value, event->value);
	if (event->other && event->other != event->task)
		note_thread(p, "thread", event->other);
	if (event->flags & EVENT_FAILED)
		perfetto_note_true(p, "failed");
	if (event->flags & EVENT_OPEN)
		perfetto_note_true(p, "open");
}

/* A line of a log is called what it says. */
static struct ebt_error *take_event(void *arg, const struct event *event)
{
	struct perfetto *p = arg;
	const enum event_kind kind = event->kind;
	const bool moment = kind == EVENT_FAULT || kind == EVENT_LOG ||
			    (!event->dur && (kind == EVENT_MARK || kind == EVENT_DBUS));
	const uint64_t end = moment ? event->time : export_end(event->time, event->dur);
	_cleanup_text_ struct text name = TEXT_INIT;
	struct perfetto_place place;
	struct ebt_error *err = place_event(p, event, &name, &place);
	uint64_t track;

	err = err ?: perfetto_lane(p, &place, event->time, end, &track)
		  ?: perfetto_stack(p, event->node);
	if (err || !track)
		return err;
	perfetto_begin(p, event_kinds[kind].name, kind == EVENT_LOG ? event->detail : event->name,
		       track);
	note_event(p, event);
	return moment ? perfetto_put_instant(p, event->time)
		      : perfetto_put_span(p, event->time, end);
}

static struct ebt_error *place_stack(void *arg, const struct calltree_stack *stack, uint32_t *ret)
{
	const struct perfetto *p = arg;

	return calltree_place(p->e->tree, stack, ret);
}

struct ebt_error *perfetto_put_events(struct perfetto *p)
{
	const struct event_sink sink = { .take = take_event, .arg = p };
	struct ebt_error *err = NULL;

	for (enum event_kind kind = 0; !err && kind < EVENT_N_KINDS; kind++) {
		if (kind != EVENT_MARK)
			err = events_read(p->e->trace, kind, &sink);
	}
	return err;
}

struct ebt_error *perfetto_put_marks(struct perfetto *p)
{
	const struct event_sink sink = { .take = take_event, .place = place_stack, .arg = p };

	return export_stacks(p->e, EBT_T_probe_hit) ?: events_read(p->e->trace, EVENT_MARK, &sink);
}

/* --- counters --- */

/* Readings from before what is exported hold then. */
static void put_point(struct perfetto *p, uint64_t track, uint64_t time, double value)
{
	const uint64_t from = trace_from_ns(p->e->trace);
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	PERFETTO_SET(&event, type, PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER);
	PERFETTO_SET(&event, track_uuid, track);
	PERFETTO_SET(&event, double_counter_value, value);
	PERFETTO_SET(&packet, timestamp, perfetto_time(p, time < from ? from : time));
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT;
	packet.track_event = &event;
	perfetto_put(p, &packet);
}

static struct ebt_error *add_counter(struct perfetto *p, const struct counter *counter,
				     uint64_t *ret)
{
	Perfetto__CounterDescriptor descriptor = PERFETTO__COUNTER_DESCRIPTOR__INIT;
	_cleanup_text_ struct text unit = TEXT_INIT;
	struct ebt_error *err = NULL;
	uint64_t parent;

	text_utf8(&unit, ebt_str_of(counter->unit));
	if (counter->cumulative)
		text_cstr(&unit, *counter->unit ? "/s" : "1/s");
	descriptor.unit_name = (char *)text_get(&unit);
	if (!p->counters && !counter->owner)
		err = perfetto_track(p, ebt_str_of("counters"), 0, NULL, &p->counters);
	parent = p->counters;
	if (counter->owner)
		err = perfetto_process_track(p, counter->owner, &parent);
	return err ?: text_error(&unit)
		   ?: perfetto_track(p, ebt_str_of(counter->name), parent,
				     &descriptor, ret);
}

/* A value is drawn up to the next: a speed stands where it began. */
static struct ebt_error *put_counter(void *arg, const struct counter *counter)
{
	struct perfetto *p = arg;
	uint64_t track;
	struct ebt_error *err = add_counter(p, counter, &track);

	for (size_t i = counter->cumulative; !err && i < counter->n_points; i++) {
		const struct out_point *point = &counter->points[i];

		if (counter->cumulative)
			put_point(p, track, point[-1].time, counter_rate(&point[-1], point));
		else
			put_point(p, track, point->time, point->value);
	}
	return err;
}

struct ebt_error *perfetto_put_counters(struct perfetto *p)
{
	return export_counters(p->e, put_counter, p);
}

/* --- what was lost --- */

static const struct perfetto_place lost_place = {
	.kind = PERFETTO_LOST,
	.name = { "lost rows", 9 },
};

/* From when to when; what is not known is as short as can be. */
static struct ebt_error *begin_lost(struct perfetto *p, struct ebt_str name, uint64_t *from,
				    uint64_t to, uint64_t *ret)
{
	const uint64_t first = trace_from_ns(p->e->trace);
	struct ebt_error *err;

	if (*from < first)
		*from = first;
	if (*from > to)
		*from = to;
	err = perfetto_lane(p, &lost_place, *from, to, ret);
	if (!err && *ret)
		perfetto_begin(p, "lost", name, *ret);
	return err;
}

static struct ebt_error *take_lost(void *arg, const struct ebt_row *row)
{
	struct perfetto *p = arg;
	const uint64_t id = ebt_lost_table_id(row);
	const struct ebt_table *table = id <= UINT16_MAX ? ebt_table_by_id((uint16_t)id) : NULL;
	const char *reason = ebt_row_value_name(row, EBT_F_lost_reason);
	uint64_t from = ebt_lost_from(row), track;
	struct ebt_error *err =
		begin_lost(p, ebt_str_of(table ? table->name : "rows"), &from, row->time, &track);

	if (err || !track)
		return err;
	perfetto_note_i64(p, "count", (int64_t)ebt_lost_count(row));
	perfetto_note_text(p, "reason", ebt_str_of(reason ? reason : "other"));
	if (ebt_lost_source(row).len)
		perfetto_note_text(p, "source", ebt_lost_source(row));
	if (ebt_lost_detail(row).len)
		perfetto_note_text(p, "detail", ebt_lost_detail(row));
	return perfetto_put_span(p, from, row->time);
}

/* What could not be read. */
static struct ebt_error *put_gap(struct perfetto *p, const struct export_gap *gap)
{
	const struct ebt_table *table = gap->is_chunk ? ebt_table_by_id(gap->table) : NULL;
	const uint64_t last = trace_window_end_ns(p->e->trace),
		       to = gap->to < last ? gap->to : last;
	uint64_t from = gap->from, track;
	struct ebt_error *err;

	if (!trace_overlaps(p->e->trace, gap->from, gap->to))
		return NULL;
	err = begin_lost(p, ebt_str_of(table ? table->name : "rows"), &from, to, &track);
	if (err || !track)
		return err;
	if (gap->is_chunk)
		perfetto_note_i64(p, "count", gap->rows);
	perfetto_note_text(p, "reason", ebt_str_of("damaged file"));
	perfetto_note_text(p, "detail", ebt_str_of(gap->what));
	return perfetto_put_span(p, from, to);
}

struct ebt_error *perfetto_put_lost(struct perfetto *p)
{
	static const struct ebt_want want =
		EBT_WANT(lost, from, count, table_id, reason, source, detail);
	struct export_gaps gaps = { 0 };
	const struct export_gap *gap;
	struct ebt_error *err = trace_read_rows(p->e->trace, &want, 1, 0, take_lost, p);

	export_gaps_update(&gaps, trace_reader(p->e->trace));
	while (!err && (gap = export_gaps_tell(&gaps, UINT64_MAX)))
		err = put_gap(p, gap);
	return err;
}
