/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile for the Firefox Profiler; see firefox.h: of each thread its samples, and markers of its
 * time off the CPUs and of what happened to it. What is no thread's, as requests to a disk, has
 * tracks that look like threads of a process "machine".
 *
 * Threads are written one after the other, with columns one after the other, so that samples and
 * markers wait in spools, and details of markers in a file beside these.
 */
#include "report/export/firefox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/array.h"
#include "format/base/fdio.h"
#include "report/base/text.h"
#include "report/export/spool.h"

#define VERSION	    62
#define MOST_DETAIL (1u << 16) /* bytes that are kept of one */
#define MOST_TRACKS (1u << 24)
#define OFF_CPU	    EVENT_N_KINDS /* a type of markers besides the kinds of events */
#define N_TYPES	    (EVENT_N_KINDS + 1)
#define NOBODY	    INTERNED_NONE
#define MACHINE	    "machine"
#define DOUBTFUL    (EVENT_OPEN << 1) /* a flag besides those of events: it may be several */

struct sample_record {
	uint64_t time, ns;
	uint32_t node;
};

struct marker {
	uint64_t time, dur;
	int64_t value;	 /* of OFF_CPU: ns that it waited for a CPU; -1: not known */
	uint64_t detail; /* where it is */
	uint32_t len;	 /* of it */
	uint32_t name;	 /* a text, as is `other`, or NOBODY */
	uint32_t other;
	uint32_t node;
	uint8_t type, flags;
};

/* What looks like a thread. */
struct firefox_track {
	const struct ebt_task *task; /* NULL: idle, or no thread's */
	uint32_t name;		     /* of one without a task */
	uint32_t pid, tid;
	uint32_t pid_again, tid_again; /* 0: nothing else has the number */
};

struct firefox {
	struct export *e;
	struct json json;
	struct firefox_tables tables;
	struct spool *samples, *markers;
	FILE *details; /* NULL: there are none yet */
	uint64_t details_len, details_cut;
	struct firefox_track *tracks;
	size_t n_tracks, capacity;
	struct ebt_map by_key; /* see key_of() */
	struct ebt_map by_process, pid_taken, tid_taken;
	uint32_t n_processes;
	int column;
	char *detail; /* MOST_DETAIL bytes */
	struct text text;
};

/* --- tracks --- */

static uint64_t key_of(const struct ebt_task *task)
{
	return task ? task->id + UINT64_C(1) : 0;
}

#define COUNTERS_KEY (UINT64_C(1) << 63 | (uint64_t)EVENT_N_KINDS << 56)

static uint64_t key_of_group(const struct event *event)
{
	return UINT64_C(1) << 63 | (uint64_t)event->kind << 56 | (event->track & ~0ull >> 8);
}

/* Numbers that came again are told apart. */
static struct ebt_error *number_track(struct firefox *f, struct firefox_track *track)
{
	const uint32_t own = (uint32_t)f->n_tracks;
	uint32_t process, first, thread;
	struct ebt_error *err;

	err = ebt_map_add(&f->by_process, names_process_key(f->e->names, track->task),
			  f->n_processes, &process);
	if (err)
		return err;
	f->n_processes += process == f->n_processes;
	track->pid = track->task->pid ? track->task->pid : track->task->tid;
	track->tid = track->task->tid;
	err = ebt_map_add(&f->pid_taken, track->pid, process, &first)
		      ?: ebt_map_add(&f->tid_taken, track->tid, own, &thread);
	if (err)
		return err;
	track->pid_again = first == process ? 0 : process + 1;
	track->tid_again = thread == own ? 0 : own + 1;
	return NULL;
}

/* name: of one that is no thread's. */
static struct ebt_error *find_track(struct firefox *f, uint64_t key, const struct ebt_task *task,
				    struct ebt_str name, uint32_t *ret)
{
	struct firefox_track track = { .task = task };
	struct ebt_error *err = ebt_array_reserve(&f->tracks, f->n_tracks, &f->capacity)
					?: ebt_map_add(&f->by_key, key, (uint32_t)f->n_tracks, ret);

	if (err || *ret < f->n_tracks)
		return err;
	if (f->n_tracks == MOST_TRACKS)
		return ebt_error_create(EBT_ERR_LIMIT, "there are too many threads: use a filter");
	err = task ? number_track(f, &track) : firefox_text(&f->tables, name, &track.name);
	if (!err)
		f->tracks[f->n_tracks++] = track;
	return err;
}

static struct ebt_error *task_track(struct firefox *f, const struct ebt_task *task, uint32_t *ret)
{
	return find_track(f, key_of(task), task, (struct ebt_str){ "idle", 4 }, ret);
}

static struct ebt_error *event_track(struct firefox *f, const struct event *event, uint32_t *ret)
{
	if (event->task)
		return task_track(f, event->task, ret);
	text_clear(&f->text);
	if (event->kind == EVENT_IRQ)
		text_printf(&f->text, "interrupts of CPU %" PRIu32, (uint32_t)event->track);
	else
		text_printf(&f->text, "%s ", event_kinds[event->kind].many);
	if (event->kind != EVENT_IRQ)
		text_add(&f->text, event->track_name.data, event->track_name.len);
	return text_error(&f->text)
		       ?: find_track(f, key_of_group(event), NULL, text_str(&f->text), ret);
}

/* --- reading --- */

static struct ebt_error *take_sample(void *arg, const struct export_sample *sample)
{
	const struct sample_record record = {
		.time = sample->time,
		.ns = sample->ns,
		.node = sample->node,
	};
	struct firefox *f = arg;
	uint32_t track;

	return task_track(f, sample->task, &track) ?: spool_add(f->samples, track, &record);
}

static struct ebt_error *text_of_task(struct firefox *f, const struct ebt_task *task, uint32_t *ret)
{
	text_clear(&f->text);
	text_task(&f->text, names_task(f->e->names, task), task->tid);
	return text_error(&f->text) ?: firefox_text(&f->tables, text_str(&f->text), ret);
}

static struct ebt_error *take_off(void *arg, const struct sched_off *off, uint32_t node)
{
	struct firefox *f = arg;
	struct marker marker = {
		.time = off->start,
		.dur = off->end - off->start,
		.value = off->runnable ? (int64_t)(off->end - off->runnable) : -1,
		.other = NOBODY,
		.node = node,
		.type = OFF_CPU,
		.flags = (sched_is_open(off->flags) ? EVENT_OPEN : 0) |
			 (off->flags & SCHED_DOUBTFUL ? DOUBTFUL : 0),
	};
	struct ebt_error *err = NULL;
	uint32_t track;

	if (off->woken && off->waker)
		err = text_of_task(f, off->waker, &marker.other);
	else if (off->woken)
		err = firefox_text(&f->tables, (struct ebt_str){ "[interrupt]", 11 },
				   &marker.other);
	text_clear(&f->text);
	text_printf(&f->text, "[off CPU: %s]", sched_why_name(off->why));
	return err      ?: text_error(&f->text)
			?: firefox_text(&f->tables, text_str(&f->text), &marker.name)
			?: task_track(f, off->task, &track)
			?: spool_add(f->markers, track, &marker);
}

static struct ebt_error *open_details(struct firefox *f)
{
	struct ebt_error *err;
	int fd;

	if (f->details)
		return NULL;
	err = ebt_open_temporary(NULL, &fd);
	if (err)
		return err;
	f->details = fdopen(fd, "w+");
	if (f->details)
		return NULL;
	close(fd);
	return &ebt_enomem;
}

static struct ebt_error *keep_detail(struct firefox *f, struct ebt_str detail,
				     struct marker *marker)
{
	const uint32_t len = detail.len > MOST_DETAIL ? MOST_DETAIL : (uint32_t)detail.len;
	struct ebt_error *err = len ? open_details(f) : NULL;

	if (err || !len)
		return err;
	if (fwrite(detail.data, 1, len, f->details) != len)
		return ebt_error_errno(errno, "cannot write to a temporary file");
	f->details_cut += len < detail.len;
	marker->detail = f->details_len;
	marker->len = len;
	f->details_len += len;
	return NULL;
}

static struct ebt_error *take_event(void *arg, const struct event *event)
{
	struct firefox *f = arg;
	struct marker marker = {
		.time = event->time,
		.dur = event->dur,
		.value = event->value,
		.other = NOBODY,
		.node = event->node,
		.type = (uint8_t)event->kind,
		.flags = event->flags,
	};
	struct ebt_error *err = NULL;
	uint32_t track;

	if (event->other && event->other != event->task)
		err = text_of_task(f, event->other, &marker.other);
	return err      ?: firefox_text(&f->tables, event->name, &marker.name)
			?: keep_detail(f, event->detail, &marker)
			?: event_track(f, event, &track)
			?: spool_add(f->markers, track, &marker);
}

static struct ebt_error *place_stack(void *arg, const struct calltree_stack *stack, uint32_t *ret)
{
	const struct firefox *f = arg;

	return calltree_place(f->e->tree, stack, ret);
}

static struct ebt_error *read_all(struct firefox *f)
{
	const struct export_intervals intervals = { .off = take_off, .arg = f };
	struct event_sink sink = { .take = take_event, .arg = f };
	struct ebt_error *err = export_samples(f->e, take_sample, f)
					?: export_intervals(f->e, &intervals)
					?: export_stacks(f->e, EBT_T_probe_hit);

	for (enum event_kind kind = 0; !err && kind < EVENT_N_KINDS; kind++) {
		sink.place = kind == EVENT_MARK ? place_stack : NULL;
		err = events_read(f->e->trace, kind, &sink);
	}
	/* They are read by their places from here on. */
	if (!err && f->details && fflush(f->details))
		err = ebt_error_errno(errno, "cannot write to a temporary file");
	return err;
}

/* --- values --- */

static void put_ms(struct json *json, bool negative, uint64_t ns)
{
	export_put_scaled(json, negative, ns, 6);
}

static void put_time(struct firefox *f, uint64_t time)
{
	const uint64_t start = f->e->start_ns;

	put_ms(&f->json, time < start, time < start ? start - time : time - start);
}

static void put_number(struct json *json, const char *key, uint32_t number, uint32_t again)
{
	char text[32];

	snprintf(text, sizeof(text), again ? "%" PRIu32 ".%" PRIu32 : "%" PRIu32, number, again);
	json_put(json, key, cstr, text);
}

static void put_pid(struct firefox *f, const struct firefox_track *track)
{
	if (track->task)
		put_number(&f->json, "pid", track->pid, track->pid_again);
	else
		json_put(&f->json, "pid", cstr, MACHINE);
}

/* --- samples --- */

enum sample_column { S_STACK, S_TIME, S_WEIGHT, S_CPU, S_N_COLUMNS };

static struct ebt_error *put_sample(void *arg, const void *record)
{
	const struct sample_record *sample = record;
	struct firefox *f = arg;

	switch ((enum sample_column)f->column) {
	case S_STACK:
		if (sample->node)
			json_u64(&f->json, sample->node - 1u);
		else
			json_put_null(&f->json);
		break;
	case S_TIME:
		put_time(f, sample->time);
		break;
	case S_WEIGHT:
		put_ms(&f->json, false, sample->ns);
		break;
	case S_CPU:
		json_exact(&f->json, (double)(sample->ns / 1000));
		break;
	case S_N_COLUMNS:
		break;
	}
	return NULL;
}

static struct ebt_error *put_columns(struct firefox *f, struct spool *spool, uint32_t track,
				     const char *const *names, int n,
				     struct ebt_error *(*put)(void *arg, const void *record))
{
	struct ebt_error *err = NULL;

	for (f->column = 0; !err && f->column < n; f->column++) {
		json_newline(&f->json);
		json_put(&f->json, names[f->column], open_array);
		err = spool_each(spool, track, put, f);
		json_end(&f->json);
	}
	return err;
}

static struct ebt_error *put_samples(struct firefox *f, uint32_t track)
{
	static const char *const names[] = {
		[S_STACK] = "stack",
		[S_TIME] = "time",
		[S_WEIGHT] = "weight",
		[S_CPU] = "threadCPUDelta",
	};
	struct json *json = &f->json;
	struct ebt_error *err;

	json_put(json, "samples", open_object);
	json_put(json, "length", u64, spool_count(f->samples, track));
	json_put(json, "weightType", cstr, "tracing-ms");
	err = put_columns(f, f->samples, track, names, S_N_COLUMNS, put_sample);
	json_end(json);
	return err;
}

/* --- markers --- */

enum marker_column { M_NAME, M_START, M_END, M_PHASE, M_CATEGORY, M_DATA, M_N_COLUMNS };

static const char *type_name(unsigned int type)
{
	return type == OFF_CPU ? "offcpu" : event_kinds[type].name;
}

static struct ebt_error *put_data(struct firefox *f, const struct marker *marker)
{
	struct json *json = &f->json;

	json_open_object(json);
	json_put(json, "type", cstr, type_name(marker->type));
	if (marker->len) {
		if (!ebt_pread(fileno(f->details), marker->detail, f->detail, marker->len))
			return ebt_error_errno(errno, "cannot read from a temporary file");
		json_put(json, "detail", str, f->detail, marker->len);
	}
	if (marker->type != OFF_CPU)
		export_put_value(json, (enum event_kind)marker->type, marker->value);
	else if (marker->value >= 0)
		json_put(json, "runqueue", i64, marker->value);
	if (marker->other != NOBODY) {
		const struct ebt_str other = interned_get(&f->tables.texts, marker->other);

		json_put(json, marker->type == OFF_CPU ? "waker" : "thread", str, other.data,
			 other.len);
	}
	if (marker->flags & EVENT_FAILED)
		json_put(json, "failed", cstr, "yes");
	if (marker->flags & EVENT_OPEN)
		json_put(json, "open", cstr, "yes");
	if (marker->flags & DOUBTFUL)
		json_put(json, "doubtful", cstr, "yes");
	if (marker->node) {
		json_put(json, "cause", open_object);
		json_put(json, "stack", u64, marker->node - 1u);
		json_end(json);
	}
	json_end(json);
	return NULL;
}

static struct ebt_error *put_marker(void *arg, const void *record)
{
	const struct marker *marker = record;
	struct firefox *f = arg;
	const bool instant = !marker->dur && marker->type != OFF_CPU;

	switch ((enum marker_column)f->column) {
	case M_NAME:
		json_u64(&f->json, marker->name);
		break;
	case M_START:
		put_time(f, marker->time);
		break;
	case M_END:
		if (instant)
			json_put_null(&f->json);
		else
			put_time(f, export_end(marker->time, marker->dur));
		break;
	case M_PHASE:
		json_u64(&f->json, !instant);
		break;
	case M_CATEGORY:
		json_u64(&f->json, marker->type == OFF_CPU ? CALLTREE_OFF_CPU : FIREFOX_MARKERS);
		break;
	case M_DATA:
		return put_data(f, marker);
	case M_N_COLUMNS:
		break;
	}
	return NULL;
}

static struct ebt_error *put_markers(struct firefox *f, uint32_t track)
{
	static const char *const names[] = {
		[M_NAME] = "name",   [M_START] = "startTime",	[M_END] = "endTime",
		[M_PHASE] = "phase", [M_CATEGORY] = "category", [M_DATA] = "data",
	};
	struct ebt_error *err;

	json_put(&f->json, "markers", open_object);
	json_put(&f->json, "length", u64, spool_count(f->markers, track));
	err = put_columns(f, f->markers, track, names, M_N_COLUMNS, put_marker);
	json_end(&f->json);
	return err;
}

static void put_field(struct json *json, const char *key, const char *format)
{
	json_open_object(json);
	json_put(json, "key", cstr, key);
	json_put(json, "label", cstr, key);
	json_put(json, "format", cstr, format);
	json_end(json);
}

static const char *value_format(unsigned int type)
{
	switch (type) {
	case EVENT_SYSCALL:
	case EVENT_LOG:
		return "integer";
	case EVENT_FAULT:
		return "string";
	case EVENT_IRQ:
		return "nanoseconds";
	}
	return "bytes";
}

/* What a marker of each type shows. */
static void put_schemas(struct json *json)
{
	json_put(json, "markerSchema", open_array);
	for (unsigned int type = 0; type < N_TYPES; type++) {
		const bool off = type == OFF_CPU;

		json_newline(json);
		json_open_object(json);
		json_put(json, "name", cstr, type_name(type));
		json_put(json, "chartLabel", cstr, "{marker.name}");
		json_put(json, "tooltipLabel", cstr, "{marker.name}");
		json_put(json, "tableLabel", cstr,
			 off ? "{marker.name}" : "{marker.name} {marker.data.detail}");
		json_put(json, "display", open_array);
		json_cstr(json, "marker-chart");
		json_cstr(json, "marker-table");
		json_end(json);
		json_put(json, "fields", open_array);
		put_field(json, "detail", "string");
		if (off)
			put_field(json, "runqueue", "nanoseconds");
		else if (event_kinds[type].value)
			put_field(json, event_kinds[type].value, value_format(type));
		put_field(json, off ? "waker" : "thread", "string");
		put_field(json, off ? "doubtful" : "failed", "string");
		put_field(json, "open", "string");
		json_end(json);
		json_end(json);
	}
	json_end(json);
}

/* --- threads --- */

static void put_names(struct firefox *f, const struct firefox_track *track)
{
	const struct ebt_task *task = track->task;
	struct json *json = &f->json;
	struct ebt_str name = task ? text_comm(names_task(f->e->names, task))
				   : interned_get(&f->tables.texts, track->name);

	json_put(json, "name", str, name.data, name.len);
	name = task ? text_comm(names_process(f->e->names, task)) : ebt_str_of(MACHINE);
	json_put(json, "processName", str, name.data, name.len);
	json_put(json, "isMainThread", bool, task && track->pid == track->tid);
	put_pid(f, track);
	if (task)
		put_number(json, "tid", track->tid, track->tid_again);
	else
		json_put(json, "tid", u64, (uint64_t)(track - f->tracks));
}

static struct ebt_error *put_thread(struct firefox *f, uint32_t track)
{
	struct json *json = &f->json;
	struct ebt_error *err;

	json_newline(json);
	json_open_object(json);
	put_names(f, &f->tracks[track]);
	json_put(json, "processType", cstr, "default");
	json_put(json, "processStartupTime", u64, 0);
	json_put(json, "processShutdownTime", put_null);
	json_put(json, "registerTime", u64, 0);
	json_put(json, "unregisterTime", put_null);
	json_put(json, "pausedRanges", open_array);
	json_end(json);
	json_put(json, "showMarkersInTimeline", bool, true);
	err = put_samples(f, track) ?: put_markers(f, track);
	json_end(json);
	return err;
}

static struct ebt_error *put_threads(struct firefox *f)
{
	struct ebt_error *err = NULL;

	json_put(&f->json, "threads", open_array);
	for (uint32_t i = 0; !err && i < f->n_tracks; i++)
		err = put_thread(f, i);
	json_end(&f->json);
	return err;
}

/* --- counters --- */

/* Of a value the reader adds up what it changed by; of a sum, what it grew by. */
static void put_points(struct firefox *f, const struct counter *counter)
{
	const uint64_t from = trace_from_ns(f->e->trace);
	struct json *json = &f->json;
	double before = 0;

	json_put(json, "samples", open_object);
	json_put(json, "length", u64, counter->n_points);
	json_put(json, "time", open_array);
	for (size_t i = 0; i < counter->n_points; i++)
		put_time(f, counter->points[i].time < from ? from : counter->points[i].time);
	json_end(json);
	json_put(json, "count", open_array);
	for (size_t i = 0; i < counter->n_points; i++) {
		const double value = counter->points[i].value;

		json_exact(json, counter->cumulative && !i ? 0 : value - before);
		before = value;
	}
	json_end(json);
	json_end(json);
}

/* How it is drawn: a sum by how fast it grew, a value as it is. */
static void put_display(struct json *json, const struct counter *counter)
{
	const bool bytes = strcmp(counter->unit, "bytes") == 0 || strcmp(counter->unit, "B") == 0;

	json_put(json, "display", open_object);
	json_put(json, "graphType", cstr, counter->cumulative ? "line-rate" : "line-accumulated");
	json_put(json, "unit", cstr, bytes ? "bytes" : "");
	json_put(json, "color", cstr, "grey");
	json_put(json, "markerSchemaLocation", put_null);
	json_put(json, "sortWeight", u64, 50);
	json_put(json, "label", cstr, counter->name);
	json_end(json);
}

static struct ebt_error *put_counter(void *arg, const struct counter *counter)
{
	struct firefox *f = arg;
	struct json *json = &f->json;
	uint32_t track;
	struct ebt_error *err = counter->owner
					? task_track(f, counter->owner, &track)
					: find_track(f, COUNTERS_KEY, NULL,
						     (struct ebt_str){ "counters", 8 }, &track);

	if (err)
		return err;
	json_newline(json);
	json_open_object(json);
	json_put(json, "name", cstr, counter->name);
	json_put(json, "category", cstr, counter->category);
	json_put(json, "description", cstr, counter->doc);
	put_pid(f, &f->tracks[track]);
	json_put(json, "mainThreadIndex", u64, track);
	put_display(json, counter);
	put_points(f, counter);
	json_end(json);
	return NULL;
}

/* --- the file --- */

static void put_meta(struct firefox *f)
{
	const struct ebt_reader_info *info = ebt_reader_info(trace_reader(f->e->trace));
	struct json *json = &f->json;

	json_put(json, "meta", open_object);
	json_put(json, "version", u64, 29);
	json_put(json, "preprocessedProfileVersion", u64, VERSION);
	json_put(json, "interval", u64, 1);
	json_key(json, "startTime");
	put_ms(json, false, info->start_realtime_ns);
	json_put(json, "startTimeAsClockMonotonicNanosecondsSinceBoot", wide_u64, f->e->start_ns);
	json_key(json, "profilingStartTime");
	put_time(f, trace_from_ns(f->e->trace));
	json_key(json, "profilingEndTime");
	put_time(f, trace_to_ns(f->e->trace));
	json_put(json, "processType", u64, 0);
	json_put(json, "stackwalk", u64, 1);
	json_put(json, "debug", bool, false);
	json_put(json, "product", cstr, info->path);
	json_put(json, "importedFrom", cstr, "ebreport " EBT_VERSION);
	json_put(json, "symbolicated", bool, true);
	json_put(json, "sampleUnits", open_object);
	json_put(json, "time", cstr, "ms");
	json_put(json, "eventDelay", cstr, "ms");
	json_put(json, "threadCPUDelta", cstr, "\u00b5s");
	json_end(json);
	firefox_put_categories(json);
	put_schemas(json);
	json_end(json);
}

static struct ebt_error *put_file(struct firefox *f)
{
	struct json *json = &f->json;
	struct ebt_error *err = firefox_tables_make(&f->tables, f->e->tree);

	if (err)
		return err;
	json_init(json, f->e->f);
	json_open_object(json);
	put_meta(f);
	firefox_put_libs(&f->tables, json);
	json_put(json, "pages", open_array);
	json_end(json);
	/* Before the threads, as their owners become ones. */
	json_put(json, "counters", open_array);
	err = export_counters(f->e, put_counter, f);
	json_end(json);
	err = err ?: put_threads(f) ?: firefox_put_shared(&f->tables, json);
	json_end(json);
	fputc('\n', f->e->f);
	return err;
}

static void firefox_deinit(struct firefox *f)
{
	spool_destroy(f->samples);
	spool_destroy(f->markers);
	firefox_tables_deinit(&f->tables);
	if (f->details)
		fclose(f->details);
	free(f->tracks);
	ebt_map_deinit(&f->by_key);
	ebt_map_deinit(&f->by_process);
	ebt_map_deinit(&f->pid_taken);
	ebt_map_deinit(&f->tid_taken);
	text_deinit(&f->text);
	free(f->detail);
}

struct ebt_error *export_firefox(struct export *e)
{
	static const uint16_t held[] = { EXPORT_SAMPLE_TABLES, EXPORT_INTERVAL_TABLES,
					 EXPORT_EVENT_TABLES, EXPORT_COUNTER_TABLES, 0 };
	__attribute__((cleanup(firefox_deinit))) struct firefox f = { .e = e };
	struct ebt_error *err;

	f.detail = malloc(MOST_DETAIL);
	if (!f.detail)
		return &ebt_enomem;
	export_holds(e, held);
	err = spool_create(sizeof(struct sample_record), &f.samples)
		      ?: spool_create(sizeof(struct marker), &f.markers)
		      ?: read_all(&f) ?: put_file(&f);
	export_leave_out(e, "names of markers, functions and files beyond a million different ones",
			 f.tables.left_out);
	export_leave_out(e, "ends of details of more than 64 KiB", f.details_cut);
	return err;
}
