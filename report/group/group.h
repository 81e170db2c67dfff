/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Grouped tables: rows of a trace to groups (--by KEY[,KEY…]), figures for each group, and a table
 * of them. A report describes its table once: what it can be grouped by, its figures, and how each
 * stands in a column.
 *
 *	#define FIGURES(X)                                                                 \
 *		X("count", "COUNT", OUT_U64, out_u64(sum->count))                          \
 *		X("duration_ns", "DURATION", OUT_DURATION, out_u64(sum->ns), OUT_SORT, 90)
 *
 *	static void put_figures(const struct grouping *g, const void *figures,
 *				struct out_value *values)
 *	{
 *		const struct sum *sum = figures;
 *
 *		GROUP_PUT(values, FIGURES);
 *	}
 *
 *	static const struct group_columns columns = GROUP_COLUMNS(FIGURES, put_figures);
 *	static const struct group_table table = {
 *		.keys = GROUP_TASK_KEYS, .by = "process",
 *		.columns = &columns, .size = sizeof(struct sum), .merge = merge,
 *	};
 *
 *	err = grouping_create(report, &table, NULL, NULL, &g);
 *	… of each row of the trace:
 *	err = grouping_add(g, &(struct group_row){ .task = task }, add_row, row);
 *	… and in the end:
 *	err = grouping_put(g);
 *
 * Finding the group of a row is a look into an array for a key that is a task, and one into a hash
 * map for each other key. Memory depends on the number of groups.
 */
#ifndef REPORT_GROUP_GROUP_H
#define REPORT_GROUP_GROUP_H

#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/stacks/model_calltree.h"
#include "report/trace/inode_paths.h"

#define GROUP_MAX_KEYS 4 /* in one --by, with the one whose rows stand below */
#define GROUP_MAX_OWN  4

/* What tables can be grouped by; the table's own keys stand behind these. */
enum group_key {
	GROUP_THREAD, /* also "task" */
	GROUP_PROCESS,
	GROUP_PROGRAM, /* processes of one name */
	GROUP_USER,
	GROUP_CGROUP,
	GROUP_CONTAINER,
	GROUP_FILE,
	GROUP_MAPPING, /* a file, or what is mapped instead */
	GROUP_STACK,
	GROUP_OWN, /* and on */
};

#define GROUP_TASK_KEYS                                                                      \
	(1u << GROUP_THREAD | 1u << GROUP_PROCESS | 1u << GROUP_PROGRAM | 1u << GROUP_USER | \
	 1u << GROUP_CGROUP | 1u << GROUP_CONTAINER)

/* What a row is grouped by: what the keys that the table has need. */
struct group_row {
	const struct ebt_task *task; /* NULL: not known */
	struct inode_key file;
	uint32_t file_kind;	     /* GROUP_MAPPING: not 0 for what is no file */
	uint32_t node;		     /* GROUP_STACK: of grouping_tree() */
	bool no_stack;		     /* of nothing that has one: it is not among --stacks */
	uint64_t own[GROUP_MAX_OWN]; /* of the table's own keys */
};

struct grouping;

/* What a key's value is called: values of its columns, texts that stand for them (used where they
 * are not empty), and a label for where it stands alone. */
struct group_cells {
	struct out_value *values;
	struct text *texts; /* by column */
	struct text *label;
};

/* A key, of the table's own as a rule. */
struct group_own {
	const char *name; /* in --by */
	const char *header;
	const struct out_column *columns;
	size_t n_columns; /* at most GROUP_MAX_CELLS */
	bool small;	  /* values are below 2^32 - 1 */
	struct ebt_error *(*put)(const struct grouping *g, uint64_t value,
				 struct group_cells *cells);
};
#define GROUP_MAX_CELLS 16

/* Among a column's flags: rows below rows have no such figure; a key's column that is shown beside
 * the label too. */
#define GROUP_ABOVE  (1u << 16)
#define GROUP_BESIDE (1u << 17)

/* The columns of figures, and what puts the figures of a group into them. */
struct group_columns {
	const struct out_column *columns;
	size_t n;
	void (*put)(const struct grouping *g, const void *figures, struct out_value *values);
};
/* Of a list of columns (report/out/out.h), at the most those that GROUP_PUT() has of `put`. */
#define GROUP_COLUMNS(LIST, put_)                                           \
	{                                                                   \
		.columns = (const struct out_column[]){ LIST(OUT_COLUMN) }, \
		.n = sizeof((struct out_column[]){ LIST(OUT_COLUMN) }) /    \
		     sizeof(struct out_column),                             \
		.put = put_,                                                \
	}
#define GROUP_PUT(values, LIST) memcpy((values), OUT_VALUES(LIST), sizeof(OUT_VALUES(LIST)))

struct group_table {
	unsigned int keys; /* 1 << enum group_key */
	const struct group_own *own;
	size_t n_own;
	const char *by;	    /* without --by */
	const char *detail; /* key of rows that stand below each row, unless --by has it; or NULL */
	bool of_tasks;	    /* sums of what tasks did: threads of the kernel are left out */
	const char *no_task; /* what stands for NULL tasks; NULL: "(not known)" */
	/* GROUP_MAPPING: what a file_kind is called; NULL where it is a file. */
	const char *(*mapping)(uint32_t file_kind);

	const struct group_columns *columns;
	size_t size; /* of the figures of a group; all zero: nothing yet */
	/* NULL where nothing stands below a row, and nobody wants grouping_all(). */
	struct ebt_error *(*merge)(void *to, const void *from);
	void (*deinit)(void *figures);				       /* or NULL */
	bool (*hidden)(const struct grouping *g, const void *figures); /* or NULL: none is */
	/* Rows of the table's own below each row: `name` is their key in JSON; or NULL. */
	const char *below;
	struct ebt_error *(*put_below)(const struct grouping *g, uint32_t group,
				       const struct out_column *columns, size_t n_columns);

	/* --stacks and --flame, of tables whose rows have stacks. */
	const uint16_t *stack_tables; /* whose stacks are symbolized together; ends with 0 */
	const char *stack_by;	      /* NULL: "stack" */
	const struct group_columns *stack_columns; /* of rows by stack; NULL: those of others */
	bool json_stacks; /* JSON has them without --stacks, unless there is --by */
	const char *unit; /* of weights; NULL: ns */
	uint64_t (*weight)(const void *figures);
	/* The line above a stack. all: sum of all weights. */
	void (*headline)(const struct grouping *g, const void *figures, uint64_t all,
			 struct text *text);
};

/* In a command's table of options. otherwise: the default, a text; then the names of keys that are
 * not GROUP_TASK_KEYS. */
#define GROUP_BY_OPTION(otherwise, ...)                                                        \
	{                                                                                      \
		"by", OPTION_LIST, "KEY,…",                                                    \
			"rows of one, or of several together (default: " otherwise "):",       \
			(const char *const[])                                                  \
		{                                                                              \
			"thread", "task", "process", "program", "user", "cgroup", "container", \
				##__VA_ARGS__, NULL                                            \
		}                                                                              \
	}
#define GROUP_STACK_OPTIONS                                                                 \
	{ "stacks", OPTION_FLAG, NULL, "by stack, with its frames (JSON: besides)" },       \
	{                                                                                   \
		"flame", OPTION_STRING, "FILE", "also: a flame graph of these stacks", NULL \
	}

/*
 * Reads --by, --stacks and --flame of the command's options. arg: for the table's functions. tree:
 * whose nodes rows will have; NULL: one is made where stacks are asked for. Report, table and tree
 * must outlive it. EBT_ERR_INVALID: a key that the table does not have.
 */
struct ebt_error *grouping_create(struct report *report, const struct group_table *table, void *arg,
				  struct calltree *tree, struct grouping **ret);
void grouping_destroy(struct grouping *g);
DEFINE_CLEANUP(struct grouping *, grouping_destroy);

void *grouping_arg(const struct grouping *g);
struct report *grouping_report(const struct grouping *g);
/* Is the table grouped by this key (of the table's own: GROUP_OWN + index)? */
bool grouping_has(const struct grouping *g, unsigned int key);
/* By any key that is about tasks? */
bool grouping_has_tasks(const struct grouping *g);
/* Where rows have to say their stack; NULL: nobody asks for it. */
struct calltree *grouping_tree(const struct grouping *g);
/* The same, which is the caller's from then on: for windows that share one. It must outlive g. */
struct calltree *grouping_take_tree(struct grouping *g);
/* By which keys the table is, but not --stacks: 1 << each. */
unsigned int grouping_keys(const struct grouping *g);
/* Columns that it has instead of the table's own. */
void grouping_set_columns(struct grouping *g, const struct group_columns *columns);
/* Sorts by this column where --sort does not say, instead of by the one with OUT_SORT. */
void grouping_sort_by(struct grouping *g, const char *column);
/* The node of a row's stack in that tree; 0 where nobody asks. */
struct ebt_error *grouping_place(const struct grouping *g, const struct calltree_stack *stack,
				 uint32_t *ret);

/* Puts something of `arg` into figures. id: of the group, also of those by stack. */
typedef struct ebt_error *group_add_fn(void *arg, void *figures, uint32_t id);
/* Calls it for each group that the row belongs to: of the table, and by stack. */
struct ebt_error *grouping_add(struct grouping *g, const struct group_row *row, group_add_fn *add,
			       void *arg);

/* Is this a table that the task is left out of? What is added of it is dropped. */
bool grouping_leaves_out(const struct grouping *g, const struct ebt_task *task);

/* By stack alone. */
struct ebt_error *grouping_add_stack(struct grouping *g, const struct group_row *row,
				     group_add_fn *add, void *arg);

/* For tables that come back to a group: its number in the table, and its figures, which lie there
 * until the next group is made. */
struct ebt_error *grouping_find(struct grouping *g, const struct group_row *row, uint32_t *ret);
void *grouping_figures(const struct grouping *g, uint32_t group);
size_t grouping_n(const struct grouping *g);

/* So many of something in a second of the window. */
double grouping_per_second(const struct grouping *g, double n);
/* Is there a table of groups, not only stacks? */
bool grouping_has_rows(const struct grouping *g);
/* Are there groups by stack, for --stacks or --flame? */
bool grouping_has_stacks(const struct grouping *g);

/* Of all groups merged: there after grouping_put(). */
const void *grouping_all(const struct grouping *g);

/* Prints the tables that the options ask for, and writes --flame. After the last row. */
struct ebt_error *grouping_put(struct grouping *g);

#endif
