/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the same event in several inputs; see merge_twins.h. */
#include "report/share/merge_twins.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "format/base/search.h"

/* Inputs are read by so much time, ns, and compared when there are so many rows. */
#define TWINS_SLICE UINT64_C(100000000)
#define TWINS_ROUND 65536u

/* How far apart twins may be: close pairs are made first. */
static const uint64_t distances[] = { 10000, 100000, 1000000, TWINS_APART };

struct twin {
	uint64_t hash, time;
	const struct ebt_chunk_info *chunk;
	uint64_t paired; /* with a row of which of the inputs: bits */
	uint32_t row;
	enum twin_role role;
};

/* Of an input: in order of time. Events: by hash, then time. */
struct twin_list {
	struct twin *list;
	size_t n, capacity;
};

struct member {
	struct ebt_cursor *cursor;
	struct ebt_row row; /* the next one */
	struct twin_list rows;
};

struct sweep {
	const struct twins_search *search;
	struct member *members;
	struct twin_list events; /* that are in the copy, near the present */
	size_t n_new;		 /* rows since the last comparison */
};

static int compare_twins(const void *a, const void *b)
{
	const struct twin *x = a, *y = b;

	return ebt_compare(x->hash, y->hash) ?: ebt_compare(x->time, y->time);
}

/* Pairs of the same content that are no further apart, in order. bit: of the input in events. */
static void pair_within(struct twin_list *events, struct twin *rows, size_t n, uint64_t bit,
			uint64_t distance)
{
	size_t i = 0, k = 0;

	while (i < events->n && k < n) {
		struct twin *a = &events->list[i], *b = &rows[k];
		const int order = compare_twins(a, b);
		const uint64_t apart = order < 0 ? b->time - a->time : a->time - b->time;
		const bool had = a->paired & bit, done = b->paired || b->role == TWIN_KEPT;

		if (!had && !done && a->hash == b->hash && apart <= distance) {
			a->paired |= bit;
			b->paired = bit;
			i++;
			k++;
		} else if (had || (!done && order < 0)) {
			i++;
		} else {
			k++;
		}
	}
}

/* Adds to events what the copy has of these rows, which are in order of hash. */
static struct ebt_error *add_events(struct twin_list *events, const struct twin *rows, size_t n,
				    uint64_t bit)
{
	struct twin_list sum = { .capacity = events->n + n };
	size_t i = 0;

	sum.list = malloc((sum.capacity ?: 1) * sizeof(*sum.list));
	if (!sum.list)
		return &ebt_enomem;
	for (size_t k = 0; k < n; k++) {
		if (rows[k].paired || rows[k].role == TWIN_HAD)
			continue;
		while (i < events->n && compare_twins(&events->list[i], &rows[k]) <= 0)
			sum.list[sum.n++] = events->list[i++];
		sum.list[sum.n] = rows[k];
		sum.list[sum.n++].paired = bit;
	}
	while (i < events->n)
		sum.list[sum.n++] = events->list[i++];
	free(events->list);
	*events = sum;
	return NULL;
}

static struct ebt_error *compare_rows(struct sweep *sweep, size_t m, uint64_t until)
{
	const struct twins_search *search = sweep->search;
	struct twin_list *rows = &sweep->members[m].rows;
	const size_t n = ebt_count_first(rows->n, i, rows->list[i].time <= until);
	struct ebt_error *err = NULL;

	if (!n)
		return NULL;
	qsort(rows->list, n, sizeof(*rows->list), compare_twins);
	for (size_t i = 0; i < sizeof(distances) / sizeof(distances[0]); i++)
		pair_within(&sweep->events, rows->list, n, UINT64_C(1) << m, distances[i]);
	for (size_t i = 0; !err && i < n; i++) {
		const struct twin *twin = &rows->list[i];

		if (twin->paired && twin->role == TWIN_DOUBT)
			err = search->found(search->arg, search->inputs[m], twin->chunk, twin->row);
	}
	err = err ?: add_events(&sweep->events, rows->list, n, UINT64_C(1) << m);
	rows->n -= n;
	memmove(rows->list, rows->list + n, rows->n * sizeof(*rows->list));
	return err;
}

static void forget_events(struct twin_list *events, uint64_t before)
{
	size_t n = 0;

	for (size_t i = 0; i < events->n; i++) {
		if (events->list[i].time >= before)
			events->list[n++] = events->list[i];
	}
	events->n = n;
}

/*
 * All rows before this time are there. Each input is compared up to a time that is TWINS_APART
 * before that of the input before it: so what a row could be a twin of has been decided.
 */
static struct ebt_error *compare_until(struct sweep *sweep, uint64_t time)
{
	struct ebt_error *err = NULL;
	uint64_t until = time;

	for (size_t m = 0; !err && m < sweep->search->n; m++) {
		if (time != UINT64_MAX)
			until = until > TWINS_APART ? until - TWINS_APART : 0;
		err = compare_rows(sweep, m, until);
	}
	forget_events(&sweep->events, until > TWINS_APART ? until - TWINS_APART : 0);
	sweep->n_new = 0;
	return err;
}

static struct ebt_error *take_row(struct sweep *sweep, size_t m, const struct ebt_row *row)
{
	const struct twins_search *search = sweep->search;
	struct twin_list *rows = &sweep->members[m].rows;
	struct twin twin = { .time = row->time, .chunk = row->batch->chunk, .row = row->i };
	struct ebt_error *err;

	twin.role = search->role(search->arg, search->inputs[m], row, &twin.hash);
	if (twin.role == TWIN_NONE)
		return NULL;
	err = ebt_array_reserve(&rows->list, rows->n, &rows->capacity);
	if (err)
		return err;
	rows->list[rows->n++] = twin;
	sweep->n_new++;
	return NULL;
}

static struct ebt_error *read_until(struct sweep *sweep, size_t m, uint64_t time)
{
	struct member *member = &sweep->members[m];
	struct ebt_error *err = NULL;

	while (!err && member->row.batch && member->row.time <= time)
		err = take_row(sweep, m, &member->row)
			      ?: ebt_cursor_next(member->cursor, &member->row);
	return err;
}

/* false: there are no more. */
static bool next_time(const struct sweep *sweep, uint64_t *ret)
{
	bool any = false;

	for (size_t m = 0; m < sweep->search->n; m++) {
		const struct ebt_row *row = &sweep->members[m].row;

		if (!row->batch || (any && row->time >= *ret))
			continue;
		*ret = row->time;
		any = true;
	}
	return any;
}

static struct ebt_error *read_all(struct sweep *sweep)
{
	struct ebt_error *err = NULL;
	uint64_t time = 0;

	while (!err && next_time(sweep, &time)) {
		time = time < UINT64_MAX - TWINS_SLICE ? time + TWINS_SLICE : UINT64_MAX;
		for (size_t m = 0; !err && m < sweep->search->n; m++)
			err = read_until(sweep, m, time);
		if (!err && sweep->n_new >= TWINS_ROUND)
			err = compare_until(sweep, time);
	}
	return err ?: compare_until(sweep, UINT64_MAX);
}

static struct ebt_error *open_cursors(struct sweep *sweep)
{
	const struct twins_search *search = sweep->search;
	const struct ebt_want want = { search->table, ~UINT64_C(0) };
	const struct ebt_query query = {
		.wants = &want,
		.n_wants = 1,
		.from_ns = search->from,
		.to_ns = search->to < UINT64_MAX ? search->to + 1 : 0,
	};
	struct ebt_error *err = NULL;

	for (size_t m = 0; !err && m < search->n; m++) {
		struct member *member = &sweep->members[m];

		err = ebt_cursor_create(search->readers[search->inputs[m]], &query, &member->cursor)
			      ?: ebt_cursor_next(member->cursor, &member->row);
	}
	return err;
}

struct ebt_error *merge_twins_find(const struct twins_search *search)
{
	struct sweep sweep = { .search = search };
	struct ebt_error *err;

	sweep.members = calloc(search->n, sizeof(*sweep.members));
	if (!sweep.members)
		return &ebt_enomem;
	err = open_cursors(&sweep) ?: read_all(&sweep);
	for (size_t m = 0; m < search->n; m++) {
		ebt_cursor_destroy(sweep.members[m].cursor);
		free(sweep.members[m].rows.list);
	}
	free(sweep.events.list);
	free(sweep.members);
	return err;
}
