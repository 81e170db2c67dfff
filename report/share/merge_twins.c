/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the same event in several inputs; see merge_twins.h. */
#include "report/share/merge_twins.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "format/base/search.h"

/* Inputs are read by so much time, ns, and compared when there are so many rows. */
#define TWINS_SLICE UINT64_C(100000000)
#define TWINS_ROUND 65536u

/* How far apart rows may be that are no neighbours: close pairs are made first. */
static const uint64_t distances[] = { 10000, TWINS_SKEW, 1000000, TWINS_APART };

struct twin {
	uint64_t hash, time, due;
	const struct ebt_chunk_info *chunk;
	uint64_t paired; /* readers that have the event: bits */
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

static bool is_free(const struct twin *event, const struct twin *row, uint64_t bit)
{
	return !(event->paired & bit) && !row->paired && row->role != TWIN_KEPT;
}

/* Must one of the recorders have the row that the other has? */
static bool is_due(const struct twin *event, const struct twin *row, uint64_t bit)
{
	return (event->due & bit) || (row->due & event->paired);
}

static uint64_t time_between(const struct twin *a, const struct twin *b)
{
	return a->time > b->time ? a->time - b->time : b->time - a->time;
}

static void pair(struct twin *event, struct twin *row, uint64_t bit)
{
	event->paired |= bit;
	row->paired = bit;
}

/* An event and a row that say the same, and nothing that says so was in between. */
struct neighbours {
	uint64_t apart;
	struct twin *event, *row;
};

static int compare_neighbours(const void *a, const void *b)
{
	const struct neighbours *x = a, *y = b;

	return ebt_compare(x->apart, y->apart) ?: ebt_compare(x->row->time, y->row->time);
}

/* ret: has room for two of each row. */
static size_t find_neighbours(struct twin_list *events, struct twin *rows, size_t n, uint64_t bit,
			      struct neighbours *ret)
{
	struct twin *event = NULL, *row = NULL; /* the last ones */
	bool is_row = false;			/* the last of both */
	size_t i = 0, k = 0, found = 0;

	while (i < events->n || k < n) {
		const bool was_row = is_row;

		is_row = i == events->n || (k < n && compare_twins(&rows[k], &events->list[i]) < 0);
		if (is_row)
			row = &rows[k++];
		else
			event = &events->list[i++];
		if (!event || !row || was_row == is_row || event->hash != row->hash ||
		    !is_free(event, row, bit))
			continue;
		ret[found++] = (struct neighbours){ time_between(event, row), event, row };
	}
	return found;
}

/* Closest first: of the rows before and behind an event, the twin is the one that is nearer. */
static struct ebt_error *pair_neighbours(struct twin_list *events, struct twin *rows, size_t n,
					 uint64_t bit)
{
	_cleanup_free_ struct neighbours *list = malloc((2 * n ?: 1) * sizeof(*list));
	size_t found;

	if (!list)
		return &ebt_enomem;
	found = find_neighbours(events, rows, n, bit, list);
	qsort(list, found, sizeof(*list), compare_neighbours);
	for (size_t i = 0; i < found && list[i].apart <= TWINS_APART; i++) {
		struct twin *event = list[i].event, *row = list[i].row;

		if (is_free(event, row, bit) &&
		    (list[i].apart <= TWINS_SKEW || is_due(event, row, bit)))
			pair(event, row, bit);
	}
	return NULL;
}

/* Those that are left, in order. bit: of the reader of the rows. */
static void pair_within(struct twin_list *events, struct twin *rows, size_t n, uint64_t bit,
			uint64_t distance, bool sampled)
{
	size_t i = 0, k = 0;

	while (i < events->n && k < n) {
		struct twin *a = &events->list[i], *b = &rows[k];
		const int order = compare_twins(a, b);
		const bool had = a->paired & bit, done = b->paired || b->role == TWIN_KEPT;

		if (!had && !done && a->hash == b->hash && time_between(a, b) <= distance &&
		    (sampled || is_due(a, b, bit))) {
			pair(a, b, bit);
			i++;
			k++;
		} else if (had || (!done && order < 0)) {
			i++;
		} else {
			k++;
		}
	}
}

/* Rows that several tasks write at once may stand in another order: near each other, so may
 * twins. */
static struct ebt_error *pair_rows(struct sweep *sweep, struct twin *rows, size_t n, uint64_t bit)
{
	const bool sampled = sweep->search->sampled;
	struct ebt_error *err = sampled ? NULL : pair_neighbours(&sweep->events, rows, n, bit);

	for (size_t i = 0; !err && i < sizeof(distances) / sizeof(distances[0]); i++) {
		if (sampled || distances[i] <= TWINS_SKEW)
			pair_within(&sweep->events, rows, n, bit, distances[i], sampled);
	}
	return err;
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
	const uint64_t bit = UINT64_C(1) << search->inputs[m];
	struct ebt_error *err;

	if (!n)
		return NULL;
	qsort(rows->list, n, sizeof(*rows->list), compare_twins);
	err = pair_rows(sweep, rows->list, n, bit);
	for (size_t i = 0; !err && i < n; i++) {
		const struct twin *twin = &rows->list[i];

		if (twin->paired && twin->role == TWIN_DOUBT)
			err = search->found(search->arg, search->inputs[m], twin->chunk, twin->row);
	}
	err = err ?: add_events(&sweep->events, rows->list, n, bit);
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
	struct twin_says says;
	struct ebt_error *err;

	twin.role = search->role(search->arg, search->inputs[m], row, &says);
	if (twin.role == TWIN_NONE)
		return NULL;
	twin.hash = says.hash;
	twin.due = says.due;
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
