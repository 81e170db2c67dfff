/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport dbus: calls and signals of D-Bus, or its messages one by one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/cli/command.h"
#include "report/io/model_dbus.h"
#include "report/out/histogram.h"
#include "report/out/out.h"

struct dbus_view {
	struct report *report;
	struct out *out;
	struct dbus_buses buses;
	struct dbus_pairs *pairs; /* of messages one by one */
};

static struct out_value bus_name(const struct dbus_view *v, uint32_t bus)
{
	return out_cstr(dbus_buses_name(&v->buses, bus));
}

#define CALLS(X)                                                                                   \
	X("bus", "BUS", OUT_STRING, bus_name(v, g->bus), OUT_OPTIONAL | OUT_KEY)                   \
	X("destination", "DESTINATION", OUT_STRING, out_cstr(g->peer), OUT_FLEX | OUT_KEY)         \
	X("interface", "INTERFACE", OUT_STRING, out_cstr(g->interface), OUT_FLEX | OUT_KEY)        \
	X("member", "MEMBER", OUT_STRING, out_cstr(g->member), OUT_KEY)                            \
	X("call_count", "CALLS", OUT_U64, out_u64(g->count), OUT_ADDS)                             \
	X("errors", "ERRORS", OUT_U64, out_u64(g->errors), OUT_ADDS)                               \
	X("unanswered", "OPEN", OUT_U64, out_u64(g->unanswered), OUT_OPTIONAL | OUT_ADDS)          \
	X("total_ns", "TOTAL", OUT_DURATION, out_u64(g->time.sum), OUT_SORT | OUT_ADDS)            \
	X("p50_ns", "P50", OUT_DURATION, out_percentile(&g->time, 50), OUT_SPREAD, .percent = 50)  \
	X("p99_ns", "P99", OUT_DURATION, out_percentile(&g->time, 99), OUT_SPREAD, .of = "p50_ns", \
	  .percent = 99)                                                                           \
	X("max_ns", "MAX", OUT_DURATION, out_maximum(&g->time), OUT_PEAK)                          \
	X("max_at_ns", "MAX-AT", OUT_TIME, out_u64_if(g->time.count, g->max_at_ns),                \
	  OUT_DETAIL | OUT_AT, .of = "max_ns")                                                     \
	X("bytes", "BYTES", OUT_BYTES, out_u64(g->bytes), OUT_DETAIL | OUT_ADDS)

static struct ebt_error *put_call(const struct dbus_view *v, const struct dbus_group *g)
{
	return out_row(v->out, 0, OUT_VALUES(CALLS));
}

static struct ebt_error *put_calls(const struct dbus_view *v, const struct dbus_model *model)
{
	const struct out_table table = OUT_TABLE_OF("rows", CALLS);

	return out_rows(v->out, &table, model->calls.n, i, put_call(v, &model->calls.list[i]));
}

#define SIGNALS(X)                                                                                 \
	X("bus", "BUS", OUT_STRING, bus_name(v, groups[i].bus), OUT_OPTIONAL | OUT_KEY)            \
	X("sender", "SENDER", OUT_STRING, out_cstr(groups[i].peer), OUT_FLEX | OUT_KEY)            \
	X("interface", "INTERFACE", OUT_STRING, out_cstr(groups[i].interface), OUT_FLEX | OUT_KEY) \
	X("member", "SIGNAL", OUT_STRING, out_cstr(groups[i].member), OUT_KEY)                     \
	X("count", "COUNT", OUT_U64, out_u64(groups[i].count), OUT_SORT | OUT_ADDS)                \
	X("bytes", "BYTES", OUT_BYTES, out_u64(groups[i].bytes), OUT_ADDS)

static struct ebt_error *put_signals(const struct dbus_view *v, const struct dbus_model *model)
{
	const struct out_table table = OUT_TABLE_OF("signals", SIGNALS, .flags = OUT_FIXED);
	const struct dbus_group *groups = model->signals.list;

	out_printf(v->out, "\n");
	return out_rows(v->out, &table, model->signals.n, i,
			out_row(v->out, 0, OUT_VALUES(SIGNALS)));
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

#define MESSAGES(X)                                                                                \
	X("time_ns", "TIME", OUT_TIME, out_u64(row->time))                                         \
	X("bus", "BUS", OUT_STRING, bus_name(v, (uint32_t)ebt_dbus_message_bus(row)), OUT_DETAIL)  \
	X("type", "TYPE", OUT_STRING, out_cstr(name ? name : "unknown"))                           \
	X("sender", "SENDER", OUT_STRING, out_str_if(ebt_dbus_message_sender(row)))                \
	X("destination", "DESTINATION", OUT_STRING, out_str_if(ebt_dbus_message_destination(row))) \
	X("serial", "SERIAL", OUT_U64, out_u64(ebt_dbus_message_serial(row)))                      \
	X("reply_serial", "ANSWERS", OUT_U64, out_u64_if(answers, answers))                        \
	X("duration_ns", "DURATION", OUT_DURATION, duration)                                       \
	X("size", "SIZE", OUT_BYTES, out_u64(ebt_dbus_message_size(row)))                          \
	X("member", "MEMBER", OUT_STRING, out_str_if(ebt_dbus_message_member(row)))                \
	X("interface", "INTERFACE", OUT_STRING, out_str_if(ebt_dbus_message_interface(row)))       \
	X("path", "PATH", OUT_STRING, out_str_if(ebt_dbus_message_path(row)))                      \
	X("signature", NULL, OUT_STRING, out_str_if(ebt_dbus_message_signature(row)), OUT_DETAIL)  \
	X("error", "ERROR", OUT_STRING, out_str_if(ebt_dbus_message_error_name(row)))

static struct ebt_error *put_message(void *arg, const struct ebt_row *row)
{
	const struct dbus_view *v = arg;
	const struct ebt_field *kind = &row->batch->table->fields[EBT_F_dbus_message_kind];
	const char *name = ebt_value_name(kind, ebt_dbus_message_kind(row));
	uint64_t answers = ebt_dbus_message_reply_serial(row);
	struct out_value duration;
	struct ebt_error *err = pair(v->pairs, row, &duration);

	return err ? err : out_row(v->out, 0, OUT_VALUES(MESSAGES));
}

static struct ebt_error *put_messages(struct dbus_view *v)
{
	const struct out_table table = OUT_TABLE_OF("rows", MESSAGES, .flags = OUT_KEEP_ORDER);
	_cleanup_(dbus_pairs_deinit) struct dbus_pairs pairs = { 0 };
	struct ebt_error *err = out_begin(v->out, &table);

	v->pairs = &pairs;
	if (!err)
		err = trace_read_table(v->report->trace, EBT_T_dbus_message, 0, put_message, v);
	return err ? err : out_end(v->out);
}

static struct ebt_error *cmd_dbus(struct report *report)
{
	struct dbus_view v = { .report = report, .out = report->out };
	struct ebt_error *err = NULL;

	if (trace_has_task_filter(report->trace))
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
	{ "trace", OPTION_FLAG, NULL, "every message, a line each" },
	{ 0 },
};

static const struct command_subject subject = {
	.what = "messages",
	.source = "dbus",
	.tables = { EBT_T_dbus_message },
};

const struct command command_dbus = {
	.name = "dbus",
	.fn = cmd_dbus,
	.flags = COMMAND_NO_NAMES | COMMAND_NO_CPUS,
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
	.subject = &subject,
};
