/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets that listen; see listen.h. */
#include "report/serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "format/base/cleanup.h"

#define BACKLOG 1024
/* Ports that are free for 127.0.0.1 and not for ::1 are rare. */
#define ATTEMPTS 20

/* A socket that waits for connections; -1: see errno. */
static int listen_at(const struct sockaddr *address, socklen_t len)
{
	_cleanup_close_ int fd =
		socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;

	/* What is left of connections of an earlier run holds the port for a minute. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    (address->sa_family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on))) ||
	    bind(fd, address, len) || listen(fd, BACKLOG))
		return -1;
	return take_fd(&fd);
}

static int listen_4(uint16_t port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(port),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	return listen_at((const struct sockaddr *)&address, sizeof(address));
}

static int listen_6(uint16_t port)
{
	const struct sockaddr_in6 address = { .sin6_family = AF_INET6,
					      .sin6_port = htons(port),
					      .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	return listen_at((const struct sockaddr *)&address, sizeof(address));
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in address = { 0 };
	socklen_t len = sizeof(address);

	getsockname(fd, (struct sockaddr *)&address, &len);
	return ntohs(address.sin_port);
}

struct ebt_error *listen_open(uint16_t *port, int ret[LISTEN_MOST], size_t *ret_n)
{
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		_cleanup_close_ int four = listen_4(*port);
		uint16_t got;
		int six;

		if (four < 0)
			return ebt_error_errno(errno,
					       "cannot listen on port %" PRIu16 " of 127.0.0.1",
					       *port);
		got = port_of(four);
		six = listen_6(got);
		if (six < 0 && errno == EADDRINUSE && !*port)
			continue;
		if (six < 0 && errno == EADDRINUSE)
			return ebt_error_errno(errno, "cannot listen on port %" PRIu16 " of ::1",
					       *port);
		*port = got;
		ret[0] = take_fd(&four);
		ret[1] = six;
		*ret_n = six < 0 ? 1 : 2;
		return NULL;
	}
	return ebt_error_create(EBT_ERR_SYSTEM, "found no port that is free on 127.0.0.1 and ::1");
}
