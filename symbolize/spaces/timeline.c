/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was where, when; see timeline.h. A short timeline is searched from its end. For a long one
 * a segment tree over addresses is made: each entry is listed, in order of time, at the O(log n)
 * nodes that make up its range, and a look-up takes the newest of the nodes above its address.
 */
#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/search.h"
#include "symbolize/spaces/timeline.h"

#include <stdlib.h>

#include "format/base/cleanup.h"

/* Longest timeline that is searched without an index. */
#define SHORT 48

/* How far back timeline_add() looks for the same entry: programs that switch a few areas between
 * writing and running repeat themselves for ever. */
#define REPEAT 8

struct timeline_index {
	uint32_t *order;  /* entries of the timeline, oldest first */
	uint64_t *bounds; /* ascending: where ranges begin and end */
	size_t n_bounds;
	size_t leaves;	 /* power of two; leaf i covers bounds[i] to bounds[i + 1] */
	size_t *first;	 /* of each node, in lists; one more at the end */
	uint32_t *lists; /* indices into order */
};

void timeline_store_deinit(struct timeline_store *store)
{
	free(store->entries);
	*store = (struct timeline_store){ 0 };
}

static void index_destroy(struct timeline_index *index)
{
	if (!index)
		return;
	free(index->order);
	free(index->bounds);
	free(index->first);
	free(index->lists);
	free(index);
}

DEFINE_CLEANUP(struct timeline_index *, index_destroy);

void timeline_deinit(struct timeline *timeline)
{
	index_destroy(timeline->index);
	*timeline = (struct timeline)TIMELINE_INIT;
}

/* Whether one of the newest entries says the same and nothing came over it since. */
static bool is_repeated(const struct timeline_store *store, const struct timeline *timeline,
			uint64_t start, uint64_t end, uint32_t value)
{
	uint32_t i = timeline->last;

	for (int back = 0; i != TIMELINE_NONE && back < REPEAT; back++) {
		const struct timeline_entry *e = &store->entries[i];

		if (e->start == start && e->end == end && e->value == value)
			return true;
		if (e->start < end && start < e->end)
			return false;
		i = e->before;
	}
	return false;
}

struct ebt_error *timeline_add(struct timeline_store *store, struct timeline *timeline,
			       uint64_t start, uint64_t end, uint64_t from, uint32_t value)
{
	struct ebt_error *err;

	if (start >= end || is_repeated(store, timeline, start, end, value))
		return NULL;
	if (store->n == TIMELINE_NONE)
		return ebt_error_create(EBT_ERR_LIMIT, "more than 4 billion mappings");
	err = ebt_array_reserve(&store->entries, store->n, &store->capacity);
	if (err)
		return err;
	store->entries[store->n] = (struct timeline_entry){
		.start = start,
		.end = end,
		.from = from,
		.value = value,
		.before = timeline->last,
	};
	timeline->last = store->n++;
	timeline->n++;
	return NULL;
}

/* Index of the last bound that is not above the address; n_bounds: there is none. */
static size_t bound_at(const struct timeline_index *index, uint64_t address)
{
	size_t low = ebt_count_first(index->n_bounds, i, index->bounds[i] <= address);

	return low ? low - 1 : index->n_bounds;
}

/* Puts entry `i` on the nodes that make up its range: counted where lists is NULL. */
static void place(struct timeline_index *index, const struct timeline_entry *e, uint32_t i,
		  size_t *fill)
{
	size_t low = bound_at(index, e->start) + index->leaves;
	size_t high = bound_at(index, e->end) + index->leaves;

	for (; low < high; low /= 2, high /= 2) {
		if (low & 1) {
			if (index->lists)
				index->lists[fill[low]] = i;
			fill[low++]++;
		}
		if (high & 1) {
			high--;
			if (index->lists)
				index->lists[fill[high]] = i;
			fill[high]++;
		}
	}
}

static struct ebt_error *index_allocate(struct timeline_index *index, size_t n)
{
	index->leaves = 1;
	while (index->leaves < 2 * n)
		index->leaves *= 2;
	index->order = calloc(n, sizeof(*index->order));
	index->bounds = calloc(2 * n, sizeof(*index->bounds));
	index->first = calloc(2 * index->leaves + 1, sizeof(*index->first));
	return index->order && index->bounds && index->first ? NULL : &ebt_enomem;
}

static void find_bounds(struct timeline_index *index, const struct timeline_store *store,
			const struct timeline *timeline)
{
	uint32_t e = timeline->last;
	size_t n = 0;

	for (size_t i = timeline->n; i-- > 0; e = store->entries[e].before) {
		index->order[i] = e;
		index->bounds[2 * i] = store->entries[e].start;
		index->bounds[2 * i + 1] = store->entries[e].end;
	}
	qsort(index->bounds, 2 * (size_t)timeline->n, sizeof(*index->bounds), ebt_compare_u64);
	for (size_t i = 0; i < 2 * (size_t)timeline->n; i++) {
		if (!n || index->bounds[n - 1] != index->bounds[i])
			index->bounds[n++] = index->bounds[i];
	}
	index->n_bounds = n;
}

static struct ebt_error *index_create(const struct timeline_store *store,
				      const struct timeline *timeline, struct timeline_index **ret)
{
	_cleanup_(index_destroyp) struct timeline_index *index = calloc(1, sizeof(*index));
	_cleanup_free_ size_t *fill = NULL;
	struct ebt_error *err;
	size_t nodes, total = 0;

	if (!index)
		return &ebt_enomem;
	err = index_allocate(index, timeline->n);
	if (err)
		return err;
	find_bounds(index, store, timeline);
	nodes = 2 * index->leaves;
	fill = calloc(nodes, sizeof(*fill));
	if (!fill)
		return &ebt_enomem;
	for (uint32_t i = 0; i < timeline->n; i++)
		place(index, &store->entries[index->order[i]], i, fill);
	for (size_t node = 0; node < nodes; node++) {
		size_t n = fill[node];

		index->first[node] = fill[node] = total;
		total += n;
	}
	index->first[nodes] = total;
	index->lists = calloc(total + 1, sizeof(*index->lists));
	if (!index->lists)
		return &ebt_enomem;
	for (uint32_t i = 0; i < timeline->n; i++)
		place(index, &store->entries[index->order[i]], i, fill);
	*ret = take_ptr(index);
	return NULL;
}

static void consider(const struct timeline_entry *e, struct timeline_hit *hit)
{
	hit->found = true;
	hit->start = e->start;
	hit->end = e->end;
	hit->value = e->value;
	hit->from = e->from;
}

/* The newest entry of each node above the address that is not younger than `time`. */
static void find_indexed(const struct timeline_store *store, const struct timeline_index *index,
			 uint64_t address, uint64_t time, struct timeline_hit *hit)
{
	size_t bound = bound_at(index, address);
	uint32_t best = 0;

	if (bound == index->n_bounds)
		return;
	for (size_t node = bound + index->leaves; node; node /= 2) {
		const size_t begin = index->first[node], end = index->first[node + 1];
		const uint32_t *list = index->lists + begin;
		size_t low =
			begin + ebt_count_first(end - begin, i,
						store->entries[index->order[list[i]]].from <= time);

		if (low < end) {
			uint64_t next = store->entries[index->order[index->lists[low]]].from;

			hit->to = next < hit->to ? next : hit->to;
		}
		if (low > begin && (!hit->found || index->lists[low - 1] > best)) {
			best = index->lists[low - 1];
			consider(&store->entries[index->order[best]], hit);
		}
	}
}

struct ebt_error *timeline_find(const struct timeline_store *store, struct timeline *timeline,
				uint64_t address, uint64_t time, struct timeline_hit *ret)
{
	struct timeline_hit hit = { .to = UINT64_MAX };

	if (timeline->n > SHORT) {
		if (!timeline->index) {
			struct ebt_error *err = index_create(store, timeline, &timeline->index);

			if (err)
				return err;
		}
		find_indexed(store, timeline->index, address, time, &hit);
		*ret = hit;
		return NULL;
	}
	for (uint32_t i = timeline->last; i != TIMELINE_NONE; i = store->entries[i].before) {
		const struct timeline_entry *e = &store->entries[i];

		if (address < e->start || address >= e->end)
			continue;
		if (e->from > time) {
			hit.to = e->from;
			continue;
		}
		consider(e, &hit);
		break;
	}
	*ret = hit;
	return NULL;
}
