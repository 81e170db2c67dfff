/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks laid out for a picture; see lanes.h. */
#include "report/marks/lanes.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/compare.h"

#define NO_LANE UINT32_MAX

/* Where the next box of a lane can go. */
struct lane_state {
	uint64_t *row_ends; /* max_rows of them */
	size_t narrow;	    /* 1 + the item that takes narrow marks; 0: none */
	size_t last_row;    /* 1 + the last item of the last row that there may be; 0: none */
};

struct lane_layout {
	const struct marks_source *source;
	const struct marks_lanes_options *options;
	struct marks_lanes *lanes;
	uint32_t *lane_of; /* by name */
	struct lane_state *states;
	uint64_t *row_ends; /* of all lanes */
};

/* --- which lanes there are --- */

/* Groups in order of their first mark, and names within them. */
struct lane_candidate {
	uint32_t group_rank, name;
	uint64_t count, sum_ns;
};

static int compare_weight(const void *a, const void *b)
{
	const struct lane_candidate *x = a, *y = b;
	int order = ebt_compare(y->sum_ns, x->sum_ns) ?: ebt_compare(y->count, x->count);

	return order ?: ebt_compare(x->name, y->name);
}

static int compare_place(const void *a, const void *b)
{
	const struct lane_candidate *x = a, *y = b;

	return ebt_compare(x->group_rank, y->group_rank) ?: ebt_compare(x->name, y->name);
}

struct lane_group {
	uint32_t id, name;
};

static int compare_groups(const void *a, const void *b)
{
	const struct lane_group *x = a, *y = b;

	return ebt_compare(x->id, y->id) ?: ebt_compare(x->name, y->name);
}

/* The first name of each group is the group's rank. */
static struct ebt_error *rank_groups(const struct marks_source *source,
				     struct lane_candidate *candidates, uint32_t n)
{
	_cleanup_free_ struct lane_group *groups = calloc((size_t)n + 1, sizeof(*groups));
	uint32_t rank = 0;

	if (!groups)
		return &ebt_enomem;
	for (uint32_t i = 0; i < n; i++)
		groups[i] = (struct lane_group){ source->name(source->marks, i)->group_id, i };
	if (n)
		qsort(groups, n, sizeof(*groups), compare_groups);
	for (uint32_t i = 0; i < n; i++) {
		if (!i || groups[i].id != groups[i - 1].id)
			rank = groups[i].name;
		candidates[groups[i].name].group_rank = rank;
	}
	return NULL;
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* The heaviest lanes, each with its place. */
static struct ebt_error *choose_lanes(struct lane_layout *l)
{
	struct marks_lanes *lanes = l->lanes;
	const struct marks_source *source = l->source;
	uint32_t n = source->n_names, used = 0;
	_cleanup_free_ struct lane_candidate *all = calloc((size_t)n + 1, sizeof(*all));
	struct ebt_error *err;

	if (!all)
		return &ebt_enomem;
	err = rank_groups(source, all, n);
	if (err)
		return err;
	for (size_t i = 0; i < source->n; i++) {
		const struct mark *mark = source->at(source->marks, i);

		all[mark->name].count++;
		all[mark->name].sum_ns = add_up(all[mark->name].sum_ns, mark_duration(mark));
	}
	for (uint32_t i = 0; i < n; i++) {
		all[i].name = i;
		if (all[i].count)
			all[used++] = all[i];
	}
	if (used)
		qsort(all, used, sizeof(*all), compare_weight);
	lanes->n_lanes = used < l->options->max_lanes ? used : l->options->max_lanes;
	for (uint32_t i = lanes->n_lanes; i < used; i++)
		lanes->left_out += all[i].count;
	lanes->n_left_lanes = used - lanes->n_lanes;
	if (lanes->n_lanes)
		qsort(all, lanes->n_lanes, sizeof(*all), compare_place);
	lanes->lanes = calloc((size_t)lanes->n_lanes + 1, sizeof(*lanes->lanes));
	if (!lanes->lanes)
		return &ebt_enomem;
	for (uint32_t i = 0; i < n; i++)
		l->lane_of[i] = NO_LANE;
	for (uint32_t i = 0; i < lanes->n_lanes; i++) {
		l->lane_of[all[i].name] = i;
		lanes->lanes[i] = (struct marks_lane){ .name = all[i].name,
						       .count = all[i].count,
						       .sum_ns = all[i].sum_ns };
	}
	return NULL;
}

/* --- what goes where --- */

/* A row that is free at `start`; max_rows: none is. */
static uint32_t find_row(struct lane_layout *l, uint32_t lane, uint64_t start)
{
	struct marks_lane *info = &l->lanes->lanes[lane];
	const uint64_t *ends = l->states[lane].row_ends;
	uint32_t row = 0;

	while (row < info->rows && ends[row] > start)
		row++;
	if (row == info->rows && row < l->options->max_rows)
		info->rows++;
	return row;
}

static void occupy(struct lane_layout *l, const struct marks_item *item)
{
	uint64_t *end = &l->states[item->lane].row_ends[item->row];
	uint64_t drawn = add_up(item->start, l->lanes->narrow_ns);

	drawn = item->end > drawn ? item->end : drawn;
	*end = drawn > *end ? drawn : *end;
}

static void merge(struct marks_lanes *lanes, struct marks_item *item,
		  const struct marks_source *source, size_t i, const struct marks_item *add)
{
	const struct mark *mark = source->at(source->marks, i);

	if (mark_duration(mark) > mark_duration(source->at(source->marks, item->mark)))
		item->mark = i;
	lanes->merged += item->count == 1 ? 2 : 1;
	item->count++;
	item->sum_ns = add_up(item->sum_ns, add->sum_ns);
	item->span |= add->span;
	if (add->end > item->end)
		item->end = add->end;
}

static struct ebt_error *place(struct lane_layout *l, size_t i)
{
	const struct marks_lanes_options *o = l->options;
	struct marks_lanes *lanes = l->lanes;
	const struct mark *mark = l->source->at(l->source->marks, i);
	struct marks_item item = {
		.lane = l->lane_of[mark->name],
		.mark = i,
		.start = mark->start > o->from ? mark->start : o->from,
		.end = mark->end < o->to ? mark->end : o->to,
		.count = 1,
		.sum_ns = mark_duration(mark),
		.span = mark->kind == MARK_SPAN,
	};
	struct lane_state *state;
	struct marks_item *narrow;
	struct ebt_error *err;
	bool is_narrow;

	if (item.lane == NO_LANE || item.end < item.start)
		return NULL;
	state = &l->states[item.lane];
	is_narrow = item.end - item.start < lanes->narrow_ns;
	narrow = is_narrow && state->narrow ? &lanes->items[state->narrow - 1] : NULL;
	if (narrow && (item.start - narrow->start) / 2 < lanes->narrow_ns) {
		merge(lanes, narrow, l->source, i, &item);
		return NULL;
	}
	item.row = find_row(l, item.lane, item.start);
	if (item.row == l->options->max_rows) {
		lanes->lanes[item.lane].hidden++;
		merge(lanes, &lanes->items[state->last_row - 1], l->source, i, &item);
		occupy(l, &lanes->items[state->last_row - 1]);
		return NULL;
	}
	err = ebt_array_reserve(&lanes->items, lanes->n_items, &lanes->items_capacity);
	if (err)
		return err;
	occupy(l, &item);
	lanes->items[lanes->n_items++] = item;
	if (is_narrow)
		state->narrow = lanes->n_items;
	if (item.row == l->options->max_rows - 1)
		state->last_row = lanes->n_items;
	return NULL;
}

static void start_over(struct lane_layout *l)
{
	struct marks_lanes *lanes = l->lanes;

	lanes->n_items = 0;
	lanes->merged = 0;
	for (uint32_t i = 0; i < lanes->n_lanes; i++) {
		l->states[i].row_ends = l->row_ends + (size_t)i * l->options->max_rows;
		l->states[i].narrow = l->states[i].last_row = 0;
		for (uint32_t row = 0; row < l->options->max_rows; row++)
			l->states[i].row_ends[row] = 0;
		lanes->lanes[i].rows = 0;
		lanes->lanes[i].hidden = 0;
	}
}

/* With ever wider narrow ones, until they are few enough. */
static struct ebt_error *lay_out(struct lane_layout *l)
{
	struct marks_lanes *lanes = l->lanes;
	uint64_t length = l->options->to - l->options->from;
	struct ebt_error *err = NULL;

	lanes->narrow_ns = length / ((uint64_t)l->options->width * 2);
	for (;;) {
		size_t i;

		start_over(l);
		for (i = 0; !err && i < l->source->n && lanes->n_items <= l->options->max_items;
		     i++)
			err = place(l, i);
		if (err || lanes->n_items <= l->options->max_items)
			return err;
		if (lanes->narrow_ns > UINT64_MAX / 2)
			lanes->narrow_ns = UINT64_MAX;
		else
			lanes->narrow_ns = lanes->narrow_ns ? lanes->narrow_ns * 2 : 1;
	}
}

struct ebt_error *marks_lanes_create(const struct marks_source *source,
				     const struct marks_lanes_options *options,
				     struct marks_lanes **ret)
{
	_cleanup_(marks_lanes_destroyp) struct marks_lanes *lanes = calloc(1, sizeof(*lanes));
	_cleanup_free_ uint32_t *lane_of = calloc((size_t)source->n_names + 1, sizeof(*lane_of));
	_cleanup_free_ struct lane_state *states = NULL;
	_cleanup_free_ uint64_t *row_ends = NULL;
	struct lane_layout l = {
		.source = source, .options = options, .lanes = lanes, .lane_of = lane_of
	};
	struct ebt_error *err;

	if (!lanes || !lane_of)
		return &ebt_enomem;
	err = choose_lanes(&l);
	if (err)
		return err;
	states = calloc((size_t)lanes->n_lanes + 1, sizeof(*states));
	row_ends = calloc((size_t)lanes->n_lanes + 1, options->max_rows * sizeof(*row_ends));
	if (!states || !row_ends)
		return &ebt_enomem;
	l.states = states;
	l.row_ends = row_ends;
	err = lay_out(&l);
	if (!err)
		*ret = take_ptr(lanes);
	return err;
}

void marks_lanes_destroy(struct marks_lanes *lanes)
{
	if (!lanes)
		return;
	free(lanes->lanes);
	free(lanes->items);
	free(lanes);
}
