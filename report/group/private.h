/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the parts of grouped tables: groups, and their tables. */
#ifndef REPORT_GROUP_PRIVATE_H
#define REPORT_GROUP_PRIVATE_H

#include "format/base/map.h"
#include "report/group/group.h"
#include "report/group/tasks.h"

struct group_file {
	struct inode_key key;
	uint32_t kind;
};

/* How a row's value of a key becomes a number. */
enum level_kind {
	LEVEL_TASK,
	LEVEL_FILE,
	LEVEL_NODE,
	LEVEL_SMALL, /* an own key whose values are numbers already */
	LEVEL_OWN,
};

/* One key of one --by. What it is of a row becomes a number, and with that of the keys before it
 * the number of a group of these keys. */
struct key_level {
	unsigned int key; /* enum group_key, and own ones behind them */
	enum level_kind kind;
	bool dense; /* the first key, with numbers that are those of its groups */
	struct group_tasks tasks;
	struct inode_paths *paths;
	struct group_file *files;
	uint64_t *values; /* of an own key whose values are not small */
	size_t n, capacity;
	struct ebt_map by_value;

	struct ebt_map by_pair; /* number of the group before, and of this key's value */
	struct level_group {
		uint32_t before, value;
	} * groups; /* dense: none */
	size_t n_groups, groups_capacity;
};

/* Groups that were found lately: rows come in runs of the same. */
struct group_memo {
	const struct ebt_task *task;
	uint64_t own;
	uint32_t node, group;
	bool used;
};
#define GROUP_MEMOS 256u /* a power of two */

/* Groups by some keys, with figures. */
struct group_set {
	struct group_memo memos[GROUP_MEMOS];
	bool memorable; /* the keys are about the task, the stack and at most one own key: */
	size_t memo_own;
	uint32_t memo_node; /* bits of the stack's node that tell groups apart: all or none */
	struct key_level levels[GROUP_MAX_KEYS];
	size_t n_levels;
	unsigned int keys; /* of the levels: 1 << each */
	bool detail;	   /* the last one is of rows below rows */
	char *figures;	   /* by group of the last level */
	size_t n, capacity;
};

struct grouping {
	struct report *report;
	const struct group_table *table;
	void *arg;
	const struct group_columns *columns;
	struct calltree *tree, *own_tree;
	bool rows, stacks; /* which sets are asked for */
	const char *flame;
	const char *sort; /* a column; NULL: the one with OUT_SORT */
	struct group_set by, by_stack;
	void *all;
	double seconds; /* of the window */
};

/* What there is to know of a key. Those that are not the table's own have neither small nor put. */
const struct group_own *group_key(const struct group_table *table, unsigned int key);

struct ebt_error *group_set_find(struct grouping *g, struct group_set *set,
				 const struct group_row *row, uint32_t *ret);
void *group_set_figures(const struct grouping *g, const struct group_set *set, size_t i);
/* The value that a group has of the level's key. */
uint32_t group_set_value(const struct group_set *set, uint32_t group, size_t level);

/* A group of those by stack. */
struct group_stack {
	uint64_t weight;
	uint32_t group, node;
};

/* Table "rows", and another one of these groups by stack in this order. */
struct ebt_error *group_rows_put(struct grouping *g);
struct ebt_error *group_stack_rows_put(struct grouping *g, struct out_table *table,
				       const struct group_stack *stacks, size_t n);

struct ebt_error *group_stacks_put(struct grouping *g);
/* That frames of the stacks have no name, whether groups or tables of them show these. */
struct ebt_error *group_stacks_tell(const struct grouping *g);
struct ebt_error *group_flame_write(struct grouping *g);

#endif
