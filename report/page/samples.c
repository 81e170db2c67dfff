/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Section `samples`: when, where and in which thread each sample was taken. Of a large trace those
 * of one thread and one stack are put together that lie in one span of time; spans are doubled
 * until there are few enough rows. Sums stay exact.
 */
#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "report/page/page.h"
#include "report/page/private.h"
#include "report/trees/feed.h"

/* Rows: some 4 MB of a page. */
#define MOST_SAMPLES 500000

static const struct page_column columns[] = {
	{ "time", PAGE_TIME, true }, { "thread", PAGE_U32, false },  { "cpu", PAGE_U16, false },
	{ "node", PAGE_U32, false }, { "weight", PAGE_TIME, false }, { "count", PAGE_U32, false },
};

struct page_sample {
	uint64_t time, weight, count;
	uint32_t thread; /* of the page: 1 + its number; 0: none */
	uint32_t node, cpu;
};

struct samples {
	struct page *page;
	struct page_sample *list;
	size_t n, capacity;
	uint64_t freq;
};

static struct ebt_error *take_sample(void *arg, const struct ebt_row *row)
{
	struct samples *s = arg;
	const struct calltree_stack stack = calltree_sample_stack(row);
	uint64_t thread;
	uint32_t node;
	struct ebt_error *err =
		calltree_place(why_graph_tree(s->page->why->graph), &stack, &node)
			?: page_thread(s->page, stack.task, &thread)
			?: page_quality_sample(s->page, node, ebt_sample_ustack(row))
			?: ebt_array_reserve(&s->list, s->n, &s->capacity);

	if (err)
		return err;
	s->list[s->n++] = (struct page_sample){
		.time = row->time,
		.weight = tree_feed_sample_ns(row, s->freq),
		.count = 1,
		.thread = (uint32_t)thread,
		.node = node,
		.cpu = (uint32_t)ebt_sample_cpu(row),
	};
	return NULL;
}

static int compare_place(const void *a, const void *b, void *within)
{
	const struct page_sample *x = a, *y = b;
	const uint64_t span = *(const uint64_t *)within;

	return ebt_compare(x->time / span, y->time / span) ?: ebt_compare(x->thread, y->thread)
		       ?: ebt_compare(x->node, y->node) ?: ebt_compare(x->time, y->time);
}

static int compare_time(const void *a, const void *b)
{
	const struct page_sample *x = a, *y = b;

	return ebt_compare(x->time, y->time);
}

/* The first of those that belong together gets their sums. */
static void put_together(struct samples *s, uint64_t within)
{
	size_t n = 0;

	qsort_r(s->list, s->n, sizeof(*s->list), compare_place, &within);
	for (size_t i = 0; i < s->n; i++) {
		struct page_sample *last = n ? &s->list[n - 1] : NULL;
		const struct page_sample *sample = &s->list[i];

		if (last && last->time / within == sample->time / within &&
		    last->thread == sample->thread && last->node == sample->node) {
			last->weight += sample->weight;
			last->count += sample->count;
		} else {
			s->list[n++] = *sample;
		}
	}
	s->n = n;
}

static void reduce(struct samples *s)
{
	const uint64_t window = trace_window_ns(s->page->trace);
	uint64_t within = 1 + window / MOST_SAMPLES;

	while (s->n > MOST_SAMPLES && within <= window) {
		put_together(s, within);
		s->page->samples_within_ns = within;
		within *= 2;
	}
	if (s->page->samples_within_ns)
		qsort(s->list, s->n, sizeof(*s->list), compare_time);
}

static struct ebt_error *put_rows(const struct samples *s)
{
	struct page_rows *rows;
	struct ebt_error *err = page_add_rows(s->page, "samples", columns,
					      sizeof(columns) / sizeof(columns[0]), &rows);

	for (size_t i = 0; !err && i < s->n; i++) {
		const struct page_sample *sample = &s->list[i];

		err = page_use_node(s->page, sample->node)
			      ?: page_row(rows, page_time(s->page, sample->time), sample->thread,
					  sample->cpu, sample->node, sample->weight, sample->count);
	}
	return err;
}

struct ebt_error *page_put_samples(struct page *page)
{
	static const struct ebt_want want =
		EBT_WANT(sample, task, cpu, event, period, kstack, ustack);
	struct samples s = { .page = page };
	const char *event;
	struct ebt_error *err =
		tree_feed_sampling(page->trace, &event, &s.freq)
			?: trace_read_rows(page->trace, &want, 1, 0, take_sample, &s);

	if (!err) {
		reduce(&s);
		err = put_rows(&s);
	}
	free(s.list);
	return err;
}
