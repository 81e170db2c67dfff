/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace of Perfetto, packet by packet: proto/perfetto.proto. Kinds of events stand one behind the
 * other, as its trace processor sorts packets by time; of the same time it leaves them in order.
 *
 * Times are of CLOCK_BOOTTIME, as events of ftrace are that alone there.
 */
#ifndef REPORT_EXPORT_PERFETTO_H
#define REPORT_EXPORT_PERFETTO_H

#include "format/base/map.h"
#include "report/base/interned.h"
#include "report/events/events.h"
#include "report/export/export.h"
#include "report/export/gaps.h"
#include "report/export/lane.h"
#include "report/export/message.h"
#include "report/export/proto/perfetto.pb-c.h"
#include "report/export/threads.h"
#include "report/procs/model_procs.h"

#define PERFETTO_MOST_CPUS  1024 /* the trace processor takes no more */
#define PERFETTO_MOST_NOTES 8	 /* of an event */
/* Of what overlaps on one track: more is left out. */
#define PERFETTO_MOST_LANES 1024

#define PERFETTO_SET(message, field, value) \
	((message)->has_##field = true, (message)->field = (value))

/* From this time on CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC by so much. */
struct perfetto_step {
	uint64_t from, ahead, uncertainty;
};

/* Numbers are those in the file; tracks are by number, from 1 on; 0: there is none yet. */
struct perfetto_process {
	uint32_t pid;
	uint32_t main; /* 1 + the index of its first thread; 0: not met */
	uint64_t track;
};

struct perfetto_thread {
	uint32_t tid, process;
	int32_t prio;
	uint64_t track;
};

struct perfetto_lane {
	uint64_t track;
	struct export_lane spans;
};

/* Tracks of one name below one track. */
struct perfetto_group {
	struct perfetto_lane *lanes;
	size_t n, capacity;
};

enum perfetto_groups {
	PERFETTO_OFF_CPU = EVENT_N_KINDS,
	PERFETTO_LOST,
	PERFETTO_N_GROUPS,
};

struct perfetto_place {
	enum perfetto_groups kind;
	uint64_t key;	 /* of the group among those of its kind */
	uint64_t parent; /* a track; 0: none */
	uint64_t first;	 /* the first track, where it is another one's; or 0 */
	struct ebt_str name;
	bool nests;
};

/* The event at hand. */
struct perfetto_event {
	Perfetto__TrackEvent message;
	Perfetto__DebugAnnotation notes[PERFETTO_MOST_NOTES], *note[PERFETTO_MOST_NOTES];
	uint64_t category;
	struct ebt_error *err; /* the first */
	struct text name, texts[PERFETTO_MOST_NOTES];
};

struct perfetto {
	struct export *e;
	struct message_writer *writer;
	struct procs *procs;
	struct perfetto_step *steps;
	size_t n_steps, steps_capacity, step;

	struct perfetto_process *processes;
	struct perfetto_thread *threads;
	size_t n_processes, processes_capacity, n_threads, threads_capacity;
	struct ebt_map by_process, by_task; /* names_process_key(), task->id */
	struct export_numbers numbers;	    /* of processes and threads */

	uint64_t n_tracks, interrupts, counters;
	struct perfetto_group *groups;
	size_t n_groups, groups_capacity;
	struct ebt_map group_of[PERFETTO_N_GROUPS];
	struct perfetto_event event;

	/* What was interned, by node and by function of the tree, and by number of a text. */
	struct interned texts;
	unsigned char *has_node, *has_func, *has_text;
	size_t n_has_node, n_has_func, n_has_text;
	struct ebt_map by_object;
	uint32_t n_objects;
	uint64_t *path;
	size_t path_capacity;
};

/* --- perfetto.c --- */

/* Completes a packet and writes it. */
void perfetto_put(struct perfetto *p, Perfetto__TracePacket *packet);
/* CLOCK_BOOTTIME at a time of the trace. */
uint64_t perfetto_time(struct perfetto *p, uint64_t time);

/* --- perfetto_tasks.c --- */

/* Index of a thread, which is described where it is met first. */
struct ebt_error *perfetto_thread(struct perfetto *p, const struct ebt_task *task, uint32_t *ret);
/* All processes that the filters choose. */
struct ebt_error *perfetto_put_processes(struct perfetto *p);
struct ebt_error *perfetto_thread_track(struct perfetto *p, const struct ebt_task *task,
					uint64_t *ret);
struct ebt_error *perfetto_process_track(struct perfetto *p, const struct ebt_task *task,
					 uint64_t *ret);

/* --- perfetto_tracks.c --- */

/* Its number, which it gets here. */
uint64_t perfetto_put_track(struct perfetto *p, Perfetto__TrackDescriptor *track);
/* parent: a track, or 0. counter: NULL, or what the track is of. */
struct ebt_error *perfetto_track(struct perfetto *p, struct ebt_str name, uint64_t parent,
				 Perfetto__CounterDescriptor *counter, uint64_t *ret);
/* A track of the group on which there is room from `start` to `end`; 0: there are too many. */
struct ebt_error *perfetto_lane(struct perfetto *p, const struct perfetto_place *place,
				uint64_t start, uint64_t end, uint64_t *ret);
/* The event at hand begins; notes follow, and then it is put, which says whether all of it went
 * well. Categories and keys of notes are few. */
void perfetto_begin(struct perfetto *p, const char *category, struct ebt_str name, uint64_t track);
void perfetto_note_text(struct perfetto *p, const char *key, struct ebt_str value);
void perfetto_note_true(struct perfetto *p, const char *key);
void perfetto_note_address(struct perfetto *p, const char *key, uint64_t value);
void perfetto_note_i64(struct perfetto *p, const char *key, int64_t value);
/* A moment, or a span. */
struct ebt_error *perfetto_put_instant(struct perfetto *p, uint64_t time);
struct ebt_error *perfetto_put_span(struct perfetto *p, uint64_t start, uint64_t end);
void perfetto_tracks_deinit(struct perfetto *p);

/* --- perfetto_events.c --- */

struct ebt_error *perfetto_put_off(struct perfetto *p);
/* Of all kinds but marks, which may have stacks. */
struct ebt_error *perfetto_put_events(struct perfetto *p);
struct ebt_error *perfetto_put_marks(struct perfetto *p);
struct ebt_error *perfetto_put_counters(struct perfetto *p);
/* Rows that are not there. After all others. */
struct ebt_error *perfetto_put_lost(struct perfetto *p);

/* --- perfetto_sched.c --- */

struct ebt_error *perfetto_put_sched(struct perfetto *p);

/* --- perfetto_stacks.c --- */

/* Tables of interned texts. */
enum perfetto_table {
	PERFETTO_FUNCTION_NAMES = 1 << 0,
	PERFETTO_BUILD_IDS = 1 << 1,
	PERFETTO_MAPPING_PATHS = 1 << 2,
	PERFETTO_SOURCE_PATHS = 1 << 3,
	PERFETTO_CATEGORIES = 1 << 4,
	PERFETTO_EVENT_NAMES = 1 << 5,
	PERFETTO_NOTE_NAMES = 1 << 6,
};

/* The number of a text in a table. 0: there is no room for it. */
struct ebt_error *perfetto_intern(struct perfetto *p, enum perfetto_table table, struct ebt_str s,
				  uint64_t *ret);
struct ebt_error *perfetto_put_samples(struct perfetto *p);
/* Interns the stack of a node, which is its number then. */
struct ebt_error *perfetto_stack(struct perfetto *p, uint32_t node);
void perfetto_stacks_deinit(struct perfetto *p);

#endif
