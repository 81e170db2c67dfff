/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of paths that can stay, and what stands in the place of the others. */
#ifndef REPORT_SHARE_SCRUB_TEXT_H
#define REPORT_SHARE_SCRUB_TEXT_H

#include <stdbool.h>

#include "format/read/reader.h"
#include "report/base/text.h"
#include "report/share/scrub_names.h"

/* Is this a path below the folders that every system has, and that no user writes to? */
bool scrub_is_system_path(struct ebt_str s);
/* The last part of a path, without what the kernel says of a file that is gone. */
struct ebt_str scrub_file_name(struct ebt_str path);

/* These append what stands in the place of s, part by part; keep_system: paths of the system stay.
 */
void scrub_path(struct scrub_names *names, struct ebt_str s, bool keep_system, struct text *to);
void scrub_cgroup(struct scrub_names *names, struct ebt_str s, struct text *to);

/* Loopback, or no address at all: the same on every machine. 4 or 16 bytes. */
bool scrub_is_local_address(struct ebt_str address);

/* Appends an address of the same kind that no host has: of 240.0.0.0/4, or of 100::/64, which is
 * for what is to be thrown away. Nothing for what is no address. */
void scrub_address(struct scrub_names *names, struct ebt_str address, struct text *to);

/* Is this a name that the system gives by itself: eth0, enp3s0f1, veth12ab? */
bool scrub_is_system_device(struct ebt_str name);

#endif
