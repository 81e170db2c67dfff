/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a tree is made of that is shown; see select.h. */
#include "report/trees/select.h"

#include <stdlib.h>
#include <string.h>

#include "report/stacks/calltree_shape.h"
#include "report/stacks/model_categories.h"

static bool wants_categories(const struct options *options)
{
	const char *color = options_string(options, "color");

	return options_flag(options, "categories") || options_string(options, "category") ||
	       (color && strcmp(color, "category") == 0);
}

static struct ebt_error *no_category(const char *name)
{
	return ebt_error_create(EBT_ERR_INVALID,
				"--category: no line of the files with categories has '%s'", name);
}

/* Stacks are told apart before frames are left out or turned over. */
static struct ebt_error *categorize(const struct options *options, struct calltree_shape *shape,
				    struct tree_feed *feed, bool **ret_keep)
{
	const char *name = options_string(options, "category");
	_cleanup_tree_categories_ struct tree_categories of = { 0 };
	_cleanup_free_ bool *selected = NULL;
	struct ebt_error *err;
	uint32_t category = 0;

	err = categories_load(options_string(options, "category-file"), &feed->categories);
	if (!err)
		err = tree_categories_make(feed->tree, feed->categories, true, &of);
	if (!err && name && !categories_find(feed->categories, name, &category))
		err = no_category(name);
	if (!err && name)
		err = tree_categories_with(&of, category, ret_keep);
	shape->keep = *ret_keep;
	if (!err)
		err = calltree_select(feed->tree, shape, &selected);
	return err ? err : tree_categories_sum(&of, selected, &feed->category_sums);
}

struct ebt_error *tree_select(const struct options *options, struct tree_feed *feed)
{
	struct calltree_shape shape = {
		.focus = options_string(options, "focus"),
		.ignore = options_string(options, "ignore"),
		.no_libraries = options_flag(options, "no-libraries"),
		.bottom_up = options_flag(options, "bottom-up"),
		.by_weight = options_flag(options, "left-heavy"),
	};
	_cleanup_free_ bool *keep = NULL;
	struct calltree *shaped;
	struct ebt_error *err = NULL;

	if (wants_categories(options))
		err = categorize(options, &shape, feed, &keep);
	else if (options_string(options, "category-file"))
		err = ebt_error_create(EBT_ERR_INVALID,
				       "--category-file: nothing asks for categories");
	if (err || !calltree_is_shaped(&shape))
		return err;
	err = calltree_reshape(feed->tree, &shape, &shaped);
	if (err)
		return err;
	feed->whole = feed->tree;
	feed->tree = shaped;
	return NULL;
}
