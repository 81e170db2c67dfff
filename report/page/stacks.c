/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of a page: functions, the tree that they make, and samples that were taken in it. */
#include "report/page/page.h"

#include "report/page/private.h"
#include "report/trees/feed.h"

static const struct page_column func_columns[] = {
	{ "name", PAGE_U32, false },
	{ "object", PAGE_U32, false },
	{ "kind", PAGE_U8, false },
};

static const struct page_column node_columns[] = {
	{ "parent", PAGE_U32, true },
	{ "func", PAGE_U32, true },
	{ "line", PAGE_U32, false },
	{ "flags", PAGE_U8, false },
};

#define NODE_INLINED   1 /* into its parent */
#define NODE_RECURSIVE 2 /* calls of itself are folded into it */
#define NODE_RECORDER  4 /* what the recorder did itself */

static const struct page_column sample_columns[] = {
	{ "time", PAGE_TIME, true }, { "thread", PAGE_U32, false },  { "cpu", PAGE_U16, false },
	{ "node", PAGE_U32, false }, { "weight", PAGE_TIME, false }, { "count", PAGE_U32, false },
};

struct samples {
	struct page *page;
	struct page_rows *section;
	uint64_t freq;
};

static struct ebt_error *take_sample(void *arg, const struct ebt_row *row)
{
	const struct samples *s = arg;
	const struct calltree_stack stack = calltree_sample_stack(row);
	uint64_t thread;
	uint32_t node;
	struct ebt_error *err = calltree_place(why_graph_tree(s->page->why->graph), &stack, &node)
					?: page_thread(s->page, stack.task, &thread);

	return err ? err
		   : page_row(s->section, page_time(s->page, row->time), thread,
			      ebt_sample_cpu(row), node, tree_feed_sample_ns(row, s->freq), 1);
}

static struct ebt_error *put_samples(struct page *page)
{
	static const struct ebt_want want =
		EBT_WANT(sample, task, cpu, event, period, kstack, ustack);
	struct samples s = { .page = page };
	const char *event;
	struct ebt_error *err =
		tree_feed_sampling(page->trace, &event, &s.freq)
			?: page_add_rows(page, "samples", sample_columns,
					 sizeof(sample_columns) / sizeof(sample_columns[0]),
					 &s.section);

	return err ? err : trace_read_rows(page->trace, &want, 1, 0, take_sample, &s);
}

static struct ebt_error *put_funcs(struct page *page, const struct calltree *tree)
{
	struct page_rows *section;
	uint32_t n;
	const struct calltree_func *funcs = calltree_funcs(tree, &n);
	struct ebt_error *err =
		page_add_rows(page, "funcs", func_columns,
			      sizeof(func_columns) / sizeof(func_columns[0]), &section);

	for (uint32_t i = 0; !err && i < n; i++) {
		uint64_t name, object;

		err = page_cstr(page, funcs[i].name, &name)
			      ?: page_cstr(page, funcs[i].object, &object);
		if (!err)
			err = page_row(section, name, object, funcs[i].kind);
	}
	return err;
}

static struct ebt_error *put_nodes(struct page *page, const struct calltree *tree)
{
	struct page_rows *section;
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	struct ebt_error *err =
		page_add_rows(page, "nodes", node_columns,
			      sizeof(node_columns) / sizeof(node_columns[0]), &section);

	for (uint32_t i = 0; !err && i < n; i++) {
		const struct calltree_node *node = &nodes[i];
		const unsigned int flags = (node->inlined ? NODE_INLINED : 0) |
					   (node->recursive ? NODE_RECURSIVE : 0) |
					   (node->recorder ? NODE_RECORDER : 0);

		err = page_row(section, node->parent, node->func, node->line_first, flags);
	}
	return err;
}

struct ebt_error *page_put_stacks(struct page *page)
{
	const struct calltree *tree = why_graph_tree(page->why->graph);

	return put_samples(page) ?: put_funcs(page, tree) ?: put_nodes(page, tree);
}
