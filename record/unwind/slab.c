/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocation of ranges by powers of two; see slab.h. */
#include "record/unwind/slab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "record/base/clocks.h"

/* Programs run for microseconds, with preemption off. */
#define REST_NS	  UINT64_C(100000000)

#define N_CLASSES 13 /* 1 to 4096 entries */

struct unwind_range {
	struct unwind_range *next; /* of the free list */
	uint64_t since;		   /* given back */
	uint32_t first, class, owners;
};

/* Given back first, taken first. */
struct free_list {
	struct unwind_range *head, *tail;
};

struct unwind_slab {
	struct ebrec_unwind_mapping *entries;
	size_t bytes;
	uint32_t n, used;
	struct free_list free[N_CLASSES];
};

struct ebt_error *unwind_slab_create(int map_fd, uint32_t first, uint32_t n,
				     struct unwind_slab **ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	_cleanup_free_ struct unwind_slab *slab = calloc(1, sizeof(*slab));

	if (!slab)
		return &ebt_enomem;
	slab->n = n;
	slab->used = first;
	slab->bytes = (n * sizeof(*slab->entries) + page - 1) & ~(page - 1);
	slab->entries = mmap(NULL, slab->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (slab->entries == MAP_FAILED)
		return ebt_error_errno(errno, "cannot map the mappings of the BPF programs");
	*ret = take_ptr(slab);
	return NULL;
}

void unwind_slab_destroy(struct unwind_slab *slab)
{
	if (!slab)
		return;
	for (unsigned int i = 0; i < N_CLASSES; i++) {
		while (slab->free[i].head) {
			struct unwind_range *range = slab->free[i].head;

			slab->free[i].head = range->next;
			free(range);
		}
	}
	munmap(slab->entries, slab->bytes);
	free(slab);
}

static struct unwind_range *take_free(struct free_list *list, uint64_t now_ns)
{
	struct unwind_range *range = list->head;

	if (!range || now_ns - range->since < REST_NS)
		return NULL;
	list->head = range->next;
	if (!list->head)
		list->tail = NULL;
	range->next = NULL;
	return range;
}

struct unwind_range *unwind_slab_alloc(struct unwind_slab *slab, uint32_t n, uint64_t now_ns)
{
	struct unwind_range *range;
	uint32_t class = 0;

	while (class < N_CLASSES && (1u << class) < n)
		class ++;
	if (class == N_CLASSES)
		return NULL;
	range = take_free(&slab->free[class], now_ns);
	if (!range) {
		if (slab->n - slab->used < 1u << class)
			return NULL;
		range = calloc(1, sizeof(*range));
		if (!range)
			return NULL;
		range->first = slab->used;
		range->class = class;
		slab->used += 1u << class;
	}
	range->owners = 1;
	return range;
}

struct ebrec_unwind_mapping *unwind_slab_entries(const struct unwind_slab *slab,
						 const struct unwind_range *range)
{
	return slab->entries + range->first;
}

struct unwind_range *unwind_range_get(struct unwind_range *range)
{
	if (range)
		range->owners++;
	return range;
}

void unwind_range_put(struct unwind_slab *slab, struct unwind_range *range)
{
	struct free_list *list;

	if (!range || --range->owners)
		return;
	range->since = clocks_now();
	list = &slab->free[range->class];
	if (list->tail)
		list->tail->next = range;
	else
		list->head = range;
	list->tail = range;
}

uint32_t unwind_range_first(const struct unwind_range *range)
{
	return range->first;
}
