/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Categories of functions ("allocation", "locking" …), from text files that users may write:
 * report/stacks/categories.txt says how, and is built in. Files are bounded, and errors name their
 * line.
 */
#ifndef REPORT_STACKS_CATEGORIES_H
#define REPORT_STACKS_CATEGORIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "report/stacks/model_calltree.h"

struct categories;

enum {
	CATEGORY_NONE,	     /* "uncategorized" */
	CATEGORY_UNWINDABLE, /* what lies further out could not be found */
};

struct category_rule {
	uint32_t category;
	bool inherit; /* functions without a category that it calls have this one */
};

/*
 * The rules of `path`, or, where it is NULL, of $XDG_CONFIG_HOME/ebreport/categories if there is
 * one; behind them those that are built in. EBT_ERR_INVALID: a file that is none, with its line.
 */
struct ebt_error *categories_load(const char *path, struct categories **ret);
/* Those of a text alone; name is for messages. */
struct ebt_error *categories_parse(const char *name, const char *text, size_t len,
				   struct categories **ret);
void categories_destroy(struct categories *categories);
DEFINE_CLEANUP(struct categories *, categories_destroy);

size_t categories_n(const struct categories *categories);
const char *categories_name(const struct categories *categories, uint32_t category);
/* False: there is no such category. */
bool categories_find(const struct categories *categories, const char *name, uint32_t *ret);

/* Are there rules for processes, so that the same function may have several categories? */
bool categories_by_process(const struct categories *categories);

/* The first rule that fits. process: its name; NULL where it is not known. */
struct category_rule categories_match(const struct categories *categories,
				      const struct calltree_func *func, const char *process);

#endif
