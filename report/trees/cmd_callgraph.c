/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport callgraph`: functions, who calls them, and what they call. */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/stacks/calltree_shape.h"
#include "report/trees/feed.h"

/* Without --all, in text: functions and branches below this are noise. */
#define MIN_PERCENT   0.5

#define DEFAULT_TREES 5 /* functions whose callers and descendants are shown */

/* Without --all and --top, in text: what is read at a glance. */
#define DEFAULT_FUNCTIONS 20
#define DEFAULT_NODES	  12 /* of each tree */

struct callgraph {
	struct report *report;
	const struct calltree *tree;
	const struct calltree_func *funcs;
	const struct categories *categories; /* where they are shown; else NULL */
	struct calltree_flat *flat;
	size_t n_flat;
	uint64_t all;	/* weight of the whole tree */
	uint64_t n_cut; /* nodes that a tree has more than are shown */
	/* Columns of weights: their keys, "self_ns" of times, else "self". */
	const char *self, *total;
	enum out_type type;
	unsigned int samples; /* OUT_HIDDEN: it is not samples that are counted */
};

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Shown in text even without --all? */
static bool is_shown(const struct callgraph *c, uint64_t total, uint64_t whole)
{
	return out_format(c->report->out) != FORMAT_TABLE ||
	       options_flag(c->report->options, "all") || percent(total, whole) >= MIN_PERCENT;
}

/* What --top says, else what is enough for people; 0: all. */
static uint64_t rows_at_most(const struct callgraph *c, uint64_t enough)
{
	const struct options *o = c->report->options;

	if (o->top || options_flag(o, "all") || out_format(c->report->out) != FORMAT_TABLE)
		return o->top;
	return enough;
}

/* In tables for people, the last part of a path; it takes less room than the function's name. */
static const char *short_path(const struct callgraph *c, const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && out_format(c->report->out) == FORMAT_TABLE ? slash + 1 : path;
}

/* "file.c:12-18"; nothing where it is not known. */
static void add_lines(const struct callgraph *c, struct text *text, const char *file,
		      uint32_t first, uint32_t last)
{
	if (!file)
		return;
	text_cstr(text, short_path(c, file));
	text_printf(text, ":%" PRIu32, first);
	if (last != first)
		text_printf(text, "-%" PRIu32, last);
}

/* --- functions --- */

static struct out_value category_of(const struct callgraph *c, const struct calltree_func *func)
{
	struct category_rule rule;

	if (!c->categories)
		return out_null();
	rule = categories_match(c->categories, func, NULL);
	return rule.category ? out_cstr(categories_name(c->categories, rule.category)) : out_null();
}

/* The last column is there with --categories only. */
#define FUNCTIONS(X)                                                                       \
	X(c->self, "SELF", c->type, out_u64(flat->self), OUT_SORT)                         \
	X("self_percent", "SELF-%", OUT_PERCENT, out_f64(percent(flat->self, c->all)))     \
	X(c->total, "TOTAL", c->type, out_u64(flat->total))                                \
	X("total_percent", "TOTAL-%", OUT_PERCENT, out_f64(percent(flat->total, c->all)))  \
	X("count", "STACKS", OUT_U64, out_u64(flat->count), OUT_DETAIL)                    \
	X("samples", "SAMPLES", OUT_U64, out_u64(flat->stacks), c->samples, 96)            \
	X("kind", "KIND", OUT_STRING, out_cstr(calltree_kind_name(kind)), OUT_DETAIL)      \
	X("function", "FUNCTION", OUT_STRING, out_str_if(text_str(&name)), OUT_NAME)       \
	X("object", "OBJECT", OUT_STRING, out_cstr(short_path(c, func->object)), OUT_FLEX) \
	X("lines", "LINES", OUT_STRING, out_str_if(text_str(&lines)), OUT_FLEX)            \
	X("inlined", "INLINED", OUT_BOOL, out_u64(flat->inlined), OUT_DETAIL)              \
	X("unresolved", "REASON", OUT_STRING,                                              \
	  func->reason == SYM_OK ? out_null() : out_cstr(sym_reason_name(func->reason)),   \
	  OUT_DETAIL)                                                                      \
	X("category", "CATEGORY", OUT_STRING, category_of(c, func))

static struct ebt_error *put_function(struct callgraph *c, const struct calltree_flat *flat)
{
	const struct calltree_func *func = &c->funcs[flat->func];
	enum calltree_kind kind = func->kind;
	_cleanup_text_ struct text name = TEXT_INIT, lines = TEXT_INIT;

	text_cstr(&name, func->name);
	if (flat->inlined && out_format(c->report->out) == FORMAT_TABLE)
		text_cstr(&name, " (inlined)");
	if (flat->inlined && kind != CALLTREE_UNRESOLVED)
		kind = CALLTREE_INLINED;
	add_lines(c, &lines, flat->file, flat->line_first, flat->line_last);
	return out_row_n(c->report->out, 0, OUT_VALUES(FUNCTIONS),
			 OUT_N_VALUES(OUT_VALUES(FUNCTIONS)) - !c->categories);
}

static struct ebt_error *put_functions(struct callgraph *c)
{
	struct out *out = c->report->out;
	struct out_table table = OUT_TABLE_OF(c->categories ? "functions" : "rows", FUNCTIONS,
					      .title = c->categories ? "\nFunctions" : NULL,
					      .flags = c->categories ? OUT_FIXED : 0);
	uint64_t shown = 0, top = rows_at_most(c, DEFAULT_FUNCTIONS);
	struct ebt_error *err;

	table.n_columns -= !c->categories;
	table.top = top;
	err = out_begin(out, &table);
	for (size_t i = 0; !err && i < c->n_flat; i++) {
		if (!is_shown(c, c->flat[i].total, c->all))
			continue;
		err = put_function(c, &c->flat[i]);
		shown++;
	}
	if (!err)
		err = out_end(out);
	shown = top && top < shown ? top : shown;
	if (!err && shown < c->n_flat)
		out_printf(out, "%" PRIu64 " more function%s: --top N, --all\n", c->n_flat - shown,
			   text_plural(c->n_flat - shown, "", "s"));
	return err;
}

/* --- categories --- */

#define CATEGORIES(X)                                                                       \
	X(c->self, "SELF", c->type, out_u64(sums[i].self), OUT_SORT)                        \
	X("self_percent", "SELF-%", OUT_PERCENT, out_f64(percent(sums[i].self, c->all)))    \
	X(c->total, "TOTAL", c->type, out_u64(sums[i].total))                               \
	X("total_percent", "TOTAL-%", OUT_PERCENT, out_f64(percent(sums[i].total, c->all))) \
	X("count", c->samples ? "STACKS" : "SAMPLES", OUT_U64, out_u64(sums[i].count))      \
	X("category", "CATEGORY", OUT_STRING, out_cstr(categories_name(c->categories, i)), OUT_FLEX)

static struct ebt_error *put_categories(struct callgraph *c, const struct category_sum *sums)
{
	const struct out_table table = OUT_TABLE_OF("rows", CATEGORIES);
	struct ebt_error *err = out_begin(c->report->out, &table);

	for (uint32_t i = 0; !err && i < categories_n(c->categories); i++) {
		if (sums[i].count || sums[i].total)
			err = out_row(c->report->out, 0, OUT_VALUES(CATEGORIES));
	}
	return err ? err : out_end(c->report->out);
}

/* --- callers and descendants --- */

/* How a node is shown. */
struct shape {
	unsigned int depth;
	const char *mark; /* before its name */
};

#define NODES(X)                                                                                  \
	X(c->total, "TOTAL", c->type, out_u64(node->total))                                       \
	X("percent", "%", OUT_PERCENT, out_f64(percent(node->total, whole)))                      \
	X(c->self, "SELF", c->type, out_u64(node->self))                                          \
	X("samples", "SAMPLES", OUT_U64, out_u64(node->stacks), c->samples, 96)                   \
	X("function", "FUNCTION", OUT_STRING, out_str_if(text_str(&name)), OUT_INDENT | OUT_NAME) \
	X("inlined", "INLINED", OUT_BOOL, out_u64(node->inlined), OUT_DETAIL)                     \
	X("lines", "LINES", OUT_STRING, out_str_if(text_str(&lines)), OUT_FLEX)

static struct ebt_error *put_node(struct callgraph *c, const struct calltree_node *node,
				  const struct shape *shape, uint64_t whole)
{
	_cleanup_text_ struct text name = TEXT_INIT, lines = TEXT_INIT;

	text_printf(&name, "%s%s", shape->mark, c->funcs[node->func].name);
	if (node->inlined && out_format(c->report->out) == FORMAT_TABLE)
		text_cstr(&name, " (inlined)");
	if (node->recursive)
		text_cstr(&name, " (recursive)");
	add_lines(c, &lines, node->file, node->line_first, node->line_last);
	return out_row(c->report->out, shape->depth, OUT_VALUES(NODES));
}

struct heavy {
	uint64_t total;
	uint32_t node;
};

/* The lightest first, of those the last made. */
static int compare_heavy(const void *a, const void *b)
{
	const struct heavy *x = a, *y = b;

	return ebt_compare(x->total, y->total) ?: ebt_compare(y->node, x->node);
}

/* Which nodes of a tree are shown: the heaviest, which are never without their parents. */
struct limit {
	uint64_t total; /* the lightest */
	uint64_t same;	/* so many of this weight */
};

static int compare_totals(const void *a, const void *b)
{
	return ebt_compare(*(const uint64_t *)b, *(const uint64_t *)a);
}

static struct ebt_error *find_limit(struct callgraph *c, const struct calltree_node *nodes,
				    uint32_t n_nodes, struct limit *ret)
{
	const uint64_t most = rows_at_most(c, DEFAULT_NODES);
	_cleanup_free_ uint64_t *totals = calloc(n_nodes, sizeof(*totals));
	size_t n = 0;

	if (!totals)
		return &ebt_enomem;
	for (uint32_t i = 0; i < n_nodes; i++) {
		if (nodes[i].total && is_shown(c, nodes[i].total, nodes[0].total))
			totals[n++] = nodes[i].total;
	}
	*ret = (struct limit){ .total = 1, .same = UINT64_MAX };
	if (!most || n <= most)
		return NULL;
	qsort(totals, n, sizeof(*totals), compare_totals);
	*ret = (struct limit){ .total = totals[most - 1], .same = 1 };
	while (ret->same < most && totals[most - 1 - ret->same] == ret->total)
		ret->same++;
	c->n_cut += n - most;
	return NULL;
}

/* Puts the children of a node on a stack, so that the heaviest comes off first. */
static struct ebt_error *push_children(const struct callgraph *c, const struct calltree_node *nodes,
				       uint32_t node, const struct limit *limit,
				       struct heavy **stack, size_t *n, size_t *capacity)
{
	size_t first = *n;
	struct ebt_error *err;

	for (uint32_t child = nodes[node].child; child; child = nodes[child].sibling) {
		if (nodes[child].total < limit->total ||
		    !is_shown(c, nodes[child].total, nodes[0].total))
			continue;
		err = ebt_array_reserve(stack, *n, capacity);
		if (err)
			return err;
		(*stack)[(*n)++] = (struct heavy){ nodes[child].total, child };
	}
	if (*n - first > 1)
		qsort(*stack + first, *n - first, sizeof(**stack), compare_heavy);
	return NULL;
}

/* Is there room for one of this weight? */
static bool takes(struct limit *limit, uint64_t total)
{
	if (total > limit->total)
		return true;
	return limit->same && limit->same--;
}

static struct ebt_error *put_tree(struct callgraph *c, uint32_t func, enum calltree_view which)
{
	bool text = out_format(c->report->out) == FORMAT_TABLE;
	_cleanup_(calltree_destroyp) struct calltree *view = NULL;
	const struct calltree_node *nodes;
	_cleanup_free_ struct heavy *stack = NULL;
	/* Of a node's children. In text an only child stands under its parent's first letter, as
	 * chains are long and terminals narrow; a dash begins each branch. */
	_cleanup_free_ struct shape *shapes = NULL;
	size_t n = 0, capacity = 0, before = 0;
	uint32_t n_nodes, last = 0;
	struct shape shape = { .mark = "" };
	struct limit limit;
	struct ebt_error *err = calltree_focus(c->tree, func, which, &view);

	if (err)
		return err;
	nodes = calltree_nodes(view, &n_nodes);
	shapes = calloc(n_nodes, sizeof(*shapes));
	if (!shapes)
		return &ebt_enomem;
	err = find_limit(c, nodes, n_nodes, &limit);
	if (err)
		return err;
	takes(&limit, nodes[0].total);
	err = put_node(c, &nodes[0], &shape, nodes[0].total);
	for (;;) {
		bool branches;

		if (!err)
			err = push_children(c, nodes, last, &limit, &stack, &n, &capacity);
		if (err)
			return err;
		branches = n - before > 1;
		shapes[last].depth = text && !branches && last ? shape.depth : shape.depth + 1;
		shapes[last].mark = !text ? "" : branches ? "- " : "  ";
		while (n && !takes(&limit, stack[n - 1].total))
			n--;
		if (!n)
			return NULL;
		last = stack[--n].node;
		before = n;
		shape = shapes[nodes[last].parent];
		err = put_node(c, &nodes[last], &shape, nodes[0].total);
	}
}

/* The trees of all chosen functions, one below the other. */
static struct ebt_error *put_trees(struct callgraph *c, const uint32_t *chosen, size_t n,
				   enum calltree_view which)
{
	bool callers = which == CALLTREE_CALLERS;
	const struct out_table table =
		OUT_TABLE_OF(callers ? "callers" : "descendants", NODES,
			     .title = callers ? "\nCallers (from the function outwards)"
					      : "\nDescendants",
			     .flags = OUT_FIXED | OUT_KEEP_ORDER | OUT_TREE | OUT_CUT);
	struct ebt_error *err;

	if (!n && out_format(c->report->out) == FORMAT_TABLE)
		return NULL;
	c->n_cut = 0;
	err = out_rows(c->report->out, &table, n, i, put_tree(c, chosen[i], which));
	if (!err && c->n_cut)
		out_printf(c->report->out,
			   "%" PRIu64 " more row%s of these trees: --top N, --all\n", c->n_cut,
			   text_plural(c->n_cut, "", "s"));
	return err;
}

/* --- which functions get trees --- */

static int compare_self(const void *a, const void *b)
{
	const struct calltree_flat *x = a, *y = b;

	return ebt_compare(y->self, x->self) ?: ebt_compare(y->total, x->total);
}

static struct ebt_error *choose_functions(struct callgraph *c, uint32_t **ret, size_t *ret_n)
{
	const char *pattern = options_string(c->report->options, "function");
	const uint64_t top = c->report->options->top;
	const uint64_t trees = top && top < DEFAULT_TREES ? top : DEFAULT_TREES;
	_cleanup_free_ uint32_t *chosen = calloc(c->n_flat + 1, sizeof(*chosen));
	size_t n = 0;

	if (!chosen)
		return &ebt_enomem;
	if (c->n_flat)
		qsort(c->flat, c->n_flat, sizeof(*c->flat), compare_self);
	for (size_t i = 0; i < c->n_flat; i++) {
		const char *name = c->funcs[c->flat[i].func].name;

		if (pattern ? strcmp(pattern, name) != 0 && fnmatch(pattern, name, 0) != 0
			    : n == trees || !c->flat[i].self)
			continue;
		chosen[n++] = c->flat[i].func;
	}
	if (pattern && !n)
		return ebt_error_create(EBT_ERR_INVALID, "no function `%s` in these stacks",
					pattern);
	*ret = take_ptr(chosen);
	*ret_n = n;
	return NULL;
}

/* What the weights are, where they are not time on or off CPU. */
static void put_weights(const struct callgraph *c, const struct tree_feed *feed)
{
	struct json *json = out_json(c->report->out);
	_cleanup_text_ struct text line = TEXT_INIT;

	if (!feed->table)
		return;
	if (json) {
		json_put(json, "event", cstr, feed->table);
		json_put(json, "weight", cstr, feed->weight ? feed->weight : "rows");
		json_put(json, "unit", cstr, feed->unit);
		return;
	}
	text_terminal(&line, ebt_str_of(feed->table));
	text_cstr(&line, ": ");
	text_amount(&line, c->all, feed->unit);
	text_printf(&line, " in %" PRIu64 " %s", feed->stacks,
		    text_plural(feed->stacks, "row", "rows"));
	out_printf(c->report->out, "%s\n", text_get(&line));
}

static struct ebt_error *run_callgraph(struct report *report)
{
	static const struct calltree_shape folded = { .fold = true };
	_cleanup_tree_feed_ struct tree_feed feed = { 0 };
	_cleanup_(calltree_destroyp) struct calltree *tree = NULL;
	_cleanup_free_ struct calltree_flat *flat = NULL;
	_cleanup_free_ uint32_t *chosen = NULL;
	struct callgraph c = { .report = report };
	uint32_t n;
	size_t n_chosen;
	bool time;
	struct ebt_error *err;

	err = tree_feed_read(report->trace, report->options, &feed)
		      ?: calltree_flat(feed.tree, &flat, &c.n_flat);
	if (err)
		return err;
	c.tree = feed.tree;
	time = !strcmp(feed.unit, "ns");
	c.self = time ? "self_ns" : "self";
	c.total = time ? "total_ns" : "total";
	c.type = time ? OUT_DURATION : strcmp(feed.unit, "bytes") ? OUT_U64 : OUT_BYTES;
	c.samples = feed.offcpu || feed.table ? OUT_HIDDEN : 0;
	c.flat = flat;
	c.all = calltree_total(feed.tree);
	c.funcs = calltree_funcs(feed.tree, &n);
	if (options_flag(report->options, "categories")) {
		c.categories = feed.categories;
		put_weights(&c, &feed);
		err = put_categories(&c, feed.category_sums);
		return err ? err : put_functions(&c);
	}
	err = choose_functions(&c, &chosen, &n_chosen);
	/* Sums are of all frames; the trees of people say once what calls itself. */
	if (!err && out_format(report->out) == FORMAT_TABLE)
		err = calltree_reshape(feed.tree, &folded, &tree);
	if (tree)
		c.tree = tree;
	if (!err)
		put_weights(&c, &feed);
	if (!err)
		err = put_functions(&c);
	if (!err)
		err = put_trees(&c, chosen, n_chosen, CALLTREE_CALLERS);
	if (!err)
		err = put_trees(&c, chosen, n_chosen, CALLTREE_CALLEES);
	return err;
}

static const struct option_def callgraph_options[] = {
	TREE_FEED_OPTIONS,
	{ "function", OPTION_STRING, "NAME",
	  "callers and descendants of these (a glob) instead of the heaviest" },
	{ "categories", OPTION_FLAG, NULL,
	  "what kind of work the time went to: sums of categories of functions" },
	{ "all", OPTION_FLAG, NULL, "all functions, and whole trees" },
	{ 0 },
};

static const char help[] =
	"Three tables. Functions: SELF is time in the function itself, TOTAL includes what it\n"
	"calls; a stack counts once however often the function is in it. Callers and\n"
	"descendants, as trees, of the functions with most SELF time or of --function: from\n"
	"the function outwards, and what it calls. LINES are those seen in these frames.\n"
	"With --event TABLE they are of that table's stacks, and SELF and TOTAL of one of its\n"
	"numbers; with --event PROBE of what ebrec recorded with -e PROBE, as "
	"tp:block:block_rq_issue:\n"
	"durations of calls, else how often it was hit.\n"
	"\n"
	"--categories sums stacks up by what they were doing: allocation, locking, page-faults.\n"
	"SELF is of stacks whose innermost function is of the category, or that got it from the\n"
	"nearest caller that passes its own on; TOTAL also of those that have it further out, so\n"
	"that percentages add up to more than 100. With --focus they are those of one function,\n"
	"with --category those of one category. The files that say so are yours to write: start\n"
	"with a copy of categories.txt, installed in share/ebreport, as\n"
	"~/.config/ebreport/categories; it explains itself.\n"
	"\n"
	"  ebreport callgraph --comm postgres t.ebt\n"
	"  ebreport callgraph --function 'malloc*' --json t.ebt\n"
	"  ebreport callgraph --categories --focus '^handle_request' t.ebt\n"
	"  ebreport callgraph --category page-faults --no-libraries t.ebt\n"
	"  ebreport callgraph --event fault --weight rows t.ebt\n"
	"  ebreport callgraph --event uprobe:libc.so.6:malloc --weight rows t.ebt\n";

const struct command command_callgraph = {
	.name = "callgraph",
	.fn = run_callgraph,
	.flags = COMMAND_NO_INTERVALS,
	.summary = "functions, their callers and descendants: self and total time",
	.elsewhere = "report calls functions profile top",
	.help = help,
	.options = callgraph_options,
};
