/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colours and legend by category; see svg_categories.h. Names of categories are plain letters. */
#include "report/stacks/svg_categories.h"

#include <inttypes.h>
#include <stdlib.h>

#include "format/base/compare.h"

#define PER_ROW	  6
#define MAX_SHOWN 24 /* more than an eye can tell apart */
#define WIDTH	  190
#define LEFT	  10
#define ROW	  16

static int compare(const void *a, const void *b)
{
	const struct svg_category *x = a, *y = b;

	return ebt_compare(y->self, x->self) ?: ebt_compare(x->category, y->category);
}

struct ebt_error *svg_category_list(const struct svg_flame *flame, struct svg_category **ret,
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
	qsort(list, used, sizeof(*list), compare);
	*ret = list;
	*ret_n = used < MAX_SHOWN ? used : MAX_SHOWN;
	return NULL;
}

unsigned int svg_category_rows(size_t n)
{
	return n ? (unsigned int)((n - 1) / PER_ROW + 1) : 1;
}

/* The same category has the same colour in every picture. Hues go by the golden angle, so that few
 * are far apart; those that come near each other again differ in lightness and saturation. */
void svg_category_style(FILE *f, const struct categories *categories)
{
	fputs("<style>\n.g0 { fill: #d8d6d0; }\n", f);
	for (uint32_t i = 1; i < categories_n(categories); i++)
		fprintf(f, ".g%" PRIu32 " { fill: hsl(%u, %u%%, %u%%); }\n", i,
			(unsigned int)(i * UINT64_C(137508) / 1000 % 360), 45 + i / 4 % 2 * 30,
			56 + i % 4 * 8);
	fputs("</style>\n", f);
}

void svg_category_class(FILE *f, uint32_t category)
{
	fprintf(f, "g%" PRIu32, category);
}

void svg_category_legend(FILE *f, const struct svg_flame *flame, const struct svg_category *list,
			 size_t n, unsigned int y)
{
	uint64_t all = calltree_total(flame->tree);
	unsigned int rows = svg_category_rows(n);

	fputs("<g id=\"legend\">\n", f);
	for (size_t i = 0; i < n; i++) {
		unsigned int x = LEFT + WIDTH * (unsigned int)(i % PER_ROW);
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
