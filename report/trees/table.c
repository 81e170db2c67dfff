/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The call tree of any table with stacks; see table.h. */
#include "report/trees/table.h"

#include <inttypes.h>
#include <string.h>

#include "format/base/spelling.h"
#include "report/base/text.h"

/* Where the fields are that a row's stacks come from. -1: the table has none. */
struct columns {
	int task, stacks[EBT_MAX_FIELDS];
	uint32_t n_stacks;
	uint64_t all;
};

static void find_columns(const struct tree_table *what, struct columns *ret)
{
	*ret = (struct columns){ .task = -1 };
	for (uint32_t f = 0; f < what->table->n_fields && f < EBT_MAX_FIELDS; f++) {
		enum ebt_type type = what->table->fields[f].type;

		if (type == EBT_TYPE_TASK && ret->task < 0)
			ret->task = (int)f;
		else if (type == EBT_TYPE_STACK)
			ret->stacks[ret->n_stacks++] = (int)f;
		else if ((int)f != what->weight)
			continue;
		ret->all |= UINT64_C(1) << f;
	}
}

static bool is_weight(const struct ebt_field *field)
{
	return field->type == EBT_TYPE_U64 || field->type == EBT_TYPE_I64 ||
	       field->type == EBT_TYPE_DURATION;
}

static void keep_nearer(const char *want, const char *name, struct text *near, size_t *distance)
{
	size_t d = ebt_spelling_distance(want, name);

	if (d >= *distance)
		return;
	*distance = d;
	text_clear(near);
	text_cstr(near, name);
}

static struct ebt_error *not_found(struct trace *trace, const char *name)
{
	_cleanup_text_ struct text names = TEXT_INIT, near = TEXT_INIT;
	size_t n, distance = 2 + strlen(name) / 4; /* what is further is meant by nobody */
	const struct ebt_table *tables;
	struct ebt_error *err;

	for (int i = 0; tree_feed_events[i]; i++)
		keep_nearer(name, tree_feed_events[i], &near, &distance);
	tables = ebt_reader_tables(trace_reader(trace), &n);
	for (size_t i = 0; i < n; i++) {
		if (!ebt_table_has_type(&tables[i], EBT_TYPE_STACK) ||
		    !ebt_reader_has_rows(trace_reader(trace), tables[i].id))
			continue;
		text_printf(&names, ", %s", tables[i].name);
		keep_nearer(name, tables[i].name, &near, &distance);
	}
	err = tree_probes_list(trace, name, &names, &near, &distance);
	if (err)
		return err;
	return ebt_error_create(EBT_ERR_INVALID,
				"--event: the trace has no table with stacks and no probe '%s'; "
				"there are cpu, offcpu%s%s%s%s",
				name, text_get(&names), near.len ? ": did you mean " : "",
				near.len ? text_get(&near) : "", near.len ? "?" : "");
}

static struct ebt_error *no_column(const struct ebt_table *table, const char *name)
{
	_cleanup_text_ struct text names = TEXT_INIT;

	for (uint32_t f = 0; f < table->n_fields && f < EBT_MAX_FIELDS; f++) {
		if (is_weight(&table->fields[f]) && strcmp(table->fields[f].name, "unused") != 0)
			text_printf(&names, ", %s", table->fields[f].name);
	}
	return ebt_error_create(EBT_ERR_INVALID,
				"--weight: table %s has no number '%s'; there are rows%s",
				table->name, name, text_get(&names));
}

static struct ebt_error *find_weight(struct tree_table *what, const char *name)
{
	const struct ebt_table *table = what->table;
	bool rows = name && strcmp(name, "rows") == 0;

	what->weight = -1;
	for (uint32_t f = 0; !rows && f < table->n_fields && f < EBT_MAX_FIELDS; f++) {
		const struct ebt_field *field = &table->fields[f];

		if (name ? is_weight(field) && strcmp(field->name, name) == 0
			 : field->type == EBT_TYPE_DURATION && strcmp(field->name, "duration") == 0)
			what->weight = (int)f;
	}
	return name && !rows && what->weight < 0 ? no_column(table, name) : NULL;
}

struct ebt_error *tree_table_find(struct trace *trace, const char *name, const char *weight,
				  struct tree_probes *ret_probes, struct tree_table *ret)
{
	struct tree_table what = { .weight = -1 };
	const struct ebt_table *tables;
	struct ebt_error *err;
	size_t n;

	tables = ebt_reader_tables(trace_reader(trace), &n);
	for (size_t i = 0; i < n; i++) {
		if (ebt_table_has_type(&tables[i], EBT_TYPE_STACK) &&
		    strcmp(tables[i].name, name) == 0)
			what.table = &tables[i];
	}
	if (!what.table) {
		what.table = ebt_reader_table(trace_reader(trace), EBT_T_probe_hit);
		err = tree_probes_find(trace, name, ret_probes);
		if (err)
			return err;
		if (!what.table || !ret_probes->title)
			return not_found(trace, name);
		/* Only calls take time. */
		if (!weight && !ret_probes->calls)
			weight = "rows";
	}
	err = find_weight(&what, weight);
	if (err)
		return err;
	*ret = what;
	return NULL;
}

const char *tree_table_unit(const struct tree_table *what)
{
	const char *unit = what->weight < 0 ? NULL : what->table->fields[what->weight].unit;

	if (what->weight < 0)
		return "events";
	if (what->table->fields[what->weight].type == EBT_TYPE_DURATION)
		return "ns";
	return unit ? unit : "";
}

/* Files of other versions may lack a column. */
static uint64_t value_of(const struct ebt_row *row, int field)
{
	return field >= 0 && row->batch->col[field] ? ebt_u64(row, (unsigned int)field) : 0;
}

/* Of the probes that were named, if any were. */
static bool is_wanted(const struct tree_feed *feed, const struct ebt_row *row)
{
	uint32_t unused;

	return !feed->probes.title ||
	       ebt_map_find(&feed->probes.numbers, value_of(row, EBT_F_probe_hit_probe), &unused);
}

/* The first stack of each kind, as the user's one goes on where the kernel's ends. */
static struct ebt_error *add_row(struct tree_feed *feed, const struct ebt_row *row,
				 const struct columns *columns, uint64_t weight)
{
	struct calltree_stack stack = {
		.batch = row->batch,
		.task = value_of(row, columns->task) ? ebt_task(row, (unsigned int)columns->task)
						     : NULL,
		.time = row->time,
	};

	if (!tree_feed_wanted(feed, stack.task))
		return NULL;
	for (uint32_t i = 0; i < columns->n_stacks; i++) {
		uint64_t value = value_of(row, columns->stacks[i]), *place;

		if (!value)
			continue;
		place = row->batch->stacks[value - 1].attrs & EBT_STACK_USER ? &stack.user
									     : &stack.kernel;
		if (!*place)
			*place = value;
	}
	return tree_feed_add(feed, &stack, weight);
}

static struct ebt_error *add_warnings(struct trace *trace, const struct tree_table *what,
				      const char *table, uint64_t negative, uint64_t rows,
				      bool all_zero)
{
	struct ebt_error *err = NULL;

	if (!rows)
		err = trace_warn(trace, "no rows of %s that pass the filters", table);
	if (!err && rows && all_zero)
		err = trace_warn(trace,
				 "the %s of each row of %s is zero: --weight rows counts rows",
				 what->table->fields[what->weight].name, table);
	if (!err && negative)
		err = trace_warn(trace, "%" PRIu64 " %s of %s whose %s is below zero %s left out",
				 negative, text_plural(negative, "row", "rows"), table,
				 what->table->fields[what->weight].name,
				 text_plural(negative, "is", "are"));
	return err;
}

struct ebt_error *tree_table_read(struct trace *trace, const struct tree_table *what,
				  struct tree_feed *feed)
{
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	bool is_signed =
		what->weight >= 0 && what->table->fields[what->weight].type == EBT_TYPE_I64;
	uint64_t negative = 0, any = 0;
	struct columns columns;
	struct ebt_want want;
	struct ebt_error *err;

	find_columns(what, &columns);
	want = (struct ebt_want){ what->table->id, columns.all };
	if (feed->probes.title)
		want.columns |= EBT_COL(probe_hit, probe);
	err = trace_cursor_create(trace, &want, 1, 0, &cursor);
	while (!err) {
		uint64_t weight = 1;
		struct ebt_row row;

		err = trace_next(cursor, &row);
		if (err || !row.batch)
			break;
		if (!is_wanted(feed, &row))
			continue;
		if (what->weight >= 0)
			weight = value_of(&row, what->weight);
		any |= weight;
		if (is_signed && (int64_t)weight < 0)
			negative++;
		else
			err = add_row(feed, &row, &columns, weight);
	}
	return err ? err
		   : add_warnings(trace, what, feed->table, negative, feed->stacks + negative,
				  !any);
}
