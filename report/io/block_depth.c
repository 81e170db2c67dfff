/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queue depth by going through beginnings and ends in order of time; see block_depth.h. */
#include "report/io/block_depth.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/compare.h"

void block_depth_deinit(struct block_depth *depth)
{
	free(depth->starts);
	free(depth->ends);
	*depth = (struct block_depth){ 0 };
}

struct ebt_error *block_depth_add(struct block_depth *depth, uint64_t start_ns, uint64_t end_ns)
{
	struct ebt_error *err;

	if (start_ns >= end_ns)
		return NULL;
	err = ebt_array_reserve(&depth->starts, depth->n, &depth->starts_capacity);
	if (!err)
		err = ebt_array_reserve(&depth->ends, depth->n, &depth->ends_capacity);
	if (err)
		return err;
	depth->starts[depth->n] = start_ns;
	depth->ends[depth->n++] = end_ns;
	return NULL;
}

/* Where the walk is: so many have begun by now, and so many of them have ended. */
struct depth_walk {
	const struct block_depth *depth;
	size_t begun, ended;
	uint64_t now;
};

/* The time of the next change, or `to`. */
static uint64_t next_change(const struct depth_walk *w, uint64_t to)
{
	const struct block_depth *d = w->depth;

	if (w->ended < d->n && d->ends[w->ended] < to)
		to = d->ends[w->ended];
	if (w->begun < d->n && d->starts[w->begun] < to)
		to = d->starts[w->begun];
	return to;
}

static void take_changes(struct depth_walk *w)
{
	const struct block_depth *d = w->depth;

	while (w->begun < d->n && d->starts[w->begun] <= w->now)
		w->begun++;
	while (w->ended < d->n && d->ends[w->ended] <= w->now)
		w->ended++;
}

static void walk_span(struct depth_walk *w, struct block_depth_span *span)
{
	double area = 0;

	while (w->now < span->to_ns) {
		uint64_t until, in_flight;

		take_changes(w);
		in_flight = w->begun - w->ended;
		until = next_change(w, span->to_ns);
		if (in_flight)
			span->busy_ns += until - w->now;
		if (in_flight > span->max)
			span->max = in_flight;
		area += (double)in_flight * (double)(until - w->now);
		w->now = until;
	}
	if (span->to_ns > span->from_ns)
		span->mean = area / (double)(span->to_ns - span->from_ns);
}

void block_depth_spans(struct block_depth *depth, uint64_t from_ns, uint64_t to_ns, size_t n,
		       struct block_depth_span *ret)
{
	struct depth_walk walk = { .depth = depth, .now = from_ns };

	if (depth->n) {
		qsort(depth->starts, depth->n, sizeof(*depth->starts), ebt_compare_u64);
		qsort(depth->ends, depth->n, sizeof(*depth->ends), ebt_compare_u64);
	}
	for (size_t i = 0; i < n; i++) {
		double step = (double)(to_ns - from_ns) / (double)n;

		ret[i] = (struct block_depth_span){
			.from_ns = from_ns + (uint64_t)(step * (double)i),
			.to_ns = i + 1 < n ? from_ns + (uint64_t)(step * (double)(i + 1)) : to_ns,
		};
		walk_span(&walk, &ret[i]);
	}
}
