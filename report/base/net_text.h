/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of hosts as text. */
#ifndef REPORT_BASE_NET_TEXT_H
#define REPORT_BASE_NET_TEXT_H

#include <stdint.h>

#include "report/base/text.h"

/* 4 or 16 bytes: 127.0.0.1, ::1; anything else: "?". */
void net_add_address(struct text *text, const void *address, size_t len);
/* With a port: 127.0.0.1:80, [::1]:80. */
void net_add_endpoint(struct text *text, const void *address, size_t len, uint64_t port);

#endif
