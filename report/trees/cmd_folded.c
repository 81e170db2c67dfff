/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport folded`: a line a stack, for other tools. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/trees/feed.h"

/* A frame on one line, between semicolons. */
static void add_name(struct text *text, const char *name)
{
	size_t begin = text->len;

	text_terminal(text, (struct ebt_str){ name, strlen(name) });
	for (size_t i = begin; i < text->len; i++) {
		if (text->data[i] == ';')
			text->data[i] = ':';
	}
}

/* Nodes are depth first, so that the line of a node begins with its parent's. */
static struct ebt_error *put_stacks(FILE *f, const struct calltree *tree)
{
	uint32_t n_nodes, n_funcs;
	const struct calltree_node *nodes = calltree_nodes(tree, &n_nodes);
	const struct calltree_func *funcs = calltree_funcs(tree, &n_funcs);
	_cleanup_free_ size_t *ends = calloc(n_nodes, sizeof(*ends));
	_cleanup_text_ struct text line = TEXT_INIT;
	uint32_t at = nodes[0].child;

	if (!ends)
		return &ebt_enomem;
	/* Without a stack, or with none of its frames left, and no first frame to stand for it. */
	if (nodes[0].self)
		fprintf(f, "[no frames] %" PRIu64 "\n", nodes[0].self);
	while (at) {
		line.len = ends[nodes[at].parent];
		if (line.len)
			text_addc(&line, ';');
		add_name(&line, funcs[nodes[at].func].name);
		ends[at] = line.len;
		if (nodes[at].self)
			fprintf(f, "%.*s %" PRIu64 "\n", (int)line.len, text_get(&line),
				nodes[at].self);
		if (nodes[at].child) {
			at = nodes[at].child;
			continue;
		}
		while (at && !nodes[at].sibling)
			at = nodes[at].parent;
		at = nodes[at].sibling;
	}
	return text_error(&line);
}

static struct ebt_error *run_folded(struct report *report)
{
	_cleanup_tree_feed_ struct tree_feed feed = { 0 };
	struct ebt_error *err = tree_feed_read(report->trace, report->options, &feed);

	return err ? err : put_stacks(out_file(report->out), feed.tree);
}

static const struct option_def folded_options[] = {
	TREE_FEED_OPTIONS,
	{ 0 },
};

const struct command command_folded = {
	.name = "folded",
	.fn = run_folded,
	.flags = COMMAND_NO_TABLES,
	.summary = "stacks, one a line, for other tools",
	.help = "Frames from the outermost to the innermost, separated by semicolons, then a "
		"space\n"
		"and the weight, nanoseconds or what --weight counts: the form that "
		"flamegraph.pl,\n"
		"inferno and speedscope read. [no frames] is weight that has neither a stack nor\n"
		"a first frame.\n"
		"\n"
		"  ebreport folded t.ebt | grep ';malloc'\n"
		"  ebreport folded --event offcpu --by thread t.ebt\n"
		"  ebreport folded --event futex_wait --weight rows t.ebt\n"
		"  ebreport folded --event 'tp:block:*' t.ebt\n",
	.options = folded_options,
};
