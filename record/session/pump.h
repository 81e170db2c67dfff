/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ring buffers to the file: threads that read rings, each into a stream of its own. A thread that
 * is too slow never holds up the programs in the kernel: their ring fills, and they count.
 *
 * Order: each pass takes the positions of its rings, then reads the task ring whole, then its
 * rings up to those positions. So the fork of every task that a record names has been learnt
 * when the record is added.
 */
#ifndef RECORD_SESSION_PUMP_H
#define RECORD_SESSION_PUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/write/writer.h"
#include "record/session/capture.h"

struct finisher;
struct pump;
struct tasks;

/* All must live longer. The writer gets a stream for each thread of the topology. finisher: gets
 * records with dumps; or NULL. */
struct ebt_error *pump_create(struct capture *capture, struct ebt_writer *writer,
			      struct tasks *tasks, struct finisher *finisher, struct pump **ret);
/* Stops without reading what is left. Accepts NULL. */
void pump_destroy(struct pump *pump);
DEFINE_CLEANUP(struct pump *, pump_destroy);

struct ebt_error *pump_start(struct pump *pump);

/* Reads the task ring into the caller's stream. */
struct ebt_error *pump_read_tasks(struct pump *pump, struct ebt_stream *stream);

enum pump_event {
	PUMP_EXEC,
	PUMP_ATTACHED, /* it came into the cgroup */
	PUMP_FORK,
	PUMP_RENAME, /* the first thread */
	PUMP_EXIT,   /* its last thread ended */
};

/* A process that somebody has to look at. */
struct pump_notice {
	uint32_t pid;
	uint32_t child; /* PUMP_FORK */
	enum pump_event event;
	uint64_t time;
};

/* Readable when there is a notice, or a thread has failed. Belongs to the pump. */
int pump_fd(const struct pump *pump);

/* Takes the oldest notice. */
bool pump_next_notice(struct pump *pump, struct pump_notice *ret);

/* Has a thread failed? pump_finish() returns its error. */
bool pump_failed(const struct pump *pump);

/*
 * With the gate closed and the programs detached: reads all that is left, and ends the threads.
 * Returns the first error of any.
 */
struct ebt_error *pump_finish(struct pump *pump);

struct pump_counts {
	uint64_t records;
	uint64_t malformed; /* records that the writer did not take */
	uint64_t left;	    /* bytes that could not be read at the end */
	uint64_t notices_dropped;
};

void pump_counts(const struct pump *pump, struct pump_counts *ret);

#endif
