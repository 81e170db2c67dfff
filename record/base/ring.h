/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a BPF ring buffer. libbpf's reader publishes its position after each record, which
 * costs every producer a cache miss; this one does so after many, and reads up to a position that
 * the caller took, so that a busy ring cannot keep it for ever.
 */
#ifndef RECORD_BASE_RING_H
#define RECORD_BASE_RING_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

struct ring {
	int fd; /* of the map; owned */
	size_t size;
	uint64_t pos;	    /* read so far */
	uint64_t published; /* what the kernel knows of that */
	unsigned long *consumer;
	const unsigned long *producer;
	const unsigned char *data;
};

/* size: a power of two, at least a page. */
struct ebt_error *ring_init(size_t size, struct ring *ret);
/* Accepts a zeroed ring. */
void ring_deinit(struct ring *ring);

/* Where the producers are: every record that is complete by now lies before it. */
uint64_t ring_end(const struct ring *ring);

/*
 * The next record before `end`; NULL: there is none, or its producer is still at it. The bytes
 * are good until ring_release().
 */
const void *ring_next(struct ring *ring, uint64_t end, size_t *ret_len);

/* Gives back the room of what has been read. */
void ring_release(struct ring *ring);

/*
 * The reader's side of the SPSC queues that system calls come through: queues of rows with one
 * writer and one reader (bpf/shared.h says why). Read as rings are.
 */
struct spsc {
	struct ebrec_spsc *shared; /* not owned */
	uint32_t bytes;		   /* of rows that it can hold; a power of two */
	uint64_t pos;		   /* bytes read so far */
	uint64_t published;	   /* what the writer knows of that */
};

/* Bytes of memory of a queue for so many bytes of rows. */
size_t spsc_size(uint32_t bytes);

uint64_t spsc_end(const struct spsc *queue);
const void *spsc_next(struct spsc *queue, uint64_t end, size_t *ret_len);
void spsc_release(struct spsc *queue);

#endif
