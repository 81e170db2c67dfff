/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading SPSC queues; see spsc.h. */
#include "record/base/spsc.h"

#include <linux/types.h>

#include "format/schema/wire.h"
#include "record/bpf/shared.h"

/* Room is given back after so many records: each time costs the writer a cache miss. */
#define RELEASE_RECORDS 1024

size_t spsc_bytes(uint32_t records)
{
	return sizeof(struct ebrec_spsc) + records * sizeof(struct ebt_wire_syscall);
}

uint64_t spsc_end(const struct spsc *queue)
{
	return __atomic_load_n(&queue->shared->head, __ATOMIC_ACQUIRE);
}

const void *spsc_next(struct spsc *queue, uint64_t end, size_t *ret_len)
{
	const struct ebt_wire_syscall *rows = (const void *)(queue->shared + 1);

	if (!(queue->pos % RELEASE_RECORDS))
		spsc_release(queue);
	if (queue->pos == end)
		return NULL;
	*ret_len = sizeof(*rows);
	return &rows[queue->pos++ & (queue->records - 1)];
}

void spsc_release(struct spsc *queue)
{
	__atomic_store_n(&queue->shared->tail, queue->pos, __ATOMIC_RELEASE);
}
