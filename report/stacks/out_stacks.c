/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One path of a call tree; see out_stacks.h. */
#include "report/stacks/out_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"

void out_stack_frames(struct out *out, const struct calltree *tree, uint32_t node)
{
	_cleanup_text_ struct text line = TEXT_INIT;
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	const struct calltree_func *funcs = calltree_funcs(tree, &n);

	if (!nodes[node].parent)
		out_printf(out, "    [no stack]\n");
	for (uint32_t at = node; at; at = nodes[at].parent) {
		const char *name = funcs[nodes[at].func].name, *file = nodes[at].file;

		text_clear(&line);
		text_terminal(&line, ebt_str_of(name));
		if (nodes[at].inlined)
			text_cstr(&line, " (inlined)");
		if (file) {
			text_cstr(&line, " ");
			text_terminal(&line, ebt_str_of(file));
			text_printf(&line, ":%" PRIu32, nodes[at].line_first);
		}
		out_fill(out, "    ", 8, text_get(&line));
	}
	out_printf(out, "\n");
}

void stack_joined(struct text *text, const struct calltree *tree, uint32_t node)
{
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	const struct calltree_func *funcs = calltree_funcs(tree, &n);

	for (uint32_t at = node; at; at = nodes[at].parent) {
		if (at != node)
			text_addc(text, ';');
		text_cstr(text, funcs[nodes[at].func].name);
	}
}

void stack_folded_name(struct text *text, const char *name)
{
	size_t begin = text->len;

	text_terminal(text, ebt_str_of(name));
	for (size_t i = begin; i < text->len; i++) {
		if (text->data[i] == ';')
			text->data[i] = ':';
	}
}

struct ebt_error *stack_folded(const struct calltree *tree, uint32_t top,
			       void (*put)(void *arg, uint32_t node, struct ebt_str line),
			       void *arg)
{
	uint32_t n_nodes, n_funcs;
	const struct calltree_node *nodes = calltree_nodes(tree, &n_nodes);
	const struct calltree_func *funcs = calltree_funcs(tree, &n_funcs);
	_cleanup_free_ size_t *ends = calloc(n_nodes, sizeof(*ends));
	_cleanup_text_ struct text line = TEXT_INIT;

	if (!ends)
		return &ebt_enomem;
	for (uint32_t at = nodes[top].child; at; at = calltree_next(nodes, at, top)) {
		line.len = ends[nodes[at].parent];
		if (line.len)
			text_addc(&line, ';');
		stack_folded_name(&line, funcs[nodes[at].func].name);
		ends[at] = line.len;
		put(arg, at, text_str(&line));
	}
	return text_error(&line);
}
