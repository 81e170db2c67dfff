/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader's side of the SPSC queues that system calls come through: queues of records of one
 * size with one writer and one reader (bpf/shared.h says why). Read as rings are (ring.h).
 */
#ifndef RECORD_BASE_SPSC_H
#define RECORD_BASE_SPSC_H

#include <stddef.h>
#include <stdint.h>

struct ebrec_spsc;

struct spsc {
	struct ebrec_spsc *shared; /* not owned */
	uint32_t records;	   /* that it can hold; a power of two */
	uint64_t pos;		   /* records read so far */
};

/* Bytes that a queue of so many records takes. */
size_t spsc_bytes(uint32_t records);

uint64_t spsc_end(const struct spsc *queue);
const void *spsc_next(struct spsc *queue, uint64_t end, size_t *ret_len);
void spsc_release(struct spsc *queue);

#endif
