/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups by stack: with their frames (--stacks), and as a picture (--flame). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "report/group/private.h"
#include "report/stacks/doubts.h"
#include "report/stacks/out_stacks.h"
#include "report/stacks/out_svg.h"

#define DEFAULT_STACKS 20 /* printed without --top */

/* The heaviest first; those of one weight in the order of their making. */
static int compare(const void *a, const void *b)
{
	const struct group_stack *x = a, *y = b;

	return ebt_compare(y->weight, x->weight) ?: ebt_compare(x->node, y->node);
}

static uint32_t node_of(const struct group_set *set, uint32_t group)
{
	size_t level = 0;

	while (set->levels[level].key != GROUP_STACK)
		level++;
	return group_set_value(set, group, level);
}

static struct ebt_error *sort_stacks(const struct grouping *g, struct group_stack **ret,
				     uint64_t *ret_all)
{
	const struct group_set *set = &g->by_stack;

	*ret_all = 0;
	*ret = calloc(set->n + 1, sizeof(**ret));
	if (!*ret)
		return &ebt_enomem;
	for (uint32_t i = 0; i < set->n; i++) {
		uint64_t weight = g->table->weight(group_set_figures(g, set, i));

		(*ret)[i] = (struct group_stack){ weight, i, node_of(set, i) };
		*ret_all += weight;
	}
	qsort(*ret, set->n, sizeof(**ret), compare);
	return NULL;
}

static void print_stacks(const struct grouping *g, const struct group_stack *sorted, uint64_t all)
{
	uint64_t top = g->report->options->top;
	struct out *out = g->report->out;
	size_t n = g->by_stack.n;

	top = top ? top : DEFAULT_STACKS;
	for (size_t i = 0; i < n && i < top; i++) {
		_cleanup_text_ struct text line = TEXT_INIT;

		g->table->headline(g, group_set_figures(g, &g->by_stack, sorted[i].group), all,
				   &line);
		out_fill(out, "", 2, text_get(&line));
		out_stack_frames(out, g->tree, sorted[i].node);
	}
	if (n > top)
		out_printf(out, "%" PRIu64 " more stack%s (--top shows more).\n", (uint64_t)n - top,
			   text_plural(n - top, "", "s"));
}

struct ebt_error *group_stacks_tell(const struct grouping *g)
{
	const struct group_set *set = grouping_has_stacks(g) ? &g->by_stack : &g->by;
	_cleanup_nameless_ struct nameless nameless = { 0 };
	struct ebt_error *err = NULL;

	if (!grouping_tree(g))
		return NULL;
	for (uint32_t i = 0; !err && i < set->n; i++) {
		const void *figures = group_set_figures(g, set, i);

		err = nameless_add_stack(&nameless, g->tree, node_of(set, i),
					 (double)g->table->weight(figures));
	}
	return err ? err : nameless_warn(&nameless, g->report->trace);
}

struct ebt_error *group_stacks_put(struct grouping *g)
{
	_cleanup_free_ struct group_stack *sorted = NULL;
	uint64_t top = g->report->options->top, all;
	enum option_format format = out_format(g->report->out);
	struct out_table table = {
		.key = format == FORMAT_CSV ? "rows" : "stacks",
		.flags = OUT_FIXED | OUT_KEEP_ORDER,
	};
	size_t n = g->by_stack.n;
	struct ebt_error *err = sort_stacks(g, &sorted, &all);

	if (err)
		return err;
	if (format == FORMAT_TABLE) {
		print_stacks(g, sorted, all);
		return NULL;
	}
	return group_stack_rows_put(g, &table, sorted, top && top < n ? top : n);
}

/* --- a picture --- */

static void weigh_tree(struct grouping *g)
{
	for (uint32_t i = 0; i < g->by_stack.n; i++)
		calltree_add(g->tree, node_of(&g->by_stack, i),
			     g->table->weight(group_set_figures(g, &g->by_stack, i)));
}

static struct ebt_error *write_svg(const struct grouping *g, FILE *f)
{
	_cleanup_text_ struct text title = TEXT_INIT;
	struct svg_flame flame = { .tree = g->tree, .unit = g->table->unit };
	const char *command;
	struct ebt_error *err;

	err = ebt_reader_meta(trace_reader(g->report->trace), "ebrec.command_line", &command);
	if (err)
		return err;
	text_printf(&title, "%s: %s", g->report->command->name, command ? command : "");
	err = text_error(&title)
		      ?: trace_warnings(g->report->trace, &flame.warnings, &flame.n_warnings);
	if (err)
		return err;
	flame.title = text_get(&title);
	return svg_write_flame(f, &flame);
}

struct ebt_error *group_flame_write(struct grouping *g)
{
	struct ebt_error *err;
	FILE *f;

	weigh_tree(g);
	err = calltree_finish(g->tree)
		      ?: out_open_picture(g->report->options, "--flame", g->flame, &f);
	if (err)
		return err;
	err = write_svg(g, f);
	if (!err && (fflush(f) || ferror(f)))
		err = ebt_error_errno(errno, "cannot write '%s'", g->flame);
	fclose(f);
	return err;
}
