/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks: what programs said that they did (table mark) and what probes saw (probe_hit), as spans
 * and instants in order of their beginning, whenever the recorder heard of them. Begin and end are
 * put together: by the nearest open begin of the same thread, group and name, or, where there is a
 * key, by process, group, name and key, whichever threads. Prints nothing.
 *
 *	_cleanup_(marks_destroyp) struct marks *marks = NULL;
 *
 *	err = marks_create(trace, &(struct marks_options){ .name = "frame*" }, &marks);
 *	for (size_t i = 0; i < marks_n(marks); i++)
 *		use(marks_at(marks, i), marks_name(marks, marks_at(marks, i)->name));
 *
 * Memory: 40 bytes a mark, 24 bytes a begin whose end has not been seen yet, and each group, name
 * and message once. With --interval the trace is read once.
 */
#ifndef REPORT_MARKS_MODEL_MARKS_H
#define REPORT_MARKS_MODEL_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/read/reader.h"
#include "report/trace/trace.h"

enum mark_kind { MARK_INSTANT = EBT_V_mark_kind_instant, MARK_SPAN = EBT_V_mark_kind_span };

enum mark_origin {
	MARK_EBMARK = EBT_V_mark_origin_ebmark,
	MARK_SYSPROF = EBT_V_mark_origin_sysprof,
	MARK_PROBES, /* and behind it those of probe.kind */
	MARK_TP = MARK_PROBES + EBT_V_probe_kind_tp,
	MARK_UPROBE = MARK_PROBES + EBT_V_probe_kind_uprobe,
	MARK_USDT = MARK_PROBES + EBT_V_probe_kind_usdt,
	MARK_OTHER, /* of a file that knows more */
	MARK_N_ORIGINS,
};

/* Which end of a span is not known. Such a span is as long as it can have been. */
enum mark_open {
	MARK_NO_BEGIN = 1 << 0, /* from the beginning of the recording or of the thread */
	MARK_NO_END = 1 << 1,	/* to the end of the recording or of the thread */
	MARK_CUT = 1 << 2,	/* no end either: to when it was seen that it was left */
};

struct mark {
	uint64_t start, end;	     /* CLOCK_MONOTONIC ns; equal: an instant, or a span of 0 ns */
	const struct ebt_task *task; /* where it began; NULL: not known. As long as the reader */
	uint32_t cpu;		     /* where it began; of one told as a whole: ended */
	uint32_t name;		     /* of marks_name() */
	uint32_t message;	     /* of marks_message() */
	uint8_t kind;		     /* enum mark_kind */
	uint8_t origin;		     /* enum mark_origin */
	uint8_t open;		     /* of enum mark_open; 0: begin and end are known */
};

/* A group and a name in it. Text is of strangers; it has no NUL inside. */
struct mark_name {
	const char *group, *name;
	uint32_t group_id; /* the same for all names of a group; any number */
};

/* All zero: all marks, without messages. */
struct marks_options {
	const char *group;    /* glob; NULL: all */
	const char *name;     /* glob of the name, or of "group/name"; NULL: all */
	unsigned int origins; /* bit 1 << enum mark_origin; 0: all */
	uint64_t min_ns;      /* shorter ones are left out, instants too */
	bool messages;	      /* they are wanted */
};

struct marks;

/*
 * Those that pass --pid, --tid and --comm by the task where they began, --cpu by `cpu`, and that
 * overlap the window: a span that is longer than the window is there, with its own start and end.
 */
struct ebt_error *marks_create(struct trace *trace, const struct marks_options *options,
			       struct marks **ret);
/* Accepts NULL. */
void marks_destroy(struct marks *marks);
DEFINE_CLEANUP(struct marks *, marks_destroy);

/* In order of start; of those with the same start the longest first. */
size_t marks_n(const struct marks *marks);
const struct mark *marks_at(const struct marks *marks, size_t i);

/* Names have numbers from 0 in order of appearance; some may be of no mark that is wanted. */
uint32_t marks_n_names(const struct marks *marks);
const struct mark_name *marks_name(const struct marks *marks, uint32_t name);

/* Empty without marks_options.messages. */
struct ebt_str marks_message(const struct marks *marks, const struct mark *mark);

static inline uint64_t mark_duration(const struct mark *mark)
{
	return mark->end - mark->start;
}

static inline const char *mark_kind_name(const struct mark *mark)
{
	return mark->kind == MARK_SPAN ? "span" : "instant";
}

const char *mark_origin_name(unsigned int origin);

/* Why there are none: how to record them. Also where filters leave none. */
struct ebt_error *marks_warn_none(struct trace *trace);

#endif
