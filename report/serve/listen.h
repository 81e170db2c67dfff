/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets that listen on the loopback addresses. */
#ifndef REPORT_SERVE_LISTEN_H
#define REPORT_SERVE_LISTEN_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

#define LISTEN_MOST 2

/*
 * 127.0.0.1, and ::1 where the machine has it, with one port; *port 0: a free one, which is put
 * there. Whoever reaches the sockets of one reaches this program by the other address too, and
 * nobody else's.
 */
struct ebt_error *listen_open(uint16_t *port, int ret[LISTEN_MOST], size_t *ret_n);

#endif
