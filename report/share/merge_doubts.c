/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where rows of several inputs are compared; see merge_doubts.h. */
#include "report/share/merge_doubts.h"

#include <stdlib.h>

#include "format/base/compare.h"
#include "format/base/map.h"
#include "report/share/copying.h"

/* Tables whose rows each recorder makes for itself, so that no two are of the same event. */
static const uint16_t sampled[] = { EBT_T_sample, EBT_T_counter, EBT_T_rss_stat };

bool merge_is_sampled(uint16_t table)
{
	for (size_t i = 0; i < sizeof(sampled) / sizeof(sampled[0]); i++) {
		if (sampled[i] == table)
			return true;
	}
	return false;
}

/* Inputs that have a table at the same time, or one behind the other. */
struct cluster {
	const struct merge_doubts *of;
	const struct ebt_table *table;
	size_t inputs[TWINS_INPUTS], n;
	struct losses doubts; /* times in which rows are compared */
};

/* Of a number that is told of an event, and not just of what one recorder made of it. */
static bool is_of_event(const struct ebt_table *table, uint32_t f)
{
	if (merge_ids_field(table->id) == (int)f)
		return false;
	/* Other samples stand for the same time of the same CPU. */
	return !merge_is_sampled(table->id) || ebt_field_by_name(table, "cpu") == (int)f ||
	       table->fields[f].type == EBT_TYPE_ENUM;
}

/* What two recorders write alike of one event. */
static uint64_t content_hash(const struct ebt_row *row)
{
	const struct ebt_table *table = row->batch->table;
	uint64_t hash = ebt_hash_u64(0, table->id);

	for (uint32_t f = 1; f < table->n_fields; f++) {
		const struct ebt_task *task;

		switch (table->fields[f].type) {
		case EBT_TYPE_TASK:
			task = ebt_task(row, f);
			hash = ebt_hash_u64(hash, task ? task->tid : 0);
			break;
		case EBT_TYPE_U64:
		case EBT_TYPE_I64:
		case EBT_TYPE_HEX:
		case EBT_TYPE_ENUM:
			if (is_of_event(table, f))
				hash = ebt_hash_u64(hash, ebt_u64(row, f));
			break;
		case EBT_TYPE_TIME:
		case EBT_TYPE_DURATION:
		case EBT_TYPE_STACK:
		case EBT_TYPE_STRING:
		case EBT_TYPE_BYTES:
		case EBT_N_TYPES:
			break;
		}
	}
	return hash;
}

static enum twin_role choose_role(void *arg, size_t input, const struct ebt_row *row,
				  struct twin_says *ret)
{
	const struct cluster *cluster = arg;
	const struct merge_doubts *of = cluster->of;
	const uint64_t sort = merge_spans_sort(of->spans, input, row);

	if (!losses_touch(&cluster->doubts, copying_begin(row), row->time))
		return TWIN_NONE;
	*ret = (struct twin_says){ .hash = ebt_hash_u64(content_hash(row), sort) };
	for (size_t k = 0; k < cluster->n; k++) {
		const size_t other = cluster->inputs[k];

		if (other != input && of->must_have(of->arg, other, sort, row))
			ret->due |= UINT64_C(1) << other;
	}
	return of->role(of->arg, input, sort, row);
}

static struct ebt_error *pass_found(void *arg, size_t input, const struct ebt_chunk_info *chunk,
				    uint32_t row)
{
	const struct cluster *cluster = arg;

	return cluster->of->found(cluster->of->arg, input, chunk, row);
}

static struct ebt_error *add_doubt(struct cluster *cluster, uint64_t from, uint64_t to)
{
	/* Twins of rows that are in doubt, and theirs. */
	return losses_add(&cluster->doubts, merge_earlier(from, 2 * TWINS_APART),
			  merge_later(to, 2 * TWINS_APART));
}

static struct ebt_error *add_doubts_of(struct cluster *cluster, size_t input)
{
	const struct merge_spans *of = cluster->of->spans;
	const uint16_t table = cluster->table->id;
	const struct losses *gaps = &merge_spans_table(of, input, table)->gaps;
	struct ebt_error *err = NULL;
	size_t n;
	const struct merge_span *spans = merge_spans_list(of, input, &n);

	for (size_t i = 0; !err && i < gaps->n; i++)
		err = add_doubt(cluster, gaps->spans[i].from, gaps->spans[i].to);
	for (size_t i = 0; !err && i < n && !merge_is_sampled(table); i++) {
		if (spans[i].table == table)
			err = add_doubt(cluster, spans[i].from, spans[i].from)
				      ?: add_doubt(cluster, spans[i].to, spans[i].to);
	}
	return err;
}

static struct ebt_error *find_doubts(struct cluster *cluster)
{
	struct ebt_error *err = NULL;

	for (size_t k = 0; !err && k < cluster->n; k++)
		err = merge_spans_load_gaps(cluster->of->spans, cluster->inputs[k], cluster->table)
			      ?: add_doubts_of(cluster, cluster->inputs[k]);
	losses_finish(&cluster->doubts);
	return err;
}

static struct ebt_error *compare_at(struct cluster *cluster, uint64_t from, uint64_t to)
{
	size_t inputs[TWINS_INPUTS];
	struct twins_search search = {
		.readers = cluster->of->readers,
		.inputs = inputs,
		.table = cluster->table->id,
		.sampled = merge_is_sampled(cluster->table->id),
		.from = from,
		.to = to,
		.arg = cluster,
		.role = choose_role,
		.found = pass_found,
	};

	for (size_t k = 0; k < cluster->n; k++) {
		const struct merge_span *span =
			merge_spans_table(cluster->of->spans, cluster->inputs[k],
					  cluster->table->id);

		if (span->from <= to && span->to >= from)
			inputs[search.n++] = cluster->inputs[k];
	}
	return search.n > 1 ? merge_twins_find(&search) : NULL;
}

/* A table whose rows tell of what began before them is read through, and so is one with many
 * doubts. */
#define MANY_DOUBTS 32

static struct ebt_error *compare_cluster(struct cluster *cluster)
{
	struct ebt_error *err = find_doubts(cluster);
	const struct losses *doubts = &cluster->doubts;

	if (err || !doubts->n)
		return err;
	if (ebt_table_has_type(cluster->table, EBT_TYPE_DURATION) || doubts->n > MANY_DOUBTS)
		return compare_at(cluster, doubts->spans[0].from, doubts->spans[doubts->n - 1].to);
	for (size_t i = 0; !err && i < doubts->n; i++)
		err = compare_at(cluster, doubts->spans[i].from, doubts->spans[i].to);
	return err;
}

struct placed {
	uint64_t from, to;
	size_t input;
};

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return ebt_compare(x->from, y->from);
}

static int compare_indices(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return ebt_compare(*x, *y);
}

/* The inputs of placed[0] and of those that follow it without a break. */
static struct ebt_error *compare_some(const struct merge_doubts *of, const struct ebt_table *table,
				      const struct placed *placed, size_t n)
{
	struct cluster cluster = { .of = of, .table = table, .n = n };
	struct ebt_error *err = NULL;

	for (size_t k = 0; k < n; k++)
		cluster.inputs[k] = placed[k].input;
	qsort(cluster.inputs, n, sizeof(cluster.inputs[0]), compare_indices);
	if (n > 1)
		err = compare_cluster(&cluster);
	losses_deinit(&cluster.doubts);
	return err;
}

static struct ebt_error *compare_table(const struct merge_doubts *of, const struct ebt_table *table)
{
	struct placed placed[TWINS_INPUTS];
	size_t n = 0, first = 0;
	uint64_t to = 0;
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < of->n; i++) {
		const struct merge_span *span = merge_spans_table(of->spans, i, table->id);

		if (span)
			placed[n++] = (struct placed){ span->from, span->to, i };
	}
	qsort(placed, n, sizeof(placed[0]), compare_placed);
	for (size_t k = 0; !err && k < n; k++) {
		if (k > first && placed[k].from > merge_later(to, TWINS_APART)) {
			err = compare_some(of, table, &placed[first], k - first);
			first = k;
		}
		to = placed[k].to > to ? placed[k].to : to;
	}
	return err ?: compare_some(of, table, &placed[first], n - first);
}

static bool is_of_earlier(const struct merge_doubts *of, size_t input, uint16_t table)
{
	for (size_t i = 0; i < input; i++) {
		if (merge_spans_table(of->spans, i, table))
			return true;
	}
	return false;
}

static struct ebt_error *compare_tables_of(const struct merge_doubts *of, size_t input)
{
	struct ebt_error *err = NULL;
	size_t n;
	const struct ebt_table *tables = ebt_reader_tables(of->readers[input], &n);

	for (size_t t = 0; !err && t < n; t++) {
		if (tables[t].class == EBT_CLASS_EVENT &&
		    merge_spans_table(of->spans, input, tables[t].id) &&
		    !is_of_earlier(of, input, tables[t].id))
			err = compare_table(of, &tables[t]);
	}
	return err;
}

struct ebt_error *merge_doubts_compare(const struct merge_doubts *doubts)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < doubts->n; i++)
		err = compare_tables_of(doubts, i);
	return err;
}
