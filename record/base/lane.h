/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader's side of the lanes that system calls come through: queues of records of one size
 * with one writer and one reader (bpf/shared.h says why). Read as rings are (ring.h).
 */
#ifndef RECORD_BASE_LANE_H
#define RECORD_BASE_LANE_H

#include <stddef.h>
#include <stdint.h>

struct ebrec_lane;

struct lane {
	struct ebrec_lane *shared; /* not owned */
	uint32_t records;	   /* that it can hold; a power of two */
	uint64_t pos;		   /* records read so far */
};

/* Bytes that a lane of so many records takes. */
size_t lane_bytes(uint32_t records);

uint64_t lane_end(const struct lane *lane);
const void *lane_next(struct lane *lane, uint64_t end, size_t *ret_len);
void lane_release(struct lane *lane);

#endif
