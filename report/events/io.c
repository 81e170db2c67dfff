/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to disks, connections, and messages of D-Bus. */
#include "report/events/private.h"

#include <inttypes.h>
#include <stdlib.h>

#include "format/base/array.h"
#include "report/base/names.h"
#include "report/base/net_text.h"
#include "report/calls/names.h"
#include "report/io/block_names.h"
#include "report/io/block_trace.h"
#include "report/io/model_dbus.h"
#include "report/io/model_net.h"

struct io_reader {
	struct trace *trace;
	const struct event_sink *sink;
	const struct names *names;
	struct block_names *devices;
	struct text detail;
	struct dbus_buses buses;
	struct dbus_pairs pairs;
	uint64_t *answers; /* when calls that are in the trace were answered; 0: they were not */
	bool *failed;
	size_t n_answers, answers_capacity, failed_capacity, next;
};

static void add_error(struct text *text, uint64_t error)
{
	const char *name = error ? errno_name(error) : NULL;

	if (name)
		text_printf(text, ", %s", name);
	else if (error)
		text_printf(text, ", error %" PRIu64, error);
}

static struct text *new_detail(struct io_reader *r)
{
	text_clear(&r->detail);
	return &r->detail;
}

/* With the detail that was written. */
static struct ebt_error *give(struct io_reader *r, struct event *event)
{
	event->detail = text_str(&r->detail);
	return text_error(&r->detail) ?: event_give(r->sink, event);
}

/* --- disks --- */

static void add_thread(const struct io_reader *r, struct text *text, const char *before,
		       const struct ebt_task *task)
{
	if (!task)
		return;
	text_cstr(text, before);
	text_task(text, names_task(r->names, task), task->tid);
}

/* "4.0 KiB at sector 2048, for dd (12), in the queue for 1 ms, in the device for 2 ms" */
static void write_request(const struct io_reader *r, const struct ebt_row *row, struct text *text)
{
	const uint64_t total = ebt_block_io_duration(row), device = ebt_block_io_device(row);
	const struct ebt_task *task = ebt_block_io_task(row);

	text_bytes(text, ebt_block_io_bytes(row));
	text_printf(text, " at sector %" PRIu64, ebt_block_io_sector(row));
	add_thread(r, text, ", for ", task);
	if (ebt_block_io_submitter(row) != task)
		add_thread(r, text, ", submitted by ", ebt_block_io_submitter(row));
	if (device && total >= device) {
		text_cstr(text, ", in the queue for ");
		text_duration(text, total - device);
		text_cstr(text, ", in the device for ");
		text_duration(text, device);
	}
	if (ebt_block_io_state(row) != EBT_V_block_io_state_complete)
		text_printf(text, ", %s", ebt_row_value_name(row, EBT_F_block_io_state) ?: "other");
	add_error(text, ebt_block_io_error(row));
}

static struct ebt_error *take_request(void *arg, const struct ebt_row *row)
{
	struct io_reader *r = arg;
	struct event event = {
		.kind = EVENT_BLOCK,
		.value = event_value(ebt_block_io_bytes(row)),
		.name = ebt_str_of(block_op_name(ebt_block_io_op(row))),
		.other = ebt_block_io_task(row),
		.flags = (ebt_block_io_error(row) ? EVENT_FAILED : 0) |
			 (ebt_block_io_state(row) ? EVENT_OPEN : 0),
	};
	struct ebt_error *err;
	uint32_t device;

	/* The cursor let it pass for its submitter too. */
	if (!trace_task_wanted(r->trace, event.other))
		return NULL;
	event_ended(&event, row->time, ebt_block_io_duration(row));
	event.notable = event.flags;
	err = block_names_of(r->devices, (uint32_t)ebt_block_io_dev_major(row),
			     (uint32_t)ebt_block_io_dev_minor(row), &device);
	if (err)
		return err;
	event.track = device;
	event.track_name = r->devices->devices[device].name;
	write_request(r, row, new_detail(r));
	return give(r, &event);
}

struct ebt_error *events_read_block(struct trace *trace, const struct event_sink *sink)
{
	struct io_reader r = { .trace = trace, .sink = sink, .detail = TEXT_INIT };
	struct ebt_error *err;

	if (!ebt_reader_has_rows(trace_reader(trace), EBT_T_block_io))
		return NULL;
	err = trace_names(trace, &r.names) ?:
	      block_names_create(trace, &r.devices) ?:
	      trace_read_table(trace, EBT_T_block_io, 0, take_request, &r);
	block_names_destroy(r.devices);
	text_deinit(&r.detail);
	return err;
}

/* --- the network --- */

static const char *connection_kind(const struct net_connection *c)
{
	const struct ebt_table *table = ebt_table_by_id(EBT_T_net_connection);

	return ebt_value_name(&table->fields[EBT_F_net_connection_kind], c->kind) ?: "connection";
}

static void write_connection(const struct net_connection *c, struct text *text)
{
	net_add_endpoint(text, c->saddr.bytes, c->saddr.len, c->sport);
	text_cstr(text, " -> ");
	net_add_endpoint(text, c->daddr.bytes, c->daddr.len, c->dport);
	if (c->latency) {
		text_cstr(text, ", made in ");
		text_duration(text, c->latency);
	}
	add_error(text, c->error);
	if (c->ended) {
		text_cstr(text, ", sent ");
		text_bytes(text, c->bytes_sent - c->bytes_resent);
		text_cstr(text, ", received ");
		text_bytes(text, c->bytes_received);
		add_error(text, c->end_error);
	}
	if (c->retransmits)
		text_printf(text, ", %" PRIu64 " sent again", c->retransmits);
	if (c->resets)
		text_printf(text, ", %" PRIu64 " %s", c->resets,
			    text_plural(c->resets, "reset", "resets"));
}

/* From when the program asked for it, to when it ended. */
static void connection_times(const struct io_reader *r, const struct net_connection *c,
			     struct event *event)
{
	const bool asks = c->kind == EBT_V_net_connection_kind_connect;
	uint64_t end = c->time;

	event->time = asks && c->time > c->latency ? c->time - c->latency : c->time;
	if (c->ended)
		end = c->end_time;
	else if (!c->error)
		end = trace_end_ns(r->trace);
	event->dur = end > event->time ? end - event->time : 0;
}

/* A track a process. */
static struct ebt_error *give_connection(struct io_reader *r, const struct net_connection *c)
{
	const uint64_t bytes = c->ended ? c->bytes_sent - c->bytes_resent + c->bytes_received : 0;
	const bool open = c->kind == EBT_V_net_connection_kind_there || (!c->ended && !c->error);
	struct event event = {
		.kind = EVENT_NET,
		.value = event_value(bytes),
		.task = c->task,
		.track = c->task ? names_process_key(r->names, c->task) : UINT64_MAX,
		.track_name = ebt_str_of("connections"),
		.name = ebt_str_of(connection_kind(c)),
		.other = c->task,
		.flags = (c->error || c->end_error ? EVENT_FAILED : 0) | (open ? EVENT_OPEN : 0),
		.notable = c->error || c->end_error,
	};

	connection_times(r, c, &event);
	write_connection(c, new_detail(r));
	return give(r, &event);
}

struct ebt_error *events_read_net(struct trace *trace, const struct event_sink *sink)
{
	struct io_reader r = { .trace = trace, .sink = sink, .detail = TEXT_INIT };
	_cleanup_(net_model_destroyp) struct net_model *model = NULL;
	struct ebt_error *err;

	if (!ebt_reader_has_rows(trace_reader(trace), EBT_T_net_connection))
		return NULL;
	err = trace_names(trace, &r.names) ?: net_model_create(trace, NULL, &model);
	for (size_t i = 0; !err && i < model->n_connections; i++) {
		if (net_model_wanted(model, &model->connections[i]))
			err = give_connection(&r, &model->connections[i]);
	}
	text_deinit(&r.detail);
	return err;
}

/* --- D-Bus --- */

static bool is_call(const struct ebt_row *row)
{
	return ebt_dbus_message_kind(row) == EBT_V_dbus_message_kind_call;
}

static bool is_answer(const struct ebt_row *row)
{
	const uint64_t kind = ebt_dbus_message_kind(row);

	return kind == EBT_V_dbus_message_kind_return || kind == EBT_V_dbus_message_kind_error;
}

/* Finds the answers, in the order of calls. */
static struct ebt_error *pair(void *arg, const struct ebt_row *row)
{
	struct io_reader *r = arg;
	const uint32_t bus = (uint32_t)ebt_dbus_message_bus(row);
	struct dbus_call call = { .time = row->time, .group = (uint32_t)r->n_answers };
	struct ebt_error *err;

	if (is_answer(row)) {
		if (dbus_pairs_answer(&r->pairs, bus, ebt_dbus_message_destination(row),
				      (uint32_t)ebt_dbus_message_reply_serial(row), &call)) {
			r->answers[call.group] = row->time;
			r->failed[call.group] =
				ebt_dbus_message_kind(row) == EBT_V_dbus_message_kind_error;
		}
		return NULL;
	}
	if (!is_call(row) || row->time >= trace_rows_to_ns(r->trace))
		return NULL;
	err = ebt_array_reserve(&r->answers, r->n_answers, &r->answers_capacity)
		      ?: ebt_array_reserve(&r->failed, r->n_answers, &r->failed_capacity)
		      ?: dbus_pairs_call(&r->pairs, bus, ebt_dbus_message_sender(row),
					 (uint32_t)ebt_dbus_message_serial(row), &call);
	if (err)
		return err;
	r->answers[r->n_answers] = 0;
	r->failed[r->n_answers++] = false;
	return NULL;
}

static void write_message(const struct ebt_row *row, struct text *text)
{
	const struct ebt_str parts[] = {
		ebt_dbus_message_sender(row),	   { " -> ", 4 },
		ebt_dbus_message_destination(row), { " ", 1 },
		ebt_dbus_message_path(row),	   { " ", 1 },
		ebt_dbus_message_interface(row),   { ".", 1 },
		ebt_dbus_message_member(row),
	};

	text_cstr(text, ebt_row_value_name(row, EBT_F_dbus_message_kind) ?: "other");
	text_addc(text, ' ');
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		text_add(text, parts[i].data, parts[i].len);
}

/* A call lasts until its answer, which is no event of its own. */
static struct ebt_error *take_message(void *arg, const struct ebt_row *row)
{
	struct io_reader *r = arg;
	const char *bus = dbus_buses_name(&r->buses, (uint32_t)ebt_dbus_message_bus(row));
	struct event event = {
		.kind = EVENT_DBUS,
		.time = row->time,
		.value = event_value(ebt_dbus_message_size(row)),
		.track = ebt_dbus_message_bus(row),
		.track_name = ebt_str_of(bus),
		.name = ebt_dbus_message_member(row),
	};

	if (is_answer(row))
		return NULL;
	if (is_call(row) && r->next < r->n_answers) {
		const uint64_t answered = r->answers[r->next];

		event.dur = answered > row->time ? answered - row->time : 0;
		if (!answered && !ebt_dbus_message_no_reply(row))
			event.flags |= EVENT_OPEN;
		if (r->failed[r->next++])
			event.flags |= EVENT_FAILED;
	}
	event.notable = event.flags;
	write_message(row, new_detail(r));
	return give(r, &event);
}

struct ebt_error *events_read_dbus(struct trace *trace, const struct event_sink *sink)
{
	struct io_reader r = { .trace = trace, .sink = sink, .detail = TEXT_INIT };
	struct ebt_error *err;

	if (!ebt_reader_has_rows(trace_reader(trace), EBT_T_dbus_message))
		return NULL;
	err = dbus_buses_read(trace, &r.buses) ?:
	      trace_read_table(trace, EBT_T_dbus_message, TRACE_TO_END, pair, &r) ?:
	      trace_read_table(trace, EBT_T_dbus_message, 0, take_message, &r);
	dbus_buses_deinit(&r.buses);
	dbus_pairs_deinit(&r.pairs);
	free(r.answers);
	free(r.failed);
	text_deinit(&r.detail);
	return err;
}
