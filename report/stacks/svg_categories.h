/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colours and legend of a flame graph by category. */
#ifndef REPORT_STACKS_SVG_CATEGORIES_H
#define REPORT_STACKS_SVG_CATEGORIES_H

#include <stdio.h>

#include "report/stacks/out_svg.h"

struct svg_category {
	uint64_t self;
	uint32_t category;
};

/* What the legend shows, the heaviest first; free(). */
struct ebt_error *svg_category_list(const struct svg_flame *flame, struct svg_category **ret,
				    size_t *ret_n);
/* Rows that the legend takes. */
unsigned int svg_category_rows(size_t n);

void svg_category_style(FILE *f, const struct categories *categories);
void svg_category_class(FILE *f, uint32_t category);
/* y: of its last row. */
void svg_category_legend(FILE *f, const struct svg_flame *flame, const struct svg_category *list,
			 size_t n, unsigned int y);

#endif
