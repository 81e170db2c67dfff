/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who sent bytes to whom through pipes and sockets, from what calls wrote and read. What goes into
 * a pipe or a socket comes out in the same order: each read takes the bytes that were written first
 * and not read yet. Where a call that reads returns before the one that wrote, it waits for it.
 * Prints nothing.
 *
 * Memory depends on the number of pipes and connections, up to PEERS_MAX, and on how often writers
 * take turns before anybody reads.
 */
#ifndef REPORT_IO_MODEL_PEERS_H
#define REPORT_IO_MODEL_PEERS_H

#include "report/base/text.h"
#include "report/io/model_io.h"

#define PEERS_MAX    (1u << 20)
#define PEERS_NOBODY 0u /* nobody that was recorded */

struct peers_edge {
	uint32_t from, to; /* as peers_take() was told; or PEERS_NOBODY */
	uint32_t stream;
	uint64_t bytes;
};

struct peers;

struct ebt_error *peers_create(struct peers **ret);
void peers_destroy(struct peers *peers);
DEFINE_CLEANUP(struct peers *, peers_destroy);

/* who: the number of who made the call, not PEERS_NOBODY. */
struct ebt_error *peers_take(struct peers *peers, const struct io_model *model,
			     const struct io_use *use, uint32_t who);

/* After the last use; they belong to peers. */
struct ebt_error *peers_edges(struct peers *peers, const struct peers_edge **ret, size_t *n);

/* Bytes that are in no edge, since there were more than PEERS_MAX pipes and connections. */
uint64_t peers_dropped(const struct peers *peers);

/* What the bytes went through: "pipe", "/run/a.sock", "TCP 127.0.0.1:80", where that is the end
 * that listened, or else the one with the lower port. */
void peers_via_add(const struct peers *peers, uint32_t stream, struct text *text);
/* Who wrote to it, or read from it, as far as that is known of nobody who was recorded: an address,
 * or a text in parentheses. */
void peers_far_add(const struct peers *peers, uint32_t stream, bool writer, struct text *text);

#endif
