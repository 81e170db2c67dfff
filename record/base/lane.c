/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading lanes; see lane.h. */
#include "record/base/lane.h"

#include <linux/types.h>

#include "format/schema/wire.h"
#include "record/bpf/shared.h"

/* Room is given back after so many records: each time costs the writer a cache miss. */
#define RELEASE_RECORDS 1024

size_t lane_bytes(uint32_t records)
{
	return sizeof(struct ebrec_lane) + records * sizeof(struct ebt_wire_syscall);
}

uint64_t lane_end(const struct lane *lane)
{
	return __atomic_load_n(&lane->shared->head, __ATOMIC_ACQUIRE);
}

const void *lane_next(struct lane *lane, uint64_t end, size_t *ret_len)
{
	const struct ebt_wire_syscall *rows = (const void *)(lane->shared + 1);

	if (!(lane->pos % RELEASE_RECORDS))
		lane_release(lane);
	if (lane->pos == end)
		return NULL;
	*ret_len = sizeof(*rows);
	return &rows[lane->pos++ & (lane->records - 1)];
}

void lane_release(struct lane *lane)
{
	__atomic_store_n(&lane->shared->tail, lane->pos, __ATOMIC_RELEASE);
}
