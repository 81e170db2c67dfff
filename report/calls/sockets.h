/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sockets were at a time: their addresses, from rows of table `socket`, which come in order of
 * time. Of each the last two states are kept, and of SOCKETS_MAX sockets. Prints nothing.
 */
#ifndef REPORT_CALLS_SOCKETS_H
#define REPORT_CALLS_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/read/reader.h"
#include "report/base/text.h"

#define SOCKETS_MAX (1u << 20)

/* What a socket was at a time. */
struct socket_end {
	uint32_t family, type, protocol, netns;
	uint64_t peer;	     /* of a Unix socket: inode of the other one; 0: not known */
	struct ebt_str path; /* its name, or its peer's; until the next row */
	uint8_t n_address;   /* bytes of each address: 4 or 16 */
	uint8_t local[16], remote[16];
	uint16_t local_port, remote_port; /* 0: none */
};

struct sockets;

struct ebt_error *sockets_create(struct sockets **ret);
void sockets_destroy(struct sockets *sockets);
DEFINE_CLEANUP(struct sockets *, sockets_destroy);

/* A row of `socket`. */
struct ebt_error *sockets_told(struct sockets *sockets, const struct ebt_row *row);

/* Adds what strace -yy prints: "TCP:[127.0.0.1:1234->127.0.0.1:80]", "UNIX-STREAM:[17->18]";
 * printable ASCII. False: it was not told. */
bool sockets_add(const struct sockets *sockets, uint64_t inode, uint64_t time, struct text *text);

/* False: it was not told. */
bool sockets_end(const struct sockets *sockets, uint64_t inode, uint64_t time,
		 struct socket_end *ret);

#endif
