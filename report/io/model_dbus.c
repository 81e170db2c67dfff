/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pairing and counting messages of D-Bus; see model_dbus.h. */
#include "report/io/model_dbus.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/map.h"

/* A reader does not let a file grow this without end. */
#define MAX_TEXTS (1u << 22)
#define MAX_CALLS (1u << 26)
#define MAX_BUSES 256

/* --- pairs --- */

void dbus_pairs_deinit(struct dbus_pairs *pairs)
{
	proc_texts_deinit(&pairs->texts);
	ebt_map_deinit(&pairs->by_key);
	free(pairs->calls);
}

static struct ebt_error *too_many(void)
{
	return ebt_error_create(EBT_ERR_LIMIT, "too many messages of D-Bus at once: take less of "
					       "the trace with --from and --to");
}

/* A number for each distinct text. */
static struct ebt_error *text_of(struct dbus_pairs *pairs, struct ebt_str text, uint32_t *ret)
{
	struct ebt_error *err = proc_texts_add(&pairs->texts, text, ret);

	if (err)
		return err;
	return pairs->texts.left_out || pairs->texts.numbers.n > MAX_TEXTS ? too_many() : NULL;
}

/* Names are unique on a bus. */
static struct ebt_str on_bus(uint32_t bus, struct ebt_str name, char *buffer, size_t size)
{
	size_t len = name.len < size - sizeof(bus) ? name.len : size - sizeof(bus);

	memcpy(buffer, &bus, sizeof(bus));
	memcpy(buffer + sizeof(bus), name.data, len);
	return (struct ebt_str){ buffer, sizeof(bus) + len };
}

struct ebt_error *dbus_pairs_call(struct dbus_pairs *pairs, uint32_t bus, struct ebt_str sender,
				  uint32_t serial, const struct dbus_call *call)
{
	struct ebt_error *err;
	uint32_t name, i;
	char buffer[300];

	if (pairs->n == MAX_CALLS)
		return too_many();
	err = text_of(pairs, on_bus(bus, sender, buffer, sizeof(buffer)), &name);
	if (err)
		return err;
	err = ebt_map_element(&pairs->by_key, (uint64_t)name << 32 | serial, &pairs->calls,
			      &pairs->n, &pairs->capacity, &i);
	if (!err)
		pairs->calls[i] = *call;
	return err;
}

bool dbus_pairs_answer(struct dbus_pairs *pairs, uint32_t bus, struct ebt_str caller,
		       uint32_t serial, struct dbus_call *ret)
{
	char buffer[300];
	uint64_t name = proc_texts_find(&pairs->texts, on_bus(bus, caller, buffer, sizeof(buffer)));
	uint32_t i;

	if (!name || !ebt_map_find(&pairs->by_key, name << 32 | serial, &i) ||
	    pairs->calls[i].answered)
		return false;
	pairs->calls[i].answered = true;
	*ret = pairs->calls[i];
	return true;
}

/* --- counts --- */

static void groups_deinit(struct dbus_groups *groups)
{
	for (size_t i = 0; i < groups->n; i++)
		histogram_deinit(&groups->list[i].time);
	free(groups->list);
	ebt_map_deinit(&groups->by_text);
}

void dbus_model_destroy(struct dbus_model *model)
{
	if (!model)
		return;
	groups_deinit(&model->calls);
	groups_deinit(&model->signals);
	dbus_pairs_deinit(&model->pairs);
	free(model);
}

/* The group of (bus, peer, interface, member): by the numbers of these, as one more text. */
static struct ebt_error *group_of(struct dbus_model *m, struct dbus_groups *groups,
				  const struct ebt_row *row, struct ebt_str peer, uint32_t *ret)
{
	uint32_t key[4] = { (uint32_t)ebt_dbus_message_bus(row) }, text;
	struct dbus_group *group;
	struct ebt_error *err;

	err = text_of(&m->pairs, peer, &key[1]);
	if (!err)
		err = text_of(&m->pairs, ebt_dbus_message_interface(row), &key[2]);
	if (!err)
		err = text_of(&m->pairs, ebt_dbus_message_member(row), &key[3]);
	if (!err)
		err = text_of(&m->pairs, (struct ebt_str){ (const char *)key, sizeof(key) }, &text);
	if (err)
		return err;
	err = ebt_map_element(&groups->by_text, text, &groups->list, &groups->n, &groups->capacity,
			      ret);
	if (err)
		return err;
	group = &groups->list[*ret];
	group->bus = key[0];
	group->peer = proc_texts_get(&m->pairs.texts, key[1]).data;
	group->interface = proc_texts_get(&m->pairs.texts, key[2]).data;
	group->member = proc_texts_get(&m->pairs.texts, key[3]).data;
	return NULL;
}

static struct ebt_error *take_call(struct dbus_model *m, const struct ebt_row *row)
{
	struct dbus_call call = { .time = row->time };
	struct dbus_group *group;
	struct ebt_error *err;

	err = group_of(m, &m->calls, row, ebt_dbus_message_destination(row), &call.group);
	if (err)
		return err;
	group = &m->calls.list[call.group];
	group->count++;
	group->bytes += ebt_dbus_message_size(row);
	if (ebt_dbus_message_no_reply(row))
		return NULL;
	group->unanswered++;
	return dbus_pairs_call(&m->pairs, (uint32_t)ebt_dbus_message_bus(row),
			       ebt_dbus_message_sender(row), (uint32_t)ebt_dbus_message_serial(row),
			       &call);
}

static struct ebt_error *take_answer(struct dbus_model *m, const struct ebt_row *row, bool failed)
{
	struct dbus_group *group;
	struct dbus_call call;
	uint64_t time;

	if (!dbus_pairs_answer(&m->pairs, (uint32_t)ebt_dbus_message_bus(row),
			       ebt_dbus_message_destination(row),
			       (uint32_t)ebt_dbus_message_reply_serial(row), &call))
		return NULL;
	group = &m->calls.list[call.group];
	group->unanswered--;
	group->errors += failed;
	time = row->time - call.time;
	if (time > group->time.max || !group->time.count)
		group->max_at_ns = call.time;
	return histogram_add(&group->time, time);
}

static struct ebt_error *take_signal(struct dbus_model *m, const struct ebt_row *row)
{
	struct ebt_error *err;
	uint32_t i;

	err = group_of(m, &m->signals, row, ebt_dbus_message_sender(row), &i);
	if (err)
		return err;
	m->signals.list[i].count++;
	m->signals.list[i].bytes += ebt_dbus_message_size(row);
	return NULL;
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	struct dbus_model *m = arg;
	bool in_window = row->time < trace_to_ns(m->trace);

	switch (ebt_dbus_message_kind(row)) {
	case EBT_V_dbus_message_kind_call:
		return in_window ? take_call(m, row) : NULL;
	case EBT_V_dbus_message_kind_return:
		return take_answer(m, row, false);
	case EBT_V_dbus_message_kind_error:
		return take_answer(m, row, true);
	case EBT_V_dbus_message_kind_signal:
		return in_window ? take_signal(m, row) : NULL;
	}
	return NULL;
}

struct ebt_error *dbus_model_create(struct trace *trace, struct dbus_model **ret)
{
	_cleanup_(dbus_model_destroyp) struct dbus_model *m = calloc(1, sizeof(*m));
	struct ebt_error *err;

	if (!m)
		return &ebt_enomem;
	m->trace = trace;
	err = trace_read_table(m->trace, EBT_T_dbus_message, TRACE_TO_END, take_row, m);
	if (err)
		return err;
	*ret = take_ptr(m);
	return NULL;
}

/* --- buses --- */

static const char *find_bus(const struct dbus_buses *buses, uint32_t bus)
{
	for (size_t i = 0; i < buses->n; i++) {
		if (buses->list[i].bus == bus)
			return buses->list[i].name;
	}
	return NULL;
}

static struct ebt_error *add_bus(void *arg, const struct ebt_row *row)
{
	struct dbus_buses *buses = arg;
	uint32_t bus = (uint32_t)ebt_dbus_bus_bus(row);
	struct ebt_str name = ebt_dbus_bus_name(row);
	struct ebt_error *err;

	if (find_bus(buses, bus) || buses->n == MAX_BUSES)
		return NULL;
	err = ebt_array_reserve(&buses->list, buses->n, &buses->capacity);
	if (err)
		return err;
	buses->list[buses->n] = (struct dbus_bus_name){ bus, strndup(name.data, name.len) };
	return buses->list[buses->n++].name ? NULL : &ebt_enomem;
}

struct ebt_error *dbus_buses_read(struct trace *trace, struct dbus_buses *ret)
{
	return trace_read_table(trace, EBT_T_dbus_bus, TRACE_UNFILTERED, add_bus, ret);
}

void dbus_buses_deinit(struct dbus_buses *buses)
{
	for (size_t i = 0; i < buses->n; i++)
		free(buses->list[i].name);
	free(buses->list);
}

const char *dbus_buses_name(const struct dbus_buses *buses, uint32_t bus)
{
	return find_bus(buses, bus) ?: "?";
}
