/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happened at a moment or for a time, kind by kind, with the words that reports have for it:
 * for the page, and for the formats of other programs. A sink takes events one by one and keeps
 * what it wants; nothing is joined, cut or left out here.
 */
#ifndef REPORT_EVENTS_EVENTS_H
#define REPORT_EVENTS_EVENTS_H

#include "report/stacks/model_calltree.h"
#include "report/trace/trace.h"

/* What an event is, the track it is on, its thread (`task`), who else took part (`other`). */
enum event_kind {
	EVENT_SYSCALL, /* a call; of a thread; that one; nobody. value: its result */
	EVENT_MARK,    /* of a thread and group; that thread; nobody. value: 0 */
	EVENT_BLOCK,   /* a request; of a disk; nobody; for whom it is. value: bytes */
	EVENT_NET,     /* a connection; of a process; its last user; that one. value: bytes */
	EVENT_DBUS, /* a message, a call until its answer; of a bus; nobody; nobody. value: bytes */
	EVENT_LOG,  /* a line; of a thread, or process, and origin; that thread. value: severity */
	EVENT_IRQ,  /* of a CPU, `track` is its number; nobody; who was interrupted. Or a work
		     * item; of a thread, EVENT_WORK_TRACKS is in `track`; that one; nobody.
		     * value: ns without those within it */
	EVENT_FAULT, /* of a thread; that one; nobody. value: the address, as a uint64_t */
	EVENT_N_KINDS,
};

struct event_kind_words {
	const char *name;  /* one word */
	const char *many;  /* several of them */
	const char *value; /* what `value` is; NULL: nothing */
};
extern const struct event_kind_words event_kinds[EVENT_N_KINDS];

#define EVENT_WORK_TRACKS (UINT64_C(1) << 63)

#define EVENT_FAILED	  1
#define EVENT_OPEN	  2 /* its beginning or its end is not in the trace */

/* Numbers and texts are a stranger's: times may lie outside the trace, texts have any bytes. */
struct event {
	enum event_kind kind;
	uint64_t time, dur; /* CLOCK_MONOTONIC ns, ns; of an instant 0 */
	int64_t value;
	const struct ebt_task *task; /* whose track it is on; NULL: no thread's, or not known */
	uint64_t track;		     /* key of the track among those of its kind */
	struct ebt_str track_name;   /* texts are there during the call */
	struct ebt_str name, detail;
	uint32_t node;		      /* of sink.place(); 0: no stack */
	const struct ebt_task *other; /* who took part; NULL: nobody */
	uint8_t flags;		      /* EVENT_… */
	bool notable;		      /* it failed, or is rare: the last to be left out */
};

struct event_sink {
	struct ebt_error *(*take)(void *arg, const struct event *event);
	/* Is the detail of this system call wanted? It costs most of the time. NULL: each is. */
	bool (*wants_detail)(void *arg, const struct event *event);
	/* Makes `node` of a stack; called before take(). NULL: no stacks are wanted. */
	struct ebt_error *(*place)(void *arg, const struct calltree_stack *stack, uint32_t *ret);
	void *arg;
};

/* Those of the window and filters, about in order of their ends. A trace without rows of the kind
 * has none. */
struct ebt_error *events_read(struct trace *trace, enum event_kind kind,
			      const struct event_sink *sink);

#endif
