/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport net`: what processes sent and received, their connections, the devices. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/group/group.h"
#include "report/io/model_net.h"
#include "report/io/net_text.h"
#include "report/io/net_trace.h"
#include "report/out/histogram.h"
#include "report/out/out.h"
#include "report/syscalls/names.h"

#define DEFAULT_CONNECTIONS 40 /* on a terminal without --all */

struct net_command {
	struct report *report;
	struct out *out;
	const struct names *names;
	struct net_model *model;
	struct grouping *g;
};

/* --- sums of processes --- */

static struct ebt_error *merge(void *to, const void *from)
{
	const uint64_t *f = from;
	uint64_t *t = to;

	for (size_t i = 0; i < sizeof(struct net_sum) / sizeof(*t); i++)
		t[i] += f[i];
	return NULL;
}

#define SUMS(X)                                                                     \
	X("tx_bytes", "SENT", OUT_BYTES, out_u64(sum->tx_bytes), OUT_SORT)          \
	X("rx_bytes", "RECEIVED", OUT_BYTES, out_u64(sum->rx_bytes))                \
	X("sends", "SENDS", OUT_U64, out_u64(sum->sends), OUT_OPTIONAL)             \
	X("receives", "RECEIVES", OUT_U64, out_u64(sum->receives), OUT_OPTIONAL)    \
	X("connects", "CONNECTS", OUT_U64, out_u64(sum->connects))                  \
	X("connects_failed", "FAILED", OUT_U64, out_u64(sum->failed))               \
	X("accepts", "ACCEPTS", OUT_U64, out_u64(sum->accepts))                     \
	X("retransmits", "RETRANS", OUT_U64, out_u64(sum->retransmits))             \
	X("resets", "RESETS", OUT_U64, out_u64(sum->resets), OUT_OPTIONAL)          \
	X("tx_packets", "PACKETS", OUT_U64, out_u64(sum->tx_packets), OUT_OPTIONAL) \
	X("tx_packet_bytes", "ON-DEVICES", OUT_BYTES, out_u64(sum->tx_packet_bytes), OUT_DETAIL)

static void put_sums(const struct grouping *g, const void *figures, struct out_value *values)
{
	const struct net_sum *sum = figures;

	(void)g;
	GROUP_PUT(values, SUMS);
}

static const struct group_columns sum_columns = GROUP_COLUMNS(SUMS, put_sums);

static const struct group_table sums = {
	.keys = GROUP_TASK_KEYS,
	.by = "process",
	.columns = &sum_columns,
	.size = sizeof(struct net_sum),
	.merge = merge,
};

/* --- connections --- */

static const struct out_column connection_columns[] = {
	{ "time_ns", "TIME", OUT_TIME, 0 },
	{ "pid", "PID", OUT_U64, 0 },
	{ "comm", "COMM", OUT_STRING, OUT_FLEX },
	{ "kind", "KIND", OUT_STRING, 0 },
	{ "local", "LOCAL", OUT_STRING, OUT_TEXT_ONLY },
	{ "remote", "REMOTE", OUT_STRING, OUT_TEXT_ONLY },
	{ "saddr", NULL, OUT_STRING, OUT_DETAIL },
	{ "sport", NULL, OUT_U64, OUT_DETAIL },
	{ "daddr", NULL, OUT_STRING, OUT_DETAIL },
	{ "dport", NULL, OUT_U64, OUT_DETAIL },
	{ "latency_ns", "LATENCY", OUT_DURATION, 0 },
	{ "result", "RESULT", OUT_STRING, 0 },
	{ "duration_ns", "DURATION", OUT_DURATION, 0, 130 },
	{ "tx_bytes", "SENT", OUT_BYTES, 0, 112 },
	{ "rx_bytes", "RECEIVED", OUT_BYTES, 0, 112 },
	{ "retransmits", "RETRANS", OUT_U64, OUT_OPTIONAL },
	{ "resets", NULL, OUT_U64, OUT_DETAIL },
	{ "srtt_ns", NULL, OUT_DURATION, OUT_DETAIL },
	{ "netns", NULL, OUT_U64, OUT_DETAIL },
	{ "cookie", NULL, OUT_ID, OUT_DETAIL },
};

static const char *kind_name(uint32_t kind)
{
	const struct ebt_table *table = ebt_table_by_id(EBT_T_net_connection);
	const char *name = ebt_value_name(&table->fields[EBT_F_net_connection_kind], kind);

	return name ? name : "?";
}

/* "ECONNREFUSED", "closed", "open". */
static void add_result(struct text *text, const struct net_connection *n)
{
	uint32_t error = n->error ? n->error : n->ended ? n->end_error : 0;
	const char *name = error ? errno_name(error) : NULL;

	if (name)
		text_cstr(text, name);
	else if (error)
		text_printf(text, "error %" PRIu32, error);
	else
		text_cstr(text, n->ended ? "closed" : "open");
}

static struct ebt_error *put_connection(struct net_command *c, const struct net_connection *n)
{
	_cleanup_text_ struct text local = TEXT_INIT, remote = TEXT_INIT, result = TEXT_INIT;
	_cleanup_text_ struct text saddr = TEXT_INIT, daddr = TEXT_INIT;
	bool ended = n->ended, timed = n->kind < EBT_V_net_connection_kind_there;

	net_add_endpoint(&local, n->saddr.bytes, n->saddr.len, n->sport);
	net_add_endpoint(&remote, n->daddr.bytes, n->daddr.len, n->dport);
	net_add_address(&saddr, n->saddr.bytes, n->saddr.len);
	net_add_address(&daddr, n->daddr.bytes, n->daddr.len);
	add_result(&result, n);
	return out_row(c->out, 0,
		       (struct out_value[]){
			       out_u64(n->time),
			       n->task ? out_u64(n->task->pid) : out_null(),
			       n->task ? out_str(names_process(c->names, n->task)) : out_null(),
			       out_cstr(kind_name(n->kind)),
			       out_cstr(text_get(&local)),
			       out_cstr(text_get(&remote)),
			       out_cstr(text_get(&saddr)),
			       out_u64(n->sport),
			       out_cstr(text_get(&daddr)),
			       out_u64(n->dport),
			       timed ? out_u64(n->latency) : out_null(),
			       out_cstr(text_get(&result)),
			       ended ? out_u64(n->duration) : out_null(),
			       ended ? out_u64(n->bytes_sent - n->bytes_resent) : out_null(),
			       ended ? out_u64(n->bytes_received) : out_null(),
			       out_u64(n->retransmits),
			       out_u64(n->resets),
			       ended ? out_u64((uint64_t)n->srtt_us * 1000) : out_null(),
			       out_u64(n->netns),
			       out_u64(n->cookie),
		       });
}

static struct ebt_error *put_connections(struct net_command *c)
{
	static const struct out_table table =
		OUT_TABLE("connections", connection_columns, .title = "\nConnections",
			  .flags = OUT_FIXED | OUT_KEEP_ORDER);
	bool all = out_format(c->out) != FORMAT_TABLE || options_flag(c->report->options, "all");
	const struct net_connection *connections;
	size_t n, shown = 0, hidden = 0;
	struct ebt_error *err;

	connections = net_model_connections(c->model, &n);
	err = out_begin(c->out, &table);
	for (size_t i = 0; !err && i < n; i++) {
		if (!net_model_wanted(c->model, &connections[i]))
			continue;
		if (!all && shown == DEFAULT_CONNECTIONS) {
			hidden++;
			continue;
		}
		shown++;
		err = put_connection(c, &connections[i]);
	}
	if (!err)
		err = out_end(c->out);
	if (!err && hidden)
		out_printf(c->out, "and %zu more connections (--all shows them).\n", hidden);
	return err;
}

/* --- devices --- */

static const struct out_column interface_columns[] = {
	{ "device", "DEVICE", OUT_STRING, OUT_FLEX },
	{ "netns", "NAMESPACE", OUT_U64, OUT_OPTIONAL },
	{ "rx_bytes", "RECEIVED", OUT_BYTES, 0 },
	{ "rx_packets", "PACKETS", OUT_U64, 0 },
	{ "rx_bytes_per_s", "PER-S", OUT_BYTES, 0 },
	{ "tx_bytes", "SENT", OUT_BYTES, 0 },
	{ "tx_packets", "PACKETS", OUT_U64, 0 },
	{ "tx_bytes_per_s", "PER-S", OUT_BYTES, 0 },
	{ "tx_dropped", "DROPPED", OUT_U64, OUT_OPTIONAL },
	{ "queue_p50_ns", "QUEUE-P50", OUT_DURATION, 0 },
	{ "queue_p99_ns", "P99", OUT_DURATION, 0 },
	{ "queue_max_ns", "MAX", OUT_DURATION, 0 },
	{ "rx_segments", NULL, OUT_U64, OUT_DETAIL },
	{ "tx_segments", NULL, OUT_U64, OUT_DETAIL },
	{ "queue_count", NULL, OUT_U64, OUT_DETAIL },
	{ "queue_unknown", NULL, OUT_U64, OUT_DETAIL },
	{ "ifindex", NULL, OUT_U64, OUT_DETAIL },
};

static uint64_t per_second(const struct trace *trace, uint64_t bytes)
{
	uint64_t from = trace_from_ns(trace), to = trace_to_ns(trace);

	return to > from ? (uint64_t)((double)bytes * 1e9 / (double)(to - from)) : 0;
}

static struct ebt_error *put_interface(struct net_command *c, const struct net_interface *n)
{
	_cleanup_text_ struct text number = TEXT_INIT;
	const struct trace *trace = c->report->trace;
	const struct histogram *queue = &n->queue;

	if (!n->rx_packets && !n->tx_packets && !n->tx_dropped)
		return NULL;
	text_printf(&number, "#%" PRIu32, n->ifindex);
	if (text_error(&number))
		return text_error(&number);
	return out_row(c->out, 0,
		       (struct out_value[]){
			       n->name.len ? out_str(n->name) : out_cstr(text_get(&number)),
			       out_u64(n->netns),
			       out_u64(n->rx_bytes),
			       out_u64(n->rx_packets),
			       out_u64(per_second(trace, n->rx_bytes)),
			       out_u64(n->tx_bytes),
			       out_u64(n->tx_packets),
			       out_u64(per_second(trace, n->tx_bytes)),
			       out_u64(n->tx_dropped),
			       out_percentile(queue, 50),
			       out_percentile(queue, 99),
			       out_maximum(queue),
			       out_u64(n->rx_segments),
			       out_u64(n->tx_segments),
			       out_u64(queue->count),
			       out_u64(n->tx_no_time),
			       out_u64(n->ifindex),
		       });
}

static struct ebt_error *put_interfaces(struct net_command *c)
{
	static const struct out_table table =
		OUT_TABLE("interfaces", interface_columns, .title = "\nDevices",
			  .flags = OUT_FIXED | OUT_KEEP_ORDER);
	size_t n;
	const struct net_interface *interfaces = net_model_interfaces(c->model, &n);

	return out_rows(c->out, &table, n, i, put_interface(c, &interfaces[i]));
}

static struct ebt_error *put_histogram(struct net_command *c)
{
	struct histogram all = { 0 };
	const struct net_interface *interfaces;
	struct ebt_error *err = NULL;
	size_t n;

	interfaces = net_model_interfaces(c->model, &n);
	for (size_t i = 0; !err && i < n; i++)
		err = histogram_merge(&all, &interfaces[i].queue);
	if (!err)
		err = out_histogram(c->out, "queue_histogram",
				    "\nTime of packets in the queue of their device", &all,
				    OUT_DURATION);
	histogram_deinit(&all);
	return err;
}

/* --- all together --- */

static struct ebt_error *put_totals(struct net_command *c)
{
	static const struct out_column columns[] = {
		{ "connects", "CONNECTS", OUT_U64, 0 },
		{ "connects_failed", "FAILED", OUT_U64, 0 },
		{ "accepts", "ACCEPTS", OUT_U64, 0 },
		{ "retransmits", "RETRANSMITS", OUT_U64, 0 },
		{ "retransmits_synack", "OF-SYN-ACK", OUT_U64, 0 },
		{ "resets_sent", "RESETS-SENT", OUT_U64, 0 },
		{ "resets_received", "RECEIVED", OUT_U64, 0 },
	};
	static const struct out_table table =
		OUT_TABLE("totals", columns, .title = "\nTCP", .flags = OUT_FIXED);
	const struct net_sum *t = grouping_all(c->g);
	struct ebt_error *err;

	err = out_begin(c->out, &table);
	if (!err)
		err = out_row(c->out, 0,
			      (struct out_value[]){ out_u64(t->connects), out_u64(t->failed),
						    out_u64(t->accepts), out_u64(t->retransmits),
						    out_u64(t->synacks),
						    out_u64(t->resets - t->resets_received),
						    out_u64(t->resets_received) });
	return err ? err : out_end(c->out);
}

static struct ebt_error *put_all(struct net_command *c)
{
	struct ebt_error *err = grouping_put(c->g);

	if (!err)
		err = put_connections(c);
	if (!err)
		err = put_interfaces(c);
	if (!err)
		err = put_totals(c);
	if (!err && options_flag(c->report->options, "histogram"))
		err = put_histogram(c);
	if (!err && net_model_by_ends(c->model))
		err = trace_warn(c->report->trace,
				 "the trace does not tell of each send and receive: bytes of "
				 "processes are those of TCP connections that ended");
	return err;
}

static struct ebt_error *run_net(struct report *report)
{
	_cleanup_(net_model_destroyp) struct net_model *model = NULL;
	_cleanup_(grouping_destroyp) struct grouping *g = NULL;
	struct net_command c = { .report = report, .out = report->out };
	struct ebt_error *err;

	if (options_flag(report->options, "trace"))
		return net_trace(report);
	err = trace_names(report->trace, &c.names);
	if (!err)
		err = grouping_create(report, &sums, NULL, NULL, &g);
	if (!err)
		err = net_model_create(report->trace, g, &model);
	if (err)
		return err;
	c.model = model;
	c.g = g;
	return put_all(&c);
}

static const struct option_def net_options[] = {
	GROUP_BY_OPTION("process"),
	{ "by-thread", OPTION_GONE, NULL, "--by thread" },
	{ "histogram", OPTION_FLAG, NULL, "also: distribution of the time in queues", NULL },
	{ "all", OPTION_FLAG, NULL, "all connections, also on a terminal", NULL },
	{ "trace", OPTION_FLAG, NULL, "instead: every event, a line each", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_net = {
	.name = "net",
	.fn = run_net,
	.summary = "connections and their latency, bytes by process and device, queue times",
	.help = "Record with `ebrec -e net`. SENT and RECEIVED of a process are payload of its\n"
		"sockets of IPv4 and IPv6; those of a device are packets with their link headers,\n"
		"as the device counts. A packet that the device or the kernel cuts into several\n"
		"later is one (tx_segments in JSON counts those), and so are several that it has\n"
		"put together. Recorded are all packets in network namespaces that a recorded\n"
		"process uses, whoever sends them; what is received belongs to no process until\n"
		"one takes it from a socket.\n"
		"\n"
		"LATENCY of a connect is the time until the connection was made or failed, that\n"
		"of an accept until the answer to our SYN-ACK came. A connection belongs to the\n"
		"process that used it last, until one does to the listener's. A connection\n"
		"that was there before has no latency. QUEUE: from when a packet was given to the\n"
		"queue of its device until the driver got it.\n"
		"\n"
		"  ebreport net t.ebt\n"
		"  ebreport net --by container t.ebt\n"
		"  ebreport net --interval 1s --histogram t.ebt\n"
		"  ebreport net --trace --pid 1234 t.ebt\n",
	.options = net_options,
};
