/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters of a page: head member `series` and section `points`. Of those that only grow a point is
 * how fast they grew until then, in units a second; of others their value from then on.
 */
#include "report/page/page.h"

#include "report/marks/model_counters.h"
#include "report/page/private.h"

#define MOST_POINTS 400000
#define SHORTEST    UINT64_C(1000000) /* ns: the step that is tried first */

static const struct page_column columns[] = {
	{ "series", PAGE_U32, true },
	{ "time", PAGE_TIME, true },
	{ "value", PAGE_F64, false },
};

/* The smallest and the largest of a step, in their order; without steps, one. */
struct step {
	uint64_t number;
	struct out_point low, high;
	bool any;
};

struct writer {
	struct page *page;
	struct page_rows *section; /* NULL: they are counted only */
	uint64_t step;		   /* 0: all points are there */
	uint64_t series, n;
};

static struct ebt_error *put(struct writer *w, const struct out_point *point)
{
	w->n++;
	return w->section ? page_row(w->section, w->series,
				     page_clamp(page_time(w->page, point->time)),
				     page_f64(point->value))
			  : NULL;
}

static struct ebt_error *put_step(struct writer *w, struct step *step)
{
	const bool rising = step->low.time <= step->high.time;
	const bool one = step->low.time == step->high.time;
	struct ebt_error *err = NULL;

	if (step->any)
		err = put(w, rising ? &step->low : &step->high);
	if (!err && step->any && !one)
		err = put(w, rising ? &step->high : &step->low);
	step->any = false;
	return err;
}

static struct ebt_error *add(struct writer *w, struct step *step, const struct out_point *point)
{
	const uint64_t number = w->step ? point->time / w->step : 0;
	struct ebt_error *err = NULL;

	if (!w->step)
		return put(w, point);
	if (step->any && number != step->number)
		err = put_step(w, step);
	if (!step->any)
		*step = (struct step){ number, *point, *point, true };
	if (point->value < step->low.value)
		step->low = *point;
	if (point->value >= step->high.value)
		step->high = *point;
	return err;
}

static struct ebt_error *put_counter(struct writer *w, const struct counter *c)
{
	struct step step = { 0 };
	struct ebt_error *err = NULL;

	for (size_t i = c->cumulative; !err && i < c->n_points; i++) {
		struct out_point point = c->points[i];

		if (c->cumulative)
			point.value = counter_rate(&c->points[i - 1], &c->points[i]);
		err = add(w, &step, &point);
	}
	return err ? err : put_step(w, &step);
}

static struct ebt_error *put_points(struct writer *w, const struct counter *const *counters,
				    size_t n)
{
	struct ebt_error *err = NULL;

	w->n = 0;
	for (size_t i = 0; !err && i < n; i++) {
		w->series = i;
		err = put_counter(w, counters[i]);
	}
	return err;
}

/* The least step that leaves few enough points. */
static struct ebt_error *choose_step(struct writer *w, const struct counter *const *counters,
				     size_t n)
{
	struct ebt_error *err = put_points(w, counters, n);

	while (!err && w->n > MOST_POINTS && w->step < PAGE_MOST_NS) {
		w->step = w->step ? w->step * 2 : SHORTEST;
		err = put_points(w, counters, n);
	}
	return err;
}

static struct ebt_error *put_series(struct page *page, const struct counter *c)
{
	struct json *json = &page->json;
	uint64_t thread;
	struct ebt_error *err = page_thread(page, c->owner, &thread);

	json_open_object(json);
	json_put(json, "name", cstr, c->name);
	json_put(json, "category", cstr, c->category);
	json_put(json, "instance", cstr, c->instance);
	json_put(json, "unit", cstr, c->unit);
	json_put(json, "kind", cstr, c->cumulative ? "rate" : "gauge");
	json_key(json, "thread");
	if (thread)
		json_u64(json, thread - 1);
	else
		json_put_null(json);
	json_end(json);
	return err;
}

struct ebt_error *page_put_counters(struct page *page)
{
	const struct counters_query query = { .points = true };
	_cleanup_(counters_model_destroyp) struct counters_model *model = NULL;
	struct writer w = { .page = page };
	const struct counter *const *all;
	size_t n;
	struct ebt_error *err = counters_model_create(page->trace, &query, &model);

	if (err)
		return err;
	all = counters_model_all(model, &n);
	json_put(&page->json, "series", open_array);
	for (size_t i = 0; !err && i < n; i++)
		err = put_series(page, all[i]);
	json_end(&page->json);
	err = err ?: choose_step(&w, all, n)
		  ?: page_add_rows(page, "points", columns, sizeof(columns) / sizeof(columns[0]),
				   &w.section);
	page->events_said.points_ns = w.step;
	return err ? err : put_points(&w, all, n);
}
