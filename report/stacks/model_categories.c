/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Categories of stacks; see model_categories.h. */
#include "report/stacks/model_categories.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PROCESS 256

void tree_categories_deinit(struct tree_categories *t)
{
	free(t->stack);
	free(t->up);
	free(t->own);
}

/* The first frame of a stack is "name", "name (pid)" or "name (pid/tid)". */
static void process_name(const struct calltree_func *func, char name[MAX_PROCESS])
{
	size_t len = strnlen(func->name, MAX_PROCESS - 1);
	const char *p = func->name + len;

	if (len && p[-1] == ')') {
		do
			p--;
		while (p > func->name && (isdigit((unsigned char)p[-1]) || p[-1] == '/'));
		if (p - func->name > 2 && p[-1] == '(' && p[-2] == ' ')
			len = (size_t)(p - func->name) - 2;
	}
	memcpy(name, func->name, len);
	name[len] = '\0';
}

struct making {
	const struct calltree_func *funcs;
	const struct categories *categories;
	struct category_rule *by_func; /* of each; where rules for processes do not matter */
	bool *known;
	uint32_t *roots; /* by node: the first frame */
};

static struct category_rule match(struct making *m, uint32_t func, uint32_t root,
				  const struct calltree_node *nodes)
{
	char process[MAX_PROCESS];

	if (categories_by_process(m->categories) && root) {
		process_name(&m->funcs[nodes[root].func], process);
		return categories_match(m->categories, &m->funcs[func], process);
	}
	if (!m->known[func]) {
		m->by_func[func] = categories_match(m->categories, &m->funcs[func], NULL);
		m->known[func] = true;
	}
	return m->by_func[func];
}

/* Parents come before their children. */
static void fill(struct making *m, const struct calltree_node *nodes, uint32_t n, bool callers,
		 struct tree_categories *t)
{
	for (uint32_t i = 1; i < n; i++) {
		const struct calltree_node *node = &nodes[i];
		struct category_rule rule;

		m->roots[i] = m->roots[node->parent];
		if (!node->parent && m->funcs[node->func].kind == CALLTREE_ROOT)
			m->roots[i] = i;
		rule = match(m, node->func, m->roots[i], nodes);
		t->own[i] = rule.category;
		t->up[i] = rule.inherit && rule.category ? i : t->up[node->parent];
		t->stack[i] = rule.category || !callers ? rule.category : t->own[t->up[i]];
	}
}

static void making_deinit(struct making *m)
{
	free(m->by_func);
	free(m->known);
	free(m->roots);
}

struct ebt_error *tree_categories_make(const struct calltree *tree,
				       const struct categories *categories, bool callers,
				       struct tree_categories *ret)
{
	__attribute__((cleanup(making_deinit))) struct making m = { .categories = categories };
	_cleanup_tree_categories_ struct tree_categories t = { .tree = tree };
	uint32_t n_nodes, n_funcs;
	const struct calltree_node *nodes = calltree_nodes(tree, &n_nodes);

	m.funcs = calltree_funcs(tree, &n_funcs);
	m.by_func = calloc(n_funcs, sizeof(*m.by_func));
	m.known = calloc(n_funcs, sizeof(*m.known));
	m.roots = calloc(n_nodes, sizeof(*m.roots));
	t.stack = calloc(n_nodes, sizeof(*t.stack));
	t.up = calloc(n_nodes, sizeof(*t.up));
	t.own = calloc(n_nodes, sizeof(*t.own));
	t.n = categories_n(categories);
	if (!m.by_func || !m.known || !m.roots || !t.stack || !t.up || !t.own)
		return &ebt_enomem;
	fill(&m, nodes, n_nodes, callers, &t);
	*ret = t;
	t = (struct tree_categories){ 0 };
	return NULL;
}

/* The next one further out that passes its category on. */
static uint32_t next_up(const struct tree_categories *t, const struct calltree_node *nodes,
			uint32_t up)
{
	return t->up[nodes[up].parent];
}

struct ebt_error *tree_categories_sum(const struct tree_categories *t, const bool *keep,
				      struct category_sum **ret)
{
	_cleanup_free_ struct category_sum *sums = calloc(t->n, sizeof(*sums));
	_cleanup_free_ uint32_t *seen = calloc(t->n, sizeof(*seen)); /* the node that it was */
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(t->tree, &n);

	if (!sums || !seen)
		return &ebt_enomem;
	for (uint32_t i = 0; i < n; i++) {
		struct category_sum *sum = &sums[t->stack[i]];

		if (!nodes[i].count || (keep && !keep[i]))
			continue;
		sum->self += nodes[i].self;
		sum->count += nodes[i].count;
		sum->total += nodes[i].self;
		seen[t->stack[i]] = i;
		for (uint32_t up = t->up[i]; up; up = next_up(t, nodes, up)) {
			if (seen[t->own[up]] == i)
				continue;
			seen[t->own[up]] = i;
			sums[t->own[up]].total += nodes[i].self;
		}
	}
	*ret = take_ptr(sums);
	return NULL;
}

struct ebt_error *tree_categories_with(const struct tree_categories *t, uint32_t category,
				       bool **ret)
{
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(t->tree, &n);
	/* passed: that function, or one further out, passes the category on. */
	_cleanup_free_ bool *passed = calloc(n, sizeof(*passed)), *with = calloc(n, sizeof(*with));

	if (!passed || !with)
		return &ebt_enomem;
	for (uint32_t i = 1; i < n; i++) {
		passed[i] = passed[nodes[i].parent] || (t->up[i] == i && t->own[i] == category);
		with[i] = passed[i] || t->stack[i] == category;
	}
	*ret = take_ptr(with);
	return NULL;
}
