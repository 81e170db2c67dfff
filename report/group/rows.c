/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups as a table: columns of their keys, then figures. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/group/private.h"
#include "report/stacks/out_stacks.h"

#define MAX_COLUMNS 80

/* A table of groups as it is printed. */
struct rows {
	struct grouping *g;
	const struct group_set *set;
	size_t n_keys; /* without the one of rows below */
	struct out_column columns[MAX_COLUMNS];
	size_t n_columns, first_figure;
	const struct group_columns *figures;
	bool label; /* the first column is one */
	char *sums; /* figures of the rows above rows; NULL: there are none below */
	size_t n;
};

static void sums_free(struct rows *r)
{
	for (size_t i = 0; r->sums && r->g->table->deinit && i < r->n; i++)
		r->g->table->deinit(r->sums + i * r->g->table->size);
	free(r->sums);
}

/* --- columns --- */

static bool has_column(const struct rows *r, const char *key)
{
	for (size_t i = 0; i < r->n_columns; i++) {
		if (!strcmp(r->columns[i].key, key))
			return true;
	}
	return false;
}

/* Below a label, the columns of what it stands for are for JSON and CSV. */
static void add_key(struct rows *r, size_t level, bool labelled)
{
	const struct group_own *key = group_key(r->g->table, r->set->levels[level].key);

	for (size_t i = 0; i < key->n_columns; i++) {
		struct out_column *column = &r->columns[r->n_columns];

		*column = key->columns[i];
		column->flags |= OUT_KEY;
		if (r->label && level < r->n_keys)
			column->flags |= OUT_PARENT;
		if (labelled && !(column->flags & GROUP_BESIDE))
			column->flags |= OUT_DETAIL;
		r->n_columns += !has_column(r, column->key);
	}
}

static void add_columns(struct rows *r)
{
	if (r->label)
		r->columns[r->n_columns++] = (struct out_column){
			"label", group_key(r->g->table, r->set->levels[0].key)->header, OUT_STRING,
			OUT_TEXT_ONLY | OUT_INDENT | OUT_FLEX | OUT_KEY
		};
	for (size_t i = 0; i < r->set->n_levels; i++)
		add_key(r, i, r->label && (!i || i == r->n_keys));
	r->figures = r->g->columns;
	if (r->set == &r->g->by_stack && r->g->table->stack_columns)
		r->figures = r->g->table->stack_columns;
	r->first_figure = r->n_columns;
	for (size_t i = 0; i < r->figures->n; i++) {
		struct out_column *column = &r->columns[r->n_columns++];

		*column = r->figures->columns[i];
		if (r->g->sort)
			column->flags &= ~(unsigned int)OUT_SORT;
		if (r->g->sort && !strcmp(column->key, r->g->sort))
			column->flags |= OUT_SORT;
	}
}

/* --- values --- */

static void put_file(const struct grouping *g, const struct key_level *level, uint32_t value,
		     struct group_cells *cells)
{
	const struct group_file *file = &level->files[value];
	const char *name = NULL;

	if (level->key == GROUP_MAPPING)
		name = g->table->mapping(file->kind);
	if (name) {
		text_cstr(&cells->texts[0], name);
	} else {
		inode_paths_add(level->paths, &file->key, &cells->texts[0]);
		text_printf(&cells->texts[1], "%" PRIu32 ":%" PRIu32, file->key.dev_major,
			    file->key.dev_minor);
		cells->values[2] = out_u64(file->key.inode);
	}
	text_add(cells->label, text_get(&cells->texts[0]), cells->texts[0].len);
}

static struct ebt_error *put_level(const struct grouping *g, const struct key_level *level,
				   uint32_t value, struct group_cells *cells)
{
	const struct group_own *own;

	if (level->key >= GROUP_OWN) {
		own = &g->table->own[level->key - GROUP_OWN];
		return own->put(g, own->small ? value : level->values[value], cells);
	}
	if (level->key == GROUP_STACK) {
		if (value)
			stack_joined(&cells->texts[0], g->tree, value);
		else
			text_cstr(&cells->texts[0], "[no stack]");
	} else if (level->key <= GROUP_CONTAINER) {
		group_tasks_put(&level->tasks, value, g->table->no_task, cells);
	} else {
		put_file(g, level, value, cells);
	}
	return NULL;
}

/* Texts of a row; they live until it is written. */
struct row_texts {
	struct text own[GROUP_MAX_KEYS][GROUP_MAX_CELLS], labels[GROUP_MAX_KEYS];
};

static void texts_deinit(struct row_texts *t)
{
	for (size_t i = 0; i < GROUP_MAX_KEYS; i++) {
		text_deinit(&t->labels[i]);
		for (size_t k = 0; k < GROUP_MAX_CELLS; k++)
			text_deinit(&t->own[i][k]);
	}
}

static struct out_value *value_at(const struct rows *r, struct out_value *values, const char *key)
{
	size_t i = 0;

	while (strcmp(r->columns[i].key, key))
		i++;
	return &values[i];
}

/* What is there of a key goes into its columns. */
static struct ebt_error *set_key(const struct rows *r, size_t level, uint32_t value,
				 struct row_texts *texts, struct out_value *values)
{
	struct out_value own[GROUP_MAX_CELLS];
	struct group_cells cells = { own, texts->own[level], &texts->labels[level] };
	const struct group_own *key = group_key(r->g->table, r->set->levels[level].key);
	struct ebt_error *err;

	for (size_t i = 0; i < key->n_columns; i++) {
		own[i] = out_null();
		text_clear(&cells.texts[i]);
	}
	text_clear(cells.label);
	err = put_level(r->g, &r->set->levels[level], value, &cells);
	for (size_t i = 0; !err && i < key->n_columns; i++) {
		struct text *text = &cells.texts[i];

		err = text_error(text);
		if (text->len)
			own[i] = out_str(text_str(text));
		if (!own[i].null)
			*value_at(r, values, key->columns[i].key) = own[i];
	}
	return err ? err : text_error(cells.label);
}

static struct ebt_error *put_row(const struct rows *r, unsigned int depth, size_t from, size_t to,
				 uint32_t group, const void *figures, struct row_texts *texts)
{
	struct out_value values[MAX_COLUMNS];
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < r->n_columns; i++)
		values[i] = out_null();
	for (size_t i = to; !err && i-- > from;) {
		const struct key_level *level = &r->set->levels[i];
		uint32_t value = group;

		if (!level->dense) {
			value = level->groups[group].value;
			group = level->groups[group].before;
		}
		err = set_key(r, i, value, texts, values);
	}
	if (err)
		return err;
	if (r->label)
		values[0] = out_str(text_str(&texts->labels[from]));
	r->figures->put(r->g, figures, values + r->first_figure);
	for (size_t i = r->first_figure; depth && i < r->n_columns; i++)
		values[i].null |= (r->columns[i].flags & GROUP_ABOVE) != 0;
	return out_row_n(r->g->report->out, depth, values, r->n_columns);
}

/* --- rows --- */

static struct ebt_error *put_flat(struct rows *r, struct row_texts *texts)
{
	const struct group_table *table = r->g->table;
	struct ebt_error *err = NULL;

	for (uint32_t i = 0; !err && i < r->set->n; i++) {
		const void *figures = group_set_figures(r->g, r->set, i);

		if (table->hidden && table->hidden(r->g, figures))
			continue;
		err = put_row(r, 0, 0, r->n_keys, i, figures, texts);
		if (!err && table->below)
			err = table->put_below(r->g, i, r->columns, r->n_columns);
	}
	return err;
}

static size_t n_above(const struct rows *r)
{
	const struct key_level *above = &r->set->levels[r->n_keys - 1];

	if (!above->dense)
		return above->n_groups;
	return above->key <= GROUP_CONTAINER ? above->tasks.n : above->n;
}

/* Sums of what stands below each row; ret_first: by row above, where its rows are in *ret_order. */
static struct ebt_error *sum_up(struct rows *r, uint32_t *first, uint32_t *order)
{
	const struct key_level *below = &r->set->levels[r->n_keys];
	size_t size = r->g->table->size;
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < r->set->n; i++)
		first[below->groups[i].before + 2]++;
	for (size_t i = 2; i < r->n + 2; i++)
		first[i] += first[i - 1];
	for (uint32_t i = 0; !err && i < r->set->n; i++) {
		uint32_t above = below->groups[i].before;

		order[first[above + 1]++] = i;
		err = r->g->table->merge(r->sums + above * size,
					 group_set_figures(r->g, r->set, i));
	}
	return err;
}

static struct ebt_error *put_nested(struct rows *r, struct row_texts *texts)
{
	_cleanup_free_ uint32_t *first = NULL, *order = NULL;
	struct ebt_error *err;

	r->n = n_above(r);
	first = calloc(r->n + 2, sizeof(*first));
	order = calloc(r->set->n + 1, sizeof(*order));
	r->sums = calloc(r->n + 1, r->g->table->size);
	if (!first || !order || !r->sums)
		return &ebt_enomem;
	err = sum_up(r, first, order);
	for (uint32_t i = 0; !err && i < r->n; i++) {
		err = put_row(r, 0, 0, r->n_keys, i, r->sums + i * r->g->table->size, texts);
		for (uint32_t k = first[i]; !err && k < first[i + 1]; k++)
			err = put_row(r, 1, r->n_keys, r->n_keys + 1, order[k],
				      group_set_figures(r->g, r->set, order[k]), texts);
	}
	return err;
}

/* The columns, which the definition of the table has from then on. */
static struct ebt_error *begin(struct rows *r, struct out_table *table)
{
	r->n_keys = r->set->n_levels - r->set->detail;
	add_columns(r);
	table->columns = r->columns;
	table->n_columns = r->n_columns;
	return out_begin(r->g->report->out, table);
}

struct ebt_error *group_rows_put(struct grouping *g)
{
	__attribute__((cleanup(sums_free))) struct rows r = { .g = g, .set = &g->by };
	__attribute__((cleanup(texts_deinit))) struct row_texts texts = { 0 };
	struct out_table table = {
		.key = "rows",
		.children = g->by.detail ? "rows" : g->table->below,
	};
	struct ebt_error *err;

	r.label = table.children;
	err = begin(&r, &table);
	if (!err)
		err = g->by.detail ? put_nested(&r, &texts) : put_flat(&r, &texts);
	return err ? err : out_end(g->report->out);
}

struct ebt_error *group_stack_rows_put(struct grouping *g, struct out_table *table,
				       const struct group_stack *stacks, size_t n)
{
	__attribute__((cleanup(sums_free))) struct rows r = { .g = g, .set = &g->by_stack };
	__attribute__((cleanup(texts_deinit))) struct row_texts texts = { 0 };
	struct ebt_error *err = begin(&r, table);

	for (size_t i = 0; !err && i < n; i++)
		err = put_row(&r, 0, 0, r.n_keys, stacks[i].group,
			      group_set_figures(g, r.set, stacks[i].group), &texts);
	return err ? err : out_end(g->report->out);
}
