/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sockets were at a time: their addresses, from rows of table `socket`, which come in order of
 * time. Of each the last two states are kept, and of SOCKETS_MAX sockets. Prints nothing.
 */
#ifndef REPORT_SYSCALLS_SOCKETS_H
#define REPORT_SYSCALLS_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/read/reader.h"
#include "report/base/text.h"

#define SOCKETS_MAX (1u << 20)

struct sockets;

struct ebt_error *sockets_create(struct sockets **ret);
void sockets_destroy(struct sockets *sockets);
DEFINE_CLEANUP(struct sockets *, sockets_destroy);

/* A row of `socket`. */
struct ebt_error *sockets_told(struct sockets *sockets, const struct ebt_row *row);

/* Adds what strace -yy prints: "TCP:[127.0.0.1:1234->127.0.0.1:80]", "UNIX-STREAM:[17->18]";
 * printable ASCII. False: it was not told. */
bool sockets_add(const struct sockets *sockets, uint64_t inode, uint64_t time, struct text *text);

#endif
