/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flame graphs; see out_svg.h. */
#include "report/stacks/out_svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "report/base/text.h"
#include "report/stacks/model_diff.h"

/* The picture as written; the script fits it to the window. flame.js knows ROW and PAD too. */
#define WIDTH 1200
#define PAD   10
#define ROW   16

/* A frame gets a share of the width of at least 1/PRUNE, that is 0.1 pixels. */
#define PRUNE	   ((WIDTH - 2 * PAD) * 10)

#define CHARACTER  6.7 /* width of one in pixels; flame.js has the same */
#define MAX_TITLE  120 /* characters */
#define LINE_LIMIT 190
#define PER_ROW	   6
#define KEY_WIDTH  190
#define MAX_SHOWN  24	/* categories; more than an eye can tell apart */
#define NAME_LIMIT 4096 /* bytes: a C++ name can be longer than the picture is useful */

static const char script[] =
#include "report/flame.js.inc"
	;

static const char style[] =
#include "report/flame.css.inc"
	;

/* First letter of the CSS class. */
static const char kind_class[CALLTREE_N_KINDS] = {
	[CALLTREE_ROOT] = 'r',	 [CALLTREE_USER] = 'u',	      [CALLTREE_LIBRARY] = 'l',
	[CALLTREE_KERNEL] = 'k', [CALLTREE_INLINED] = 'i',    [CALLTREE_JIT] = 'j',
	[CALLTREE_PYTHON] = 'p', [CALLTREE_UNRESOLVED] = 'x', [CALLTREE_ON_CPU] = 'c',
	[CALLTREE_QUEUED] = 'q', [CALLTREE_OFF_CPU] = 'o',
};

struct svg_category {
	uint64_t self;
	uint32_t category;
};

struct picture {
	FILE *f;
	const struct svg_flame *flame;
	const struct calltree_node *nodes;
	const struct calltree_func *funcs;
	uint64_t *starts; /* by node: weight to its left */
	uint32_t *depths;
	uint32_t n_nodes, n_drawn, rows;
	uint32_t n_weighted; /* nodes with a total */
	unsigned int top, height;
	bool kinds[CALLTREE_N_KINDS];	 /* that are in the picture */
	struct svg_category *categories; /* the legend, where frames are coloured by them */
	size_t n_categories;
	struct text text; /* scratch */
};

static bool drawn(const struct picture *p, uint32_t node)
{
	uint64_t total = p->nodes[node].total;

	return total && (node == 0 || (unsigned __int128)total * PRUNE >= p->nodes[0].total);
}

static struct ebt_error *lay_out(struct picture *p)
{
	p->starts = calloc(p->n_nodes, sizeof(*p->starts));
	p->depths = calloc(p->n_nodes, sizeof(*p->depths));
	if (!p->starts || !p->depths)
		return &ebt_enomem;
	for (uint32_t i = 0; i < p->n_nodes; i++) {
		const struct calltree_node *node = &p->nodes[i];
		uint64_t start = p->starts[i];

		if (i)
			p->depths[i] = p->depths[node->parent] + 1;
		for (uint32_t c = node->child; c; c = p->nodes[c].sibling) {
			p->starts[c] = start;
			start += p->nodes[c].total;
		}
		p->n_weighted += node->total > 0;
		if (!drawn(p, i))
			continue;
		p->n_drawn++;
		p->kinds[calltree_node_kind(p->flame->tree, i)] = true;
		if (p->depths[i] >= p->rows)
			p->rows = p->depths[i] + 1;
	}
	return NULL;
}

/* --- pieces of text --- */

const char *svg_clipped(struct text *text, const char *s, size_t columns)
{
	size_t len = strnlen(s, NAME_LIMIT);
	size_t fits = text_fit(s, len, columns);

	text_clear(text);
	if (fits < len) {
		fits = text_fit(s, len, columns > 2 ? columns - 2 : 0);
		text_xml(text, (struct ebt_str){ s, fits });
		text_cstr(text, "..");
	} else {
		text_xml(text, (struct ebt_str){ s, len });
	}
	return text_get(text);
}

/* "+12.3 ms", as part of a label. */
static void add_change(struct picture *p, uint32_t index)
{
	double change = p->flame->changes[index];

	text_cstr(&p->text, change < 0 ? "\nchange -" : "\nchange +");
	text_duration(&p->text, (uint64_t)fabs(change));
	if (diff_within_error(change, p->flame->errors[index]))
		text_cstr(&p->text, ", within sampling error");
}

static void add_amount(struct text *text, uint64_t weight, const char *unit)
{
	_cleanup_text_ struct text amount = TEXT_INIT;

	text_amount(&amount, weight, unit ? unit : "ns");
	text_xml(text, text_str(&amount));
}

static void add_label(struct picture *p, uint32_t index)
{
	const struct calltree_node *node = &p->nodes[index];
	const struct calltree_func *func = &p->funcs[node->func];
	uint64_t all = p->nodes[0].total;
	struct text *text = &p->text;

	text_clear(text);
	text_xml(text, (struct ebt_str){ func->name, strnlen(func->name, NAME_LIMIT) });
	text_cstr(text, "\n");
	add_amount(text, node->total, p->flame->unit);
	text_printf(text, ", %.2f %%", all ? 100.0 * (double)node->total / (double)all : 0.0);
	if (p->flame->changes)
		add_change(p, index);
	if (index == 0)
		return;
	text_printf(text, "\n%s", calltree_kind_name(calltree_node_kind(p->flame->tree, index)));
	if (p->flame->node_categories && func->kind != CALLTREE_ROOT) {
		text_cstr(text, "\n");
		text_cstr(text,
			  categories_name(p->flame->categories, p->flame->node_categories[index]));
	}
	if (func->object[0]) {
		text_cstr(text, "\n");
		text_xml(text, (struct ebt_str){ func->object, strnlen(func->object, NAME_LIMIT) });
	}
	if (node->file) {
		text_cstr(text, "\n");
		text_xml(text, (struct ebt_str){ node->file, strnlen(node->file, NAME_LIMIT) });
		text_printf(text, ":%" PRIu32, node->line_first);
		if (node->line_last != node->line_first)
			text_printf(text, "-%" PRIu32, node->line_last);
	}
}

/* --- differences --- */

/* Classes of frames that grew or shrank, by the share of the picture that the change is. */
static const double change_levels[] = { 0, 0.01, 0.03, 0.1 };
#define N_CHANGE_LEVELS (sizeof(change_levels) / sizeof(change_levels[0]))

static void write_change_class(struct picture *p, uint32_t index)
{
	double change = p->flame->changes[index];
	double share = fabs(change) / (double)p->nodes[0].total;
	size_t level = 0;

	if (diff_within_error(change, p->flame->errors[index]) || change == 0) {
		fputs("same", p->f);
		return;
	}
	while (level + 1 < N_CHANGE_LEVELS && share >= change_levels[level + 1])
		level++;
	fprintf(p->f, "%s%zu", change > 0 ? "more" : "less", level);
}

static void write_change_legend(struct picture *p)
{
	static const struct {
		const char *class, *name;
	} keys[] = { { "less3", "less" },
		     { "same", "within sampling error" },
		     { "more3", "more" } };
	int x = PAD;

	fputs("<g id=\"legend\">\n", p->f);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		fprintf(p->f,
			"<rect class=\"%s\" x=\"%d\" y=\"%u\" width=\"12\" height=\"12\"/>"
			"<text x=\"%d\" y=\"%u\">%s</text>\n",
			keys[i].class, x, p->top - 40, x + 16, p->top - 30, keys[i].name);
		x += i == 1 ? 170 : 70;
	}
	fputs("</g>\n", p->f);
}

/* --- colours --- */

/* The same name has the same shade in every picture. */
static unsigned int shade(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return (h ^ h >> 15) & 3;
}

/* --- categories, whose names are plain letters --- */

static int compare_categories(const void *a, const void *b)
{
	const struct svg_category *x = a, *y = b;

	return ebt_compare(y->self, x->self) ?: ebt_compare(x->category, y->category);
}

/* What the legend shows, the heaviest first; free(). */
static struct ebt_error *category_list(const struct svg_flame *flame, struct svg_category **ret,
				       size_t *ret_n)
{
	size_t n = categories_n(flame->categories), used = 0;
	struct svg_category *list = calloc(n, sizeof(*list));

	if (!list)
		return &ebt_enomem;
	for (uint32_t i = 0; i < n; i++) {
		if (flame->category_sums[i].self)
			list[used++] = (struct svg_category){ flame->category_sums[i].self, i };
	}
	qsort(list, used, sizeof(*list), compare_categories);
	*ret = list;
	*ret_n = used < MAX_SHOWN ? used : MAX_SHOWN;
	return NULL;
}

static unsigned int category_rows(size_t n)
{
	return n ? (unsigned int)((n - 1) / PER_ROW + 1) : 1;
}

/* The same category has the same colour in every picture. Hues go by the golden angle, so that few
 * are far apart; those that come near each other again differ in lightness and saturation. */
static void category_style(FILE *f, const struct categories *categories)
{
	fputs("<style>\n.g0 { fill: #d8d6d0; }\n", f);
	for (uint32_t i = 1; i < categories_n(categories); i++)
		fprintf(f, ".g%" PRIu32 " { fill: hsl(%u, %u%%, %u%%); }\n", i,
			(unsigned int)(i * UINT64_C(137508) / 1000 % 360), 45 + i / 4 % 2 * 30,
			56 + i % 4 * 8);
	fputs("</style>\n", f);
}

/* y: of its last row. */
static void category_legend(FILE *f, const struct svg_flame *flame, const struct svg_category *list,
			    size_t n, unsigned int y)
{
	uint64_t all = calltree_total(flame->tree);
	unsigned int rows = category_rows(n);

	fputs("<g id=\"legend\">\n", f);
	for (size_t i = 0; i < n; i++) {
		unsigned int x = PAD + KEY_WIDTH * (unsigned int)(i % PER_ROW);
		unsigned int top = y - ROW * (rows - 1 - (unsigned int)(i / PER_ROW));

		fprintf(f,
			"<rect class=\"g%" PRIu32 "\" x=\"%u\" y=\"%u\" width=\"12\" "
			"height=\"12\"/><text x=\"%u\" y=\"%u\">%s %.1f %%</text>\n",
			list[i].category, x, top, x + 16, top + 10,
			categories_name(flame->categories, list[i].category),
			all ? 100.0 * (double)list[i].self / (double)all : 0.0);
	}
	fputs("</g>\n", f);
}

/* --- parts of the picture --- */

static void write_frame(struct picture *p, uint32_t index)
{
	const struct calltree_node *node = &p->nodes[index];
	const char *name = p->funcs[node->func].name;
	double scale = (double)(WIDTH - 2 * PAD) / (double)p->nodes[0].total;
	double x = PAD + (double)p->starts[index] * scale;
	double w = (double)node->total * scale;
	unsigned int depth = p->depths[index];
	unsigned int row = p->flame->icicle ? depth : p->rows - 1 - depth;
	unsigned int y = p->top + ROW * row;

	add_label(p, index);
	fputs("<g class=\"", p->f);
	if (p->flame->changes)
		write_change_class(p, index);
	else if (p->flame->by_category && p->funcs[node->func].kind != CALLTREE_ROOT)
		fprintf(p->f, "g%" PRIu32, p->flame->node_categories[index]);
	else
		fprintf(p->f, "%c%u", kind_class[calltree_node_kind(p->flame->tree, index)],
			shade(name));
	fprintf(p->f,
		"\" data-s=\"%" PRIu64 "\" data-v=\"%" PRIu64 "\" data-d=\"%u\">"
		"<title>%s</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\"/>",
		p->starts[index], node->total, depth, text_get(&p->text), x, y, w, ROW - 1);
	fprintf(p->f, "<text x=\"%.2f\" y=\"%.1f\">%s</text></g>\n", x + 3, y + 11.5,
		w >= 6 + 3 * CHARACTER ? svg_clipped(&p->text, name, (size_t)((w - 6) / CHARACTER))
				       : "");
}

/* Parents first, from left to right: the script relies on it. */
static void write_frames(struct picture *p)
{
	uint32_t at = 0;

	fputs("<g id=\"frames\">\n", p->f);
	if (p->nodes[0].total)
		write_frame(p, 0);
	at = p->nodes[0].child;
	while (at) {
		if (drawn(p, at)) {
			write_frame(p, at);
			if (p->nodes[at].child) {
				at = p->nodes[at].child;
				continue;
			}
		}
		while (at && !p->nodes[at].sibling)
			at = p->nodes[at].parent;
		at = p->nodes[at].sibling;
	}
	fputs("</g>\n", p->f);
}

static unsigned int write_line(struct picture *p, const char *class, unsigned int y, const char *s)
{
	fprintf(p->f, "<text class=\"%s\" data-place=\"middle 0\" x=\"%d\" y=\"%u\">%s</text>\n",
		class, WIDTH / 2, y, svg_clipped(&p->text, s, LINE_LIMIT));
	return y + ROW;
}

static void write_legend(struct picture *p)
{
	int x = PAD;

	fputs("<g id=\"legend\">\n", p->f);
	for (int i = CALLTREE_ROOT + 1; i < CALLTREE_N_KINDS; i++) {
		if (!p->kinds[i])
			continue;
		fprintf(p->f,
			"<rect class=\"%c0\" x=\"%d\" y=\"%u\" width=\"12\" height=\"12\"/>"
			"<text x=\"%d\" y=\"%u\">%s</text>\n",
			kind_class[i], x, p->top - 40, x + 16, p->top - 30, calltree_kind_name(i));
		x += 100;
	}
	fputs("</g>\n", p->f);
}

static void write_controls(struct picture *p)
{
	/* Only the script can do anything with them, and shows them. */
	fprintf(p->f,
		"<g id=\"controls\" style=\"display:none\">\n"
		"<g id=\"reset\" class=\"control\" role=\"button\" tabindex=\"0\">"
		"<text x=\"%d\" y=\"24\">reset zoom</text></g>\n"
		"<g id=\"turn\" class=\"control\" role=\"button\" tabindex=\"0\">"
		"<text x=\"%d\" y=\"24\">%s</text></g>\n</g>\n",
		PAD + 60, PAD, p->flame->icicle ? "flame" : "icicle");
}

static void write_lines(struct picture *p)
{
	const struct svg_flame *flame = p->flame;
	unsigned int y = 44 + ROW + 2;
	char pruned[120];

	for (size_t i = 0; i < flame->n_lines; i++) {
		if (flame->lines[i])
			y = write_line(p, "line", y, flame->lines[i]);
	}
	for (size_t i = 0; i < flame->n_warnings; i++) {
		if (flame->warnings[i])
			y = write_line(p, "warning", y, flame->warnings[i]);
	}
	if (!p->nodes[0].total)
		write_line(p, "warning", y, "No stacks: there is nothing to show.");
	else if (p->n_drawn < p->n_weighted) {
		snprintf(pruned, sizeof(pruned),
			 "%" PRIu32 " of %" PRIu32 " frames %s narrower than 0.1 pixels and left "
			 "out.",
			 p->n_weighted - p->n_drawn, p->n_weighted,
			 text_plural(p->n_weighted - p->n_drawn, "is", "are"));
		write_line(p, "line", y, pruned);
	}
	fprintf(p->f,
		"<text id=\"details\" x=\"%d\" y=\"%u\"> </text>\n"
		"<text id=\"matched\" data-place=\"right -%d\" x=\"%d\" y=\"%u\" "
		"text-anchor=\"end\"> </text>\n",
		PAD, p->top - 10, PAD, WIDTH - PAD, p->top - 30);
}

static void write_begin(struct picture *p)
{
	const struct svg_flame *flame = p->flame;
	const char *unit = flame->unit ? flame->unit : "ns";
	unsigned int lines = 0;

	for (size_t i = 0; i < flame->n_lines; i++)
		lines += flame->lines[i] != NULL;
	for (size_t i = 0; i < flame->n_warnings; i++)
		lines += flame->warnings[i] != NULL;
	/* Title, lines, one on what was left out, legend, details. */
	p->top = 52 + ROW * (lines + 1) + 44;
	if (p->n_categories)
		p->top += ROW * (category_rows(p->n_categories) - 1);
	p->height = p->top + ROW * p->rows + 2 * ROW;
	text_clear(&p->text);
	text_xml(&p->text, ebt_str_of(unit));
	fprintf(p->f,
		"<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
		"height=\"%u\" viewBox=\"0 0 %d %u\" data-total=\"%" PRIu64 "\" data-rows=\"%u\" "
		"data-top=\"%u\" data-width=\"%d\" data-icicle=\"%d\" data-unit=\"%s\">\n",
		WIDTH, p->height, WIDTH, p->height, p->nodes[0].total, p->rows, p->top, WIDTH,
		flame->icicle, text_get(&p->text));
	text_clear(&p->text);
	text_xml(&p->text, ebt_str_of(flame->title));
	fprintf(p->f, "<title>%s</title>\n<style>\n%s</style>\n", text_get(&p->text), style);
	if (flame->by_category)
		category_style(p->f, flame->categories);
	fputs("<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n", p->f);
}

/* What is above the frames. It is drawn after them, as the script keeps it in view above them. */
static void write_head(struct picture *p)
{
	fprintf(p->f, "<g id=\"head\">\n<rect class=\"page\" width=\"100%%\" height=\"%u\"/>\n",
		p->top - 4);
	fprintf(p->f, "<text id=\"title\" data-place=\"middle 0\" x=\"%d\" y=\"44\">%s</text>\n",
		WIDTH / 2, svg_clipped(&p->text, p->flame->title, MAX_TITLE));
	write_lines(p);
	if (p->flame->changes)
		write_change_legend(p);
	else if (p->flame->by_category)
		category_legend(p->f, p->flame, p->categories, p->n_categories, p->top - 40);
	else
		write_legend(p);
	write_controls(p);
	fputs("</g>\n", p->f);
}

struct ebt_error *svg_write_flame(FILE *f, const struct svg_flame *flame)
{
	struct picture p = { .f = f, .flame = flame };
	struct ebt_error *err;
	uint32_t n_funcs;

	p.nodes = calltree_nodes(flame->tree, &p.n_nodes);
	p.funcs = calltree_funcs(flame->tree, &n_funcs);
	err = lay_out(&p);
	if (!err && flame->by_category)
		err = category_list(flame, &p.categories, &p.n_categories);
	if (!err) {
		write_begin(&p);
		write_frames(&p);
		write_head(&p);
		fprintf(f, "<script><![CDATA[\n%s]]></script>\n</svg>\n", script);
		err = text_error(&p.text);
	}
	text_deinit(&p.text);
	free(p.starts);
	free(p.depths);
	free(p.categories);
	return err;
}

struct ebt_error *svg_write_tree(FILE *f, struct trace *trace, const struct calltree *tree,
				 const char *what)
{
	struct svg_flame flame = { .tree = tree, .title = what };
	_cleanup_text_ struct text title = TEXT_INIT;
	const char *command;
	struct ebt_error *err;

	err = ebt_reader_meta(trace_reader(trace), "ebrec.command_line", &command)
		      ?: trace_warnings(trace, &flame.warnings, &flame.n_warnings);
	if (err)
		return err;
	if (command) {
		text_printf(&title, "%s: %s", what, command);
		flame.title = text_get(&title);
	}
	return svg_write_flame(f, &flame);
}
