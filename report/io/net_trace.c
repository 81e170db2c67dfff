/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of the network, a row each in order of time; see net_trace.h. */
#include "report/io/net_trace.h"

#include <inttypes.h>

#include "format/base/cleanup.h"
#include "format/schema/schema.h"
#include "report/base/net_text.h"
#include "report/base/text.h"
#include "report/calls/names.h"
#include "report/io/model_net.h"
#include "report/out/out.h"

#define TIME_KNOWN 1 /* net_packet.attrs */

struct events {
	struct report *report;
	struct net_model *model;
	struct text line;
	uint64_t printed;
};

/* What a row of the output says beside time and task. */
struct net_event {
	const char *name;
	uint64_t netns, ifindex; /* 0: none */
	uint64_t bytes, duration;
	bool has_bytes, has_duration;
	struct text what;
};

/* The name of an enum's value in this file, or its number. */
static void add_value(struct text *text, const struct ebt_row *row, unsigned int field)
{
	uint64_t v = ebt_u64(row, field);
	const char *name = ebt_value_name(&row->batch->table->fields[field], v);

	if (name)
		text_cstr(text, name);
	else
		text_u64(text, v);
}

static void add_error(struct text *text, uint64_t error)
{
	const char *name = error ? errno_name(error) : NULL;

	if (name)
		text_printf(text, " %s", name);
	else if (error)
		text_printf(text, " error %" PRIu64, error);
}

static void on_connection(struct net_event *e, const struct ebt_row *row)
{
	e->name = "connection";
	e->duration = ebt_net_connection_latency(row);
	e->has_duration = true;
	add_value(&e->what, row, EBT_F_net_connection_kind);
	add_error(&e->what, ebt_net_connection_error(row));
}

static void on_end(struct net_event *e, const struct ebt_row *row)
{
	e->name = "end";
	e->duration = ebt_net_end_duration(row);
	e->has_duration = true;
	text_printf(&e->what, "sent %" PRIu64 ", received %" PRIu64,
		    ebt_net_end_bytes_sent(row) - ebt_net_end_bytes_resent(row),
		    ebt_net_end_bytes_received(row));
	add_error(&e->what, ebt_net_end_error(row));
}

static void on_packet(struct net_event *e, const struct ebt_row *row)
{
	uint64_t result = ebt_net_packet_result(row), segments = ebt_net_packet_segments(row);

	e->name = ebt_net_packet_direction(row) == EBT_V_net_packet_direction_receive
			  ? "packet in"
			  : "packet out";
	e->netns = ebt_net_packet_netns(row);
	e->ifindex = ebt_net_packet_ifindex(row);
	e->bytes = ebt_net_packet_length(row);
	e->has_bytes = true;
	e->duration = ebt_net_packet_queue(row);
	e->has_duration = ebt_net_packet_attrs(row) & TIME_KNOWN;
	text_printf(&e->what, "%" PRIu64 " %s", segments,
		    text_plural(segments, "segment", "segments"));
	if (result)
		text_printf(&e->what, ", result %" PRIu64, result);
}

/* Fills what depends on the table. */
static void fill(struct net_event *e, const struct ebt_row *row)
{
	switch (row->batch->table->id) {
	case EBT_T_net_connection:
		on_connection(e, row);
		break;
	case EBT_T_net_state:
		e->name = "state";
		add_value(&e->what, row, EBT_F_net_state_old);
		text_cstr(&e->what, " -> ");
		add_value(&e->what, row, EBT_F_net_state_new);
		break;
	case EBT_T_net_end:
		on_end(e, row);
		break;
	case EBT_T_net_transfer:
		e->name = ebt_net_transfer_direction(row) == EBT_V_net_transfer_direction_receive
				  ? "receive"
				  : "send";
		e->bytes = ebt_net_transfer_bytes(row);
		e->has_bytes = true;
		break;
	case EBT_T_net_packet:
		on_packet(e, row);
		break;
	case EBT_T_net_retransmit:
		e->name = "retransmit";
		e->bytes = ebt_net_retransmit_length(row);
		e->has_bytes = true;
		add_value(&e->what, row, EBT_F_net_retransmit_kind);
		break;
	default:
		e->name = ebt_net_reset_direction(row) == EBT_V_net_reset_direction_receive
				  ? "reset in"
				  : "reset out";
	}
}

/* "127.0.0.1:40000 -> 127.0.0.1:80" before what there is. */
static void add_endpoints(struct text *text, const struct net_connection *c)
{
	net_add_endpoint(text, c->saddr.bytes, c->saddr.len, c->sport);
	text_cstr(text, " -> ");
	net_add_endpoint(text, c->daddr.bytes, c->daddr.len, c->dport);
}

/* 1.574615 curl (12667) packet out lo 60 bytes <3.946 us> 1 segment, … */
static void put_line(struct events *s, const struct ebt_row *row, const struct net_event *e,
		     const struct ebt_task *task, const struct text *device,
		     const struct text *what)
{
	text_clear(&s->line);
	text_seconds(&s->line, row->time, trace_start_ns(s->report->trace));
	text_addc(&s->line, ' ');
	if (task) {
		text_terminal(&s->line, text_comm(task->comm));
		text_printf(&s->line, " (%" PRIu32 ") ", task->pid);
	}
	text_cstr(&s->line, e->name);
	if (device->len) {
		text_addc(&s->line, ' ');
		text_terminal(&s->line, (struct ebt_str){ text_get(device), device->len });
	}
	if (e->has_bytes)
		text_printf(&s->line, " %" PRIu64 " %s", e->bytes,
			    text_plural(e->bytes, "byte", "bytes"));
	if (e->has_duration) {
		text_cstr(&s->line, " <");
		text_duration(&s->line, e->duration);
		text_addc(&s->line, '>');
	}
	if (what->len)
		text_printf(&s->line, " %s", text_get(what));
	text_addc(&s->line, '\n');
	fwrite(text_get(&s->line), 1, s->line.len, out_file(s->report->out));
}

#define EVENTS(X)                                                                            \
	X("time_ns", "TIME", OUT_TIME, out_u64(row->time))                                   \
	X("pid", "PID", OUT_U64, out_pid(task))                                              \
	X("tid", "TID", OUT_U64, out_tid(task))                                              \
	X("comm", "COMM", OUT_STRING, out_comm(task))                                        \
	X("event", "EVENT", OUT_STRING, out_cstr(e->name))                                   \
	X("device", "DEVICE", OUT_STRING, out_str_if(text_str(&device)))                     \
	X("bytes", "BYTES", OUT_BYTES, out_u64_if(e->has_bytes, e->bytes))                   \
	X("duration_ns", "DURATION", OUT_DURATION, out_u64_if(e->has_duration, e->duration)) \
	X("what", "WHAT", OUT_STRING, out_cstr(text_get(&what)))                             \
	X("cookie", "SOCKET", OUT_ID, out_u64_if(cookie, cookie))

static struct ebt_error *put(struct events *s, const struct ebt_row *row, const struct net_event *e,
			     uint64_t cookie, const struct ebt_task *task)
{
	_cleanup_text_ struct text what = TEXT_INIT, device = TEXT_INIT;
	const struct net_connection *c = net_model_connection(s->model, cookie, row->time);
	const struct net_interface *interface = net_model_interface(s->model, e->netns, e->ifindex);

	text_add(&what, text_get(&e->what), e->what.len);
	if (c && what.len)
		text_cstr(&what, ", ");
	if (c)
		add_endpoints(&what, c);
	if (interface && interface->name.len)
		text_add(&device, interface->name.data, interface->name.len);
	else if (e->ifindex)
		text_printf(&device, "#%" PRIu64, e->ifindex);
	if (text_error(&what) || text_error(&device))
		return &ebt_enomem;
	if (out_format(s->report->out) == FORMAT_TABLE) {
		put_line(s, row, e, task, &device, &what);
		return text_error(&s->line);
	}
	return out_row(s->report->out, 0, OUT_VALUES(EVENTS));
}

static struct ebt_error *put_row(void *arg, const struct ebt_row *row)
{
	struct events *s = arg;
	const struct ebt_table *table = row->batch->table;
	struct net_event e = { .what = TEXT_INIT };
	struct ebt_error *err;
	int task = ebt_field_by_name(table, "task"), cookie = ebt_field_by_name(table, "cookie");

	fill(&e, row);
	err = text_error(&e.what);
	if (!err)
		err = put(s, row, &e, ebt_u64(row, (unsigned int)cookie),
			  ebt_task(row, (unsigned int)task));
	text_deinit(&e.what);
	return err ? err : ++s->printed == s->report->options->top ? &trace_enough : NULL;
}

static struct ebt_error *put_rows(struct events *s)
{
	static const struct ebt_want wants[] = {
		{ EBT_T_net_connection, ~UINT64_C(0) }, { EBT_T_net_state, ~UINT64_C(0) },
		{ EBT_T_net_end, ~UINT64_C(0) },	{ EBT_T_net_transfer, ~UINT64_C(0) },
		{ EBT_T_net_packet, ~UINT64_C(0) },	{ EBT_T_net_retransmit, ~UINT64_C(0) },
		{ EBT_T_net_reset, ~UINT64_C(0) },
	};

	return trace_read_rows(s->report->trace, wants, sizeof(wants) / sizeof(wants[0]), 0,
			       put_row, s);
}

struct ebt_error *net_trace(struct report *report)
{
	const struct out_table table = OUT_TABLE_OF("rows", EVENTS, .flags = OUT_STREAM);
	_cleanup_(net_model_destroyp) struct net_model *model = NULL;
	bool is_table = out_format(report->out) != FORMAT_TABLE;
	struct events s = { .report = report };
	struct ebt_error *err;

	if (report->options->sort)
		return ebt_error_create(EBT_ERR_INVALID,
					"--trace is in order of time: --sort does not apply");
	err = net_model_create(report->trace, NULL, &model);
	s.model = model;
	if (!err && is_table)
		err = out_begin(report->out, &table);
	if (!err)
		err = put_rows(&s);
	if (!err && is_table)
		err = out_end(report->out);
	text_deinit(&s.line);
	return err;
}
