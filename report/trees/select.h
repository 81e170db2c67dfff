/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which stacks of a fed tree are shown and how, by the options of the command line; and the
 * categories that they belong to. */
#ifndef REPORT_TREES_SELECT_H
#define REPORT_TREES_SELECT_H

#include "report/trees/feed.h"

/* feed->tree is finished; what is made of it takes its place. */
struct ebt_error *tree_select(const struct options *options, struct tree_feed *feed);

#endif
