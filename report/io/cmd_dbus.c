/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport dbus: calls and signals of D-Bus, or its messages one by one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/cli/command.h"
#include "report/io/dbus_pairs.h"
#include "report/io/model_dbus.h"
#include "report/out/histogram.h"
#include "report/out/out.h"

struct dbus_view {
	struct report *report;
	struct out *out;
	struct dbus_buses buses;
};

static struct out_value bus_name(const struct dbus_view *v, uint32_t bus)
{
	return out_cstr(dbus_buses_name(&v->buses, bus));
}

static struct ebt_error *put_call(const struct dbus_view *v, const struct dbus_group *g)
{
	const struct histogram *h = &g->time;

	return out_row(v->out, 0,
		       (struct out_value[]){
			       bus_name(v, g->bus),
			       out_cstr(g->peer),
			       out_cstr(g->interface),
			       out_cstr(g->member),
			       out_u64(g->count),
			       out_u64(g->errors),
			       out_u64(g->unanswered),
			       out_u64(h->sum),
			       out_percentile(h, 50),
			       out_percentile(h, 99),
			       out_maximum(h),
			       out_u64_if(h->count, g->max_at_ns),
			       out_u64(g->bytes),
		       });
}

static struct ebt_error *put_calls(const struct dbus_view *v, const struct dbus_model *model)
{
	static const struct out_column columns[] = {
		{ "bus", "BUS", OUT_STRING, OUT_OPTIONAL },
		{ "destination", "DESTINATION", OUT_STRING, OUT_FLEX },
		{ "interface", "INTERFACE", OUT_STRING, OUT_FLEX },
		{ "member", "MEMBER", OUT_STRING, 0 },
		{ "call_count", "CALLS", OUT_U64, 0 },
		{ "errors", "ERRORS", OUT_U64, 0 },
		{ "unanswered", "OPEN", OUT_U64, OUT_OPTIONAL },
		{ "total_ns", "TOTAL", OUT_DURATION, OUT_SORT },
		{ "p50_ns", "P50", OUT_DURATION, 0 },
		{ "p99_ns", "P99", OUT_DURATION, 0 },
		{ "max_ns", "MAX", OUT_DURATION, 0 },
		{ "max_at_ns", "MAX AT", OUT_TIME, OUT_DETAIL },
		{ "bytes", "BYTES", OUT_BYTES, OUT_DETAIL },
	};
	static const struct out_table table = OUT_TABLE("rows", columns);
	size_t n;
	const struct dbus_group *groups = dbus_model_calls(model, &n);

	return out_rows(v->out, &table, n, i, put_call(v, &groups[i]));
}

static struct ebt_error *put_signals(const struct dbus_view *v, const struct dbus_model *model)
{
	static const struct out_column columns[] = {
		{ "bus", "BUS", OUT_STRING, OUT_OPTIONAL },
		{ "sender", "SENDER", OUT_STRING, OUT_FLEX },
		{ "interface", "INTERFACE", OUT_STRING, OUT_FLEX },
		{ "member", "SIGNAL", OUT_STRING, 0 },
		{ "count", "COUNT", OUT_U64, OUT_SORT },
		{ "bytes", "BYTES", OUT_BYTES, 0 },
	};
	static const struct out_table table = OUT_TABLE("signals", columns, .flags = OUT_FIXED);
	size_t n;
	const struct dbus_group *groups = dbus_model_signals(model, &n);

	out_printf(v->out, "\n");
	return out_rows(v->out, &table, n, i,
			out_row(v->out, 0,
				(struct out_value[]){
					bus_name(v, groups[i].bus), out_cstr(groups[i].peer),
					out_cstr(groups[i].interface), out_cstr(groups[i].member),
					out_u64(groups[i].count), out_u64(groups[i].bytes) }));
}

static struct ebt_error *put_tables(struct dbus_view *v)
{
	_cleanup_(dbus_model_destroyp) struct dbus_model *model = NULL;
	struct ebt_error *err = dbus_model_create(v->report->trace, &model);

	if (!err)
		err = put_calls(v, model);
	return err ? err : put_signals(v, model);
}

/* --- one by one --- */

/* Pairs it; *ret_duration is null but for an answer. */
static struct ebt_error *pair(struct dbus_pairs *pairs, const struct ebt_row *row,
			      struct out_value *ret_duration)
{
	uint32_t bus = (uint32_t)ebt_dbus_message_bus(row);
	uint64_t kind = ebt_dbus_message_kind(row);
	struct dbus_call call = { .time = row->time };

	*ret_duration = out_null();
	if (kind == EBT_V_dbus_message_kind_call)
		return dbus_pairs_call(pairs, bus, ebt_dbus_message_sender(row),
				       (uint32_t)ebt_dbus_message_serial(row), &call);
	if ((kind == EBT_V_dbus_message_kind_return || kind == EBT_V_dbus_message_kind_error) &&
	    dbus_pairs_answer(pairs, bus, ebt_dbus_message_destination(row),
			      (uint32_t)ebt_dbus_message_reply_serial(row), &call))
		*ret_duration = out_u64(row->time - call.time);
	return NULL;
}

static struct ebt_error *put_message(const struct dbus_view *v, struct dbus_pairs *pairs,
				     const struct ebt_row *row)
{
	const struct ebt_field *kind = &row->batch->table->fields[EBT_F_dbus_message_kind];
	const char *name = ebt_value_name(kind, ebt_dbus_message_kind(row));
	uint64_t answers = ebt_dbus_message_reply_serial(row);
	struct out_value duration;
	struct ebt_error *err = pair(pairs, row, &duration);

	if (err)
		return err;
	return out_row(v->out, 0,
		       (struct out_value[]){
			       out_u64(row->time),
			       bus_name(v, (uint32_t)ebt_dbus_message_bus(row)),
			       out_cstr(name ? name : "unknown"),
			       out_str_if(ebt_dbus_message_sender(row)),
			       out_str_if(ebt_dbus_message_destination(row)),
			       out_u64(ebt_dbus_message_serial(row)),
			       answers ? out_u64(answers) : out_null(),
			       duration,
			       out_u64(ebt_dbus_message_size(row)),
			       out_str_if(ebt_dbus_message_member(row)),
			       out_str_if(ebt_dbus_message_interface(row)),
			       out_str_if(ebt_dbus_message_path(row)),
			       out_str_if(ebt_dbus_message_signature(row)),
			       out_str_if(ebt_dbus_message_error_name(row)),
		       });
}

static struct ebt_error *put_messages(struct dbus_view *v)
{
	static const struct out_column columns[] = {
		{ "time_ns", "TIME", OUT_TIME, 0 },
		{ "bus", "BUS", OUT_STRING, OUT_DETAIL },
		{ "type", "TYPE", OUT_STRING, 0 },
		{ "sender", "SENDER", OUT_STRING, 0 },
		{ "destination", "DESTINATION", OUT_STRING, 0 },
		{ "serial", "SERIAL", OUT_U64, 0 },
		{ "reply_serial", "ANSWERS", OUT_U64, 0 },
		{ "duration_ns", "AFTER", OUT_DURATION, 0 },
		{ "size", "SIZE", OUT_BYTES, 0 },
		{ "member", "MEMBER", OUT_STRING, 0 },
		{ "interface", "INTERFACE", OUT_STRING, 0 },
		{ "path", "PATH", OUT_STRING, 0 },
		{ "signature", NULL, OUT_STRING, OUT_DETAIL },
		{ "error", "ERROR", OUT_STRING, 0 },
	};
	static const struct out_table table = OUT_TABLE("rows", columns, .flags = OUT_KEEP_ORDER);
	const struct ebt_want want = { EBT_T_dbus_message, ~UINT64_C(0) };
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	_cleanup_(dbus_pairs_destroyp) struct dbus_pairs *pairs = NULL;
	struct ebt_error *err = dbus_pairs_create(&pairs);
	struct ebt_row row;

	if (!err)
		err = trace_cursor_create(v->report->trace, &want, 1, 0, &cursor);
	if (!err)
		err = out_begin(v->out, &table);
	while (!err) {
		err = trace_next(cursor, &row);
		if (err || !row.batch)
			break;
		err = put_message(v, pairs, &row);
	}
	return err ? err : out_end(v->out);
}

static struct ebt_error *cmd_dbus(struct report *report)
{
	struct dbus_view v = { .report = report, .out = report->out };
	struct ebt_error *err = NULL;

	if (trace_has_task_filter(report->trace) || trace_has_cpu_filter(report->trace))
		err = trace_warn(report->trace, "a bus does not say which process a message is of: "
						"all are shown");
	if (!err)
		err = dbus_buses_read(report->trace, &v.buses);
	if (!err)
		err = options_flag(report->options, "trace") ? put_messages(&v) : put_tables(&v);
	dbus_buses_deinit(&v.buses);
	return err;
}

static const struct option_def dbus_options[] = {
	{ "trace", OPTION_FLAG, NULL, "every message, a line each", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_dbus = {
	.name = "dbus",
	.fn = cmd_dbus,
	.summary = "D-Bus: calls with the time until they were answered, signals",
	.help = "Record with `ebrec -e dbus` (the system's bus), `-e dbus:session`, or with the\n"
		"address of a bus. An answer belongs to the call with its number from the name "
		"that\n"
		"it goes to; times are as the recorder saw the messages. OPEN calls wanted an "
		"answer\n"
		"and have none in the trace; a call counts when it is sent.\n"
		"\n"
		"  ebreport dbus t.ebt\n"
		"  ebreport dbus --sort p99 --top 10 t.ebt\n"
		"  ebreport dbus --trace --from 2s --to 3s t.ebt\n",
	.options = dbus_options,
};
