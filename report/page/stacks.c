/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of a page: functions, and the tree of calls that they make. */
#include "report/page/page.h"

#include "report/page/private.h"

static const struct page_column func_columns[] = {
	{ "name", PAGE_U32, false },
	{ "object", PAGE_U32, false },
	{ "kind", PAGE_U8, false },
};

static const struct page_column node_columns[] = {
	{ "parent", PAGE_U32, true }, { "func", PAGE_U32, true },  { "file", PAGE_U32, false },
	{ "line", PAGE_U32, false },  { "flags", PAGE_U8, false },
};

#define NODE_INLINED   1 /* into its parent */
#define NODE_RECURSIVE 2 /* calls of itself are folded into it */
#define NODE_RECORDER  4 /* what the recorder did itself */

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
		uint64_t file;

		err = page_cstr(page, node->file ? node->file : "", &file);
		if (!err)
			err = page_row(section, node->parent, node->func, file, node->line_first,
				       flags);
	}
	return err;
}

struct ebt_error *page_put_stacks(struct page *page)
{
	const struct calltree *tree = why_graph_tree(page->why->graph);

	return put_funcs(page, tree) ?: put_nodes(page, tree);
}
