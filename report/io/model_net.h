/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The network: connections with what happened to them, figures of devices and of processes. Memory
 * depends on the number of connections, devices and groups, not of packets. Prints nothing.
 */
#ifndef REPORT_IO_MODEL_NET_H
#define REPORT_IO_MODEL_NET_H

#include "format/base/map.h"
#include "report/base/histogram.h"
#include "report/group/group.h"
#include "report/trace/trace.h"

/* Of table net_connection, and of what names the same socket later. */
struct net_connection {
	uint64_t cookie, time, latency; /* time: it was made, refused, or found */
	const struct ebt_task *task;	/* who used it last; NULL: not known */
	uint32_t kind, error, netns, sport, dport;
	uint32_t older; /* 1 + index of the one before it on the same socket */
	struct {
		unsigned char bytes[16];
		uint32_t len; /* 4 or 16; others: not known */
	} saddr, daddr;
	bool ended;
	uint64_t end_time, duration; /* and the following: if it ended */
	uint64_t bytes_sent, bytes_resent, bytes_received;
	uint32_t end_error, srtt_us;
	uint64_t retransmits, resets; /* in the window; once it has ended, the kernel's count */
};

struct net_interface {
	uint32_t netns, ifindex;
	struct ebt_str name; /* the last one; empty: not known */
	uint64_t rx_bytes, rx_packets, rx_segments;
	uint64_t tx_bytes, tx_packets, tx_segments;
	uint64_t tx_dropped, tx_no_time; /* queue time not known */
	struct histogram queue;
};

/* Of a group: of a process, for example. */
struct net_sum {
	uint64_t tx_bytes, rx_bytes, sends, receives; /* payload of sockets */
	uint64_t tx_packets, tx_packet_bytes;
	uint64_t connects, failed, accepts;
	uint64_t retransmits, synacks;	  /* synacks: among them, of answers to a SYN */
	uint64_t resets, resets_received; /* the others were sent */
};

struct net_model {
	struct trace *trace;
	struct net_connection *connections; /* in order of time */
	/* By network namespace and number. Those without packets have been seen outside the
	 * window. */
	struct net_interface *interfaces;
	uint32_t *latest; /* by socket: index of its connection */
	size_t n_connections, connections_capacity;
	size_t n_interfaces, interfaces_capacity;
	size_t n_sockets, sockets_capacity;
	struct ebt_map socket_by_cookie, interface_by_key;
	struct grouping *g; /* NULL: nobody asks for sums */
	/* The trace does not tell of each send and receive: bytes of processes are of connections
	 * that ended, of which there are some (ends_counted). */
	bool by_ends, ends_counted;
};

/* g: what processes did goes there, as struct net_sum; NULL: nowhere. */
struct ebt_error *net_model_create(struct trace *trace, struct grouping *g, struct net_model **ret);
void net_model_destroy(struct net_model *model);
DEFINE_CLEANUP(struct net_model *, net_model_destroy);

/* Is it of the window, and passes the filters? */
bool net_model_wanted(const struct net_model *model, const struct net_connection *connection);
/* NULL: not known. */
const struct net_interface *net_model_interface(const struct net_model *model, uint64_t netns,
						uint64_t ifindex);
/* That which the socket had at a time; NULL: not known. */
struct net_connection *net_model_connection(const struct net_model *model, uint64_t cookie,
					    uint64_t time);

#endif
