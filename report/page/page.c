/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a page holds; see page.h. */
#include "report/page/page.h"

#include <stdlib.h>

#include "format/base/array.h"

struct ebt_error *page_add_rows(struct page *page, const char *name,
				const struct page_column *columns, size_t n, struct page_rows **ret)
{
	struct ebt_error *err;

	assert(page->n_sections < PAGE_MAX_SECTIONS);
	err = page_rows_create(name, columns, n, ret);
	if (!err)
		page->sections[page->n_sections++] = *ret;
	return err;
}

struct ebt_error *page_string(struct page *page, struct ebt_str s, uint64_t *ret)
{
	uint32_t number;
	struct ebt_error *err = interned_add(&page->strings, s, &number);

	*ret = number == INTERNED_NONE ? 0 : number;
	return err;
}

struct ebt_error *page_thread(struct page *page, const struct ebt_task *task, uint64_t *ret)
{
	struct ebt_error *err;
	uint32_t i;

	*ret = 0;
	if (!task)
		return NULL;
	err = ebt_map_add(&page->by_task, task->id, page->n_threads, &i)
		      ?: ebt_array_reserve(&page->threads, page->n_threads,
					   &page->threads_capacity);
	if (err)
		return err;
	if (i == page->n_threads)
		page->threads[page->n_threads++] = (struct page_thread){ .task = task };
	*ret = i + 1ull;
	return NULL;
}

struct ebt_error *page_use_node(struct page *page, uint32_t node)
{
	struct ebt_error *err =
		ebt_array_reserve_zeroed(&page->used_nodes, node, &page->n_used_nodes);

	if (!err)
		page->used_nodes[node] = true;
	return err;
}

struct ebt_error *page_put_strings(struct page *page)
{
	static const struct page_column columns[] = {
		{ "length", PAGE_U32, false },
		{ "text", PAGE_BYTES, false },
	};
	struct page_rows *section;
	struct ebt_error *err = page_add_rows(page, "strings", columns, 2, &section);

	for (uint32_t i = 0; !err && i < page->strings.n; i++) {
		const struct ebt_str s = interned_get(&page->strings, i);

		err = page_row(section, s.len, 0) ?: page_rows_text(section, s.data, s.len);
	}
	return err;
}

static struct ebt_error *open_head(struct page *page)
{
	page->head_file = open_memstream(&page->head, &page->head_len);
	if (!page->head_file)
		return &ebt_enomem;
	json_init(&page->json, page->head_file);
	json_open_object(&page->json);
	return NULL;
}

static struct ebt_error *close_head(struct page *page)
{
	int failed;

	json_put(&page->json, "sections", open_object);
	for (size_t i = 0; i < page->n_sections; i++) {
		if (page_rows_n(page->sections[i]))
			page_rows_describe(page->sections[i], &page->json);
	}
	json_end(&page->json);
	json_end(&page->json);
	failed = fclose(page->head_file);
	page->head_file = NULL;
	return failed ? &ebt_enomem : NULL;
}

/* Whatever reads the trace comes before what says which rows of it are missing. */
static struct ebt_error *fill(struct page *page)
{
	return page_put_spells(page) ?:
	       page_put_samples(page) ?:
	       page_put_path(page) ?:
	       page_put_events(page) ?:
	       page_put_counters(page) ?:
	       page_put_stacks(page) ?:
	       page_put_losses(page) ?:
	       page_put_threads(page) ?:
	       page_put_tables(page) ?:
	       page_put_strings(page) ?:
	       page_put_facts(page);
}

struct ebt_error *page_create(struct report *report, struct page **ret)
{
	_cleanup_(page_destroyp) struct page *page = calloc(1, sizeof(*page));
	const struct why_options options = { .quiet = true };
	const uint64_t from = trace_from_ns(report->trace), to = trace_to_ns(report->trace);
	uint64_t empty;
	struct ebt_error *err;

	if (!page)
		return &ebt_enomem;
	page->report = report;
	page->trace = report->trace;
	page->start_ns = trace_start_ns(report->trace);
	err = trace_names(page->trace, &page->names)
		      ?: why_create(page->trace, &options, &page->why);
	if (err)
		return err;
	trace_look_at(page->trace, from, to); /* why_create() looked at more */
	err = procs_create(page->trace, TRACE_QUIET, &page->procs) ?:
	      page_string(page, (struct ebt_str){ "", 0 }, &empty) ?:
	      open_head(page) ?:
	      fill(page) ?:
	      close_head(page);
	if (!err)
		*ret = take_ptr(page);
	return err;
}

void page_destroy(struct page *page)
{
	if (!page)
		return;
	for (size_t i = 0; i < page->n_sections; i++)
		page_rows_destroy(page->sections[i]);
	if (page->head_file)
		fclose(page->head_file);
	free(page->head);
	free(page->threads);
	free(page->used_nodes);
	free(page->quality.by_node);
	ebt_map_deinit(&page->by_task);
	interned_deinit(&page->strings);
	procs_destroy(page->procs);
	why_destroy(page->why);
	free(page);
}
