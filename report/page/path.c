/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The critical path of a page, and when rows were lost. */
#include "report/page/page.h"

#include "report/page/private.h"
#include "report/trace/losses.h"
#include "report/why/objects.h"
#include "report/why/words.h"

#define MOST_LINES    12
#define MOST_SEGMENTS 100000 /* of a longer path the page has the longest segments */

static const struct page_column path_columns[] = {
	{ "time", PAGE_TIME, true }, { "dur", PAGE_TIME, false },  { "thread", PAGE_U32, false },
	{ "kind", PAGE_U8, false },  { "reason", PAGE_U8, false }, { "object", PAGE_U32, false },
};

static const struct page_column loss_columns[] = {
	{ "from", PAGE_TIME, true },
	{ "to", PAGE_TIME, false },
	{ "table", PAGE_U32, false },
};

/* The sentences of `ebreport why`. */
static struct ebt_error *put_why(struct page *page)
{
	struct why_line lines[MOST_LINES];
	size_t n = MOST_LINES;
	const struct why *why = page->why;
	const double wall = (double)(why->path.to - why->path.from);
	struct ebt_error *err = why_lines(why, page->names, lines, &n);

	if (err)
		return err;
	json_put(&page->json, "why", open_object);
	json_put(&page->json, "wall_ns", u64, why->path.to - why->path.from);
	json_put(&page->json, "tid", u64, why_task(why, why->task)->tid);
	json_put(&page->json, "lines", open_array);
	for (size_t i = 0; i < n; i++) {
		json_open_object(&page->json);
		json_put(&page->json, "percent", f64,
			 wall > 0 ? 100 * (double)lines[i].ns / wall : 0);
		json_put(&page->json, "ns", u64, lines[i].ns);
		json_put(&page->json, "text", str, text_get(&lines[i].text), lines[i].text.len);
		json_end(&page->json);
	}
	why_lines_deinit(lines, n);
	json_end(&page->json);
	json_end(&page->json);
	return NULL;
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

static struct ebt_error *put_segment(struct page *page, struct page_rows *section,
				     const struct why_segment *segment)
{
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
	return page_row(section, page_time(page, segment->from), why_segment_ns(segment), thread,
			segment->kind, segment->kind == WHY_WAIT ? cause.what : 0, object);
}

struct ebt_error *page_put_path(struct page *page)
{
	const struct why_path *path = &page->why->path;
	const uint64_t least = choose_least(path);
	struct page_rows *section;
	struct ebt_error *err;

	if (!why_task(page->why, page->why->task))
		return NULL;
	err = put_why(page)
		      ?: page_add_rows(page, "path", path_columns,
				       sizeof(path_columns) / sizeof(path_columns[0]), &section);
	for (size_t i = 0; !err && i < path->n; i++) {
		if (why_segment_ns(&path->segments[i]) >= least)
			err = put_segment(page, section, &path->segments[i]);
	}
	page->path_least_ns = least;
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
