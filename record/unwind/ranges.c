/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocation of ranges by powers of two; see ranges.h. */
#include "record/unwind/ranges.h"

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

struct unwind_ranges {
	struct ebrec_unwind_mapping *entries;
	size_t bytes;
	uint32_t n, used;
	struct free_list free[N_CLASSES];
};

struct ebt_error *unwind_ranges_create(int map_fd, uint32_t first, uint32_t n,
				       struct unwind_ranges **ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	_cleanup_free_ struct unwind_ranges *ranges = calloc(1, sizeof(*ranges));

	if (!ranges)
		return &ebt_enomem;
	ranges->n = n;
	ranges->used = first;
	ranges->bytes = (n * sizeof(*ranges->entries) + page - 1) & ~(page - 1);
	ranges->entries = mmap(NULL, ranges->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (ranges->entries == MAP_FAILED)
		return ebt_error_errno(errno, "cannot map the mappings of the BPF programs");
	*ret = take_ptr(ranges);
	return NULL;
}

void unwind_ranges_destroy(struct unwind_ranges *ranges)
{
	if (!ranges)
		return;
	for (unsigned int i = 0; i < N_CLASSES; i++) {
		while (ranges->free[i].head) {
			struct unwind_range *range = ranges->free[i].head;

			ranges->free[i].head = range->next;
			free(range);
		}
	}
	munmap(ranges->entries, ranges->bytes);
	free(ranges);
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

struct unwind_range *unwind_ranges_alloc(struct unwind_ranges *ranges, uint32_t n, uint64_t now_ns)
{
	struct unwind_range *range;
	uint32_t class = 0;

	while (class < N_CLASSES && (1u << class) < n)
		class ++;
	if (class == N_CLASSES)
		return NULL;
	range = take_free(&ranges->free[class], now_ns);
	if (!range) {
		if (ranges->n - ranges->used < 1u << class)
			return NULL;
		range = calloc(1, sizeof(*range));
		if (!range)
			return NULL;
		range->first = ranges->used;
		range->class = class;
		ranges->used += 1u << class;
	}
	range->owners = 1;
	return range;
}

struct ebrec_unwind_mapping *unwind_ranges_entries(const struct unwind_ranges *ranges,
						   const struct unwind_range *range)
{
	return ranges->entries + range->first;
}

struct unwind_range *unwind_range_get(struct unwind_range *range)
{
	if (range)
		range->owners++;
	return range;
}

void unwind_range_put(struct unwind_ranges *ranges, struct unwind_range *range)
{
	struct free_list *list;

	if (!range || --range->owners)
		return;
	range->since = clocks_now();
	list = &ranges->free[range->class];
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
