/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How good the stacks of samples are: how many are whole, how many frames have a name. */
#include "report/page/page.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "report/page/private.h"

struct ebt_error *page_quality_sample(struct page *page, uint32_t node,
				      const struct ebt_stack *user)
{
	struct page_quality *q = &page->quality;
	struct ebt_error *err = ebt_array_reserve_zeroed(&q->by_node, node, &q->n);

	if (err)
		return err;
	q->by_node[node]++;
	if (!user || !(user->attrs & EBT_STACK_USER))
		return NULL;
	q->user++;
	q->whole += (user->attrs >> EBT_STACK_STOP_SHIFT & 255) == EBT_STOP_ROOT;
	return NULL;
}

/* Of a node and all above it: how many are functions, and how many of these have a name. */
struct frames {
	uint32_t all, named;
};

static void count(const struct calltree *tree, struct frames *frames, uint32_t i)
{
	uint32_t n, n_funcs;
	const struct calltree_node *node = &calltree_nodes(tree, &n)[i];
	const struct calltree_func *func = &calltree_funcs(tree, &n_funcs)[node->func];

	frames[i] = i ? frames[node->parent] : (struct frames){ 0 };
	if (!i || func->kind == CALLTREE_ROOT)
		return;
	frames[i].all++;
	frames[i].named += func->reason == SYM_OK;
}

static void put_percent(struct json *json, const char *key, uint64_t part, uint64_t all)
{
	if (all)
		json_put(json, key, f64, 100 * (double)part / (double)all);
}

struct ebt_error *page_put_quality(struct page *page)
{
	const struct calltree *tree = why_graph_tree(page->why->graph);
	const struct page_quality *q = &page->quality;
	uint64_t all = 0, named = 0;
	uint32_t n;
	struct frames *frames;

	calltree_nodes(tree, &n);
	frames = calloc(n + 1ull, sizeof(*frames));
	if (!frames)
		return &ebt_enomem;
	for (uint32_t i = 0; i < n && i < q->n; i++) {
		count(tree, frames, i);
		all += (uint64_t)q->by_node[i] * frames[i].all;
		named += (uint64_t)q->by_node[i] * frames[i].named;
	}
	free(frames);
	json_put(&page->json, "quality", open_object);
	put_percent(&page->json, "whole", q->whole, q->user);
	put_percent(&page->json, "named", named, all);
	json_end(&page->json);
	return NULL;
}
