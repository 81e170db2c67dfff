/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading a ring of Sysprof's protocol; see sysprof_ring.h. */
#include "record/sources/sysprof_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "record/sources/sysprof_frames.h"

/* Words of the header, which fills the first page. Positions are below SIZE. */
enum { HEAD, TAIL, OFFSET, SIZE };

static uint32_t page(void)
{
	return (uint32_t)sysconf(_SC_PAGESIZE);
}

struct ebt_error *sysprof_ring_create(uint32_t size, struct sysprof_ring *ret)
{
	_cleanup_close_ int fd = memfd_create("sysprof-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint32_t *words;

	if (fd < 0 || ftruncate(fd, (off_t)size + page()) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return ebt_error_errno(errno, "cannot make a ring");
	words = mmap(NULL, page(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED)
		return ebt_error_errno(errno, "cannot map a ring");
	words[OFFSET] = page();
	words[SIZE] = size;
	*ret = (struct sysprof_ring){ .fd = take_fd(&fd), .size = size, .words = words };
	return NULL;
}

void sysprof_ring_destroy(struct sysprof_ring *ring)
{
	if (!ring->words)
		return;
	munmap(ring->words, page());
	close(ring->fd);
	*ring = (struct sysprof_ring){ .fd = -1 };
}

bool sysprof_ring_used(const struct sysprof_ring *ring, uint32_t *ret)
{
	uint32_t tail = __atomic_load_n(&ring->words[TAIL], __ATOMIC_ACQUIRE);

	if (tail >= ring->size || tail % SYSPROF_ALIGN)
		return false;
	*ret = tail < ring->head ? tail + ring->size - ring->head : tail - ring->head;
	return true;
}

static bool read_all(const struct sysprof_ring *ring, unsigned char *buf, uint32_t len, uint32_t at)
{
	while (len) {
		ssize_t n = pread(ring->fd, buf, len, (off_t)at + page());

		if (n <= 0)
			return false;
		buf += n;
		at += (uint32_t)n;
		len -= (uint32_t)n;
	}
	return true;
}

/* The part of len bytes from here that lies before the end. */
static uint32_t first_part(const struct sysprof_ring *ring, uint32_t len)
{
	return len < ring->size - ring->head ? len : ring->size - ring->head;
}

bool sysprof_ring_copy(const struct sysprof_ring *ring, void *buf, uint32_t len)
{
	uint32_t first = first_part(ring, len);

	return read_all(ring, buf, first, ring->head) &&
	       read_all(ring, (unsigned char *)buf + first, len - first, 0);
}

/* What cannot be emptied is of no harm but to the program. */
static void empty(const struct sysprof_ring *ring, uint32_t len, uint32_t at)
{
	static const unsigned char zeros[4096];

	while (len) {
		ssize_t n = pwrite(ring->fd, zeros, len < sizeof(zeros) ? len : sizeof(zeros),
				   (off_t)at + page());

		if (n <= 0)
			return;
		at += (uint32_t)n;
		len -= (uint32_t)n;
	}
}

uint32_t sysprof_ring_release(struct sysprof_ring *ring, uint32_t len)
{
	uint32_t first = first_part(ring, len), used;

	empty(ring, first, ring->head);
	empty(ring, len - first, 0);
	if (!sysprof_ring_used(ring, &used))
		used = 0;
	ring->head = len < ring->size - ring->head ? ring->head + len : len - first;
	__atomic_store_n(&ring->words[HEAD], ring->head, __ATOMIC_RELEASE);
	return used;
}
