/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When inputs recorded which table; see merge_spans.h. */
#include "report/share/merge_spans.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/map.h"

DEFINE_CLEANUP(struct merge_spans *, merge_spans_destroy);

struct recorded {
	struct ebt_reader *reader;
	struct ebt_map by_sort; /* of a table and a sort of its rows: index of spans */
	struct merge_span *spans;
	size_t n_spans, spans_capacity;
};

struct merge_spans {
	struct recorded *inputs;
	size_t n;
	uint8_t lost[(UINT16_MAX + 1) / 8]; /* a bit a table: some input tells of losses */
	const struct merge_ids *ids;
};

/* --- sorts of rows --- */

/* The field that tells sources apart that write the same table, or moments of one source. */
static int sort_field(const struct ebt_table *table)
{
	int origin = ebt_field_by_name(table, "origin");

	return origin >= 0 ? origin : ebt_field_by_name(table, "moment");
}

static bool has_sorts(const struct ebt_table *table)
{
	return sort_field(table) >= 0 || merge_ids_are_shared(table->id);
}

uint64_t merge_spans_sort(const struct merge_spans *spans, size_t input, const struct ebt_row *row)
{
	const struct ebt_table *table = row->batch->table;
	int field = sort_field(table);

	if (field >= 0)
		return ebt_u64(row, (unsigned int)field);
	return merge_ids_are_shared(table->id) ? merge_ids_of(spans->ids, input, row) : 0;
}

/* Sorts are small numbers; larger ones are one sort. */
#define ALL_SORTS UINT32_MAX

static uint64_t span_key(uint16_t table, uint64_t sort)
{
	return (uint64_t)table << 32 | (sort < ALL_SORTS ? sort : ALL_SORTS);
}

const struct merge_span *merge_spans_find(const struct merge_spans *spans, size_t input,
					  uint16_t table, uint64_t sort)
{
	const struct recorded *of = &spans->inputs[input];
	uint32_t i;

	return ebt_map_find(&of->by_sort, span_key(table, sort), &i) ? &of->spans[i] : NULL;
}

const struct merge_span *merge_spans_table(const struct merge_spans *spans, size_t input,
					   uint16_t table)
{
	return merge_spans_find(spans, input, table, ALL_SORTS);
}

const struct merge_span *merge_spans_list(const struct merge_spans *spans, size_t input, size_t *n)
{
	*n = spans->inputs[input].n_spans;
	return spans->inputs[input].spans;
}

static struct ebt_error *widen(struct recorded *input, uint16_t table, uint64_t sort, uint64_t from,
			       uint64_t to)
{
	struct merge_span *span;
	uint32_t i;
	struct ebt_error *err =
		ebt_map_element(&input->by_sort, span_key(table, sort), &input->spans,
				&input->n_spans, &input->spans_capacity, &i);

	if (err)
		return err;
	span = &input->spans[i];
	if (!span->any || from < span->from)
		span->from = from;
	if (!span->any || to > span->to)
		span->to = to;
	span->any = true;
	span->table = table;
	return NULL;
}

struct finding {
	struct merge_spans *spans;
	size_t input;
};

static struct ebt_error *take_sort(void *arg, const struct ebt_row *row)
{
	const struct finding *finding = arg;
	struct recorded *input = &finding->spans->inputs[finding->input];
	uint64_t sort = merge_spans_sort(finding->spans, finding->input, row);

	sort = sort < ALL_SORTS ? sort : ALL_SORTS - 1;
	return widen(input, row->batch->table->id, sort, row->time, row->time);
}

/* Columns of which no row can be read without: time, and what tells sorts apart. */
static struct ebt_error *read_sorts(struct merge_spans *spans, size_t i,
				    const struct ebt_table *table, ebt_row_fn *take)
{
	const int columns[] = { sort_field(table), merge_ids_field(table->id) };
	struct finding finding = { spans, i };
	struct ebt_want want = { table->id, 0 };
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };

	for (size_t k = 0; k < 2; k++)
		want.columns |= columns[k] >= 0 ? UINT64_C(1) << columns[k] : 0;
	return ebt_read_rows(spans->inputs[i].reader, &query, take, &finding);
}

bool merge_spans_are_of(const struct ebt_table *table)
{
	return table->class == EBT_CLASS_EVENT || table->id == EBT_T_ended_threads ||
	       (table->class == EBT_CLASS_STATE && ebt_field_by_name(table, "moment") >= 0);
}

/* Rows of a moment stand for the whole recording. */
static struct ebt_error *take_state(void *arg, const struct ebt_row *row)
{
	const struct finding *finding = arg;
	struct recorded *input = &finding->spans->inputs[finding->input];
	const struct ebt_reader_info *info = ebt_reader_info(input->reader);
	const uint16_t table = row->batch->table->id;

	return widen(input, table, ALL_SORTS, info->recorded_ns, info->recorded_to_ns)
		       ?: widen(input, table, merge_spans_sort(finding->spans, finding->input, row),
				info->recorded_ns, info->recorded_to_ns);
}

static void mark_sorts(struct recorded *input, uint16_t table)
{
	uint32_t i;

	if (ebt_map_find(&input->by_sort, span_key(table, ALL_SORTS), &i))
		input->spans[i].has_sorts = true;
}

static struct ebt_error *find_table(struct merge_spans *spans, size_t i,
				    const struct ebt_table *table)
{
	struct recorded *input = &spans->inputs[i];
	struct ebt_error *err = NULL;
	size_t n;
	const struct ebt_chunk_info *chunks = ebt_reader_chunks(input->reader, &n);

	if (!merge_spans_are_of(table) || !ebt_reader_has_rows(input->reader, table->id))
		return NULL;
	if (table->class == EBT_CLASS_STATE)
		return read_sorts(spans, i, table, take_state);
	for (size_t k = 0; !err && k < n; k++) {
		if (chunks[k].table != table->id || !chunks[k].rows)
			continue;
		err = widen(input, table->id, ALL_SORTS, chunks[k].time_min, chunks[k].time_max);
		if (!err && !has_sorts(table))
			err = widen(input, table->id, 0, chunks[k].time_min, chunks[k].time_max);
	}
	if (err || !has_sorts(table))
		return err;
	mark_sorts(input, table->id);
	return read_sorts(spans, i, table, take_sort);
}

static struct ebt_error *find_spans(struct merge_spans *spans, size_t i)
{
	struct ebt_error *err = NULL;
	size_t n;
	const struct ebt_table *tables = ebt_reader_tables(spans->inputs[i].reader, &n);

	for (size_t t = 0; !err && t < n; t++)
		err = find_table(spans, i, &tables[t]);
	return err;
}

/* --- losses --- */

static struct ebt_error *pass_over(void *arg, const struct ebt_row *row)
{
	(void)arg, (void)row;
	return NULL;
}

struct ebt_error *merge_spans_load_gaps(struct merge_spans *spans, size_t i,
					const struct ebt_table *table)
{
	struct recorded *input = &spans->inputs[i];
	struct ebt_error *err = NULL;
	uint32_t span;

	if (!ebt_map_find(&input->by_sort, span_key(table->id, ALL_SORTS), &span) ||
	    input->spans[span].has_gaps)
		return NULL;
	input->spans[span].has_gaps = true;
	/* Sorts of rows have been read already. */
	if (table->class == EBT_CLASS_EVENT && !input->spans[span].has_sorts)
		err = read_sorts(spans, i, table, pass_over);
	return err ?: losses_load(input->reader, table->id, &input->spans[span].gaps);
}

static void note_loss(struct merge_spans *spans, uint16_t table)
{
	spans->lost[table / 8] |= (uint8_t)(1u << table % 8);
}

static struct ebt_error *take_loss(void *arg, const struct ebt_row *row)
{
	if (ebt_lost_table_id(row) <= UINT16_MAX)
		note_loss(arg, (uint16_t)ebt_lost_table_id(row));
	return NULL;
}

static struct ebt_error *find_losses(struct merge_spans *spans, size_t input)
{
	size_t n;
	const struct ebt_chunk_info *chunks = ebt_reader_chunks(spans->inputs[input].reader, &n);

	for (size_t k = 0; k < n; k++) {
		if (chunks[k].lost)
			note_loss(spans, chunks[k].table);
	}
	return ebt_read_table(spans->inputs[input].reader, EBT_T_lost, take_loss, spans);
}

struct ebt_error *merge_spans_load_lost(struct merge_spans *spans, size_t input)
{
	struct ebt_error *err = NULL;
	size_t n;
	const struct ebt_table *tables = ebt_reader_tables(spans->inputs[input].reader, &n);

	for (size_t t = 0; !err && t < n; t++) {
		if (spans->lost[tables[t].id / 8] >> tables[t].id % 8 & 1)
			err = merge_spans_load_gaps(spans, input, &tables[t]);
	}
	return err;
}

/* --- --- */

struct ebt_error *merge_spans_create(struct ebt_reader *const *readers, size_t n,
				     const struct merge_ids *ids, struct merge_spans **ret)
{
	_cleanup_(merge_spans_destroyp) struct merge_spans *spans = calloc(1, sizeof(*spans));
	struct ebt_error *err = NULL;

	if (!spans)
		return &ebt_enomem;
	spans->inputs = calloc(n, sizeof(*spans->inputs));
	if (!spans->inputs)
		return &ebt_enomem;
	spans->n = n;
	spans->ids = ids;
	for (size_t i = 0; !err && i < n; i++) {
		spans->inputs[i].reader = readers[i];
		err = find_spans(spans, i) ?: find_losses(spans, i);
	}
	if (!err)
		*ret = take_ptr(spans);
	return err;
}

void merge_spans_destroy(struct merge_spans *spans)
{
	if (!spans)
		return;
	for (size_t i = 0; spans->inputs && i < spans->n; i++) {
		struct recorded *input = &spans->inputs[i];

		ebt_map_deinit(&input->by_sort);
		for (size_t k = 0; k < input->n_spans; k++)
			losses_deinit(&input->spans[k].gaps);
		free(input->spans);
	}
	free(spans->inputs);
	free(spans);
}
