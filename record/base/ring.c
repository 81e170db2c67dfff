/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader's side of BPF_MAP_TYPE_RINGBUF, a stable interface of the kernel; see ring.h. */
#include "record/base/ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/types.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/schema/wire.h"
#include "record/bpf/shared.h"

/* Room is given back after so much, or an eighth of the ring. */
#define RELEASE_BYTES (128u << 10)

struct ebt_error *ring_init(size_t size, struct ring *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ring ring = { .size = size, .fd = -1 };
	void *consumer, *producer;

	ring.fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ebrec_ring", 0, 0, (uint32_t)size, NULL);
	if (ring.fd < 0)
		return ebt_error_errno(errno, "cannot make a ring buffer of %zu bytes", size);
	consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
	/* The kernel maps the data twice in a row, so that no record is ever split. */
	producer = mmap(NULL, page + 2 * size, PROT_READ, MAP_SHARED, ring.fd, (off_t)page);
	if (consumer == MAP_FAILED || producer == MAP_FAILED) {
		int errnum = errno;

		if (consumer != MAP_FAILED)
			munmap(consumer, page);
		close(ring.fd);
		return ebt_error_errno(errnum, "cannot map a ring buffer of %zu bytes", size);
	}
	ring.consumer = consumer;
	ring.producer = producer;
	ring.data = (const unsigned char *)producer + page;
	*ret = ring;
	return NULL;
}

void ring_deinit(struct ring *ring)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!ring->consumer)
		return;
	munmap(ring->consumer, page);
	munmap((void *)ring->producer, page + 2 * ring->size);
	close(ring->fd);
	*ring = (struct ring){ 0 };
}

uint64_t ring_end(const struct ring *ring)
{
	return __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
}

void ring_release(struct ring *ring)
{
	if (ring->published == ring->pos)
		return;
	__atomic_store_n(ring->consumer, ring->pos, __ATOMIC_RELEASE);
	ring->published = ring->pos;
}

const void *ring_next(struct ring *ring, uint64_t end, size_t *ret_len)
{
	if (ring->pos - ring->published > RELEASE_BYTES ||
	    ring->pos - ring->published > ring->size / 8)
		ring_release(ring);
	while (ring->pos < end) {
		const unsigned char *record = ring->data + (ring->pos & (ring->size - 1));
		uint32_t len = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);

		if (len & BPF_RINGBUF_BUSY_BIT)
			return NULL;
		*ret_len = len & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		ring->pos += (*ret_len + BPF_RINGBUF_HDR_SZ + 7) & ~UINT64_C(7);
		if (!(len & BPF_RINGBUF_DISCARD_BIT))
			return record + BPF_RINGBUF_HDR_SZ;
	}
	return NULL;
}

/* --- SPSC queues --- */

size_t spsc_size(uint32_t bytes)
{
	return sizeof(struct ebrec_spsc) + bytes + EBREC_SPSC_SLACK;
}

uint64_t spsc_end(const struct spsc *queue)
{
	return __atomic_load_n(&queue->shared->head, __ATOMIC_ACQUIRE);
}

const void *spsc_next(struct spsc *queue, uint64_t end, size_t *ret_len)
{
	const struct ebt_wire_head *row;

	if (queue->pos - queue->published > RELEASE_BYTES ||
	    queue->pos - queue->published > queue->bytes / 8)
		spsc_release(queue);
	if (queue->pos == end)
		return NULL;
	row = (const void *)((const char *)(queue->shared + 1) + (queue->pos & (queue->bytes - 1)));
	*ret_len = row->len;
	queue->pos += row->len;
	return row;
}

void spsc_release(struct spsc *queue)
{
	__atomic_store_n(&queue->shared->tail, queue->pos, __ATOMIC_RELEASE);
	queue->published = queue->pos;
}
