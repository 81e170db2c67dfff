/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules of categories: categories_read.c makes them of text, categories.c goes by them. */
#ifndef REPORT_STACKS_CATEGORIES_PRIVATE_H
#define REPORT_STACKS_CATEGORIES_PRIVATE_H

#include "report/stacks/categories.h"

#define MAX_NAME 4096 /* of a function's name: what of it counts */

enum heading_kind {
	HEADING_ALL,	 /* * */
	HEADING_KERNEL,	 /* Linux */
	HEADING_PYTHON,	 /* Python */
	HEADING_JIT,	 /* JIT */
	HEADING_PROCESS, /* @comm */
	HEADING_EXACT,	 /* [ext4] */
	HEADING_PATH,	 /* with a slash in it */
	HEADING_OBJECT,	 /* name of a file up to ".so" */
};

struct heading {
	enum heading_kind kind;
	const char *text;
};

/* Rules that stand below the same headings. */
struct category_section {
	uint32_t first_heading, n_headings, first_rule, n_rules;
};

struct rule {
	const char *pattern;
	struct category_rule result;
};

struct categories {
	char *texts[2]; /* which the rest points into */
	size_t n_texts;
	struct heading *headings;
	struct category_section *sections;
	struct rule *rules;
	size_t n_headings, n_sections, n_rules;
	size_t headings_capacity, sections_capacity, rules_capacity;
	char **names; /* by category */
	size_t n_names, names_capacity;
	bool by_process;
};

#endif
