/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A natural merge sort: stable, without recursion, n log(runs). */
#include "format/base/sort.h"

#include <stdlib.h>
#include <string.h>

void ebt_sorter_deinit(struct ebt_sorter *sorter)
{
	free(sorter->keys);
	free(sorter->other);
	*sorter = EBT_SORTER_INIT;
}

/* Nothing of what was there is needed. */
static struct ebt_error *reserve(struct ebt_sorter *sorter, uint32_t n)
{
	if (n <= sorter->capacity)
		return NULL;
	ebt_sorter_deinit(sorter);
	sorter->keys = calloc(n, sizeof(*sorter->keys));
	sorter->other = calloc(n, sizeof(*sorter->other));
	if (!sorter->keys || !sorter->other)
		return &ebt_enomem;
	sorter->capacity = n;
	return NULL;
}

/* The end of the ascending run that begins at i. */
static uint32_t run_end(const struct ebt_sort_key *keys, uint32_t i, uint32_t n)
{
	for (i++; i < n && keys[i - 1].time <= keys[i].time; i++)
		;
	return i;
}

static void merge(const struct ebt_sort_key *a, const struct ebt_sort_key *a_end,
		  const struct ebt_sort_key *b, const struct ebt_sort_key *b_end,
		  struct ebt_sort_key *out)
{
	while (a < a_end && b < b_end)
		*out++ = b->time < a->time ? *b++ : *a++;
	memcpy(out, a, (size_t)(a_end - a) * sizeof(*a));
	out += a_end - a;
	memcpy(out, b, (size_t)(b_end - b) * sizeof(*b));
}

struct ebt_error *ebt_sorter_sort(struct ebt_sorter *sorter, const uint64_t *times, uint32_t n)
{
	struct ebt_error *err = reserve(sorter, n);

	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++)
		sorter->keys[i] = (struct ebt_sort_key){ times[i], i };
	while (n && run_end(sorter->keys, 0, n) < n) {
		struct ebt_sort_key *from = sorter->keys;

		for (uint32_t i = 0, middle, end; i < n; i = end) {
			middle = run_end(from, i, n);
			end = middle < n ? run_end(from, middle, n) : n;
			merge(from + i, from + middle, from + middle, from + end,
			      sorter->other + i);
		}
		sorter->keys = sorter->other;
		sorter->other = from;
	}
	return NULL;
}
