/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Section `events` and what the head says of it. There is room for so many; where more come, those
 * that are next to each other on a track are put together.
 */
#include "report/page/events_join.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "report/base/histogram.h"
#include "report/page/private.h"

#define MOST_EVENTS 500000	       /* rows of the section */
#define MOST_CALLS  300000	       /* of them system calls */
#define MOST_HELD   1000000	       /* of one kind while its rows are read */
#define MOST_TRACKS 20000	       /* but for one more of each kind */
#define MOST_TEXTS  ((size_t)48 << 20) /* bytes */
#define LONGEST	    2048	       /* bytes of one text */
/* Of more calls only the slowest have a text, and those that failed. */
#define MOST_CALL_TEXTS 300000

static const struct page_column columns[] = {
	{ "track", PAGE_U32, true },  { "time", PAGE_TIME, true },   { "dur", PAGE_TIME, false },
	{ "name", PAGE_U32, false },  { "detail", PAGE_U32, true },  { "node", PAGE_U32, false },
	{ "other", PAGE_U32, false }, { "value", PAGE_TIME, false }, { "flags", PAGE_U8, false },
	{ "count", PAGE_U32, false },
};

struct track {
	enum event_kind kind;
	uint64_t thread; /* of page_thread() */
	uint64_t name;	 /* of page_string() */
};

struct page_events {
	struct page *page;
	struct page_event_list lists[EVENT_N_KINDS];
	struct interned texts; /* number 0: "" */
	bool texts_full;
	struct track *tracks;
	size_t n_tracks, capacity;
	struct ebt_map by_key[EVENT_N_KINDS];
	uint32_t rest[EVENT_N_KINDS]; /* 1 + the track of all others; 0: there is none */
};

static void events_deinit(struct page_events *events)
{
	for (size_t kind = 0; kind < EVENT_N_KINDS; kind++) {
		free(events->lists[kind].list);
		ebt_map_deinit(&events->by_key[kind]);
	}
	interned_deinit(&events->texts);
	free(events->tracks);
}

/* --- tracks --- */

static struct ebt_error *add_track(struct page_events *events, enum event_kind kind,
				   const struct ebt_task *task, struct ebt_str name)
{
	struct track track = { .kind = kind };
	struct ebt_error *err =
		ebt_array_reserve(&events->tracks, events->n_tracks, &events->capacity)
			?: page_thread(events->page, task, &track.thread)
			?: page_string(events->page, name, &track.name);

	if (!err)
		events->tracks[events->n_tracks++] = track;
	return err;
}

static struct ebt_error *find_rest(struct page_events *events, enum event_kind kind, uint32_t *ret)
{
	struct ebt_error *err = NULL;

	if (!events->rest[kind]) {
		err = add_track(events, kind, NULL, (struct ebt_str){ "all others", 10 });
		events->rest[kind] = (uint32_t)events->n_tracks;
	}
	*ret = events->rest[kind] - 1;
	return err;
}

/* Where there are too many, one for all others. */
static struct ebt_error *find_track(struct page_events *events, const struct event *event,
				    uint32_t *ret)
{
	const enum event_kind kind = event->kind;
	const bool full = events->n_tracks >= MOST_TRACKS;
	struct ebt_error *err;

	if (full) {
		if (ebt_map_find(&events->by_key[kind], event->track, ret))
			return NULL;
		events->page->events_said.shared_tracks = true;
		return find_rest(events, kind, ret);
	}
	err = ebt_map_add(&events->by_key[kind], event->track, (uint32_t)events->n_tracks, ret);
	if (err || *ret < events->n_tracks)
		return err;
	return add_track(events, kind, event->task, event->track_name);
}

/* --- texts --- */

/* A character is not cut in two. */
static size_t cut_len(struct ebt_str s, size_t most)
{
	size_t len = most;

	if (s.len <= most)
		return s.len;
	while (len > most - 4 && ((unsigned char)s.data[len] & 0xc0) == 0x80)
		len--;
	return len;
}

static struct ebt_error *add_cut(struct interned *texts, struct ebt_str s, uint32_t *ret)
{
	static const char cut[] = "…";
	_cleanup_text_ struct text text = TEXT_INIT;

	text_add(&text, s.data, cut_len(s, LONGEST - strlen(cut)));
	text_cstr(&text, cut);
	return text_error(&text) ?: interned_add(texts, text_str(&text), ret);
}

/* The number of a text until the next event is added; a long one is cut. 0 where there is no more
 * room. */
static struct ebt_error *add_text(struct page_events *events, struct ebt_str s, uint32_t *ret)
{
	struct interned *texts = &events->texts;

	*ret = 0;
	if (!s.len)
		return NULL;
	if (texts->texts.len >= MOST_TEXTS || texts->n >= INTERNED_MAX - 1) {
		events->texts_full = true;
		events->page->events_said.texts_left_out++;
		return NULL;
	}
	return s.len > LONGEST ? add_cut(texts, s, ret) : interned_add(texts, s, ret);
}

static struct ebt_error *move_text(struct interned *to, const struct interned *from, uint32_t *text)
{
	return interned_add(to, interned_get(from, *text), text);
}

/* Only those that an event still has. */
static struct ebt_error *collect_texts(struct page_events *events)
{
	struct interned texts = { 0 };
	uint32_t empty;
	struct ebt_error *err = interned_add(&texts, (struct ebt_str){ "", 0 }, &empty);

	for (size_t kind = 0; kind < EVENT_N_KINDS; kind++) {
		struct page_event_list *list = &events->lists[kind];

		for (size_t i = 0; !err && i < list->n; i++)
			err = move_text(&texts, &events->texts, &list->list[i].name)
				      ?: move_text(&texts, &events->texts, &list->list[i].detail);
	}
	interned_deinit(&events->texts);
	events->texts = texts;
	return err;
}

/* --- room --- */

/* Halves a list, and leaves room for texts. */
static struct ebt_error *make_room(struct page_events *events, struct page_event_list *list)
{
	struct ebt_error *err;

	page_events_join(list, list->n / 2);
	err = collect_texts(events);
	events->texts_full = false;
	return err;
}

static struct ebt_error *add_event(struct page_events *events, enum event_kind kind,
				   const struct page_event *event)
{
	struct page_event_list *list = &events->lists[kind];
	struct ebt_error *err = ebt_array_reserve(&list->list, list->n, &list->capacity);

	if (err)
		return err;
	list->list[list->n] = *event;
	if (event->dur > PAGE_MOST_NS)
		list->list[list->n].dur = PAGE_MOST_NS;
	list->n++;
	if (list->n >= MOST_HELD)
		return make_room(events, list);
	/* Where few events have all the texts, less texts are the only help. */
	if (events->texts_full && list->n >= MOST_HELD / 8)
		return make_room(events, list);
	return NULL;
}

/* --- whatever comes --- */

/* A number that a script would not hold exactly is none. */
static int64_t shown_value(const struct event *event)
{
	const bool exact = event->kind == EVENT_IRQ || event->kind == EVENT_FAULT;

	return exact && (uint64_t)event->value >= PAGE_MOST_NS ? 0 : event->value;
}

static struct ebt_error *take_event(void *arg, const struct event *event)
{
	struct page_events *events = arg;
	const uint64_t details_ns = events->page->events_said.details_ns;
	const bool slow = event->kind == EVENT_SYSCALL && details_ns && event->dur >= details_ns;
	struct page_event added = {
		.time = event->time,
		.dur = event->dur,
		.value = shown_value(event),
		.node = event->node,
		.count = 1,
		.flags = event->flags,
		.notable = event->notable || slow,
	};
	uint64_t other = 0;
	struct ebt_error *err = find_track(events, event, &added.track) ?:
				add_text(events, event->name, &added.name) ?:
				add_text(events, event->detail, &added.detail) ?:
				page_thread(events->page, event->other, &other);

	added.other = (uint32_t)other;
	return err ? err : add_event(events, event->kind, &added);
}

static bool wants_detail(void *arg, const struct event *event)
{
	const struct page_events *events = arg;

	return event->flags || event->dur >= events->page->events_said.details_ns;
}

static struct ebt_error *place(void *arg, const struct calltree_stack *stack, uint32_t *ret)
{
	const struct page_events *events = arg;

	return calltree_place(why_graph_tree(events->page->why->graph), stack, ret);
}

static struct ebt_error *count_call(void *arg, const struct ebt_row *row)
{
	return histogram_add(arg, ebt_syscall_duration(row));
}

/* From which duration on calls have a text. */
static struct ebt_error *choose_details(struct page *page)
{
	static const struct ebt_want want = EBT_WANT(syscall, duration);
	struct histogram durations = { 0 };
	struct ebt_error *err = NULL;

	if (ebt_reader_has_rows(trace_reader(page->trace), EBT_T_syscall))
		err = trace_read_rows(page->trace, &want, 1, 0, count_call, &durations);
	if (durations.count > MOST_CALL_TEXTS)
		page->events_said.details_ns = histogram_percentile(&durations, 99);
	histogram_deinit(&durations);
	return err;
}

/* --- fewer --- */

static size_t count_all(const struct page_events *events, enum event_kind *ret_most)
{
	size_t n = 0, most = 0;

	for (size_t kind = 0; kind < EVENT_N_KINDS; kind++) {
		n += events->lists[kind].n;
		if (events->lists[kind].n <= most)
			continue;
		most = events->lists[kind].n;
		*ret_most = (enum event_kind)kind;
	}
	return n;
}

/* What there is most of is put together first. */
static struct ebt_error *fit(struct page_events *events, enum event_kind last)
{
	struct page_event_list *list = &events->lists[last];
	enum event_kind kind = last;
	const size_t most = last == EVENT_SYSCALL ? MOST_CALLS : MOST_EVENTS;
	bool joined = list->n > most;
	size_t n, before;

	if (joined)
		page_events_join(list, most);
	while ((n = count_all(events, &kind)) > MOST_EVENTS) {
		list = &events->lists[kind];
		before = list->n;
		n -= MOST_EVENTS;
		page_events_join(list, before - (n < before / 2 ? n : before / 2));
		joined = true;
		if (list->n == before)
			break;
	}
	return joined ? collect_texts(events) : NULL;
}

/* --- the section --- */

static struct ebt_error *put_event(struct page_events *events, struct page_rows *section,
				   enum event_kind kind, const struct page_event *event)
{
	struct page *page = events->page;
	const struct ebt_str detail = interned_get(&events->texts, event->detail);
	const bool many = event->flags & EVENT_JOINED && !event->name;
	uint64_t name, detail_number;
	struct ebt_error *err =
		(many ? page_cstr(page, event_kinds[kind].many, &name)
		      : page_string(page, interned_get(&events->texts, event->name), &name))
			?: page_string(page, detail, &detail_number)
			?: page_use_node(page, event->node);

	return err ? err
		   : page_row(section, event->track, page_clamp(page_time(page, event->time)),
			      event->dur, name, detail_number, event->node, event->other,
			      page_clamp((uint64_t)event->value), event->flags, event->count);
}

static struct ebt_error *put_events(struct page_events *events)
{
	struct page_rows *section;
	struct ebt_error *err = page_add_rows(events->page, "events", columns,
					      sizeof(columns) / sizeof(columns[0]), &section);

	for (size_t kind = 0; kind < EVENT_N_KINDS; kind++) {
		struct page_event_list *list = &events->lists[kind];

		page_events_sort(list);
		events->page->events_said.within_ns[kind] = list->within;
		for (size_t i = 0; !err && i < list->n; i++)
			err = put_event(events, section, (enum event_kind)kind, &list->list[i]);
	}
	return err;
}

/* --- the head --- */

static void put_tracks(const struct page_events *events)
{
	struct json *json = &events->page->json;

	json_put(json, "tracks", open_array);
	for (size_t i = 0; i < events->n_tracks; i++) {
		const struct track *track = &events->tracks[i];
		const struct ebt_str name =
			interned_get(&events->page->strings, (uint32_t)track->name);

		json_open_object(json);
		json_put(json, "kind", cstr, event_kinds[track->kind].name);
		json_put(json, "name", str, name.data, cut_len(name, LONGEST));
		json_key(json, "thread");
		if (track->thread)
			json_u64(json, track->thread - 1);
		else
			json_put_null(json);
		json_end(json);
	}
	json_end(json);
}

static void put_weight(struct json *json, const char *kind, const char *name, const char *unit)
{
	json_open_object(json);
	json_put(json, "name", cstr, name);
	json_put(json, "unit", cstr, unit);
	json_put(json, "kind", cstr, kind);
	json_end(json);
}

/* What flame graphs can be drawn of. */
static void put_weights(const struct page_events *events)
{
	struct json *json = &events->page->json;

	json_put(json, "weights", open_array);
	for (size_t kind = 0; kind < EVENT_N_KINDS; kind++) {
		const struct page_event_list *list = &events->lists[kind];
		size_t i = 0;

		while (i < list->n && !list->list[i].node)
			i++;
		if (i == list->n)
			continue;
		put_weight(json, event_kinds[kind].name, event_kinds[kind].many, "rows");
		put_weight(json, event_kinds[kind].name, event_kinds[kind].many, "ns");
	}
	json_end(json);
}

static void put_kinds(const struct page_events *events)
{
	struct json *json = &events->page->json;

	json_put(json, "event_kinds", open_array);
	for (size_t kind = 0; kind < EVENT_N_KINDS; kind++) {
		if (!events->lists[kind].n)
			continue;
		json_open_object(json);
		json_put(json, "kind", cstr, event_kinds[kind].name);
		json_put(json, "many", cstr, event_kinds[kind].many);
		json_put(json, "value", cstr, event_kinds[kind].value);
		json_end(json);
	}
	json_end(json);
}

void page_put_events_said(const struct page *page, struct json *json)
{
	const struct page_events_said *said = &page->events_said;

	json_put(json, "events", open_object);
	for (size_t kind = 0; kind < EVENT_N_KINDS; kind++) {
		if (said->within_ns[kind])
			json_put(json, event_kinds[kind].name, u64, said->within_ns[kind]);
	}
	json_end(json);
	json_put(json, "details_ns", u64, said->details_ns);
	json_put(json, "texts_left_out", u64, said->texts_left_out);
	json_put(json, "shared_tracks", bool, said->shared_tracks);
	json_put(json, "points_ns", u64, said->points_ns);
}

struct ebt_error *page_put_events(struct page *page)
{
	__attribute__((cleanup(events_deinit))) struct page_events events = { .page = page };
	const struct event_sink sink = {
		.take = take_event,
		.wants_detail = wants_detail,
		.place = place,
		.arg = &events,
	};
	uint32_t empty;
	struct ebt_error *err = interned_add(&events.texts, (struct ebt_str){ "", 0 }, &empty)
					?: choose_details(page);

	for (enum event_kind kind = 0; !err && kind < EVENT_N_KINDS; kind++)
		err = events_read(page->trace, kind, &sink) ?: fit(&events, kind);
	if (err)
		return err;
	err = put_events(&events);
	put_tracks(&events);
	put_weights(&events);
	put_kinds(&events);
	return err;
}
