/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One path of a call tree; see out_stacks.h. */
#include "report/stacks/out_stacks.h"

#include <inttypes.h>

void out_stack_frames(struct out *out, const struct calltree *tree, uint32_t node)
{
	_cleanup_text_ struct text lines = TEXT_INIT;
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	const struct calltree_func *funcs = calltree_funcs(tree, &n);

	if (!nodes[node].parent)
		text_cstr(&lines, "    [no stack]\n");
	for (uint32_t at = node; at; at = nodes[at].parent) {
		const char *name = funcs[nodes[at].func].name, *file = nodes[at].file;

		text_cstr(&lines, "    ");
		text_terminal(&lines, (struct ebt_str){ name, strlen(name) });
		if (nodes[at].inlined)
			text_cstr(&lines, " (inlined)");
		if (file) {
			text_cstr(&lines, " ");
			text_terminal(&lines, (struct ebt_str){ file, strlen(file) });
			text_printf(&lines, ":%" PRIu32, nodes[at].line_first);
		}
		text_addc(&lines, '\n');
	}
	out_printf(out, "%s\n", text_get(&lines));
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
