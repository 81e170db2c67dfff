/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows to groups; see group.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "report/group/private.h"
#include "report/stacks/model_calltree.h"
#include "report/trace/prepare.h"

#define MAX_GROUPS (UINT32_MAX / 2)

/* --- keys --- */

static const struct out_column thread_columns[] = {
	{ "pid", "PID", OUT_U64 },
	{ "tid", "TID", OUT_U64 },
	{ "comm", "COMM", OUT_STRING, OUT_FLEX },
};
static const struct out_column process_columns[] = {
	{ "pid", "PID", OUT_U64 },
	{ "comm", "COMM", OUT_STRING, OUT_FLEX },
};
static const struct out_column program_column = { "program", "PROGRAM", OUT_STRING, OUT_FLEX };
static const struct out_column user_column = { "uid", "UID", OUT_U64 };
static const struct out_column cgroup_column = { "cgroup", "CGROUP", OUT_STRING, OUT_FLEX };
static const struct out_column container_columns[] = {
	{ "container", "CONTAINER", OUT_STRING, OUT_FLEX },
	{ "container_id", NULL, OUT_STRING, OUT_DETAIL },
	{ "image", "IMAGE", OUT_STRING, OUT_DETAIL },
};
static const struct out_column file_columns[] = {
	{ "path", "FILE", OUT_STRING, OUT_FLEX },
	{ "device", NULL, OUT_STRING, OUT_DETAIL },
	{ "inode", NULL, OUT_ID, OUT_DETAIL },
};
static const struct out_column mapping_columns[] = {
	{ "mapping", "MAPPING", OUT_STRING, OUT_FLEX },
	{ "device", NULL, OUT_STRING, OUT_DETAIL },
	{ "inode", NULL, OUT_ID, OUT_DETAIL },
};
static const struct out_column stack_column = { "stack", "STACK", OUT_STRING, OUT_FLEX };

static const struct group_own keys[GROUP_OWN] = {
	[GROUP_THREAD] = { "thread", "THREAD", thread_columns, 3 },
	[GROUP_PROCESS] = { "process", "PROCESS", process_columns, 2 },
	[GROUP_PROGRAM] = { "program", "PROGRAM", &program_column, 1 },
	[GROUP_USER] = { "user", "USER", &user_column, 1 },
	[GROUP_CGROUP] = { "cgroup", "CGROUP", &cgroup_column, 1 },
	[GROUP_CONTAINER] = { "container", "CONTAINER", container_columns, 3 },
	[GROUP_FILE] = { "file", "FILE", file_columns, 3 },
	[GROUP_MAPPING] = { "mapping", "MAPPING", mapping_columns, 3 },
	[GROUP_STACK] = { "stack", NULL, &stack_column, 1 },
};

static bool is_own(unsigned int key)
{
	return key >= GROUP_OWN;
}

static bool is_task(unsigned int key)
{
	return key <= GROUP_CONTAINER;
}

static enum level_kind kind_of(const struct group_table *table, unsigned int key)
{
	if (is_own(key))
		return table->own[key - GROUP_OWN].small ? LEVEL_SMALL : LEVEL_OWN;
	if (is_task(key))
		return LEVEL_TASK;
	return key == GROUP_STACK ? LEVEL_NODE : LEVEL_FILE;
}

static bool has_key(const struct group_table *table, unsigned int key)
{
	return is_own(key) ? key - GROUP_OWN < table->n_own : table->keys >> key & 1;
}

const struct group_own *group_key(const struct group_table *table, unsigned int key)
{
	return is_own(key) ? &table->own[key - GROUP_OWN] : &keys[key];
}

bool group_tasks_key(const char *name, enum group_key *ret)
{
	for (*ret = 0; *ret <= GROUP_CONTAINER; (*ret)++) {
		if (!strcmp(name, keys[*ret].name))
			return true;
	}
	*ret = GROUP_THREAD;
	return !strcmp(name, "task");
}

/* A word of the command line, which has compared it with the names, or of the table. */
static unsigned int find_key(const struct group_table *table, const char *word, size_t len)
{
	unsigned int key = 0;

	if (len == 4 && !memcmp(word, "task", 4))
		return GROUP_THREAD;
	while (!has_key(table, key) || strlen(group_key(table, key)->name) != len ||
	       memcmp(group_key(table, key)->name, word, len))
		key++;
	return key;
}

static bool set_has(const struct group_set *set, unsigned int key)
{
	return set->keys >> key & 1;
}

static struct ebt_error *add_level(struct grouping *g, struct group_set *set, const char *word,
				   size_t len)
{
	struct key_level *level = &set->levels[set->n_levels];
	struct trace *trace = g->report->trace;
	unsigned int key = find_key(g->table, word, len);

	if (set_has(set, key))
		return ebt_error_create(EBT_ERR_INVALID, "--by: '%.*s' stands there twice",
					(int)len, word);
	if (set->n_levels == GROUP_MAX_KEYS)
		return ebt_error_create(EBT_ERR_INVALID, "--by takes up to %d keys",
					GROUP_MAX_KEYS - (g->table->detail != NULL));
	level->key = key;
	level->kind = kind_of(g->table, key);
	level->dense = !set->n_levels && level->kind != LEVEL_NODE && level->kind != LEVEL_SMALL;
	set->n_levels++;
	set->keys |= 1u << key;
	if (is_task(key))
		return group_tasks_init(&level->tasks, trace, (enum group_key)key);
	if (key == GROUP_FILE || key == GROUP_MAPPING)
		return inode_paths_create(trace, &level->paths);
	return NULL;
}

static struct ebt_error *add_levels(struct grouping *g, struct group_set *set, const char *by)
{
	struct ebt_error *err = NULL;
	size_t len;

	while (!err && by) {
		const char *key = cli_take_piece(&by, &len);

		err = add_level(g, set, key, len);
	}
	return err;
}

/* Rows below rows, unless they are rows already. */
static struct ebt_error *add_detail(struct grouping *g)
{
	const char *detail = g->table->detail;

	if (set_has(&g->by, find_key(g->table, detail, strlen(detail))))
		return NULL;
	g->by.detail = true;
	return add_level(g, &g->by, detail, strlen(detail));
}

/* --- life --- */

static void level_deinit(struct key_level *level)
{
	group_tasks_deinit(&level->tasks);
	inode_paths_destroy(level->paths);
	free(level->files);
	free(level->values);
	free(level->groups);
	ebt_map_deinit(&level->by_value);
	ebt_map_deinit(&level->by_pair);
}

static void set_deinit(struct grouping *g, struct group_set *set)
{
	for (size_t i = 0; g->table->deinit && i < set->n; i++)
		g->table->deinit(group_set_figures(g, set, i));
	for (size_t i = 0; i < set->n_levels; i++)
		level_deinit(&set->levels[i]);
	free(set->figures);
}

void grouping_destroy(struct grouping *g)
{
	if (!g)
		return;
	set_deinit(g, &g->by);
	set_deinit(g, &g->by_stack);
	if (g->all && g->table->deinit)
		g->table->deinit(g->all);
	free(g->all);
	calltree_destroy(g->own_tree);
	free(g);
}

static struct ebt_error *make_tree(struct grouping *g)
{
	struct ebt_error *err;

	err = calltree_create_for(g->report->trace, CALLTREE_BY_COMM, &g->own_tree);
	g->tree = g->own_tree;
	for (const uint16_t *table = g->table->stack_tables; !err && *table; table++)
		err = prepare_names(g->report->trace, *table, 0);
	return err;
}

/* Rows without the own key have 0 for it, or anything: it tells apart too much at the worst. */
static void note_memorable(struct group_set *set)
{
	size_t n = 0;

	set->memorable = true;
	for (size_t i = 0; i < set->n_levels; i++) {
		const struct key_level *level = &set->levels[i];

		if (is_own(level->key)) {
			set->memo_own = level->key - GROUP_OWN;
			n++;
		}
		if (level->kind == LEVEL_NODE)
			set->memo_node = UINT32_MAX;
		set->memorable &= n < 2 && level->kind != LEVEL_FILE;
	}
}

static struct ebt_error *read_options(struct grouping *g)
{
	const struct options *o = g->report->options;
	const char *by = options_string(o, "by");
	struct ebt_error *err;

	if (g->table->stack_tables) {
		g->flame = options_string(o, "flame");
		g->stacks = options_flag(o, "stacks") ||
			    (g->table->json_stacks && o->format == FORMAT_JSON && !by);
	}
	if (g->stacks && o->sort && o->format != FORMAT_JSON)
		return ebt_error_create(EBT_ERR_INVALID,
					"stacks are not sorted: use --sort without --stacks, or "
					"with --json");
	if (g->stacks && by && o->format != FORMAT_JSON)
		return ebt_error_create(EBT_ERR_INVALID,
					"--stacks and --by are two tables: only --json has both");
	if (g->flame && o->interval_ns)
		return ebt_error_create(EBT_ERR_INVALID, "--flame is one picture: --interval does "
							 "not apply (--from and --to may)");
	g->rows = !g->stacks || o->format == FORMAT_JSON;
	if (g->rows) {
		err = add_levels(g, &g->by, by ? by : g->table->by);
		if (!err && g->table->detail)
			err = add_detail(g);
		if (err)
			return err;
	}
	if (g->stacks || g->flame)
		return add_levels(g, &g->by_stack,
				  g->table->stack_by ? g->table->stack_by : "stack");
	return NULL;
}

struct ebt_error *grouping_create(struct report *report, const struct group_table *table, void *arg,
				  struct calltree *tree, struct grouping **ret)
{
	_cleanup_(grouping_destroyp) struct grouping *g = calloc(1, sizeof(*g));
	uint64_t from = trace_from_ns(report->trace), to = trace_to_ns(report->trace);
	struct ebt_error *err;

	if (!g)
		return &ebt_enomem;
	g->report = report;
	g->table = table;
	g->arg = arg;
	g->columns = table->columns;
	g->tree = tree;
	g->seconds = to > from ? (double)(to - from) / 1e9 : 0;
	g->all = calloc(1, table->size);
	if (!g->all)
		return &ebt_enomem;
	err = read_options(g);
	if (!err && table->of_tasks)
		err = trace_find_kernel_threads(report->trace);
	if (!err && !tree && grouping_has(g, GROUP_STACK))
		err = make_tree(g);
	if (err)
		return err;
	note_memorable(&g->by);
	note_memorable(&g->by_stack);
	*ret = take_ptr(g);
	return NULL;
}

void *grouping_arg(const struct grouping *g)
{
	return g->arg;
}

struct report *grouping_report(const struct grouping *g)
{
	return g->report;
}

bool grouping_has(const struct grouping *g, unsigned int key)
{
	return set_has(&g->by, key) || set_has(&g->by_stack, key);
}

bool grouping_has_tasks(const struct grouping *g)
{
	return (g->by.keys | g->by_stack.keys) & GROUP_TASK_KEYS;
}

struct calltree *grouping_tree(const struct grouping *g)
{
	return grouping_has(g, GROUP_STACK) ? g->tree : NULL;
}

struct calltree *grouping_take_tree(struct grouping *g)
{
	g->own_tree = NULL;
	return grouping_tree(g);
}

unsigned int grouping_keys(const struct grouping *g)
{
	return g->by.keys;
}

void grouping_set_columns(struct grouping *g, const struct group_columns *columns)
{
	g->columns = columns;
}

void grouping_sort_by(struct grouping *g, const char *column)
{
	g->sort = column;
}

struct ebt_error *grouping_place(const struct grouping *g, const struct calltree_stack *stack,
				 uint32_t *ret)
{
	*ret = 0;
	return grouping_tree(g) ? calltree_place(g->tree, stack, ret) : NULL;
}

/* --- rows to groups --- */

static struct ebt_error *file_value(struct key_level *level, const struct group_row *row,
				    uint32_t *ret)
{
	const struct group_file file = { row->file, row->file_kind };
	uint64_t hash = inode_key_hash(file.kind, &file.key);
	struct ebt_error *err;
	size_t at = 0;

	while ((*ret = ebt_map_next(&level->by_value, hash, &at)) != EBT_MAP_NONE) {
		if (level->files[*ret].kind == file.kind &&
		    inode_key_equal(&level->files[*ret].key, &file.key))
			return NULL;
	}
	err = ebt_array_reserve(&level->files, level->n, &level->capacity);
	if (err)
		return err;
	*ret = (uint32_t)level->n;
	err = ebt_map_insert(&level->by_value, hash, *ret);
	if (!err)
		level->files[level->n++] = file;
	return err;
}

static struct ebt_error *own_value(struct key_level *level, uint64_t value, uint32_t *ret)
{
	struct ebt_error *err;

	err = ebt_map_add(&level->by_value, value, (uint32_t)level->n, ret);
	if (err || *ret < level->n)
		return err;
	err = ebt_array_reserve(&level->values, level->n, &level->capacity);
	if (!err)
		level->values[level->n++] = value;
	return err;
}

static inline struct ebt_error *value_of(struct key_level *level, const struct group_row *row,
					 uint32_t *ret)
{
	switch (level->kind) {
	case LEVEL_TASK:
		return group_tasks_of(&level->tasks, row->task, ret);
	case LEVEL_FILE:
		return file_value(level, row, ret);
	case LEVEL_NODE:
		*ret = row->node;
		return NULL;
	case LEVEL_SMALL:
		*ret = (uint32_t)row->own[level->key - GROUP_OWN];
		return NULL;
	case LEVEL_OWN:
		break;
	}
	return own_value(level, row->own[level->key - GROUP_OWN], ret);
}

/* The group of these keys: of the first key's values and the like, by their pair. */
static struct ebt_error *group_of(struct key_level *level, uint32_t before, uint32_t value,
				  uint32_t *ret)
{
	struct ebt_error *err;

	err = ebt_map_add(&level->by_pair, (uint64_t)before << 32 | value,
			  (uint32_t)level->n_groups, ret);
	if (err || *ret < level->n_groups)
		return err;
	if (level->n_groups == MAX_GROUPS)
		return ebt_error_create(EBT_ERR_LIMIT, "too many groups");
	err = ebt_array_reserve(&level->groups, level->n_groups, &level->groups_capacity);
	if (!err)
		level->groups[level->n_groups++] = (struct level_group){ before, value };
	return err;
}

/* Makes figures up to those of group i. */
static struct ebt_error *reach(struct grouping *g, struct group_set *set, uint32_t i)
{
	struct ebt_error *err;

	err = ebt_array_grow(&set->figures, i, &set->capacity, g->table->size, true);
	if (!err)
		set->n = (size_t)i + 1;
	return err;
}

/* Apart, so that group_set_find() needs no registers of it. */
static __attribute__((noinline)) struct ebt_error *
find_slowly(struct grouping *g, struct group_set *set, const struct group_row *row, uint32_t *ret)
{
	uint32_t group = 0, value;
	struct ebt_error *err;

	for (size_t i = 0; i < set->n_levels; i++) {
		struct key_level *level = &set->levels[i];

		err = value_of(level, row, &value);
		if (err)
			return err;
		if (level->dense) {
			group = value;
			continue;
		}
		err = group_of(level, group, value, &group);
		if (err)
			return err;
	}
	*ret = group;
	return group < set->n ? NULL : reach(g, set, group);
}

struct ebt_error *group_set_find(struct grouping *g, struct group_set *set,
				 const struct group_row *row, uint32_t *ret)
{
	uint64_t own = row->own[set->memo_own];
	uint32_t node = row->node & set->memo_node;
	uintptr_t place = (uintptr_t)row->task / 64 ^ own ^ node;
	struct group_memo *memo = &set->memos[place % GROUP_MEMOS];
	struct ebt_error *err;

	if (memo->used && memo->task == row->task && memo->own == own && memo->node == node) {
		*ret = memo->group;
		return NULL;
	}
	err = find_slowly(g, set, row, ret);
	if (!err && set->memorable)
		*memo = (struct group_memo){ row->task, own, node, *ret, true };
	return err;
}

void *group_set_figures(const struct grouping *g, const struct group_set *set, size_t i)
{
	return set->figures + i * g->table->size;
}

uint32_t group_set_value(const struct group_set *set, uint32_t group, size_t level)
{
	for (size_t i = set->n_levels - 1; i > level; i--)
		group = set->levels[i].groups[group].before;
	if (set->levels[level].dense)
		return group;
	return set->levels[level].groups[group].value;
}

bool grouping_leaves_out(const struct grouping *g, const struct ebt_task *task)
{
	return g->table->of_tasks && trace_leaves_out(g->report->trace, task);
}

struct ebt_error *grouping_add(struct grouping *g, const struct group_row *row, group_add_fn *add,
			       void *arg)
{
	struct ebt_error *err;
	uint32_t i;

	if (grouping_leaves_out(g, row->task))
		return NULL;
	if (g->by.n_levels) {
		err = group_set_find(g, &g->by, row, &i)
			      ?: add(arg, group_set_figures(g, &g->by, i), 2 * i);
		if (err)
			return err;
	}
	return grouping_add_stack(g, row, add, arg);
}

struct ebt_error *grouping_add_stack(struct grouping *g, const struct group_row *row,
				     group_add_fn *add, void *arg)
{
	struct ebt_error *err;
	uint32_t i;

	if (!g->by_stack.n_levels || row->no_stack)
		return NULL;
	err = group_set_find(g, &g->by_stack, row, &i);
	return err ? err : add(arg, group_set_figures(g, &g->by_stack, i), 2 * i + 1);
}

struct ebt_error *grouping_find(struct grouping *g, const struct group_row *row, uint32_t *ret)
{
	return group_set_find(g, &g->by, row, ret);
}

void *grouping_figures(const struct grouping *g, uint32_t group)
{
	return group_set_figures(g, &g->by, group);
}

size_t grouping_n(const struct grouping *g)
{
	return g->by.n;
}

double grouping_per_second(const struct grouping *g, double n)
{
	return g->seconds > 0 ? n / g->seconds : 0;
}

bool grouping_has_rows(const struct grouping *g)
{
	return g->rows;
}

bool grouping_has_stacks(const struct grouping *g)
{
	return g->by_stack.n_levels;
}

const void *grouping_all(const struct grouping *g)
{
	return g->all;
}

static struct ebt_error *merge_all(struct grouping *g)
{
	const struct group_set *set = g->by.n_levels ? &g->by : &g->by_stack;
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && g->table->merge && i < set->n; i++)
		err = g->table->merge(g->all, group_set_figures(g, set, i));
	return err;
}

struct ebt_error *grouping_put(struct grouping *g)
{
	struct ebt_error *err = merge_all(g) ?: group_stacks_tell(g);

	if (!err && g->rows)
		err = group_rows_put(g);
	if (!err && g->stacks)
		err = group_stacks_put(g);
	if (!err && g->flame)
		err = group_flame_write(g);
	return err;
}
