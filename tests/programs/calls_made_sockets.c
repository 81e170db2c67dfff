/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs of calls_made.c that make calls of sockets. */
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/programs/calls_made.h"

/* What is called badly fails, and is no matter. */
#pragma GCC diagnostic ignored "-Wunused-result"

/* --- sockets --- */

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void tcp(void)
{
	struct sockaddr_in address = loopback(0);
	socklen_t len = sizeof(address);
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), client, peer, one = 1;
	char bytes[16];

	setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	bind(server, (void *)&address, sizeof(address));
	listen(server, 5);
	getsockname(server, (void *)&address, &len);
	client = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
	connect(client, (void *)&address, sizeof(address));
	len = sizeof(address);
	peer = accept4(server, (void *)&address, &len, SOCK_NONBLOCK);
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	send(client, "hello", 5, MSG_NOSIGNAL);
	recv(peer, bytes, sizeof(bytes), MSG_PEEK);
	recv(peer, bytes, sizeof(bytes), 0);
	getpeername(client, (void *)&address, &len);
	shutdown(client, SHUT_WR);
	recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT);
	recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT);
	close(peer);
	close(client);
	close(server);
}

static void udp(void)
{
	struct sockaddr_in address = loopback(0), from;
	socklen_t len = sizeof(address);
	int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
	char bytes[16];

	bind(a, (void *)&address, sizeof(address));
	getsockname(a, (void *)&address, &len);
	sendto(b, "abc", 3, 0, (void *)&address, sizeof(address));
	len = sizeof(from);
	recvfrom(a, bytes, sizeof(bytes), MSG_TRUNC, (void *)&from, &len);
	connect(b, (void *)&address, sizeof(address));
	send(b, "abcd", 4, MSG_DONTWAIT);
	recv(a, bytes, 2, 0);
	recv(a, bytes, 2, MSG_DONTWAIT);
}

static void tcp6(void)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	socklen_t len = sizeof(address);
	int server = socket(AF_INET6, SOCK_STREAM, 0), client = socket(AF_INET6, SOCK_STREAM, 0);
	int one = 1;

	setsockopt(server, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	bind(server, (void *)&address, sizeof(address));
	listen(server, 1);
	getsockname(server, (void *)&address, &len);
	connect(client, (void *)&address, sizeof(address));
	close(accept(server, NULL, NULL));
}

static void unix_sockets(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "\0calls_made" };
	const socklen_t len = offsetof(struct sockaddr_un, sun_path) + 11;
	int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
	int pair[2], value;
	socklen_t size = sizeof(value);

	bind(server, (void *)&address, len);
	listen(server, 1);
	connect(client, (void *)&address, len);
	close(accept(server, NULL, NULL));
	strcpy(address.sun_path, "/no such socket");
	connect(client, (void *)&address, sizeof(address));
	socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
	getsockopt(pair[0], SOL_SOCKET, SO_RCVBUF, &value, &size);
	getsockopt(pair[0], SOL_SOCKET, SO_ACCEPTCONN, &value, &size);
	write(pair[0], "x", 1);
	read(pair[1], &value, 4);
}

static void passed(void)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	char byte = 'a';
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	int pair[2];

	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	memcpy(CMSG_DATA(&control.head), &pair[0], sizeof(int));
	sendmsg(pair[0], &message, 0);
	recvmsg(pair[1], &message, MSG_CMSG_CLOEXEC);
}

static void netlink(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	socklen_t len = sizeof(address);
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_ROUTE);
	char bytes[64];

	bind(fd, (void *)&address, sizeof(address));
	getsockname(fd, (void *)&address, &len);
	recv(fd, bytes, sizeof(bytes), 0);
	socket(AF_NETLINK, SOCK_RAW, 99);
}

static void bad_sockets(void)
{
	struct sockaddr_in address = loopback(1);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	socket(99, 77, 0);
	socket(AF_INET, SOCK_STREAM, 99);
	connect(fd, (void *)&address, sizeof(address));
	connect(fd, (void *)&address, 3);
	connect(fd, NULL, sizeof(address));
	bind(0, (void *)&address, sizeof(address));
	listen(fd, -1);
	shutdown(fd, 7);
	send(fd, "a", 1, MSG_NOSIGNAL | MSG_MORE | 0x1000000);
	setsockopt(fd, 99, 99, &address, 4);
	getsockopt(fd, SOL_SOCKET, 999, NULL, NULL);
}

static void options(void)
{
	static const int levels[][2] = {
		{ SOL_SOCKET, SO_KEEPALIVE },  { SOL_SOCKET, SO_BROADCAST },
		{ SOL_SOCKET, SO_PRIORITY },   { SOL_SOCKET, SO_SNDBUF },
		{ SOL_SOCKET, SO_REUSEPORT },  { IPPROTO_TCP, TCP_KEEPIDLE },
		{ IPPROTO_TCP, TCP_MAXSEG },   { IPPROTO_TCP, TCP_CORK },
		{ IPPROTO_TCP, TCP_QUICKACK }, { IPPROTO_IP, IP_TTL },
		{ IPPROTO_IP, IP_TOS },
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		int value = 1;
		socklen_t len = sizeof(value);

		setsockopt(fd, levels[i][0], levels[i][1], &value, sizeof(value));
		getsockopt(fd, levels[i][0], levels[i][1], &value, &len);
	}
}

const struct calls_program calls_of_sockets[CALLS_OF_SOCKETS] = {
#define PROGRAM(fn)     \
	{               \
#fn, fn \
	}
	PROGRAM(tcp),	 PROGRAM(udp),	   PROGRAM(tcp6),	 PROGRAM(unix_sockets),
	PROGRAM(passed), PROGRAM(netlink), PROGRAM(bad_sockets), PROGRAM(options),
#undef PROGRAM
};
