/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What scrubbing makes of addresses of hosts and names of network devices. */
#ifndef REPORT_SHARE_SCRUB_NET_H
#define REPORT_SHARE_SCRUB_NET_H

#include <stdbool.h>

#include "report/share/scrub_text.h"

/* Loopback, or no address at all: the same on every machine. 4 or 16 bytes. */
bool scrub_is_local_address(struct ebt_str address);

/* Appends an address of the same kind that no host has: of 240.0.0.0/4, or of 100::/64, which is
 * for what is to be thrown away. Nothing for what is no address. */
void scrub_address(const struct scrub_key *key, struct ebt_str address, struct text *to);

/* Is this a name that the system gives by itself: eth0, enp3s0f1, veth12ab? */
bool scrub_is_system_device(struct ebt_str name);

#endif
