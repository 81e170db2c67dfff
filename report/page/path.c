/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The critical path of a page, and when rows were lost. */
#include "report/page/page.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "report/page/private.h"
#include "report/trace/losses.h"
#include "report/why/objects.h"
#include "report/why/words.h"

#define MOST_LINES    12
#define MOST_SEGMENTS 100000 /* of a longer path the page has the longest segments */

static const struct page_column path_columns[] = {
	{ "time", PAGE_TIME, true }, { "dur", PAGE_TIME, false },  { "thread", PAGE_U32, false },
	{ "kind", PAGE_U8, false },  { "reason", PAGE_U8, false }, { "object", PAGE_U32, false },
	{ "line", PAGE_U8, false },
};

/* Of steps that waited for CPUs that several had, one after the other. */
static const struct page_column share_columns[] = {
	{ "step", PAGE_U32, true },
	{ "line", PAGE_U8, false },
	{ "ns", PAGE_TIME, false },
};

static const struct page_column loss_columns[] = {
	{ "from", PAGE_TIME, true },
	{ "to", PAGE_TIME, false },
	{ "table", PAGE_U32, false },
};

/* What a sentence counts of a segment that waited for a CPU. */
struct line_share {
	size_t segment;
	uint64_t line; /* 1 + its number; 0: none of those that are told */
	uint64_t ns;
};

struct path_put {
	struct page *page;
	struct why_line lines[MOST_LINES]; /* the sentences of `ebreport why` */
	size_t n_lines;
	uint64_t least;		   /* shorter segments are left out */
	struct line_share *shares; /* in the order of segments, once each with each line */
	size_t n_shares, capacity;
	struct page_rows *steps, *share_rows;
};

static void put_why(struct path_put *p)
{
	struct json *json = &p->page->json;
	const struct why *why = p->page->why;
	const double wall = (double)(why->path.to - why->path.from);

	json_put(json, "why", open_object);
	json_put(json, "wall_ns", u64, why->path.to - why->path.from);
	json_put(json, "tid", u64, why_task(why, why->task)->tid);
	json_put(json, "lines", open_array);
	for (size_t i = 0; i < p->n_lines; i++) {
		const struct why_line *line = &p->lines[i];

		json_open_object(json);
		json_put(json, "percent", f64, wall > 0 ? 100 * (double)line->ns / wall : 0);
		json_put(json, "ns", u64, line->ns);
		json_put(json, "text", str, text_get(&line->text), line->text.len);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

/* The length that leaves few enough segments. */
static uint64_t choose_least(const struct why_path *path)
{
	uint64_t least = 0;
	size_t n = path->n;

	while (n > MOST_SEGMENTS) {
		least = least ? least * 2 : 1000;
		n = 0;
		for (size_t i = 0; i < path->n; i++)
			n += why_segment_ns(&path->segments[i]) >= least;
	}
	return least;
}

/* --- which sentence counts it --- */

static uint64_t line_of(const struct path_put *p, const struct why_cause *cause)
{
	const size_t i = why_line_of(p->page->why, p->page->names, p->lines, p->n_lines, cause);

	return i < p->n_lines ? i + 1 : 0;
}

static struct ebt_error *take_share(void *arg, const struct why_segment *segment, uint32_t other,
				    uint64_t ns)
{
	struct path_put *p = arg;
	const struct why_cause cause = { .task = segment->task,
					 .kind = WHY_RUNQUEUE,
					 .other = other };
	struct ebt_error *err;

	if (why_segment_ns(segment) < p->least)
		return NULL;
	err = ebt_array_reserve(&p->shares, p->n_shares, &p->capacity);
	if (!err)
		p->shares[p->n_shares++] =
			(struct line_share){ (size_t)(segment - p->page->why->path.segments),
					     line_of(p, &cause), ns };
	return err;
}

static int compare_shares(const void *a, const void *b)
{
	const struct line_share *x = a, *y = b;

	return ebt_compare(x->segment, y->segment) ?: ebt_compare(x->line, y->line);
}

static struct ebt_error *find_shares(struct path_put *p)
{
	struct ebt_error *err = why_each_queue(p->page->why, take_share, p);
	size_t n = 0;

	if (err || !p->n_shares)
		return err;
	qsort(p->shares, p->n_shares, sizeof(*p->shares), compare_shares);
	for (size_t i = 0; i < p->n_shares; i++) {
		if (n && !compare_shares(&p->shares[n - 1], &p->shares[i]))
			p->shares[n - 1].ns += p->shares[i].ns;
		else
			p->shares[n++] = p->shares[i];
	}
	p->n_shares = n;
	return NULL;
}

/* The line that counts all of a segment, or 0; then rows tell of lines that count a part of the
 * next step. *at: its first share, and then that of the next one. */
static struct ebt_error *put_shares(struct path_put *p, size_t segment, size_t *at, uint64_t *line)
{
	const size_t first = *at;
	struct ebt_error *err = NULL;

	while (*at < p->n_shares && p->shares[*at].segment == segment)
		++*at;
	*line = *at - first == 1 ? p->shares[first].line : 0;
	for (size_t i = first; !err && *at - first > 1 && i < *at; i++) {
		if (p->shares[i].line)
			err = page_row(p->share_rows, page_rows_n(p->steps), p->shares[i].line,
				       p->shares[i].ns);
	}
	return err;
}

/* --- steps --- */

static struct ebt_error *put_segment(struct path_put *p, const struct why_segment *segment,
				     uint64_t line)
{
	struct page *page = p->page;
	const struct why_cause cause = why_cause_of(page->why->graph, segment);
	uint64_t thread, object;
	struct ebt_error *err =
		page_thread(page, why_task(page->why, segment->task), &thread)
			?: page_string(page,
				       why_object_name(why_graph_objects(page->why->graph),
						       cause.object),
				       &object);

	if (err)
		return err;
	if (thread)
		page->threads[thread - 1].on_path = true;
	return page_row(p->steps, page_time(page, segment->from), why_segment_ns(segment), thread,
			segment->kind, segment->kind == WHY_WAIT ? cause.what : 0, object,
			segment->kind == WHY_RUNQUEUE ? line : line_of(p, &cause));
}

static struct ebt_error *put_steps(struct path_put *p)
{
	const struct why_path *path = &p->page->why->path;
	struct ebt_error *err = NULL;
	size_t share = 0;

	for (size_t i = 0; !err && i < path->n; i++) {
		uint64_t line;

		if (why_segment_ns(&path->segments[i]) < p->least)
			continue;
		err = put_shares(p, i, &share, &line) ?: put_segment(p, &path->segments[i], line);
	}
	return err;
}

static struct ebt_error *put_path(struct path_put *p)
{
	struct page *page = p->page;
	struct ebt_error *err =
		page_add_rows(page, "path", path_columns,
			      sizeof(path_columns) / sizeof(path_columns[0]), &p->steps)
			?: page_add_rows(page, "shares", share_columns,
					 sizeof(share_columns) / sizeof(share_columns[0]),
					 &p->share_rows);

	put_why(p);
	return err ? err : find_shares(p) ?: put_steps(p);
}

struct ebt_error *page_put_path(struct page *page)
{
	struct path_put p = { .page = page,
			      .n_lines = MOST_LINES,
			      .least = choose_least(&page->why->path) };
	struct ebt_error *err;

	if (!why_task(page->why, page->why->task))
		return NULL;
	page->path_least_ns = p.least;
	err = why_lines(page->why, page->names, p.lines, &p.n_lines) ?: put_path(&p);
	why_lines_deinit(p.lines, p.n_lines);
	free(p.shares);
	return err;
}

/* --- losses --- */

static struct ebt_error *put_table(struct page *page, struct page_rows *section,
				   const struct trace_loss *loss)
{
	_cleanup_losses_ struct losses losses = { 0 };
	uint64_t name;
	struct ebt_error *err = losses_load(trace_reader(page->trace), loss->table->id, &losses)
					?: page_cstr(page, loss->table->name, &name);

	for (size_t i = 0; !err && i < losses.n; i++) {
		const struct loss_span *span = &losses.spans[i];
		const uint64_t last = trace_window_end_ns(page->trace);

		if (span->to >= trace_from_ns(page->trace) && span->from <= last)
			err = page_row(section, page_time(page, span->from),
				       page_time(page, span->to < last ? span->to : last), name);
	}
	return err;
}

struct ebt_error *page_put_losses(struct page *page)
{
	_cleanup_free_ struct trace_loss *losses = NULL;
	struct page_rows *section;
	size_t n = 0;
	struct ebt_error *err =
		trace_losses(page->trace, LOSSES_OF_ALL, &losses, &n)
			?: page_add_rows(page, "losses", loss_columns,
					 sizeof(loss_columns) / sizeof(loss_columns[0]), &section);

	if (err)
		return err;
	json_put(&page->json, "losses", open_array);
	for (size_t i = 0; !err && i < n; i++) {
		json_open_object(&page->json);
		json_put(&page->json, "table", cstr, losses[i].table->name);
		json_put(&page->json, "rows", u64, losses[i].rows);
		json_put(&page->json, "lost", u64, losses[i].lost);
		json_end(&page->json);
		err = put_table(page, section, &losses[i]);
	}
	json_end(&page->json);
	return err;
}
