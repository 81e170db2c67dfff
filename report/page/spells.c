/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What threads did: section `spells`, a row for each time that a thread was off the CPUs and then
 * on one, as the graph of `ebreport why` has them. Of a large trace rows are put together: those of
 * one thread that lie within a time that is doubled until there are few enough. Sums stay exact.
 */
#include "report/page/page.h"

#include <stdlib.h>

#include "format/base/cleanup.h"
#include "report/page/private.h"
#include "report/why/objects.h"

/* Rows, so that a page has no more than some 8 MB of them. */
#define MOST_SPELLS 800000

static const struct page_column columns[] = {
	{ "thread", PAGE_U32, true },	{ "gap", PAGE_TIME, false },
	{ "off_ns", PAGE_TIME, false }, { "queue_ns", PAGE_TIME, false },
	{ "run_ns", PAGE_TIME, false }, { "waker", PAGE_U32, false },
	{ "wake", PAGE_U8, false },	{ "node", PAGE_U32, false },
	{ "object", PAGE_U32, false },	{ "cpu", PAGE_U16, false },
	{ "reason", PAGE_U8, false },	{ "why", PAGE_U8, false },
	{ "count", PAGE_U32, false },	{ "flags", PAGE_U8, false },
	{ "new_ns", PAGE_TIME, false },
};

#define SPELL_LASTS	 1 /* beyond the trace */
#define SPELL_OPEN_START 2 /* as in why_spell */
#define SPELL_OPEN_END	 4
#define SPELL_DOUBTFUL	 8
#define SPELL_RAN	 16

/* One or several of a thread, one behind the other. */
struct joined {
	uint64_t stop;
	uint64_t off, queue, run;
	const struct why_spell *longest; /* off the CPUs */
	uint64_t longest_ns;
	uint64_t count;
};

static uint64_t blocked_ns(const struct why_spell *spell)
{
	return (spell->runnable ? spell->runnable : spell->start) - spell->stop;
}

/* Who is new or was stopped for another task waits for a CPU from the beginning on, as in
 * `ebreport wall`. */
static uint64_t off_ns(const struct why_spell *spell)
{
	if (spell->why == SCHED_NEW || spell->why == SCHED_RUNNABLE)
		return 0;
	return blocked_ns(spell);
}

/* Of who is new: until it was woken for the first time. */
static uint64_t new_ns(const struct why_spell *spell)
{
	return spell->why == SCHED_NEW ? blocked_ns(spell) : 0;
}

static void join(struct joined *joined, const struct why_spell *spell)
{
	const uint64_t away = spell->start - spell->stop;

	if (!joined->count)
		joined->stop = spell->stop;
	if (!joined->count || away > joined->longest_ns) {
		joined->longest = spell;
		joined->longest_ns = away;
	}
	joined->off += off_ns(spell);
	joined->queue += away - off_ns(spell);
	joined->run += spell->end - spell->start;
	joined->count++;
}

/* From spell i of n on, as many as lie within that time, one at least: the index behind them. */
static size_t join_from(const struct why_thread *thread, size_t i, size_t n, uint64_t within,
			struct joined *ret)
{
	*ret = (struct joined){ 0 };
	do
		join(ret, &thread->spells[i++]);
	while (i < n && within && thread->spells[i].end - ret->stop <= within);
	return i;
}

/* How many of its spells the page has. The graph has those behind the window, too. */
static size_t count_wanted(struct page *page, const struct why_thread *thread)
{
	const uint64_t to = trace_to_ns(page->trace);
	size_t n = thread->n;

	if (!thread->task ||
	    (trace_has_task_filter(page->trace) && !trace_task_wanted(page->trace, thread->task)))
		return 0;
	while (n && thread->spells[n - 1].stop >= to)
		n--;
	return n;
}

static uint64_t count_rows(struct page *page, uint64_t within)
{
	uint32_t n;
	const struct why_thread *threads = why_graph_threads(page->why->graph, &n);
	uint64_t rows = 0;

	for (uint32_t t = 0; t < n; t++) {
		const size_t n_spells = count_wanted(page, &threads[t]);
		struct joined joined;

		for (size_t i = 0; i < n_spells; rows++)
			i = join_from(&threads[t], i, n_spells, within, &joined);
	}
	return rows;
}

/* The least time that leaves few enough rows; 0: all of them. Threads that are there for no longer
 * have a row each, whatever it is. */
static uint64_t choose_within(struct page *page)
{
	const uint64_t most = trace_window_ns(page->trace);
	uint64_t within = 0;

	while (within < most && count_rows(page, within) > MOST_SPELLS)
		within = within ? within * 2 : 1000;
	return within;
}

static struct ebt_error *find_waker(struct page *page, const struct why_spell *spell, uint64_t *ret)
{
	uint32_t n;
	const struct why_thread *threads = why_graph_threads(page->why->graph, &n);

	return page_thread(page, spell->waker < n ? threads[spell->waker].task : NULL, ret);
}

static unsigned int flags_of(const struct why_spell *spell)
{
	return (spell->lasts ? SPELL_LASTS : 0) | (spell->open_start ? SPELL_OPEN_START : 0) |
	       (spell->open_end ? SPELL_OPEN_END : 0) | (spell->doubtful ? SPELL_DOUBTFUL : 0) |
	       (spell->ran ? SPELL_RAN : 0);
}

static struct ebt_error *put_row(struct page *page, struct page_rows *section, uint64_t number,
				 uint64_t before, const struct joined *joined)
{
	const struct why_spell *spell = joined->longest;
	uint64_t waker, object;
	struct ebt_error *err =
		page_use_node(page, spell->node)
			?: find_waker(page, spell, &waker)
			?: page_string(page,
				       why_object_name(why_graph_objects(page->why->graph),
						       spell->object),
				       &object);

	if (err)
		return err;
	return page_row(section, number - 1, joined->stop - before, joined->off, joined->queue,
			joined->run, waker, spell->wake, spell->node, object,
			spell->cpu == WHY_NO_CPU ? 0 : spell->cpu + 1u, spell->reason, spell->why,
			joined->count, flags_of(spell), joined->count > 1 ? 0 : new_ns(spell));
}

/* Until the end of the window: the last spell may reach beyond. */
static uint64_t ran_ns(struct page *page, const struct why_thread *thread, size_t n)
{
	const uint64_t to = trace_to_ns(page->trace);
	uint64_t ns = 0;

	for (size_t i = 0; i < n; i++) {
		const struct why_spell *spell = &thread->spells[i];

		if (spell->start < to)
			ns += (spell->end < to ? spell->end : to) - spell->start;
	}
	return ns;
}

static struct ebt_error *put_thread(struct page *page, struct page_rows *section,
				    const struct why_thread *thread, uint64_t within)
{
	const size_t n = count_wanted(page, thread);
	uint64_t before = trace_from_ns(page->trace), number;
	struct ebt_error *err = page_thread(page, thread->task, &number);

	for (size_t i = 0; !err && i < n;) {
		struct joined joined;

		i = join_from(thread, i, n, within, &joined);
		err = put_row(page, section, number, before, &joined);
		/* The reader knows the sums alone: what was not known between spells put together
		 * lies behind them. */
		before = joined.stop + joined.off + joined.queue + joined.run;
	}
	if (err)
		return err;
	page->threads[number - 1].cpu_ns = ran_ns(page, thread, n);
	page->threads[number - 1].kernel = thread->kernel;
	page->threads[number - 1].start = thread->born;
	page->threads[number - 1].end = thread->ended;
	return NULL;
}

/* By id, so that rows are in their order, and of wakers who did as much it is seen which is first.
 */
static struct ebt_error *number_threads(struct page *page)
{
	uint32_t n;
	const struct why_thread *threads = why_graph_threads(page->why->graph, &n);
	_cleanup_free_ bool *wanted = calloc(n + 1, sizeof(*wanted));
	struct ebt_error *err = wanted ? NULL : &ebt_enomem;
	uint64_t number;

	for (uint32_t t = 0; !err && t < n; t++) {
		const size_t n_spells = count_wanted(page, &threads[t]);

		wanted[t] |= n_spells > 0;
		for (size_t i = 0; i < n_spells; i++) {
			if (threads[t].spells[i].waker < n)
				wanted[threads[t].spells[i].waker] = true;
		}
	}
	for (uint32_t t = 0; !err && t < n; t++) {
		if (wanted[t])
			err = page_thread(page, threads[t].task, &number);
	}
	return err;
}

struct ebt_error *page_put_spells(struct page *page)
{
	uint32_t n;
	const struct why_thread *threads = why_graph_threads(page->why->graph, &n);
	const uint64_t within = choose_within(page);
	struct page_rows *section;
	struct ebt_error *err = page_add_rows(page, "spells", columns,
					      sizeof(columns) / sizeof(columns[0]), &section);

	err = err ?: number_threads(page);
	for (uint32_t t = 0; !err && t < n; t++) {
		if (count_wanted(page, &threads[t]))
			err = put_thread(page, section, &threads[t], within);
	}
	page->within_ns = within;
	return err;
}
