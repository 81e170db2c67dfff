/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace events of Chrome, in JSON: what each CPU ran, and on each thread its time off the CPUs,
 * system calls, faults, marks and lines; requests, connections and messages as asynchronous
 * events; counters. Nothing is sorted: readers do that.
 * https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
 *
 * Times are microseconds since the recording began, with as many digits as nanoseconds need. A
 * reader works with doubles, in which the end of an event of phase X is a sum: where one event may
 * begin at the very nanosecond at which another ends, or ends in the same, they are pairs of B and
 * E, whose times are the same numbers.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/map.h"
#include "report/base/text.h"
#include "report/export/export.h"
#include "report/export/lane.h"
#include "report/export/threads.h"
#include "report/sched/feed.h"

/* Of one thread and group of marks; what is beside more is asynchronous. */
#define MOST_LANES 32

/* What is shown as a process. */
enum group { CPUS, INTERRUPTS, COUNTERS, DISK, BUS, LOG, NOT_KNOWN };

enum form { SPAN, PAIR, ASYNC, INSTANT };

struct chrome_place {
	uint32_t pid, tid; /* in the file */
};

struct chrome_event {
	enum form form;
	struct chrome_place at;
	uint64_t time, dur;
	const char *category;
	struct ebt_str name;
};

/* A thread beside another, for marks. */
struct chrome_lane {
	uint32_t tid;
	uint32_t next; /* 1 + its index; 0: none */
	struct export_lane spans;
};

struct chrome {
	struct export *e;
	struct json json, args; /* args: of the event at hand */
	FILE *args_file;
	char *args_text;
	size_t args_len;
	struct ebt_map processes, threads; /* keys to numbers in the file */
	struct export_numbers numbers;
	uint64_t n_async;
	struct chrome_lane *lanes;
	size_t n_lanes, lanes_capacity;
	struct ebt_map lane_of; /* event.track of a mark to the first */
	struct text text;
};

/* --- processes and threads --- */

/* With args open. */
static struct json *begin_metadata(struct chrome *c, const char *what, struct chrome_place at)
{
	struct json *json = &c->json;

	json_newline(json);
	json_open_object(json);
	json_put(json, "ph", cstr, "M");
	json_put(json, "pid", u64, at.pid);
	json_put(json, "tid", u64, at.tid);
	json_put(json, "name", cstr, what);
	json_put(json, "args", open_object);
	return json;
}

static void put_name(struct chrome *c, const char *what, struct chrome_place at,
		     struct ebt_str name)
{
	struct json *json = begin_metadata(c, what, at);

	json_put(json, "name", str, name.data, name.len);
	json_end(json);
	json_end(json);
}

/* One that has not the number that was wanted says which that was. */
static struct ebt_error *put_name_of(struct chrome *c, const char *what, struct chrome_place at,
				     struct ebt_str name, uint32_t number, uint32_t wanted)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	text_add(&text, name.data, name.len);
	if (number != wanted)
		text_printf(&text, " (%" PRIu32 ")", wanted);
	put_name(c, what, at, text_str(&text));
	return text_error(&text);
}

static void put_sort_index(struct chrome *c, const char *what, struct chrome_place at,
			   int64_t index)
{
	struct json *json = begin_metadata(c, what, at);

	json_put(json, "sort_index", i64, index);
	json_end(json);
	json_end(json);
}

/* scope of the numbers of its threads. */
static uint32_t threads_of(uint32_t pid)
{
	return pid + 1;
}

static struct ebt_error *find_process(struct chrome *c, uint64_t key, uint32_t wanted,
				      struct ebt_str name, uint32_t *ret)
{
	struct ebt_error *err;
	uint32_t was;

	if (ebt_map_find(&c->processes, key, ret))
		return NULL;
	err = export_number(&c->numbers, 0, wanted, ret)
		      ?: ebt_map_add(&c->processes, key, *ret, &was);
	return err ? err
		   : put_name_of(c, "process_name", (struct chrome_place){ *ret, 0 }, name, *ret,
				 wanted);
}

static struct ebt_error *find_group(struct chrome *c, enum group group, uint64_t key,
				    struct ebt_str name, uint32_t *ret)
{
	static const char *const names[] = {
		[CPUS] = "CPUs",
		[INTERRUPTS] = "interrupts",
		[COUNTERS] = "counters",
		[DISK] = "disk ",
		[BUS] = "D-Bus ",
		[LOG] = "log ",
		[NOT_KNOWN] = "[not known]",
	};
	const uint64_t process = UINT64_C(1) << 63 | (uint64_t)group << 56 | (key & ~0ull >> 8);
	const uint32_t before = c->numbers.n_own;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct ebt_error *err;

	text_cstr(&text, names[group]);
	text_add(&text, name.data, name.len);
	err = text_error(&text)
		      ?: find_process(c, process, EXPORT_OWN_NUMBERS + before, text_str(&text),
				      ret);
	if (err || c->numbers.n_own == before)
		return err;
	put_sort_index(c, "process_sort_index", (struct chrome_place){ *ret, 0 },
		       (int64_t)group - NOT_KNOWN - 1);
	if (group != CPUS && group != INTERRUPTS)
		put_name(c, "thread_name", (struct chrome_place){ *ret, 0 }, text_str(&text));
	return NULL;
}

static struct ebt_error *find_thread(struct chrome *c, uint64_t key, uint32_t wanted,
				     struct ebt_str name, struct chrome_place *place)
{
	struct ebt_error *err;
	uint32_t was;

	if (ebt_map_find(&c->threads, key, &place->tid))
		return NULL;
	err = export_number(&c->numbers, threads_of(place->pid), wanted, &place->tid)
		      ?: ebt_map_add(&c->threads, key, place->tid, &was);
	if (err)
		return err;
	put_sort_index(c, "thread_sort_index", *place, place->tid);
	return put_name_of(c, "thread_name", *place, name, place->tid, wanted);
}

static struct ebt_error *place_task(struct chrome *c, const struct ebt_task *task,
				    struct chrome_place *ret)
{
	const struct names *names = c->e->names;

	*ret = (struct chrome_place){ 0 };
	if (!task)
		return find_group(c, NOT_KNOWN, 0, (struct ebt_str){ "", 0 }, &ret->pid);
	return find_process(c, names_process_key(names, task), task->pid ? task->pid : task->tid,
			    text_comm(names_process(names, task)), &ret->pid)
		       ?: find_thread(c, task->id, task->tid, text_comm(names_task(names, task)),
				      ret);
}

/* A thread of a group. */
static struct ebt_error *place_cpu(struct chrome *c, enum group group, uint64_t cpu,
				   struct chrome_place *ret)
{
	struct ebt_error *err = find_group(c, group, 0, (struct ebt_str){ "", 0 }, &ret->pid);
	char name[32];

	snprintf(name, sizeof(name), "CPU %" PRIu32, (uint32_t)cpu);
	return err ? err
		   : find_thread(c, UINT64_C(1) << 63 | (uint64_t)ret->pid << 32 | (uint32_t)cpu,
				 (uint32_t)cpu, ebt_str_of(name), ret);
}

/* --- lanes of marks --- */

/* A thread beside that of the task, for marks of a group. */
static struct ebt_error *add_lane(struct chrome *c, const struct event *event,
				  struct chrome_place *place)
{
	const uint32_t thread = place->tid;
	_cleanup_text_ struct text name = TEXT_INIT;
	struct ebt_error *err;

	text_add(&name, event->track_name.data, event->track_name.len);
	if (event->task) {
		text_cstr(&name, " of ");
		text_task(&name, names_task(c->e->names, event->task), event->task->tid);
	}
	err = text_error(&name)
		      ?: ebt_array_reserve(&c->lanes, c->n_lanes, &c->lanes_capacity)
		      ?: export_number(&c->numbers, threads_of(place->pid), EXPORT_OWN_NUMBERS, &place->tid);
	if (err)
		return err;
	c->lanes[c->n_lanes++] = (struct chrome_lane){ .tid = place->tid };
	put_name(c, "thread_name", *place, text_str(&name));
	put_sort_index(c, "thread_sort_index", *place, thread);
	return NULL;
}

/* ret_form: changed where there is no more room. */
static struct ebt_error *place_mark(struct chrome *c, const struct event *event,
				    struct chrome_place *ret, enum form *ret_form)
{
	const uint64_t end = event->time + event->dur;
	struct ebt_error *err = place_task(c, event->task, ret);
	uint32_t n = 0, i;

	if (!err)
		err = ebt_map_add(&c->lane_of, event->track, (uint32_t)c->n_lanes, &i);
	if (!err && i == c->n_lanes)
		err = add_lane(c, event, ret);
	while (!err && !export_lane_fits(&c->lanes[i].spans, true, event->time, end)) {
		if (!c->lanes[i].next && ++n == MOST_LANES) {
			*ret_form = ASYNC;
			return NULL;
		}
		if (!c->lanes[i].next) {
			err = add_lane(c, event, ret);
			if (err)
				return err;
			c->lanes[i].next = (uint32_t)c->n_lanes;
		}
		i = c->lanes[i].next - 1;
	}
	if (err)
		return err;
	ret->tid = c->lanes[i].tid;
	return export_lane_add(&c->lanes[i].spans, end);
}

/* --- one event --- */

static void put_us(struct json *json, const char *key, bool negative, uint64_t ns)
{
	json_key(json, key);
	export_put_scaled(json, negative, ns, 3);
}

static void put_head(struct chrome *c, const char *phase, const struct chrome_event *shown,
		     uint64_t time)
{
	const uint64_t start = c->e->start_ns;
	struct json *json = &c->json;

	json_newline(json);
	json_open_object(json);
	json_put(json, "ph", cstr, phase);
	json_put(json, "pid", u64, shown->at.pid);
	json_put(json, "tid", u64, shown->at.tid);
	put_us(json, "ts", time < start, time < start ? start - time : time - start);
	json_put(json, "cat", cstr, shown->category);
	json_put(json, "name", str, shown->name.data, shown->name.len);
}

static void put_id(struct chrome *c)
{
	char id[32];

	snprintf(id, sizeof(id), "0x%" PRIx64, c->n_async);
	json_put(&c->json, "id", cstr, id);
}

/* Its arguments follow. */
static void open_event(struct chrome *c, struct chrome_event *shown)
{
	static const char *const phases[] = {
		[SPAN] = "X",
		[PAIR] = "B",
		[ASYNC] = "b",
		[INSTANT] = "i",
	};

	/* Readers that sort beginnings and ends apart would end it before it began. */
	if (shown->form == PAIR && !shown->dur)
		shown->form = INSTANT;
	put_head(c, phases[shown->form], shown, shown->time);
	switch (shown->form) {
	case SPAN:
		put_us(&c->json, "dur", false, shown->dur);
		break;
	case ASYNC:
		c->n_async++;
		put_id(c);
		break;
	case INSTANT:
		json_put(&c->json, "s", cstr, "t");
		break;
	case PAIR:
		break;
	}
	rewind(c->args_file);
	json_init(&c->args, c->args_file);
	json_open_object(&c->args);
}

/* speedscope takes for the end of an event what has its arguments, too. */
static void put_args(struct chrome *c)
{
	json_put(&c->json, "args", written, c->args_text, c->args_len);
}

static void close_event(struct chrome *c, const struct chrome_event *shown)
{
	json_end(&c->args);
	fflush(c->args_file);
	put_args(c);
	json_end(&c->json);
	if (shown->form != PAIR && shown->form != ASYNC)
		return;
	put_head(c, shown->form == PAIR ? "E" : "e", shown, export_end(shown->time, shown->dur));
	if (shown->form == ASYNC)
		put_id(c);
	else
		put_args(c);
	json_end(&c->json);
}

static struct ebt_error *put_thread(struct chrome *c, const char *key, const struct ebt_task *task)
{
	text_clear(&c->text);
	text_task(&c->text, names_task(c->e->names, task), task->tid);
	json_put(&c->args, key, str, c->text.data, c->text.len);
	return text_error(&c->text);
}

static void put_flags(struct json *json, unsigned int flags)
{
	if (sched_is_open(flags))
		json_put(json, "open", bool, true);
	if (flags & SCHED_DOUBTFUL)
		json_put(json, "doubtful", bool, true);
}

/* --- who ran, who waited --- */

static struct ebt_error *take_run(void *arg, const struct sched_run *run)
{
	struct chrome *c = arg;
	struct chrome_event shown = {
		.form = PAIR,
		.time = run->start,
		.dur = run->end - run->start,
		.category = "sched",
	};
	struct ebt_error *err = place_cpu(c, CPUS, run->cpu, &shown.at);

	text_clear(&c->text);
	text_task(&c->text, names_task(c->e->names, run->task), run->task->tid);
	err = err ?: text_error(&c->text);
	if (err)
		return err;
	shown.name = text_str(&c->text);
	open_event(c, &shown);
	json_put(&c->args, "pid", u64, run->task->pid);
	json_put(&c->args, "tid", u64, run->task->tid);
	if (run->row)
		json_put(&c->args, "then", cstr, sched_why_name(run->why));
	put_flags(&c->args, run->flags);
	close_event(c, &shown);
	return NULL;
}

static struct ebt_error *take_off(void *arg, const struct sched_off *off)
{
	struct chrome *c = arg;
	struct chrome_event shown = {
		/* What may be several need not lie within the call that it began in. */
		.form = off->flags & SCHED_DOUBTFUL ? ASYNC : PAIR,
		.time = off->start,
		.dur = off->end - off->start,
		.category = "offcpu",
	};
	struct ebt_error *err = place_task(c, off->task, &shown.at);
	char name[32];

	if (err)
		return err;
	snprintf(name, sizeof(name), "[off CPU: %s]", sched_why_name(off->why));
	shown.name = ebt_str_of(name);
	open_event(c, &shown);
	if (off->runnable)
		json_put(&c->args, "runqueue_ns", u64, off->end - off->runnable);
	if (off->woken && off->waker)
		err = put_thread(c, "waker", off->waker);
	else if (off->woken)
		json_put(&c->args, "waker", cstr, "[interrupt]");
	put_flags(&c->args, off->flags);
	close_event(c, &shown);
	return err;
}

/* --- events --- */

static struct ebt_error *place_event(struct chrome *c, const struct event *event,
				     struct chrome_event *shown)
{
	struct chrome_place *at = &shown->at;

	switch (event->kind) {
	case EVENT_SYSCALL:
	case EVENT_FAULT:
		return place_task(c, event->task, at);
	case EVENT_IRQ:
		return event->track & EVENT_WORK_TRACKS
			       ? place_task(c, event->task, at)
			       : place_cpu(c, INTERRUPTS, event->track, at);
	case EVENT_MARK:
		if (event->dur)
			return place_mark(c, event, at, &shown->form);
		shown->form = INSTANT;
		return place_task(c, event->task, at);
	case EVENT_BLOCK:
		return find_group(c, DISK, event->track, event->track_name, &at->pid);
	case EVENT_NET:
		return place_task(c, event->task, at);
	case EVENT_DBUS:
		return find_group(c, BUS, event->track, event->track_name, &at->pid);
	case EVENT_LOG:
		return event->task ? place_task(c, event->task, at)
				   : find_group(c, LOG, event->track, event->track_name, &at->pid);
	case EVENT_N_KINDS:
		break;
	}
	return NULL;
}

static struct ebt_error *take_event(void *arg, const struct event *event)
{
	static const enum form forms[] = {
		[EVENT_SYSCALL] = SPAN, [EVENT_MARK] = PAIR,  [EVENT_BLOCK] = ASYNC,
		[EVENT_NET] = ASYNC,	[EVENT_DBUS] = ASYNC, [EVENT_LOG] = INSTANT,
		[EVENT_IRQ] = SPAN,	[EVENT_FAULT] = SPAN,
	};
	struct chrome *c = arg;
	struct json *json = &c->args;
	struct chrome_event shown = {
		.form = forms[event->kind],
		.time = event->time,
		.dur = event->dur,
		.category = event_kinds[event->kind].name,
		.name = event->name,
	};
	struct ebt_error *err = place_event(c, event, &shown);

	if (err)
		return err;
	open_event(c, &shown);
	if (event->detail.len)
		json_put(json, "detail", str, event->detail.data, event->detail.len);
	export_put_value(json, event->kind, event->value);
	if (event->other && event->other != event->task)
		err = put_thread(c, "thread", event->other);
	if (event->flags & EVENT_FAILED)
		json_put(json, "failed", bool, true);
	if (event->flags & EVENT_OPEN)
		json_put(json, "open", bool, true);
	close_event(c, &shown);
	return err;
}

/* --- counters --- */

/* Readings from before what is exported hold then. */
static void put_point(struct chrome *c, const struct chrome_event *shown, uint64_t time,
		      double value)
{
	const uint64_t from = trace_from_ns(c->e->trace);

	put_head(c, "C", shown, time < from ? from : time);
	json_put(&c->json, "args", open_object);
	json_put(&c->json, "value", exact, value);
	json_end(&c->json);
	json_end(&c->json);
}

/* A value is drawn up to the next: a rate stands where it began. */
static struct ebt_error *put_counter(void *arg, const struct counter *counter)
{
	struct chrome *c = arg;
	struct chrome_event shown = { .category = "counter" };
	_cleanup_text_ struct text name = TEXT_INIT;
	struct ebt_error *err =
		counter->owner
			? place_task(c, counter->owner, &shown.at)
			: find_group(c, COUNTERS, 0, (struct ebt_str){ "", 0 }, &shown.at.pid);

	text_cstr(&name, counter->name);
	if (*counter->unit || counter->cumulative)
		text_printf(&name, " (%s%s)", *counter->unit ? counter->unit : "1",
			    counter->cumulative ? "/s" : "");
	err = err ?: text_error(&name);
	if (err)
		return err;
	shown.name = text_str(&name);
	for (size_t i = counter->cumulative; i < counter->n_points; i++) {
		const struct out_point *point = &counter->points[i];

		if (counter->cumulative)
			put_point(c, &shown, point[-1].time, counter_rate(&point[-1], point));
		else
			put_point(c, &shown, point->time, point->value);
	}
	return NULL;
}

/* --- the file --- */

static struct ebt_error *put_events(struct chrome *c)
{
	const struct sched_feed feed = {
		.handler = { .run = take_run, .off = take_off },
		.arg = c,
		.still = true,
	};
	const struct event_sink sink = { .take = take_event, .arg = c };
	struct ebt_error *err;
	bool partial;

	err = sched_feed_run(c->e->trace, &feed, &partial);
	for (enum event_kind kind = 0; !err && kind < EVENT_N_KINDS; kind++)
		err = events_read(c->e->trace, kind, &sink);
	return err ? err : export_counters(c->e, put_counter, c);
}

static void chrome_deinit(struct chrome *c)
{
	for (size_t i = 0; i < c->n_lanes; i++)
		export_lane_deinit(&c->lanes[i].spans);
	free(c->lanes);
	ebt_map_deinit(&c->lane_of);
	ebt_map_deinit(&c->processes);
	ebt_map_deinit(&c->threads);
	export_numbers_deinit(&c->numbers);
	text_deinit(&c->text);
	if (c->args_file)
		fclose(c->args_file);
	free(c->args_text);
}

struct ebt_error *export_chrome(struct export *e)
{
	static const uint16_t held[] = { EBT_T_sched_switch, EXPORT_EVENT_TABLES,
					 EXPORT_COUNTER_TABLES, 0 };
	__attribute__((cleanup(chrome_deinit))) struct chrome c = { .e = e };
	struct json *json = &c.json;
	struct ebt_error *err;

	c.args_file = open_memstream(&c.args_text, &c.args_len);
	if (!c.args_file)
		return &ebt_enomem;
	export_holds(e, held);
	json_init(json, e->f);
	json_open_object(json);
	json_put(json, "displayTimeUnit", cstr, "ns");
	json_put(json, "otherData", open_object);
	json_put(json, "exporter", cstr, "ebreport " EBT_VERSION);
	json_put(json, "trace", cstr, ebt_reader_info(trace_reader(e->trace))->path);
	json_put(json, "start_monotonic_ns", wide_u64, e->start_ns);
	json_end(json);
	json_put(json, "traceEvents", open_array);
	err = put_events(&c);
	json_end(json);
	json_end(json);
	fputc('\n', e->f);
	return err;
}
