/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ring buffer consumer: threads that read rings, each into a stream of its own. A thread that
 * is too slow never holds up the programs in the kernel: their ring fills, and they count.
 *
 * Order: each pass takes the positions of its rings, then reads the task ring whole, then its
 * rings up to those positions. So the fork of every task that a record names is known when the
 * record is added.
 */
#ifndef RECORD_SESSION_CONSUMER_H
#define RECORD_SESSION_CONSUMER_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/write/writer.h"
#include "record/session/capture.h"

struct deferred;
struct consumer;
struct program;
struct tasks;

/* All must live longer. The writer gets a stream for each thread of the topology. deferred: gets
 * records with dumps; or NULL. */
struct ebt_error *consumer_create(struct capture *capture, struct ebt_writer *writer,
				  struct tasks *tasks, struct deferred *deferred,
				  struct consumer **ret);
/* Stops without reading what is left. Accepts NULL. */
void consumer_destroy(struct consumer *consumer);
DEFINE_CLEANUP(struct consumer *, consumer_destroy);

struct ebt_error *consumer_start(struct consumer *consumer);

/* Reads the task ring into the caller's stream. */
struct ebt_error *consumer_read_tasks(struct consumer *consumer, struct ebt_stream *stream);

enum consumer_event {
	CONSUMER_EXEC,
	CONSUMER_ATTACHED, /* it came into the cgroup */
	CONSUMER_FORK,
	CONSUMER_RENAME, /* the first thread */
	CONSUMER_EXIT,	 /* its last thread ended */
};

/* A process that somebody has to look at. */
struct consumer_notice {
	uint32_t pid;
	uint32_t child; /* CONSUMER_FORK */
	enum consumer_event event;
	uint64_t time;
	struct program
		*program; /* CONSUMER_EXEC: what is known of it, for the taker to free(); or NULL */
};

/* Readable when there is a notice, or a thread has failed. Belongs to the consumer. */
int consumer_fd(const struct consumer *consumer);

/* Takes the oldest notice. */
bool consumer_next_notice(struct consumer *consumer, struct consumer_notice *ret);

/* Has a thread failed? consumer_finish() returns its error. */
bool consumer_failed(const struct consumer *consumer);

/*
 * With the gate closed and the programs detached: reads all that is left, and ends the threads.
 * Returns the first error of any.
 */
struct ebt_error *consumer_finish(struct consumer *consumer);

struct consumer_counts {
	uint64_t malformed; /* records that the writer did not take */
	uint64_t left;	    /* bytes that could not be read at the end */
	uint64_t notices_dropped;
};

void consumer_counts(const struct consumer *consumer, struct consumer_counts *ret);

#endif
