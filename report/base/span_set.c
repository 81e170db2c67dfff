/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spans of time by owner; see span_set.h. */
#include "report/base/span_set.h"

#include <stdlib.h>

#include "format/base/compare.h"
#include "format/base/map.h"
#include "format/base/array.h"

struct span {
	uint64_t owner, from, to;
	uint64_t latest; /* end of this one and of those before it */
	uint32_t id;
};

/* Spans of one owner: a part of the array. */
struct owned {
	size_t first, end;
};

struct span_set {
	enum span_scope scope;
	const struct names *names;
	struct span *spans; /* by owner, then by time */
	size_t n_spans, capacity;
	struct owned *owned;
	size_t n_owned, owned_capacity;
	struct ebt_map owners; /* to `owned` */
};

struct ebt_error *span_set_create(enum span_scope scope, const struct names *names,
				  struct span_set **ret)
{
	struct span_set *set = calloc(1, sizeof(*set));

	if (!set)
		return &ebt_enomem;
	set->scope = scope;
	set->names = names;
	*ret = set;
	return NULL;
}

void span_set_destroy(struct span_set *set)
{
	if (!set)
		return;
	ebt_map_deinit(&set->owners);
	free(set->owned);
	free(set->spans);
	free(set);
}

static bool owner_of(const struct span_set *set, const struct ebt_task *task, uint64_t *ret)
{
	*ret = 0;
	if (set->scope != SPAN_OF_SYSTEM && !task)
		return false;
	switch (set->scope) {
	case SPAN_OF_THREAD:
		*ret = task->id;
		break;
	case SPAN_OF_PROCESS:
		*ret = names_process_key(set->names, task);
		break;
	case SPAN_OF_SYSTEM:
		break;
	}
	return true;
}

struct ebt_error *span_set_add(struct span_set *set, const struct ebt_task *task, uint64_t from,
			       uint64_t to, uint32_t id)
{
	struct span span = { .from = from, .to = to, .id = id };
	struct ebt_error *err;
	uint32_t i;

	if (from >= to || !owner_of(set, task, &span.owner))
		return NULL;
	err = ebt_array_reserve(&set->spans, set->n_spans, &set->capacity);
	if (err)
		return err;
	set->spans[set->n_spans++] = span;
	return ebt_map_element(&set->owners, span.owner, &set->owned, &set->n_owned,
			       &set->owned_capacity, &i);
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	int order = ebt_compare(x->owner, y->owner) ?: ebt_compare(x->from, y->from);

	return order ?: ebt_compare(y->to, x->to) ?: ebt_compare(x->id, y->id);
}

static void merge_spans(struct span_set *set)
{
	size_t n = 0;

	for (size_t i = 0; i < set->n_spans; i++) {
		const struct span *span = &set->spans[i];
		struct span *last = n ? &set->spans[n - 1] : NULL;

		if (!last || last->owner != span->owner || last->to < span->from)
			set->spans[n++] = *span;
		else if (last->to < span->to)
			last->to = span->to;
	}
	set->n_spans = n;
}

void span_set_finish(struct span_set *set, bool merge)
{
	if (set->n_spans)
		qsort(set->spans, set->n_spans, sizeof(*set->spans), compare_spans);
	if (merge)
		merge_spans(set);
	for (size_t i = 0; i < set->n_spans; i++) {
		struct span *span = &set->spans[i];
		bool first = !i || span[-1].owner != span->owner;
		uint32_t at;

		span->latest = first || span[-1].latest < span->to ? span->to : span[-1].latest;
		if (!ebt_map_find(&set->owners, span->owner, &at))
			continue;
		if (first)
			set->owned[at].first = i;
		set->owned[at].end = i + 1;
	}
}

/* The first span of the owner that ends behind `time`, or *ret_end. */
static size_t find_first(const struct span_set *set, const struct ebt_task *task, uint64_t time,
			 size_t *ret_end)
{
	size_t first, end;
	uint64_t owner;
	uint32_t at;

	*ret_end = 0;
	if (!owner_of(set, task, &owner) || !ebt_map_find(&set->owners, owner, &at))
		return 0;
	first = set->owned[at].first;
	end = *ret_end = set->owned[at].end;
	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (set->spans[middle].latest <= time)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/* Is there a part of the span in the interval? */
static bool clip(const struct span *span, uint64_t from, uint64_t to, struct span_piece *ret)
{
	*ret = (struct span_piece){
		.id = span->id,
		.from = span->from > from ? span->from : from,
		.to = span->to < to ? span->to : to,
	};
	if (from == to)
		return span->from <= from && from < span->to;
	return ret->from < ret->to;
}

struct ebt_error *span_set_each(const struct span_set *set, const struct ebt_task *task,
				uint64_t from, uint64_t to, span_piece_fn *fn, void *arg)
{
	size_t end, i = find_first(set, task, from, &end);
	struct ebt_error *err = NULL;

	for (; !err && i < end && set->spans[i].from <= to; i++) {
		struct span_piece piece;

		if (clip(&set->spans[i], from, to, &piece))
			err = fn(arg, &piece);
	}
	return err;
}

bool span_set_touches(const struct span_set *set, const struct ebt_task *task, uint64_t from,
		      uint64_t to)
{
	size_t end, i = find_first(set, task, from, &end);

	for (; i < end && set->spans[i].from <= to; i++) {
		struct span_piece piece;

		if (clip(&set->spans[i], from, to, &piece))
			return true;
	}
	return false;
}

uint64_t span_set_ns(const struct span_set *set, const struct ebt_task *task, uint64_t from,
		     uint64_t to)
{
	size_t end, i = find_first(set, task, from, &end);
	uint64_t ns = 0;

	for (; i < end && set->spans[i].from < to; i++) {
		struct span_piece piece;

		if (clip(&set->spans[i], from, to, &piece))
			ns += piece.to - piece.from;
	}
	return ns;
}

uint64_t span_set_total_ns(const struct span_set *set)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < set->n_spans; i++) {
		if (__builtin_add_overflow(ns, set->spans[i].to - set->spans[i].from, &ns))
			return UINT64_MAX;
	}
	return ns;
}
