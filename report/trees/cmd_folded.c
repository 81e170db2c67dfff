/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport folded`: a line a stack, for other tools. */
#include <inttypes.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/stacks/out_stacks.h"
#include "report/trees/feed.h"

struct folding {
	FILE *f;
	const struct calltree_node *nodes;
};

static void put_stack(void *arg, uint32_t node, struct ebt_str line)
{
	const struct folding *folded = arg;
	uint64_t self = folded->nodes[node].self;

	if (self)
		fprintf(folded->f, "%.*s %" PRIu64 "\n", (int)line.len, line.data, self);
}

static struct ebt_error *put_stacks(FILE *f, const struct calltree *tree)
{
	uint32_t n;
	struct folding folded = { f, calltree_nodes(tree, &n) };

	/* Without a stack, or with none of its frames left, and no first frame to stand for it. */
	put_stack(&folded, 0, ebt_str_of(CALLTREE_NO_FRAMES));
	return stack_folded(tree, 0, put_stack, &folded);
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
	.elsewhere = "collapse stackcollapse",
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
