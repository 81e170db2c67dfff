/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Switches and wakings as events of ftrace, of which those of a CPU that follow each other are one
 * packet; see perfetto.h. Tasks that filters leave out, and those that the recording did not
 * follow, whose other switches are not there, are as if the CPU were idle: what a switch says fits
 * to the next.
 */
#include <stdlib.h>

#include "format/base/compare.h"
#include "report/export/perfetto.h"
#include "report/trace/followed.h"

#define MOST_EVENTS 4096       /* that are kept to be put together */
#define MOST_NAMES  (1u << 20) /* bytes of the names that they have, about */
#define IDLE_PRIO   120

/* Bits of the state of a task, and what the tracepoint of Linux since 4.14 has in their place. */
enum {
	STATE_UNINTERRUPTIBLE = 0x2,
	STATE_EXIT_DEAD = 0x10,
	STATE_ALIKE = 0x7f, /* these are the same */
	STATE_DEAD = 0x80,
	STATE_NOLOAD = 0x400,
	STATE_RTLOCK_WAIT = 0x1000,
	STATE_FROZEN = 0x8000,
	REPORT_IDLE = 0x80,
	REPORT_PREEMPTED = 0x100,
};

/* trace_flag_type of the kernel: where a waking came from. */
enum {
	FLAG_HARDIRQ = 0x8,
	FLAG_SOFTIRQ = 0x10,
};

struct switched {
	int32_t tid; /* 0: idle */
	int32_t prio;
	size_t name; /* in sched_writer.names */
};

struct sched_event {
	uint64_t time;
	uint32_t cpu, number; /* number: in the order in which they came */
	bool is_switch;
	struct switched prev, next; /* the waker, and who was woken */
	int64_t state;		    /* of a waking: flags */
};

struct sched_messages {
	Perfetto__FtraceEvent event;
	union {
		Perfetto__SchedSwitchFtraceEvent is_switch;
		Perfetto__SchedWakingFtraceEvent waking;
	};
};

struct sched_writer {
	struct perfetto *p;
	struct followed *followed;
	struct sched_event *events;
	struct sched_messages *messages;
	Perfetto__FtraceEvent **list;
	size_t n;
	struct text names;
	struct export_gaps gaps;
	uint64_t n_gaps; /* that were there before the events at hand */
	bool lost;	 /* likewise: rows are missing */
};

/* The kernel says one thing only: the highest bit. */
static int64_t reported_state(uint64_t state, bool preempt)
{
	uint64_t alike = state & STATE_ALIKE;

	if (preempt)
		return REPORT_PREEMPTED;
	if (state & STATE_UNINTERRUPTIBLE && state & STATE_NOLOAD)
		return REPORT_IDLE;
	if (state & (STATE_RTLOCK_WAIT | STATE_FROZEN))
		return STATE_UNINTERRUPTIBLE;
	if (!alike && state & STATE_DEAD)
		return STATE_EXIT_DEAD;
	while (alike & (alike - 1))
		alike &= alike - 1;
	return (int64_t)alike;
}

/* --- packets --- */

static int compare(const void *a, const void *b)
{
	const struct sched_event *x = a, *y = b;

	return ebt_compare(x->cpu, y->cpu) ?: ebt_compare(x->number, y->number);
}

static char *name_of(const struct sched_writer *w, const struct switched *task)
{
	return w->names.data + task->name;
}

static void fill_switch(const struct sched_writer *w, const struct sched_event *event,
			struct sched_messages *messages)
{
	Perfetto__SchedSwitchFtraceEvent *message = &messages->is_switch;

	perfetto__sched_switch_ftrace_event__init(message);
	message->prev_comm = name_of(w, &event->prev);
	PERFETTO_SET(message, prev_pid, event->prev.tid);
	PERFETTO_SET(message, prev_prio, event->prev.prio);
	PERFETTO_SET(message, prev_state, event->state);
	message->next_comm = name_of(w, &event->next);
	PERFETTO_SET(message, next_pid, event->next.tid);
	PERFETTO_SET(message, next_prio, event->next.prio);
	messages->event.event_case = PERFETTO__FTRACE_EVENT__EVENT_SCHED_SWITCH;
	messages->event.sched_switch = message;
}

static void fill_waking(const struct sched_writer *w, const struct sched_event *event,
			struct sched_messages *messages)
{
	Perfetto__SchedWakingFtraceEvent *message = &messages->waking;

	perfetto__sched_waking_ftrace_event__init(message);
	message->comm = name_of(w, &event->next);
	PERFETTO_SET(message, pid, event->next.tid);
	PERFETTO_SET(message, prio, event->next.prio);
	PERFETTO_SET(&messages->event, common_flags, (uint32_t)event->state);
	messages->event.event_case = PERFETTO__FTRACE_EVENT__EVENT_SCHED_WAKING;
	messages->event.sched_waking = message;
}

/* Those of one CPU. */
static void put_bundle(struct sched_writer *w, const struct sched_event *events, size_t n)
{
	Perfetto__FtraceEventBundle bundle = PERFETTO__FTRACE_EVENT_BUNDLE__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	for (size_t i = 0; i < n; i++) {
		struct sched_messages *messages = &w->messages[i];

		perfetto__ftrace_event__init(&messages->event);
		PERFETTO_SET(&messages->event, timestamp, perfetto_time(w->p, events[i].time));
		PERFETTO_SET(&messages->event, pid, (uint32_t)events[i].prev.tid);
		if (events[i].is_switch)
			fill_switch(w, &events[i], messages);
		else
			fill_waking(w, &events[i], messages);
		w->list[i] = &messages->event;
	}
	PERFETTO_SET(&bundle, cpu, events->cpu);
	if (w->lost)
		PERFETTO_SET(&bundle, lost_events, true);
	bundle.event = w->list;
	bundle.n_event = n;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_FTRACE_EVENTS;
	packet.ftrace_events = &bundle;
	perfetto_put(w->p, &packet);
}

static void put_bundles(struct sched_writer *w)
{
	size_t end;

	export_gaps_update(&w->gaps, trace_reader(w->p->e->trace));
	w->lost |= w->gaps.total != w->n_gaps;
	w->n_gaps = w->gaps.total;
	qsort(w->events, w->n, sizeof(*w->events), compare);
	for (size_t from = 0; from < w->n; from = end) {
		for (end = from + 1; end < w->n && w->events[end].cpu == w->events[from].cpu;)
			end++;
		put_bundle(w, w->events + from, end - from);
	}
	w->lost &= !w->n;
	w->n = 0;
	text_clear(&w->names);
}

/* --- rows --- */

static bool is_shown(const struct sched_writer *w, const struct ebt_task *task)
{
	return task && trace_task_wanted(w->p->e->trace, task) && followed_has(w->followed, task);
}

static struct ebt_error *find_switched(struct sched_writer *w, const struct ebt_task *task,
				       struct switched *ret)
{
	struct ebt_error *err = NULL;
	uint32_t i;

	*ret = (struct switched){ .prio = IDLE_PRIO, .name = w->names.len };
	if (task)
		err = perfetto_thread(w->p, task, &i);
	if (err)
		return err;
	if (task) {
		ret->tid = (int32_t)w->p->threads[i].tid;
		ret->prio = w->p->threads[i].prio;
		text_utf8(&w->names, text_comm(task->comm));
	} else {
		text_cstr(&w->names, "swapper");
	}
	text_addc(&w->names, '\0');
	return text_error(&w->names);
}

static struct ebt_error *add(struct sched_writer *w, struct sched_event *event, uint64_t cpu,
			     const struct ebt_task *prev, const struct ebt_task *next)
{
	struct ebt_error *err;

	if (cpu >= PERFETTO_MOST_CPUS) {
		export_leave_out(w->p->e, "switches and wakings on CPUs from 1024 on", 1);
		return NULL;
	}
	if (w->n == MOST_EVENTS || w->names.len > MOST_NAMES)
		put_bundles(w);
	err = find_switched(w, prev, &event->prev) ?: find_switched(w, next, &event->next);
	if (err)
		return err;
	event->cpu = (uint32_t)cpu;
	event->number = (uint32_t)w->n;
	w->events[w->n++] = *event;
	return NULL;
}

static struct ebt_error *take_switch(struct sched_writer *w, const struct ebt_row *row)
{
	const struct ebt_task *prev = ebt_sched_switch_prev(row),
			      *next = ebt_sched_switch_next(row);
	struct sched_event event = { .time = row->time, .is_switch = true };

	prev = is_shown(w, prev) ? prev : NULL;
	next = is_shown(w, next) ? next : NULL;
	if (!prev && !next)
		return NULL;
	if (prev)
		event.state = reported_state(ebt_sched_switch_prev_state(row),
					     ebt_sched_switch_preempt(row));
	return add(w, &event, ebt_sched_switch_cpu(row), prev, next);
}

/* The waker may be anybody. */
static struct ebt_error *take_waking(struct sched_writer *w, const struct ebt_row *row)
{
	const struct ebt_task *wakee = ebt_sched_waking_wakee(row);
	const uint64_t kind = ebt_sched_waking_kind(row);
	struct sched_event event = { .time = row->time };

	if (!is_shown(w, wakee))
		return NULL;
	if (kind == EBT_V_sched_waking_kind_by_interrupt)
		event.state = FLAG_HARDIRQ;
	else if (kind == EBT_V_sched_waking_kind_in_soft_interrupt)
		event.state = FLAG_SOFTIRQ;
	return add(w, &event, ebt_sched_waking_cpu(row), ebt_sched_waking_waker(row), wakee);
}

/* What comes behind it is behind the loss. */
static void take_lost(struct sched_writer *w, const struct ebt_row *row)
{
	const uint64_t table = ebt_lost_table_id(row);

	if (table != EBT_T_sched_switch && table != EBT_T_sched_waking)
		return;
	put_bundles(w);
	w->lost = true;
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	switch (row->batch->table->id) {
	case EBT_T_sched_switch:
		return take_switch(arg, row);
	case EBT_T_sched_waking:
		return take_waking(arg, row);
	default:
		take_lost(arg, row);
		return NULL;
	}
}

struct ebt_error *perfetto_put_sched(struct perfetto *p)
{
	static const struct ebt_want wants[] = {
		EBT_WANT(sched_switch, cpu, prev, next, prev_state, preempt),
		EBT_WANT(sched_waking, cpu, waker, wakee, kind),
		EBT_WANT(lost, table_id),
	};
	struct sched_writer w = {
		.p = p,
		.events = calloc(MOST_EVENTS, sizeof(*w.events)),
		.messages = calloc(MOST_EVENTS, sizeof(*w.messages)),
		.list = calloc(MOST_EVENTS, sizeof(Perfetto__FtraceEvent *)),
		.names = TEXT_INIT,
	};
	struct ebt_error *err = followed_create(trace_reader(p->e->trace), &w.followed);

	export_gaps_update(&w.gaps, trace_reader(p->e->trace));
	w.n_gaps = w.gaps.total;
	if (!err && (!w.events || !w.messages || !w.list))
		err = &ebt_enomem;
	err = err ?: trace_read_rows(p->e->trace, wants, 3, 0, take_row, &w);
	if (!err)
		put_bundles(&w);
	followed_destroy(w.followed);
	free(w.events);
	free(w.messages);
	free(w.list);
	text_deinit(&w.names);
	return err;
}
