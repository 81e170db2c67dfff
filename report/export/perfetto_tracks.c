/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracks, and spans and moments on them; see perfetto.h. */
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "report/export/perfetto.h"

/* Names of events that are shorter are interned while there are no more texts than these: others
 * come once. */
#define LONG_NAME  64
#define MOST_TEXTS (1u << 18)

uint64_t perfetto_put_track(struct perfetto *p, Perfetto__TrackDescriptor *track)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	PERFETTO_SET(track, uuid, ++p->n_tracks);
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_TRACK_DESCRIPTOR;
	packet.track_descriptor = track;
	perfetto_put(p, &packet);
	return track->uuid;
}

struct ebt_error *perfetto_track(struct perfetto *p, struct ebt_str name, uint64_t parent,
				 Perfetto__CounterDescriptor *counter, uint64_t *ret)
{
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	_cleanup_text_ struct text text = TEXT_INIT;

	text_utf8(&text, name);
	if (text_error(&text))
		return text_error(&text);
	if (parent)
		PERFETTO_SET(&track, parent_uuid, parent);
	track.name = (char *)text_get(&text);
	track.counter = counter;
	*ret = perfetto_put_track(p, &track);
	return NULL;
}

/* --- lanes --- */

static struct ebt_error *find_group(struct perfetto *p, const struct perfetto_place *place,
				    struct perfetto_group **ret)
{
	uint32_t i;
	struct ebt_error *err = ebt_map_element(&p->group_of[place->kind], place->key, &p->groups,
						&p->n_groups, &p->groups_capacity, &i);

	if (!err)
		*ret = &p->groups[i];
	return err;
}

static struct ebt_error *add_lane(struct perfetto *p, const struct perfetto_place *place,
				  struct perfetto_group *group)
{
	struct perfetto_lane lane = { .track = group->n ? 0 : place->first };
	struct ebt_error *err = ebt_array_reserve(&group->lanes, group->n, &group->capacity);

	if (!err && !lane.track)
		err = perfetto_track(p, place->name, place->parent, NULL, &lane.track);
	if (!err)
		group->lanes[group->n++] = lane;
	return err;
}

struct ebt_error *perfetto_lane(struct perfetto *p, const struct perfetto_place *place,
				uint64_t start, uint64_t end, uint64_t *ret)
{
	struct perfetto_group *group;
	struct ebt_error *err = find_group(p, place, &group);
	size_t i = 0;

	*ret = 0;
	if (err)
		return err;
	while (i < group->n && !export_lane_fits(&group->lanes[i].spans, place->nests, start, end))
		i++;
	if (i == PERFETTO_MOST_LANES) {
		export_leave_out(p->e, "events that overlap more than a thousand others", 1);
		return NULL;
	}
	if (i == group->n)
		err = add_lane(p, place, group);
	if (err)
		return err;
	*ret = group->lanes[i].track;
	return export_lane_add(&group->lanes[i].spans, end);
}

void perfetto_tracks_deinit(struct perfetto *p)
{
	for (size_t i = 0; i < p->n_groups; i++) {
		for (size_t k = 0; k < p->groups[i].n; k++)
			export_lane_deinit(&p->groups[i].lanes[k].spans);
		free(p->groups[i].lanes);
	}
	free(p->groups);
	for (size_t i = 0; i < PERFETTO_N_GROUPS; i++)
		ebt_map_deinit(&p->group_of[i]);
	text_deinit(&p->event.name);
	for (size_t i = 0; i < PERFETTO_MOST_NOTES; i++)
		text_deinit(&p->event.texts[i]);
}

/* --- the event at hand --- */

static void intern(struct perfetto *p, enum perfetto_table table, struct ebt_str s, uint64_t *ret)
{
	if (!p->event.err)
		p->event.err = perfetto_intern(p, table, s, ret);
}

void perfetto_begin(struct perfetto *p, const char *category, struct ebt_str name, uint64_t track)
{
	struct perfetto_event *event = &p->event;
	Perfetto__TrackEvent *message = &event->message;

	perfetto__track_event__init(message);
	text_clear(&event->name);
	text_utf8(&event->name, name);
	event->err = text_error(&event->name);
	intern(p, PERFETTO_CATEGORIES, ebt_str_of(category), &event->category);
	message->category_iids = &event->category;
	message->n_category_iids = 1;
	if (event->name.len < LONG_NAME && p->texts.n < MOST_TEXTS) {
		intern(p, PERFETTO_EVENT_NAMES, text_str(&event->name), &message->name_iid);
		message->has_name_iid = true;
	} else {
		message->name = (char *)text_get(&event->name);
	}
	message->debug_annotations = event->note;
	PERFETTO_SET(message, track_uuid, track);
}

static Perfetto__DebugAnnotation *add_note(struct perfetto *p, const char *key)
{
	const size_t i = p->event.message.n_debug_annotations++;
	Perfetto__DebugAnnotation *note = &p->event.notes[i];

	perfetto__debug_annotation__init(note);
	intern(p, PERFETTO_NOTE_NAMES, ebt_str_of(key), &note->name_iid);
	note->has_name_iid = true;
	p->event.note[i] = note;
	return note;
}

void perfetto_note_text(struct perfetto *p, const char *key, struct ebt_str value)
{
	struct text *text = &p->event.texts[p->event.message.n_debug_annotations];
	Perfetto__DebugAnnotation *note = add_note(p, key);

	text_clear(text);
	text_utf8(text, value);
	p->event.err = p->event.err ?: text_error(text);
	note->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_STRING_VALUE;
	note->string_value = (char *)text_get(text);
}

void perfetto_note_true(struct perfetto *p, const char *key)
{
	Perfetto__DebugAnnotation *note = add_note(p, key);

	note->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_BOOL_VALUE;
	note->bool_value = true;
}

void perfetto_note_address(struct perfetto *p, const char *key, uint64_t value)
{
	Perfetto__DebugAnnotation *note = add_note(p, key);

	note->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_POINTER_VALUE;
	note->pointer_value = value;
}

void perfetto_note_i64(struct perfetto *p, const char *key, int64_t value)
{
	Perfetto__DebugAnnotation *note = add_note(p, key);

	note->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_INT_VALUE;
	note->int_value = value;
}

static struct ebt_error *put(struct perfetto *p, Perfetto__TrackEvent__Type type,
			     Perfetto__TrackEvent *event, uint64_t time)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	if (p->event.err)
		return p->event.err;
	PERFETTO_SET(event, type, type);
	PERFETTO_SET(&packet, timestamp, perfetto_time(p, time));
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT;
	packet.track_event = event;
	perfetto_put(p, &packet);
	return NULL;
}

struct ebt_error *perfetto_put_instant(struct perfetto *p, uint64_t time)
{
	return put(p, PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT, &p->event.message, time);
}

struct ebt_error *perfetto_put_span(struct perfetto *p, uint64_t start, uint64_t end)
{
	Perfetto__TrackEvent last = PERFETTO__TRACK_EVENT__INIT;

	PERFETTO_SET(&last, track_uuid, p->event.message.track_uuid);
	return put(p, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, &p->event.message, start)
		       ?: put(p, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END, &last, end);
}
