/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A ring of Sysprof's protocol, from the reader's side: memory that a program, which may be any,
 * writes into at all times. It cannot shrink, no more than a page of it is mapped, what is read is
 * a copy, and of what its header says only the writer's position is asked for, once a reading.
 */
#ifndef RECORD_SOURCES_SYSPROF_RING_H
#define RECORD_SOURCES_SYSPROF_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"

struct sysprof_ring {
	int fd;		 /* of the memory: what the program is given */
	uint32_t size;	 /* of the frames' part */
	uint32_t head;	 /* read so far */
	uint32_t *words; /* its header */
};

/* size: a multiple of the page's. */
struct ebt_error *sysprof_ring_create(uint32_t size, struct sysprof_ring *ret);
/* Accepts a zeroed ring. */
void sysprof_ring_destroy(struct sysprof_ring *ring);

/* How much there is to read. False: the program wrote what no library writes. */
bool sysprof_ring_used(const struct sysprof_ring *ring, uint32_t *ret);

/* Copies len bytes, of those that are used. False: the memory cannot be read. */
bool sysprof_ring_copy(const struct sysprof_ring *ring, void *buf, uint32_t len);

/*
 * Gives back the room of what has been read, emptied: Sysprof's library up to version 48 leaves
 * in frames with values what was there before. Returns how much of the ring was used until then.
 */
uint32_t sysprof_ring_release(struct sysprof_ring *ring, uint32_t len);

#endif
