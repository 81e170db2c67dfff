/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of a page: functions, and the tree of calls that they make. */
#include "report/page/page.h"

#include <stdlib.h>

#include "report/page/private.h"
#include "report/stacks/model_categories.h"

static const struct page_column func_columns[] = {
	{ "name", PAGE_U32, false },
	{ "object", PAGE_U32, false },
	{ "kind", PAGE_U8, false },
};

static const struct page_column node_columns[] = {
	{ "parent", PAGE_U32, true }, { "func", PAGE_U32, true },  { "file", PAGE_U32, false },
	{ "line", PAGE_U32, false },  { "flags", PAGE_U8, false }, { "category", PAGE_U16, false },
};

#define NODE_INLINED 1 /* into its parent */

/* Numbers of nodes and functions are those of the tree. What no stack of the page leads through is
 * a row of zeros: the tree may have stacks from behind the window and of processes that a filter
 * leaves out. */
struct stacks_used {
	const struct calltree_node *nodes;
	const struct calltree_func *funcs;
	uint32_t n_nodes, n_funcs;
	bool *node, *func;
	struct tree_categories categories;
};

/* A parent has a lower number than its children. */
static void mark_used(const struct page *page, struct stacks_used *used)
{
	for (uint32_t i = used->n_nodes; i-- > 1;) {
		if (i < page->n_used_nodes && page->used_nodes[i])
			used->node[i] = true;
		if (!used->node[i])
			continue;
		used->node[used->nodes[i].parent] = true;
		used->func[used->nodes[i].func] = true;
	}
}

static struct ebt_error *put_funcs(struct page *page, const struct stacks_used *used)
{
	struct page_rows *section;
	struct ebt_error *err =
		page_add_rows(page, "funcs", func_columns,
			      sizeof(func_columns) / sizeof(func_columns[0]), &section);

	for (uint32_t i = 0; !err && i < used->n_funcs; i++) {
		uint64_t name = 0, object = 0;

		if (used->func[i])
			err = page_cstr(page, used->funcs[i].name, &name)
				      ?: page_cstr(page, used->funcs[i].object, &object);
		if (!err)
			err = page_row(section, name, object,
				       used->func[i] ? used->funcs[i].kind : 0);
	}
	return err;
}

static struct ebt_error *put_node(struct page *page, struct page_rows *section,
				  const struct stacks_used *used, uint32_t number)
{
	const struct calltree_node *node = &used->nodes[number];
	uint64_t file;
	struct ebt_error *err = page_cstr(page, node->file ? node->file : "", &file);

	return err ? err
		   : page_row(section, node->parent, node->func, file, node->line_first,
			      node->inlined ? NODE_INLINED : 0, used->categories.stack[number]);
}

static struct ebt_error *put_nodes(struct page *page, const struct stacks_used *used)
{
	struct page_rows *section;
	struct ebt_error *err =
		page_add_rows(page, "nodes", node_columns,
			      sizeof(node_columns) / sizeof(node_columns[0]), &section);

	for (uint32_t i = 0; !err && i < used->n_nodes; i++)
		err = used->node[i] ? put_node(page, section, used, i)
				    : page_row(section, 0, 0, 0, 0, 0, 0);
	return err;
}

/* What stacks belong to, as in `ebreport callgraph --categories`. */
static struct ebt_error *categorize(struct page *page, const struct calltree *tree,
				    struct tree_categories *ret)
{
	_cleanup_(categories_destroyp) struct categories *categories = NULL;
	struct ebt_error *err = categories_load(NULL, &categories)
					?: tree_categories_make(tree, categories, true, ret);

	if (err)
		return err;
	json_put(&page->json, "categories", open_array);
	for (uint32_t i = 0; i < categories_n(categories); i++)
		json_cstr(&page->json, categories_name(categories, i));
	json_end(&page->json);
	return NULL;
}

struct ebt_error *page_put_stacks(struct page *page)
{
	const struct calltree *tree = why_graph_tree(page->why->graph);
	struct stacks_used used = { 0 };
	struct ebt_error *err = &ebt_enomem;

	used.nodes = calltree_nodes(tree, &used.n_nodes);
	used.funcs = calltree_funcs(tree, &used.n_funcs);
	used.node = calloc(used.n_nodes + 1, sizeof(*used.node));
	used.func = calloc(used.n_funcs + 1, sizeof(*used.func));
	if (used.node && used.func) {
		mark_used(page, &used);
		err = categorize(page, tree, &used.categories) ?:
		      put_funcs(page, &used) ?:
		      put_nodes(page, &used);
	}
	tree_categories_deinit(&used.categories);
	free(used.node);
	free(used.func);
	return err;
}
