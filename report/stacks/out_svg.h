/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call tree as a flame graph: one SVG file that needs nothing else. It shows something without
 * its script too; with it, in a browser, it zooms and searches. The script is the same in every
 * picture and holds nothing from the trace.
 */
#ifndef REPORT_STACKS_OUT_SVG_H
#define REPORT_STACKS_OUT_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/base/text.h"
#include "report/stacks/model_categories.h"

struct svg_flame {
	const struct calltree *tree; /* finished */
	const char *unit;	     /* of its weights, see text_amount(); NULL: "ns" */
	const char *title;
	const char *const *lines; /* below the title; what is NULL is left out */
	size_t n_lines;
	const char *const *warnings; /* likewise, and in another colour */
	size_t n_warnings;
	bool icicle; /* the root is at the top */
	/* Categories by node, their names and sums, or NULL: they are in the labels, and where
	 * by_category is set frames are coloured by them. */
	const uint32_t *node_categories;
	const struct categories *categories;
	const struct category_sum *category_sums;
	bool by_category;
	/* By node, or NULL: frames are coloured by how much more (or, negative, less) they are than
	 * in another trace, and not at all where that is within DIFF_ERRORS times the error. */
	const double *changes, *errors;
};

/* Titles, names and the unit may be any bytes. Write errors stay in the FILE. */
struct ebt_error *svg_write_flame(FILE *f, const struct svg_flame *flame);
/* The same of a tree in ns, with the warnings of its trace; the title is "what: COMMAND". */
struct ebt_error *svg_write_tree(FILE *f, struct trace *trace, const struct calltree *tree,
				 const char *what);

/* At most so many columns of it, then two dots; ready for XML. Valid until the text changes. */
const char *svg_clipped(struct text *text, const char *s, size_t columns);

#endif
