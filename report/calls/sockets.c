/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets and their addresses; see sockets.h. */
#include "report/calls/sockets.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "format/base/array.h"
#include "format/base/map.h"
#include "report/base/net_text.h"
#include "report/calls/flags.h"
#include "report/calls/recorded.h"

struct state {
	uint64_t time; /* from then on; 0: there is none */
	uint64_t peer;
	uint32_t family, type, protocol, netns;
	uint16_t sport, dport;
	uint32_t port_id; /* of netlink */
	uint8_t n_address;
	uint8_t saddr[16], daddr[16];
	uint8_t n_path;
	char path[110];
};

struct socket_states {
	uint64_t inode;
	struct state last, before;
};

struct sockets {
	struct socket_states *list;
	size_t n, capacity;
	struct ebt_map by_inode;
};

struct ebt_error *sockets_create(struct sockets **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : &ebt_enomem;
}

void sockets_destroy(struct sockets *sockets)
{
	if (!sockets)
		return;
	free(sockets->list);
	ebt_map_deinit(&sockets->by_inode);
	free(sockets);
}

static void take_address(struct ebt_str bytes, uint8_t to[16])
{
	memcpy(to, bytes.data, bytes.len < 16 ? bytes.len : 16);
}

static bool is_equal(const struct state *a, const struct state *b)
{
	return a->peer == b->peer && a->sport == b->sport && a->dport == b->dport &&
	       a->port_id == b->port_id && a->n_path == b->n_path &&
	       !memcmp(a->saddr, b->saddr, sizeof(a->saddr)) &&
	       !memcmp(a->daddr, b->daddr, sizeof(a->daddr)) &&
	       !memcmp(a->path, b->path, a->n_path);
}

static struct socket_states *find_states(const struct sockets *sockets, uint64_t inode)
{
	uint32_t i;

	return ebt_map_find(&sockets->by_inode, inode, &i) ? &sockets->list[i] : NULL;
}

/* Who connects has no peer before that is accepted, and is not told again then: the peer's row says
 * it. */
static void take_peer(const struct sockets *sockets, struct socket_states *states,
		      struct state *state)
{
	struct socket_states *peer = state->peer ? find_states(sockets, state->peer) : NULL;

	if (!state->peer)
		state->peer = states->last.peer;
	if (peer && !peer->last.peer)
		peer->last.peer = states->inode;
}

struct ebt_error *sockets_told(struct sockets *sockets, const struct ebt_row *row)
{
	const struct ebt_str saddr = ebt_socket_saddr(row), path = ebt_socket_path(row);
	struct state state = {
		.time = row->time,
		.peer = ebt_socket_peer(row),
		.family = (uint32_t)ebt_socket_family(row),
		.type = (uint32_t)ebt_socket_type(row),
		.protocol = (uint32_t)ebt_socket_protocol(row),
		.netns = (uint32_t)ebt_socket_netns(row),
		.sport = (uint16_t)ebt_socket_sport(row),
		.dport = (uint16_t)ebt_socket_dport(row),
		.port_id = (uint32_t)ebt_socket_sport(row),
		.n_address = saddr.len == 16 ? 16 : 4,
	};
	struct socket_states *states;
	struct ebt_error *err;
	uint32_t i;

	if (sockets->n == SOCKETS_MAX && !find_states(sockets, ebt_socket_inode(row)))
		return NULL;
	take_address(saddr, state.saddr);
	take_address(ebt_socket_daddr(row), state.daddr);
	state.n_path = (uint8_t)(path.len < sizeof(state.path) ? path.len : sizeof(state.path));
	memcpy(state.path, path.data, state.n_path);
	err = ebt_map_element(&sockets->by_inode, ebt_socket_inode(row), &sockets->list,
			      &sockets->n, &sockets->capacity, &i);
	if (err)
		return err;
	states = &sockets->list[i];
	states->inode = ebt_socket_inode(row);
	take_peer(sockets, states, &state);
	if (states->last.time && is_equal(&states->last, &state))
		return NULL;
	states->before = states->last;
	states->last = state;
	return NULL;
}

/* --- names --- */

/* As the kernel calls them: struct proto.name. */
static const char *protocol_name(const struct state *s)
{
	if (s->family == AF_UNIX)
		return s->type == SOCK_STREAM ? "UNIX-STREAM" : "UNIX";
	if (s->family == AF_NETLINK)
		return "NETLINK";
	if (s->family == AF_PACKET)
		return "PACKET";
	if (s->family != AF_INET && s->family != AF_INET6)
		return NULL;
	if (s->type == SOCK_RAW)
		return "RAW";
	switch (s->protocol) {
	case IPPROTO_TCP:
		return "TCP";
	case IPPROTO_UDP:
		return "UDP";
	case IPPROTO_UDPLITE:
		return "UDP-Lite";
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return "PING";
	case IPPROTO_MPTCP:
		return "MPTCP";
	default:
		return NULL;
	}
}

static void add_inet(struct text *text, const struct state *s)
{
	net_add_endpoint(text, s->saddr, s->n_address, s->sport);
	if (!s->dport)
		return;
	text_cstr(text, "->");
	net_add_endpoint(text, s->daddr, s->n_address, s->dport);
}

static void add_unix(struct text *text, const struct state *s, uint64_t inode)
{
	const bool is_abstract = s->n_path && !s->path[0];
	const struct ebt_str path = { s->path + is_abstract, s->n_path - (uint32_t)is_abstract };

	text_u64(text, inode);
	if (s->peer) {
		text_cstr(text, "->");
		text_u64(text, s->peer);
	}
	if (!s->n_path)
		return;
	text_cstr(text, is_abstract ? ",@" : ",");
	recorded_add_string(text, path);
}

static void add_netlink(struct text *text, const struct state *s)
{
	const char *name = flag_name(FLAGS_netlink, SYSCALL_X86_64, s->protocol);

	if (name)
		text_cstr(text, name + strlen("NETLINK_"));
	else
		text_u64(text, s->protocol);
	text_printf(text, ":%" PRIu32, s->port_id);
}

/* What it was then, or if that was not told yet, first. */
static const struct state *find(const struct sockets *sockets, uint64_t inode, uint64_t time)
{
	const struct socket_states *states = find_states(sockets, inode);

	if (!states)
		return NULL;
	return states->last.time <= time || !states->before.time ? &states->last : &states->before;
}

bool sockets_add(const struct sockets *sockets, uint64_t inode, uint64_t time, struct text *text)
{
	const struct state *s = find(sockets, inode, time);
	const char *name = s ? protocol_name(s) : NULL;
	const bool is_inet = s && (s->family == AF_INET || s->family == AF_INET6);

	if (!name)
		return false;
	text_cstr(text, name);
	text_cstr(text, s->family == AF_INET6 ? "v6:[" : ":[");
	if (is_inet && s->sport && s->type != SOCK_RAW)
		add_inet(text, s);
	else if (s->family == AF_UNIX)
		add_unix(text, s, inode);
	else if (s->family == AF_NETLINK && s->port_id)
		add_netlink(text, s);
	else
		text_u64(text, inode);
	text_addc(text, ']');
	return true;
}

static struct ebt_str path_of(const struct state *s)
{
	return (struct ebt_str){ s->path, s->n_path };
}

bool sockets_end(const struct sockets *sockets, uint64_t inode, uint64_t time,
		 struct socket_end *ret)
{
	const struct state *s = find(sockets, inode, time), *peer;

	if (!s)
		return false;
	*ret = (struct socket_end){
		.family = s->family,
		.type = s->type,
		.protocol = s->protocol,
		.netns = s->netns,
		.peer = s->peer,
		.path = path_of(s),
		.n_address = s->n_address,
		.local_port = s->sport,
		.remote_port = s->dport,
	};
	memcpy(ret->local, s->saddr, sizeof(ret->local));
	memcpy(ret->remote, s->daddr, sizeof(ret->remote));
	peer = s->peer && !s->n_path ? find(sockets, s->peer, time) : NULL;
	if (peer)
		ret->path = path_of(peer);
	return true;
}
