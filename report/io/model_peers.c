/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes from writers to readers; see model_peers.h. */
#include "report/io/model_peers.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "format/base/array.h"
#include "format/base/map.h"
#include "report/base/net_text.h"

enum peer_kind { PEER_PIPE, PEER_UNIX, PEER_INET };

/* Which one: for the end that reads. Compared as bytes, so that unused ones are zero. */
struct stream_key {
	uint32_t kind, protocol;
	uint64_t inode, device;	       /* of a pipe; inode of a Unix socket */
	uint8_t local[16], remote[16]; /* IPv4 as mapped to IPv6 */
	uint32_t netns;		       /* of addresses that are of one machine */
	uint16_t local_port, remote_port;
};

/* Some bytes of one process. */
struct sent_bytes {
	uint32_t who, next;
	uint64_t bytes;
};

struct queue {
	uint32_t head, tail; /* segments; 0: none */
};

struct stream {
	struct stream_key key;
	struct queue written, read; /* of one of both there is something */
	uint32_t last_reader;
	/* Of an inet socket: the other end, as far as it is known. */
	uint8_t far[16];
	uint16_t far_port;
	uint32_t netns;		    /* of who used it first */
	uint32_t path_at, path_len; /* in `paths` */
};

struct peers {
	struct stream *streams;
	size_t n_streams, streams_capacity;
	struct ebt_map stream_by_key;
	struct sent_bytes *segments; /* the first one stands for none */
	size_t n_segments, segments_capacity;
	uint32_t free_segments;
	struct peers_edge *edges;
	size_t n_edges, edges_capacity;
	struct ebt_map edge_by_ends;
	struct ebt_map servers; /* protocols and ports of sockets that are not connected */
	struct text paths;
	uint64_t dropped; /* bytes of streams that there was no room for */
};

struct ebt_error *peers_create(struct peers **ret)
{
	_cleanup_(peers_destroyp) struct peers *peers = calloc(1, sizeof(*peers));
	struct ebt_error *err;

	if (!peers)
		return &ebt_enomem;
	err = ebt_array_reserve(&peers->segments, 0, &peers->segments_capacity);
	if (err)
		return err;
	peers->n_segments = 1;
	*ret = take_ptr(peers);
	return NULL;
}

void peers_destroy(struct peers *peers)
{
	if (!peers)
		return;
	free(peers->streams);
	free(peers->segments);
	free(peers->edges);
	ebt_map_deinit(&peers->stream_by_key);
	ebt_map_deinit(&peers->edge_by_ends);
	ebt_map_deinit(&peers->servers);
	text_deinit(&peers->paths);
	free(peers);
}

/* --- streams --- */

static struct stream *find_stream(const struct peers *peers, const struct stream_key *key)
{
	const uint64_t hash = ebt_hash_bytes(0, key, sizeof(*key));
	uint32_t found = ebt_map_search(&peers->stream_by_key, hash, i,
					!memcmp(&peers->streams[i].key, key, sizeof(*key)));

	return found == EBT_MAP_NONE ? NULL : &peers->streams[found];
}

/* *ret NULL: there is no room. */
static struct ebt_error *add_stream(struct peers *peers, const struct stream_key *key,
				    const struct stream *like, struct stream **ret)
{
	struct ebt_error *err;

	*ret = find_stream(peers, key);
	if (*ret || peers->n_streams == PEERS_MAX)
		return NULL;
	err = ebt_array_reserve(&peers->streams, peers->n_streams, &peers->streams_capacity)
		      ?: ebt_map_insert(&peers->stream_by_key, ebt_hash_bytes(0, key, sizeof(*key)),
					(uint32_t)peers->n_streams);
	if (err)
		return err;
	*ret = &peers->streams[peers->n_streams++];
	**ret = *like;
	memcpy(&(*ret)->key, key, sizeof(*key));
	return NULL;
}

static void take_address(uint8_t to[16], const uint8_t *from, uint8_t n)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (n == 16) {
		memcpy(to, from, 16);
		return;
	}
	memcpy(to, mapped, sizeof(mapped));
	memcpy(to + sizeof(mapped), from, 4);
}

static bool is_mapped(const uint8_t address[16])
{
	return IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)address);
}

static bool is_loopback(const uint8_t address[16])
{
	return IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)address) ||
	       (is_mapped(address) && address[12] == 127);
}

/* 0.0.0.0 and ::, at which a socket takes what comes to any address. */
static bool is_any(const uint8_t address[16])
{
	static const uint8_t zero[4];

	return IN6_IS_ADDR_UNSPECIFIED((const struct in6_addr *)address) ||
	       (is_mapped(address) && !memcmp(address + 12, zero, sizeof(zero)));
}

/* Of an inet socket the end that reads and the other one. A datagram goes to an address, whoever
 * sent it; so only connections have both in their key. */
static void inet_key(const struct socket_end *end, bool reads, struct stream_key *key,
		     struct stream *stream)
{
	uint8_t local[16], remote[16] = { 0 };

	take_address(local, end->local, end->n_address);
	if (end->remote_port)
		take_address(remote, end->remote, end->n_address);
	stream->netns = end->netns;
	stream->far_port = reads ? end->remote_port : end->local_port;
	memcpy(stream->far, reads ? remote : local, sizeof(local));
	key->kind = PEER_INET;
	key->protocol = end->protocol;
	memcpy(key->local, reads ? local : remote, sizeof(local));
	key->local_port = reads ? end->local_port : end->remote_port;
	/* Between network namespaces other addresses are the same at both ends. */
	if (is_loopback(key->local) || is_any(key->local))
		key->netns = end->netns;
	if (end->protocol != IPPROTO_TCP)
		return;
	memcpy(key->remote, stream->far, sizeof(key->remote));
	key->remote_port = stream->far_port;
}

/* Fills in what a new one is known by, and what is known of it. end: of a socket. False: nothing.
 */
static bool describe(const struct fd_file *fd, const struct socket_end *end, bool reads,
		     struct stream_key *key, struct stream *stream)
{
	*key = (struct stream_key){ .kind = PEER_PIPE };
	*stream = (struct stream){ 0 };
	if (!end) {
		key->inode = fd->key.inode;
		key->device = (uint64_t)fd->key.dev_major << 32 | fd->key.dev_minor;
		return true;
	}
	if (end->family == AF_INET || end->family == AF_INET6) {
		inet_key(end, reads, key, stream);
		return key->local_port || key->protocol != IPPROTO_TCP;
	}
	key->kind = PEER_UNIX;
	key->inode = reads ? fd->key.inode : end->peer;
	/* Where it is not known yet to whom, it is of the one who writes. */
	if (!key->inode)
		key->device = fd->key.inode;
	return end->family == AF_UNIX;
}

static struct ebt_error *take_path(struct peers *peers, struct stream *stream,
				   const struct socket_end *end)
{
	if (!end->path.len || stream->path_len || end->family != AF_UNIX ||
	    peers->paths.len > UINT32_MAX - end->path.len)
		return NULL;
	stream->path_at = (uint32_t)peers->paths.len;
	stream->path_len = end->path.len;
	text_add(&peers->paths, end->path.data, end->path.len);
	return text_error(&peers->paths);
}

/* --- bytes --- */

static struct ebt_error *add_edge(struct peers *peers, const struct peers_edge *edge)
{
	const uint64_t ends =
		ebt_hash_u64(ebt_hash_u64(ebt_hash_u64(0, edge->from), edge->to), edge->stream);
	struct peers_edge *list = peers->edges;
	const uint32_t found =
		ebt_map_search(&peers->edge_by_ends, ends, i,
			       list[i].from == edge->from && list[i].to == edge->to &&
				       list[i].stream == edge->stream);
	struct ebt_error *err;

	if (found != EBT_MAP_NONE) {
		list[found].bytes += edge->bytes;
		return NULL;
	}
	err = ebt_array_reserve(&peers->edges, peers->n_edges, &peers->edges_capacity)
		      ?: ebt_map_insert(&peers->edge_by_ends, ends, (uint32_t)peers->n_edges);
	if (!err)
		peers->edges[peers->n_edges++] = *edge;
	return err;
}

static struct ebt_error *queue_add(struct peers *peers, struct queue *queue, uint32_t who,
				   uint64_t bytes)
{
	struct ebt_error *err;
	uint32_t i = peers->free_segments;

	if (queue->tail && peers->segments[queue->tail].who == who) {
		peers->segments[queue->tail].bytes += bytes;
		return NULL;
	}
	if (i) {
		peers->free_segments = peers->segments[i].next;
	} else {
		err = ebt_array_reserve(&peers->segments, peers->n_segments,
					&peers->segments_capacity);
		if (err)
			return err;
		i = (uint32_t)peers->n_segments++;
	}
	peers->segments[i] = (struct sent_bytes){ who, 0, bytes };
	if (queue->tail)
		peers->segments[queue->tail].next = i;
	else
		queue->head = i;
	queue->tail = i;
	return NULL;
}

/* Takes up to so many bytes off the front; 0: there are none. */
static uint64_t queue_take(struct peers *peers, struct queue *queue, uint64_t bytes, uint32_t *who)
{
	const uint32_t i = queue->head;
	struct sent_bytes *s = &peers->segments[i];

	if (!i)
		return 0;
	*who = s->who;
	if (s->bytes > bytes) {
		s->bytes -= bytes;
		return bytes;
	}
	bytes = s->bytes;
	queue->head = s->next;
	if (!queue->head)
		queue->tail = 0;
	s->next = peers->free_segments;
	peers->free_segments = i;
	return bytes;
}

/* Bytes that `who` read from a queue of what was written, or the reverse. *bytes: what is left. */
static struct ebt_error *meet(struct peers *peers, uint32_t stream, struct queue *queue, bool reads,
			      uint32_t who, uint64_t *bytes)
{
	struct ebt_error *err = NULL;
	uint32_t other = 0;

	while (!err && *bytes) {
		const uint64_t n = queue_take(peers, queue, *bytes, &other);
		const struct peers_edge edge = { reads ? other : who, reads ? who : other, stream,
						 n };

		if (!n)
			break;
		err = add_edge(peers, &edge);
		*bytes -= n;
	}
	return err;
}

static struct ebt_error *add_bytes(struct peers *peers, struct stream *stream, bool reads,
				   uint32_t who, uint64_t bytes)
{
	struct ebt_error *err;

	err = meet(peers, (uint32_t)(stream - peers->streams),
		   reads ? &stream->written : &stream->read, reads, who, &bytes);
	if (err || !bytes)
		return err;
	return queue_add(peers, reads ? &stream->read : &stream->written, who, bytes);
}

/* Who connects to a Unix socket may write before anybody accepts it. */
static struct ebt_error *take_early(struct peers *peers, struct stream *stream, uint64_t peer)
{
	const struct stream_key key = { .kind = PEER_UNIX, .device = peer };
	struct stream *early = find_stream(peers, &key);
	struct ebt_error *err = NULL;
	uint64_t n;
	uint32_t who;

	while (!err && early && (n = queue_take(peers, &early->written, UINT64_MAX, &who)))
		err = add_bytes(peers, stream, false, who, n);
	return err;
}

/* --- calls --- */

static uint64_t server_key(uint32_t protocol, uint16_t port)
{
	return (uint64_t)protocol << 16 | port;
}

static struct ebt_error *note_server(struct peers *peers, const struct socket_end *end)
{
	const uint64_t key = server_key(end->protocol, end->local_port);
	uint32_t i;

	if (!end->local_port || end->remote_port || ebt_map_find(&peers->servers, key, &i))
		return NULL;
	return ebt_map_insert(&peers->servers, key, 0);
}

/* sendto() says to whom. */
static void take_destination(const struct io_use *use, struct socket_end *end)
{
	const bool v6 = end->family == AF_INET6;
	const size_t at = v6 ? offsetof(struct sockaddr_in6, sin6_addr)
			     : offsetof(struct sockaddr_in, sin_addr);

	for (int i = 0; i < SYSCALL_MAX_ARGS; i++) {
		const struct call_text *said = &use->call->texts[i];

		if (!said->there || said->kind != EBT_V_syscall_arg_kind_address ||
		    said->unreadable || said->bytes.len < at + end->n_address)
			continue;
		end->remote_port = (uint16_t)((uint8_t)said->bytes.data[2] << 8 |
					      (uint8_t)said->bytes.data[3]);
		memcpy(end->remote, said->bytes.data + at, end->n_address);
	}
}

static struct ebt_error *take_bytes(struct peers *peers, const struct io_use *use,
				    const struct socket_end *end, uint32_t who)
{
	const bool reads = use->act == IO_READ;
	struct stream_key key;
	struct stream like, *stream;
	struct ebt_error *err;

	if (!describe(use->fd, end, reads, &key, &like))
		return NULL;
	err = add_stream(peers, &key, &like, &stream);
	if (!stream)
		peers->dropped += use->bytes;
	if (err || !stream)
		return err;
	if (reads)
		stream->last_reader = who;
	err = end ? take_path(peers, stream, end) : NULL;
	if (!err && reads && key.kind == PEER_UNIX && end->peer)
		err = take_early(peers, stream, end->peer);
	return err ?: add_bytes(peers, stream, reads, who, use->bytes);
}

struct ebt_error *peers_take(struct peers *peers, const struct io_model *model,
			     const struct io_use *use, uint32_t who)
{
	struct socket_end end;
	struct ebt_error *err;

	if (!use->fd || (use->act != IO_READ && use->act != IO_WRITE && use->act != IO_OTHER))
		return NULL;
	if (!io_socket(model, use, &end))
		return use->bytes && use->fd->type == EBT_V_fd_type_fifo
			       ? take_bytes(peers, use, NULL, who)
			       : NULL;
	err = end.family == AF_INET || end.family == AF_INET6 ? note_server(peers, &end) : NULL;
	if (err || !use->bytes)
		return err;
	if (use->act == IO_WRITE && !end.remote_port && end.family != AF_UNIX)
		take_destination(use, &end);
	return take_bytes(peers, use, &end, who);
}

uint64_t peers_dropped(const struct peers *peers)
{
	return peers->dropped;
}

/* --- what is left in the end --- */

/* Datagrams: another socket at an address, which may have been bound to any. */
static struct stream *find_bound(const struct peers *peers, const struct stream *like,
				 const uint8_t address[16], uint16_t port)
{
	struct stream_key key = { .kind = PEER_INET, .protocol = like->key.protocol };
	struct stream *found;

	memcpy(key.local, address, sizeof(key.local));
	key.local_port = port;
	key.netns = is_loopback(address) ? like->netns : 0;
	found = find_stream(peers, &key);
	found = found == like ? NULL : found;
	key.netns = like->netns;
	for (int i = 0; !found && i < 2; i++) {
		memset(key.local, 0, sizeof(key.local));
		if (i) /* 0.0.0.0 */
			memset(key.local + 10, 0xff, 2);
		found = find_stream(peers, &key);
	}
	return found;
}

/* Whoever wrote bytes that nobody read, and the reverse. */
static struct ebt_error *end_stream(struct peers *peers, uint32_t i)
{
	struct stream *stream = &peers->streams[i], *other = NULL;
	const struct stream_key *key = &stream->key;
	const bool is_datagram = key->kind == PEER_INET && key->protocol != IPPROTO_TCP;
	struct ebt_error *err = NULL;
	uint64_t n;
	uint32_t who;

	if (is_datagram && key->local_port && !is_any(key->local))
		other = find_bound(peers, stream, key->local, key->local_port);
	while (!err && (n = queue_take(peers, &stream->written, UINT64_MAX, &who))) {
		if (other)
			err = meet(peers, i, &other->read, false, who, &n);
		if (!err && n)
			err = add_edge(peers, &(struct peers_edge){ who, PEERS_NOBODY, i, n });
	}
	other = is_datagram && stream->far_port
			? find_bound(peers, stream, stream->far, stream->far_port)
			: NULL;
	while (!err && (n = queue_take(peers, &stream->read, UINT64_MAX, &who)))
		err = add_edge(peers,
			       &(struct peers_edge){ other ? other->last_reader : PEERS_NOBODY, who,
						     i, n });
	return err;
}

struct ebt_error *peers_edges(struct peers *peers, const struct peers_edge **ret, size_t *n)
{
	struct ebt_error *err = NULL;

	/* Those that are bound to any address are looked for by others, and come last. */
	for (int any = 0; any < 2; any++) {
		for (uint32_t i = 0; !err && i < peers->n_streams; i++) {
			if (is_any(peers->streams[i].key.local) == any)
				err = end_stream(peers, i);
		}
	}
	*ret = peers->edges;
	*n = peers->n_edges;
	return err;
}

/* --- names --- */

static void add_end(struct text *text, const uint8_t address[16], uint16_t port)
{
	const bool v4 = is_mapped(address);

	net_add_endpoint(text, v4 ? address + 12 : address, v4 ? 4 : 16, port);
}

static bool is_server(const struct peers *peers, uint32_t protocol, uint16_t port)
{
	uint32_t i;

	return ebt_map_find(&peers->servers, server_key(protocol, port), &i);
}

static bool server_is_local(const struct peers *peers, const struct stream *s)
{
	const uint32_t protocol = s->key.protocol;
	const bool local = is_server(peers, protocol, s->key.local_port);
	const bool far = is_server(peers, protocol, s->far_port);

	if (!s->far_port || !s->key.local_port)
		return s->key.local_port;
	return local == far ? s->key.local_port <= s->far_port : local;
}

static void add_inet(struct text *text, const struct peers *peers, const struct stream *s)
{
	const bool local = server_is_local(peers, s);

	text_cstr(text, s->key.protocol == IPPROTO_TCP	 ? "TCP "
			: s->key.protocol == IPPROTO_UDP ? "UDP "
							 : "IP ");
	add_end(text, local ? s->key.local : s->far, local ? s->key.local_port : s->far_port);
}

void peers_via_add(const struct peers *peers, uint32_t stream, struct text *text)
{
	const struct stream *s = &peers->streams[stream];
	const char *path = text_get(&peers->paths) + s->path_at;
	const bool is_abstract = s->path_len && !*path;

	if (s->key.kind == PEER_INET)
		add_inet(text, peers, s);
	else if (s->key.kind == PEER_PIPE)
		text_cstr(text, "pipe");
	else if (!s->path_len)
		text_cstr(text, "socketpair");
	if (is_abstract)
		text_addc(text, '@');
	text_add(text, path + is_abstract, s->path_len - is_abstract);
}

void peers_far_add(const struct peers *peers, uint32_t stream, bool writer, struct text *text)
{
	const struct stream *s = &peers->streams[stream];

	if (!writer && s->last_reader)
		text_cstr(text, "(not read)");
	else if (s->key.kind == PEER_INET && writer && s->far_port)
		add_end(text, s->far, s->far_port);
	else if (s->key.kind == PEER_INET && !writer && s->key.local_port)
		add_end(text, s->key.local, s->key.local_port);
	else
		text_cstr(text, "(not known)");
}
