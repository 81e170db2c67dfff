/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tokens in the place of words. In one copy the same word becomes the same token everywhere, so
 * that what belongs together still does. The key is random and never kept, so that nobody can find
 * a word by trying words.
 */
#ifndef REPORT_SHARE_SCRUB_TEXT_H
#define REPORT_SHARE_SCRUB_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"
#include "report/base/text.h"

struct scrub_key {
	uint64_t k[2];
};

struct ebt_error *scrub_key_make(struct scrub_key *ret);

/* SipHash-2-4. */
uint64_t scrub_hash(const struct scrub_key *key, const void *data, size_t len);

/* All of these append what stands in the place of s. */

/* `~` and 12 hexadecimal digits; nothing for nothing. */
void scrub_token(const struct scrub_key *key, struct ebt_str s, struct text *to);
/* Is this a path below the folders that every system has, and that no user writes to? */
bool scrub_is_system_path(struct ebt_str s);
/* Part by part; keep_system: paths of the system stay. */
void scrub_path(const struct scrub_key *key, struct ebt_str s, bool keep_system, struct text *to);
void scrub_cgroup(const struct scrub_key *key, struct ebt_str s, struct text *to);

/* Loopback, or no address at all: the same on every machine. 4 or 16 bytes. */
bool scrub_is_local_address(struct ebt_str address);

/* Appends an address of the same kind that no host has: of 240.0.0.0/4, or of 100::/64, which is
 * for what is to be thrown away. Nothing for what is no address. */
void scrub_address(const struct scrub_key *key, struct ebt_str address, struct text *to);

/* Is this a name that the system gives by itself: eth0, enp3s0f1, veth12ab? */
bool scrub_is_system_device(struct ebt_str name);

#endif
