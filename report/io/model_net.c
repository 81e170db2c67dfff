/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting what happened in the network; see model_net.h. */
#include "report/io/model_net.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/compare.h"
#include "format/base/map.h"
#include "format/base/array.h"

#define BUSY	   16 /* net_packet.result: it comes again */
#define TIME_KNOWN 1  /* net_packet.attrs */
#define MAX_OLDER  64 /* connections of one socket that are looked through */

/* --- connections --- */

static void copy_address(struct ebt_str from, unsigned char *to, uint32_t *ret_len)
{
	*ret_len = from.len <= 16 ? (uint32_t)from.len : 0;
	if (*ret_len)
		memcpy(to, from.data, *ret_len);
}

static struct ebt_error *add_connection(struct net_model *m, const struct ebt_row *row)
{
	uint64_t cookie = ebt_net_connection_cookie(row);
	struct net_connection *c;
	struct ebt_error *err;
	uint32_t socket;

	err = ebt_map_add(&m->socket_by_cookie, cookie, (uint32_t)m->n_sockets, &socket);
	if (!err)
		err = ebt_array_reserve(&m->latest, m->n_sockets, &m->sockets_capacity);
	if (!err)
		err = ebt_array_reserve(&m->connections, m->n_connections,
					&m->connections_capacity);
	if (err)
		return err;
	c = &m->connections[m->n_connections];
	*c = (struct net_connection){
		.cookie = cookie,
		.time = row->time,
		.latency = ebt_net_connection_latency(row),
		.task = ebt_net_connection_task(row),
		.kind = (uint32_t)ebt_net_connection_kind(row),
		.error = (uint32_t)ebt_net_connection_error(row),
		.netns = (uint32_t)ebt_net_connection_netns(row),
		.sport = (uint32_t)ebt_net_connection_sport(row),
		.dport = (uint32_t)ebt_net_connection_dport(row),
	};
	copy_address(ebt_net_connection_saddr(row), c->saddr.bytes, &c->saddr.len);
	copy_address(ebt_net_connection_daddr(row), c->daddr.bytes, &c->daddr.len);
	if (socket == m->n_sockets)
		m->n_sockets++;
	else
		c->older = m->latest[socket] + 1;
	m->latest[socket] = (uint32_t)m->n_connections++;
	return NULL;
}

struct net_connection *net_model_connection(const struct net_model *m, uint64_t cookie,
					    uint64_t time)
{
	struct net_connection *c;
	uint32_t socket;

	if (!cookie || !ebt_map_find(&m->socket_by_cookie, cookie, &socket))
		return NULL;
	c = &m->connections[m->latest[socket]];
	for (int i = 0; i < MAX_OLDER && c->older; i++) {
		if (c->time < c->latency || c->time - c->latency <= time)
			break;
		c = &m->connections[c->older - 1];
	}
	return c;
}

static void add_end(struct net_model *m, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_net_end_task(row);
	struct net_connection *c = net_model_connection(m, ebt_net_end_cookie(row), row->time);

	if (!c)
		return;
	c->ended = true;
	c->end_time = row->time;
	c->duration = ebt_net_end_duration(row);
	c->bytes_sent = ebt_net_end_bytes_sent(row);
	c->bytes_resent = ebt_net_end_bytes_resent(row);
	c->bytes_received = ebt_net_end_bytes_received(row);
	c->end_error = (uint32_t)ebt_net_end_error(row);
	c->srtt_us = (uint32_t)ebt_net_end_srtt(row);
	c->retransmits = ebt_net_end_retransmits(row);
	if (task)
		c->task = task;
}

/* --- devices --- */

static struct ebt_error *interface_of(struct net_model *m, uint64_t netns, uint64_t ifindex,
				      struct net_interface **ret)
{
	struct ebt_error *err;
	uint32_t i;

	err = ebt_map_element(&m->interface_by_key, netns << 32 | (uint32_t)ifindex, &m->interfaces,
			      &m->n_interfaces, &m->interfaces_capacity, &i);
	if (err)
		return err;
	*ret = &m->interfaces[i];
	(*ret)->netns = (uint32_t)netns;
	(*ret)->ifindex = (uint32_t)ifindex;
	return NULL;
}

static struct ebt_error *add_device(struct net_model *m, const struct ebt_row *row)
{
	struct ebt_str name = ebt_net_device_name(row);
	struct net_interface *interface;
	struct ebt_error *err;
	char *copy;

	err = interface_of(m, ebt_net_device_netns(row), ebt_net_device_ifindex(row), &interface);
	if (err)
		return err;
	copy = malloc(name.len + 1);
	if (!copy)
		return &ebt_enomem;
	memcpy(copy, name.data, name.len);
	free((char *)interface->name.data);
	interface->name = (struct ebt_str){ copy, name.len };
	return NULL;
}

static struct ebt_error *add_thing(void *arg, const struct ebt_row *row)
{
	struct net_model *m = arg;

	switch (row->batch->table->id) {
	case EBT_T_net_device:
		return add_device(m, row);
	case EBT_T_net_connection:
		return add_connection(m, row);
	}
	add_end(m, row);
	return NULL;
}

/* What rows of the window refer to, wherever it stands. */
static struct ebt_error *read_things(struct net_model *m)
{
	static const struct ebt_want wants[] = {
		{ EBT_T_net_device, ~UINT64_C(0) },
		{ EBT_T_net_connection, ~UINT64_C(0) },
		{ EBT_T_net_end, ~UINT64_C(0) },
	};

	return trace_read_rows(m->trace, wants, 3, TRACE_UNFILTERED, add_thing, m);
}

/* --- what happened in the window --- */

static void count_connection(const struct ebt_row *row, struct net_sum *sum)
{
	uint64_t kind = ebt_net_connection_kind(row);

	if (kind == EBT_V_net_connection_kind_connect && ebt_net_connection_error(row))
		sum->failed++;
	else if (kind == EBT_V_net_connection_kind_connect)
		sum->connects++;
	else if (kind == EBT_V_net_connection_kind_accept)
		sum->accepts++;
}

static void count_transfer(struct net_model *m, const struct ebt_row *row, struct net_sum *sum)
{
	uint64_t bytes = ebt_net_transfer_bytes(row);
	struct net_connection *c = net_model_connection(m, ebt_net_transfer_cookie(row), row->time);

	if (ebt_net_transfer_direction(row) == EBT_V_net_transfer_direction_receive) {
		sum->rx_bytes += bytes;
		sum->receives++;
	} else {
		sum->tx_bytes += bytes;
		sum->sends++;
	}
	if (c && !c->ended)
		c->task = ebt_net_transfer_task(row);
}

static void count_end(struct net_model *m, const struct ebt_row *row, struct net_sum *sum)
{
	if (!m->by_ends)
		return;
	m->ends_counted = true;
	sum->tx_bytes += ebt_net_end_bytes_sent(row) - ebt_net_end_bytes_resent(row);
	sum->rx_bytes += ebt_net_end_bytes_received(row);
}

static struct ebt_error *count_packet(struct net_model *m, const struct ebt_row *row,
				      struct net_sum *sum)
{
	uint64_t length = ebt_net_packet_length(row);
	uint64_t segments = ebt_net_packet_segments(row);
	uint64_t result = ebt_net_packet_result(row);
	struct net_interface *interface;
	struct ebt_error *err;

	err = interface_of(m, ebt_net_packet_netns(row), ebt_net_packet_ifindex(row), &interface);
	if (err || result == BUSY)
		return err;
	if (ebt_net_packet_direction(row) == EBT_V_net_packet_direction_receive) {
		interface->rx_bytes += length;
		interface->rx_packets++;
		interface->rx_segments += segments;
		return NULL;
	}
	if (result) {
		interface->tx_dropped++;
		return NULL;
	}
	interface->tx_bytes += length;
	interface->tx_packets++;
	interface->tx_segments += segments;
	sum->tx_packets++;
	sum->tx_packet_bytes += length;
	if (!(ebt_net_packet_attrs(row) & TIME_KNOWN)) {
		interface->tx_no_time++;
		return NULL;
	}
	return histogram_add(&interface->queue, ebt_net_packet_queue(row));
}

static void count_retransmit(struct net_model *m, const struct ebt_row *row, struct net_sum *sum)
{
	uint64_t segments = ebt_net_retransmit_segments(row);
	struct net_connection *c =
		net_model_connection(m, ebt_net_retransmit_cookie(row), row->time);

	sum->retransmits += segments;
	if (ebt_net_retransmit_kind(row) != EBT_V_net_retransmit_kind_segment)
		sum->synacks += segments;
	if (c && !c->ended)
		c->retransmits += segments;
}

static void count_reset(struct net_model *m, const struct ebt_row *row, struct net_sum *sum)
{
	struct net_connection *c = net_model_connection(m, ebt_net_reset_cookie(row), row->time);

	sum->resets++;
	sum->resets_received += ebt_net_reset_direction(row) == EBT_V_net_reset_direction_receive;
	if (c)
		c->resets++;
}

static struct ebt_error *count_row(void *arg, const struct ebt_row *row)
{
	struct net_model *m = arg;
	static const struct {
		uint16_t table;
		uint8_t task;
	} tasks[] = {
		{ EBT_T_net_connection, EBT_F_net_connection_task },
		{ EBT_T_net_end, EBT_F_net_end_task },
		{ EBT_T_net_transfer, EBT_F_net_transfer_task },
		{ EBT_T_net_packet, EBT_F_net_packet_task },
		{ EBT_T_net_retransmit, EBT_F_net_retransmit_task },
		{ EBT_T_net_reset, EBT_F_net_reset_task },
	};
	struct net_sum none = { 0 }, *sum = &none;
	struct ebt_error *err;
	uint32_t group;
	size_t i = 0;

	while (tasks[i].table != row->batch->table->id)
		i++;
	/* What a device hands up is nobody's yet, which is no process "not known". */
	if (m->g && (row->batch->table->id != EBT_T_net_packet ||
		     ebt_net_packet_direction(row) != EBT_V_net_packet_direction_receive)) {
		err = grouping_find(m->g,
				    &(struct group_row){ .task = ebt_task(row, tasks[i].task) },
				    &group);
		if (err)
			return err;
		sum = grouping_figures(m->g, group);
	}
	switch (row->batch->table->id) {
	case EBT_T_net_connection:
		count_connection(row, sum);
		break;
	case EBT_T_net_end:
		count_end(m, row, sum);
		break;
	case EBT_T_net_transfer:
		count_transfer(m, row, sum);
		break;
	case EBT_T_net_packet:
		return count_packet(m, row, sum);
	case EBT_T_net_retransmit:
		count_retransmit(m, row, sum);
		break;
	default:
		count_reset(m, row, sum);
	}
	return NULL;
}

static struct ebt_error *read_rows(struct net_model *m)
{
	static const struct ebt_want wants[] = {
		EBT_WANT(net_connection, task, kind, error),
		EBT_WANT(net_end, task, bytes_sent, bytes_resent, bytes_received),
		EBT_WANT(net_transfer, task, cookie, bytes, direction),
		{ EBT_T_net_packet, ~EBT_COL(net_packet, cookie) },
		{ EBT_T_net_retransmit, ~UINT64_C(0) },
		{ EBT_T_net_reset, ~UINT64_C(0) },
	};

	return trace_read_rows(m->trace, wants, 6, 0, count_row, m);
}

static int compare_interfaces(const void *a, const void *b)
{
	const struct net_interface *x = a, *y = b;

	return ebt_compare(x->netns, y->netns) ?: ebt_compare(x->ifindex, y->ifindex);
}

struct ebt_error *net_model_create(struct trace *trace, struct grouping *g, struct net_model **ret)
{
	_cleanup_(net_model_destroyp) struct net_model *m = calloc(1, sizeof(*m));
	struct ebt_error *err;

	if (!m)
		return &ebt_enomem;
	m->trace = trace;
	m->by_ends = !trace_has_rows(trace, EBT_T_net_transfer);
	m->g = g;
	err = read_things(m);
	if (!err)
		err = read_rows(m);
	if (err)
		return err;
	if (m->n_interfaces)
		qsort(m->interfaces, m->n_interfaces, sizeof(*m->interfaces), compare_interfaces);
	*ret = take_ptr(m);
	return NULL;
}

void net_model_destroy(struct net_model *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n_interfaces; i++) {
		histogram_deinit(&m->interfaces[i].queue);
		free((char *)m->interfaces[i].name.data);
	}
	free(m->connections);
	free(m->interfaces);
	free(m->latest);
	ebt_map_deinit(&m->socket_by_cookie);
	ebt_map_deinit(&m->interface_by_key);
	free(m);
}

bool net_model_wanted(const struct net_model *m, const struct net_connection *c)
{
	return c->time >= trace_from_ns(m->trace) && c->time < trace_to_ns(m->trace) &&
	       trace_task_wanted(m->trace, c->task);
}

const struct net_interface *net_model_interface(const struct net_model *m, uint64_t netns,
						uint64_t ifindex)
{
	const struct net_interface key = { .netns = (uint32_t)netns, .ifindex = (uint32_t)ifindex };

	if (!m->n_interfaces)
		return NULL;
	return bsearch(&key, m->interfaces, m->n_interfaces, sizeof(key), compare_interfaces);
}
