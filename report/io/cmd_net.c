/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport net`: what processes sent and received, their connections, the devices. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/base/names.h"
#include "report/base/net_text.h"
#include "report/base/text.h"
#include "report/calls/names.h"
#include "report/group/group.h"
#include "report/io/model_net.h"
#include "report/io/net_trace.h"
#include "report/out/histogram.h"
#include "report/out/out.h"

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

#define SUMS(X)                                                                                \
	X("tx_bytes", "SENT", OUT_BYTES, out_u64(sum->tx_bytes), OUT_SORT | OUT_ADDS)          \
	X("rx_bytes", "RECEIVED", OUT_BYTES, out_u64(sum->rx_bytes), OUT_ADDS)                 \
	X("sends", "SENDS", OUT_U64, out_u64(sum->sends), OUT_OPTIONAL | OUT_ADDS)             \
	X("receives", "RECEIVES", OUT_U64, out_u64(sum->receives), OUT_OPTIONAL | OUT_ADDS)    \
	X("connects", "CONNECTS", OUT_U64, out_u64(sum->connects), OUT_ADDS)                   \
	X("connects_failed", "FAILED", OUT_U64, out_u64(sum->failed), OUT_ADDS)                \
	X("accepts", "ACCEPTS", OUT_U64, out_u64(sum->accepts), OUT_ADDS)                      \
	X("retransmits", "RETRANS", OUT_U64, out_u64(sum->retransmits), OUT_ADDS)              \
	X("resets", "RESETS", OUT_U64, out_u64(sum->resets), OUT_OPTIONAL | OUT_ADDS)          \
	X("tx_packets", "PACKETS", OUT_U64, out_u64(sum->tx_packets), OUT_OPTIONAL | OUT_ADDS) \
	X("tx_packet_bytes", "ON-DEVICES", OUT_BYTES, out_u64(sum->tx_packet_bytes),           \
	  OUT_DETAIL | OUT_ADDS)

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

#define CONNECTIONS(X)                                                                             \
	X("time_ns", "TIME", OUT_TIME, out_u64(n->time), OUT_BEGINS)                               \
	X("pid", "PID", OUT_U64, out_pid(n->task))                                                 \
	X("comm", "COMM", OUT_STRING,                                                              \
	  n->task ? out_str(names_process(c->names, n->task)) : out_null(), OUT_FLEX)              \
	X("kind", "KIND", OUT_STRING, out_cstr(kind_name(n->kind)))                                \
	X("local", "LOCAL", OUT_STRING, out_cstr(text_get(&local)), OUT_TEXT_ONLY)                 \
	X("remote", "REMOTE", OUT_STRING, out_cstr(text_get(&remote)), OUT_TEXT_ONLY)              \
	X("saddr", NULL, OUT_STRING, out_cstr(text_get(&saddr)), OUT_DETAIL)                       \
	X("sport", NULL, OUT_U64, out_u64(n->sport), OUT_DETAIL)                                   \
	X("daddr", NULL, OUT_STRING, out_cstr(text_get(&daddr)), OUT_DETAIL)                       \
	X("dport", NULL, OUT_U64, out_u64(n->dport), OUT_DETAIL)                                   \
	X("latency_ns", "LATENCY", OUT_DURATION, out_u64_if(timed, n->latency))                    \
	X("result", "RESULT", OUT_STRING, out_cstr(text_get(&result)))                             \
	X("duration_ns", "DURATION", OUT_DURATION, out_u64_if(n->ended, n->duration), 0, 130)      \
	X("tx_bytes", "SENT", OUT_BYTES, out_u64_if(n->ended, n->bytes_sent - n->bytes_resent), 0, \
	  112)                                                                                     \
	X("rx_bytes", "RECEIVED", OUT_BYTES, out_u64_if(n->ended, n->bytes_received), 0, 112)      \
	X("retransmits", "RETRANS", OUT_U64, out_u64(n->retransmits), OUT_OPTIONAL)                \
	X("resets", NULL, OUT_U64, out_u64(n->resets), OUT_DETAIL)                                 \
	X("srtt_ns", NULL, OUT_DURATION, out_u64_if(n->ended, (uint64_t)n->srtt_us * 1000),        \
	  OUT_DETAIL)                                                                              \
	X("netns", NULL, OUT_U64, out_u64(n->netns), OUT_DETAIL)                                   \
	X("cookie", NULL, OUT_ID, out_u64(n->cookie), OUT_DETAIL)

static struct ebt_error *put_connection(struct net_command *c, const struct net_connection *n)
{
	_cleanup_text_ struct text local = TEXT_INIT, remote = TEXT_INIT, result = TEXT_INIT;
	_cleanup_text_ struct text saddr = TEXT_INIT, daddr = TEXT_INIT;
	bool timed = n->kind < EBT_V_net_connection_kind_there;

	net_add_endpoint(&local, n->saddr.bytes, n->saddr.len, n->sport);
	net_add_endpoint(&remote, n->daddr.bytes, n->daddr.len, n->dport);
	net_add_address(&saddr, n->saddr.bytes, n->saddr.len);
	net_add_address(&daddr, n->daddr.bytes, n->daddr.len);
	add_result(&result, n);
	return out_row(c->out, 0, OUT_VALUES(CONNECTIONS));
}

static struct ebt_error *put_connections(struct net_command *c)
{
	const struct out_table table =
		OUT_TABLE_OF("connections", CONNECTIONS, .title = "\nConnections",
			     .flags = OUT_FIXED | OUT_KEEP_ORDER);
	bool all = out_format(c->out) != FORMAT_TABLE || options_flag(c->report->options, "all");
	const struct net_connection *connections = c->model->connections;
	size_t shown = 0, hidden = 0;
	struct ebt_error *err;

	err = out_begin(c->out, &table);
	for (size_t i = 0; !err && i < c->model->n_connections; i++) {
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
		out_printf(c->out, "and %zu more %s (--all shows %s).\n", hidden,
			   text_plural(hidden, "connection", "connections"),
			   text_plural(hidden, "it", "them"));
	return err;
}

/* --- devices --- */

static uint64_t per_second(const struct trace *trace, uint64_t bytes)
{
	uint64_t from = trace_from_ns(trace), to = trace_to_ns(trace);

	return to > from ? (uint64_t)((double)bytes * 1e9 / (double)(to - from)) : 0;
}

#define INTERFACES(X)                                                                           \
	X("device", "DEVICE", OUT_STRING,                                                       \
	  n->name.len ? out_str(n->name) : out_cstr(text_get(&number)), OUT_FLEX | OUT_KEY)     \
	X("netns", "NAMESPACE", OUT_U64, out_u64(n->netns), OUT_OPTIONAL | OUT_KEY)             \
	X("rx_bytes", "RECEIVED", OUT_BYTES, out_u64(n->rx_bytes), OUT_ADDS)                    \
	X("rx_packets", "PACKETS", OUT_U64, out_u64(n->rx_packets), OUT_ADDS)                   \
	X("rx_bytes_per_s", "RECEIVED/s", OUT_BYTES, out_u64(per_second(trace, n->rx_bytes)),   \
	  OUT_RATE, .of = "rx_bytes")                                                           \
	X("tx_bytes", "SENT", OUT_BYTES, out_u64(n->tx_bytes), OUT_ADDS)                        \
	X("tx_packets", "PACKETS", OUT_U64, out_u64(n->tx_packets), OUT_ADDS)                   \
	X("tx_bytes_per_s", "SENT/s", OUT_BYTES, out_u64(per_second(trace, n->tx_bytes)),       \
	  OUT_RATE, .of = "tx_bytes")                                                           \
	X("tx_dropped", "DROPPED", OUT_U64, out_u64(n->tx_dropped), OUT_OPTIONAL | OUT_ADDS)    \
	X("queue_p50_ns", "QUEUE-P50", OUT_DURATION, out_percentile(&n->queue, 50), OUT_SPREAD, \
	  .percent = 50)                                                                        \
	X("queue_p99_ns", "QUEUE-P99", OUT_DURATION, out_percentile(&n->queue, 99), OUT_SPREAD, \
	  .of = "queue_p50_ns", .percent = 99)                                                  \
	X("queue_max_ns", "QUEUE-MAX", OUT_DURATION, out_maximum(&n->queue), OUT_PEAK)          \
	X("rx_segments", NULL, OUT_U64, out_u64(n->rx_segments), OUT_DETAIL | OUT_ADDS)         \
	X("tx_segments", NULL, OUT_U64, out_u64(n->tx_segments), OUT_DETAIL | OUT_ADDS)         \
	X("queue_count", NULL, OUT_U64, out_u64(n->queue.count), OUT_DETAIL | OUT_ADDS)         \
	X("queue_unknown", NULL, OUT_U64, out_u64(n->tx_no_time), OUT_DETAIL | OUT_ADDS)        \
	X("ifindex", NULL, OUT_U64, out_u64(n->ifindex), OUT_DETAIL | OUT_KEY)

static struct ebt_error *put_interface(struct net_command *c, const struct net_interface *n)
{
	_cleanup_text_ struct text number = TEXT_INIT;
	const struct trace *trace = c->report->trace;

	if (!n->rx_packets && !n->tx_packets && !n->tx_dropped)
		return NULL;
	text_printf(&number, "#%" PRIu32, n->ifindex);
	return text_error(&number) ? text_error(&number)
				   : out_row(c->out, 0, OUT_VALUES(INTERFACES));
}

static struct ebt_error *put_interfaces(struct net_command *c)
{
	const struct out_table table = OUT_TABLE_OF("interfaces", INTERFACES, .title = "\nDevices",
						    .flags = OUT_FIXED | OUT_KEEP_ORDER);

	return out_rows(c->out, &table, c->model->n_interfaces, i,
			put_interface(c, &c->model->interfaces[i]));
}

static struct ebt_error *put_histogram(struct net_command *c)
{
	struct histogram all = { 0 };
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < c->model->n_interfaces; i++)
		err = histogram_merge(&all, &c->model->interfaces[i].queue);
	if (!err)
		err = out_histogram(c->out, "queue_histogram",
				    "\nTime of packets in the queue of their device", &all,
				    OUT_DURATION);
	histogram_deinit(&all);
	return err;
}

/* --- all together --- */

#define TOTALS(X)                                                                         \
	X("connects", "CONNECTS", OUT_U64, out_u64(t->connects), OUT_ADDS)                \
	X("connects_failed", "FAILED", OUT_U64, out_u64(t->failed), OUT_ADDS)             \
	X("accepts", "ACCEPTS", OUT_U64, out_u64(t->accepts), OUT_ADDS)                   \
	X("retransmits", "RETRANS", OUT_U64, out_u64(t->retransmits), OUT_ADDS)           \
	X("retransmits_synack", "OF-SYN-ACK", OUT_U64, out_u64(t->synacks), OUT_ADDS)     \
	X("resets_sent", "RESETS-SENT", OUT_U64, out_u64(t->resets - t->resets_received), \
	  OUT_ADDS)                                                                       \
	X("resets_received", "RECEIVED", OUT_U64, out_u64(t->resets_received), OUT_ADDS)

static struct ebt_error *put_totals(struct net_command *c)
{
	const struct out_table table =
		OUT_TABLE_OF("totals", TOTALS, .title = "\nTCP", .flags = OUT_FIXED);
	const struct net_sum *t = grouping_all(c->g);

	return out_rows(c->out, &table, 1, i, out_row(c->out, 0, OUT_VALUES(TOTALS)));
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
	if (!err && c->model->ends_counted)
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
	{ "histogram", OPTION_FLAG, NULL, "also: distribution of the time in queues" },
	{ "all", OPTION_FLAG, NULL, "all connections, also on a terminal" },
	{ "trace", OPTION_FLAG, NULL, "instead: every event, a line each" },
	{ 0 },
};

static const struct command_subject subject = {
	.what = "connections and packets",
	.source = "net",
	.tables = { EBT_T_net_connection, EBT_T_net_end, EBT_T_net_transfer, EBT_T_net_packet,
		    EBT_T_net_retransmit, EBT_T_net_reset },
};

const struct command command_net = {
	.name = "net",
	.fn = run_net,
	.flags = COMMAND_NO_NAMES,
	.summary = "connections and their latency, bytes by process and device, queue times",
	.elsewhere = "network tcp",
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
	.subject = &subject,
};
