/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows that two recordings have; see merge_cover.h. */
#include "report/share/merge_cover.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "format/base/map.h"
#include "report/share/copying.h"
#include "report/trace/followed.h"

DEFINE_CLEANUP(struct merge_cover *, merge_cover_destroy);

/* Two programs of one hook read the clock one after the other: microseconds, or as long as the CPU
 * was taken away in between. */
#define EDGE UINT64_C(10000000)

static uint64_t later(uint64_t time, uint64_t by)
{
	return time < UINT64_MAX - by ? time + by : UINT64_MAX;
}

/* How far apart the rows of a pair may be: close pairs are made first. */
static const uint64_t distances[] = { 10000, 100000, 1000000, EDGE };

/* Tables whose rows each recorder makes for itself, so that no two are of the same event. */
static const uint16_t sampled[] = { EBT_T_sample, EBT_T_counter, EBT_T_rss_stat };

/* When a table, or one sort of its rows, was recorded: both ends included. */
struct cover_span {
	uint64_t from, to;
	bool any;
	bool has_sorts; /* of a whole table: what is true of it need not be of each sort */
};

struct input {
	struct ebt_reader *reader;
	struct followed *followed;
	struct ebt_map by_sort; /* of a table and a sort of its rows: index of spans */
	struct cover_span *spans;
	size_t n_spans, spans_capacity;
	struct ebt_map twins; /* places of rows near an edge that an earlier input has */
};

struct merge_cover {
	struct input *inputs;
	size_t n;
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

static uint64_t sort_of(const struct merge_cover *cover, size_t input, const struct ebt_row *row)
{
	const struct ebt_table *table = row->batch->table;
	int field = sort_field(table);

	if (field >= 0)
		return ebt_u64(row, (unsigned int)field);
	return merge_ids_are_shared(table->id) ? merge_ids_of(cover->ids, input, row) : 0;
}

/* Sorts are small numbers; larger ones are one sort. */
#define ALL_SORTS UINT32_MAX

static uint64_t span_key(uint16_t table, uint64_t sort)
{
	return (uint64_t)table << 32 | (sort < ALL_SORTS ? sort : ALL_SORTS);
}

static const struct cover_span *find_span(const struct input *input, uint16_t table, uint64_t sort)
{
	uint32_t i;

	return ebt_map_find(&input->by_sort, span_key(table, sort), &i) ? &input->spans[i] : NULL;
}

/* Of all sorts; NULL: there are no rows. */
static const struct cover_span *table_span(const struct input *input, uint16_t table)
{
	return find_span(input, table, ALL_SORTS);
}

static struct ebt_error *widen(struct input *input, uint16_t table, uint64_t sort, uint64_t from,
			       uint64_t to)
{
	struct cover_span *span;
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
	return NULL;
}

struct finding {
	struct merge_cover *cover;
	size_t input;
};

static struct ebt_error *take_sort(void *arg, const struct ebt_row *row)
{
	const struct finding *finding = arg;
	struct input *input = &finding->cover->inputs[finding->input];
	uint64_t sort = sort_of(finding->cover, finding->input, row);

	sort = sort < ALL_SORTS ? sort : ALL_SORTS - 1;
	return widen(input, row->batch->table->id, sort, row->time, row->time);
}

/* Other state may be told any number of times. */
static bool is_once(const struct ebt_table *table)
{
	return table->class == EBT_CLASS_EVENT || table->id == EBT_T_ended_threads ||
	       (table->class == EBT_CLASS_STATE && ebt_field_by_name(table, "moment") >= 0);
}

/* Rows of a moment stand for the whole recording. */
static struct ebt_error *find_state(struct input *input, const struct ebt_table *table)
{
	const struct ebt_reader_info *info = ebt_reader_info(input->reader);
	struct ebt_error *err = widen(input, table->id, ALL_SORTS, info->start_ns, info->end_ns);

	for (uint64_t sort = 0; !err && sort < 3; sort++)
		err = widen(input, table->id, sort, info->start_ns, info->end_ns);
	return err;
}

static void mark_sorts(struct input *input, uint16_t table)
{
	uint32_t i;

	if (ebt_map_find(&input->by_sort, span_key(table, ALL_SORTS), &i))
		input->spans[i].has_sorts = true;
}

static struct ebt_error *find_table(struct merge_cover *cover, size_t i,
				    const struct ebt_table *table)
{
	struct finding finding = { cover, i };
	struct input *input = &cover->inputs[i];
	struct ebt_error *err = NULL;
	size_t n;
	const struct ebt_chunk_info *chunks = ebt_reader_chunks(input->reader, &n);

	if (!is_once(table) || !ebt_reader_has_rows(input->reader, table->id))
		return NULL;
	if (table->class == EBT_CLASS_STATE)
		return find_state(input, table);
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
	return ebt_read_table(input->reader, table->id, take_sort, &finding);
}

static struct ebt_error *find_spans(struct merge_cover *cover, size_t i)
{
	struct ebt_error *err = NULL;
	size_t n;
	const struct ebt_table *tables = ebt_reader_tables(cover->inputs[i].reader, &n);

	for (size_t t = 0; !err && t < n; t++)
		err = find_table(cover, i, &tables[t]);
	return err;
}

/* --- one row --- */

/* Does the input record what these tasks do? A row with none is of the machine. */
static bool is_followed(const struct input *input, const struct ebt_row *row)
{
	const struct ebt_table *table = row->batch->table;
	bool any = false;

	for (uint32_t f = 0; f < table->n_fields; f++) {
		const struct ebt_task *task;

		if (table->fields[f].type != EBT_TYPE_TASK)
			continue;
		any = true;
		task = ebt_task(row, f);
		if (task && followed_has(input->followed, task))
			return true;
	}
	return !any || !followed_is_partial(input->followed);
}

static bool is_sampled(uint16_t table)
{
	for (size_t i = 0; i < sizeof(sampled) / sizeof(sampled[0]); i++) {
		if (sampled[i] == table)
			return true;
	}
	return false;
}

enum cover_place { OUTSIDE, AT_EDGE, INSIDE };

static enum cover_place place_of(const struct cover_span *span, const struct ebt_row *row,
				 uint64_t edge)
{
	const struct ebt_table *table = row->batch->table;

	if (!span)
		return OUTSIDE;
	if (table->class != EBT_CLASS_EVENT || is_sampled(table->id))
		return row->time >= span->from && row->time <= span->to ? INSIDE : OUTSIDE;
	if (later(row->time, EDGE) < span->from || row->time > later(span->to, EDGE))
		return OUTSIDE;
	return copying_begin(row) < later(span->from, edge) || later(row->time, edge) > span->to
		       ? AT_EDGE
		       : INSIDE;
}

static uint64_t place_key(const struct ebt_row *row)
{
	return row->batch->chunk->offset << 20 | row->i;
}

bool merge_cover_has(const struct merge_cover *cover, size_t input, const struct ebt_row *row)
{
	const struct ebt_table *table = row->batch->table;
	const uint64_t sort = is_once(table) ? sort_of(cover, input, row) : 0;
	uint32_t unused;

	if (!is_once(table))
		return false;
	for (size_t i = 0; i < input; i++) {
		const struct input *owner = &cover->inputs[i];

		switch (place_of(find_span(owner, table->id, sort), row, EDGE)) {
		case INSIDE:
			if (is_followed(owner, row))
				return true;
			break;
		case AT_EDGE:
			if (ebt_map_find(&cover->inputs[input].twins, place_key(row), &unused))
				return true;
			break;
		case OUTSIDE:
			break;
		}
	}
	return false;
}

bool merge_cover_touches(const struct merge_cover *cover, size_t input,
			 const struct ebt_chunk_info *chunk, const struct ebt_table *table)
{
	for (size_t i = 0; is_once(table) && i < input; i++) {
		const struct cover_span *span = table_span(&cover->inputs[i], table->id);

		if (span && later(chunk->time_max, EDGE) >= span->from &&
		    chunk->time_min <= later(span->to, EDGE))
			return true;
	}
	return false;
}

bool merge_cover_has_all(const struct merge_cover *cover, size_t input, uint16_t table,
			 uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < input; i++) {
		const struct input *owner = &cover->inputs[i];
		const struct cover_span *span = table_span(owner, table);

		if (span && from >= span->from && to <= span->to && !span->has_sorts &&
		    !followed_is_partial(owner->followed))
			return true;
	}
	return false;
}

/* --- pairs at the edges --- */

struct edge_twin {
	uint64_t hash; /* of what the row says */
	uint64_t time, place;
	bool paired;
};

struct side {
	struct edge_twin *list;
	size_t n, capacity;
};

struct pairing {
	struct merge_cover *cover;
	size_t owner, input; /* input: of the rows that are read */
	struct side *side;
};

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
			if (merge_ids_field(table->id) != (int)f)
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

static struct ebt_error *take_candidate(void *arg, const struct ebt_row *row)
{
	struct pairing *pairing = arg;
	const struct merge_cover *cover = pairing->cover;
	struct side *side = pairing->side;
	const uint64_t sort = sort_of(cover, pairing->input, row);
	const struct cover_span *span =
		find_span(&cover->inputs[pairing->owner], row->batch->table->id, sort);
	struct ebt_error *err;

	/* The twin of a row at the edge may be beyond. */
	if (place_of(span, row, pairing->input == pairing->owner ? 2 * EDGE : EDGE) != AT_EDGE)
		return NULL;
	err = ebt_array_reserve(&side->list, side->n, &side->capacity);
	if (err)
		return err;
	side->list[side->n++] = (struct edge_twin){
		.hash = ebt_hash_u64(content_hash(row), sort),
		.time = row->time,
		.place = place_key(row),
	};
	return NULL;
}

static int compare_candidates(const void *a, const void *b)
{
	const struct edge_twin *x = a, *y = b;

	return ebt_compare(x->hash, y->hash) ?: ebt_compare(x->time, y->time);
}

/* Pairs of the same content that are no further apart, in order. */
static struct ebt_error *pair_within(struct side *owners, struct side *others, uint64_t distance,
				     struct ebt_map *twins)
{
	size_t i = 0, k = 0;
	struct ebt_error *err = NULL;
	uint32_t had;

	while (!err && i < owners->n && k < others->n) {
		struct edge_twin *a = &owners->list[i], *b = &others->list[k];
		const int order = compare_candidates(a, b);
		const uint64_t apart = order < 0 ? b->time - a->time : a->time - b->time;

		if (!a->paired && !b->paired && a->hash == b->hash && apart <= distance) {
			a->paired = b->paired = true;
			err = ebt_map_add(twins, b->place, 0, &had);
		}
		if (a->paired || (!b->paired && order < 0))
			i++;
		else
			k++;
	}
	return err;
}

static struct ebt_error *collect(struct merge_cover *cover, size_t owner, size_t input,
				 uint16_t table, struct side *side)
{
	struct pairing pairing = { cover, owner, input, side };
	const struct cover_span *span = table_span(&cover->inputs[owner], table);
	const struct ebt_want want = { table, ~UINT64_C(0) };
	const struct ebt_query query = {
		.wants = &want,
		.n_wants = 1,
		.from_ns = span->from > EDGE ? span->from - EDGE : 0,
		.to_ns = later(span->to, EDGE + 1),
	};
	struct ebt_error *err =
		ebt_read_rows(cover->inputs[input].reader, &query, take_candidate, &pairing);

	if (!err && side->n)
		qsort(side->list, side->n, sizeof(*side->list), compare_candidates);
	return err;
}

static struct ebt_error *pair_table(struct merge_cover *cover, size_t owner, size_t input,
				    uint16_t table)
{
	struct side owners = { 0 }, others = { 0 };
	struct ebt_error *err = collect(cover, owner, owner, table, &owners)
					?: collect(cover, owner, input, table, &others);

	for (size_t i = 0; !err && i < sizeof(distances) / sizeof(distances[0]); i++)
		err = pair_within(&owners, &others, distances[i], &cover->inputs[input].twins);
	free(owners.list);
	free(others.list);
	return err;
}

static struct ebt_error *pair_inputs(struct merge_cover *cover, size_t owner, size_t input)
{
	struct ebt_error *err = NULL;
	size_t n;
	const struct ebt_table *tables = ebt_reader_tables(cover->inputs[input].reader, &n);

	for (size_t t = 0; !err && t < n; t++) {
		const struct cover_span *a, *b;

		if (tables[t].class != EBT_CLASS_EVENT || is_sampled(tables[t].id))
			continue;
		a = table_span(&cover->inputs[owner], tables[t].id);
		b = table_span(&cover->inputs[input], tables[t].id);
		if (a && b && a->from <= later(b->to, EDGE) && b->from <= later(a->to, EDGE))
			err = pair_table(cover, owner, input, tables[t].id);
	}
	return err;
}

/* --- --- */

struct ebt_error *merge_cover_create(struct ebt_reader *const *readers, size_t n,
				     const struct merge_ids *ids, struct merge_cover **ret)
{
	_cleanup_(merge_cover_destroyp) struct merge_cover *cover = calloc(1, sizeof(*cover));
	struct ebt_error *err = NULL;

	if (!cover)
		return &ebt_enomem;
	cover->inputs = calloc(n, sizeof(*cover->inputs));
	if (!cover->inputs)
		return &ebt_enomem;
	cover->n = n;
	cover->ids = ids;
	for (size_t i = 0; !err && i < n; i++) {
		cover->inputs[i].reader = readers[i];
		err = followed_create(readers[i], &cover->inputs[i].followed)
			      ?: find_spans(cover, i);
	}
	for (size_t i = 1; !err && i < n; i++) {
		for (size_t owner = 0; !err && owner < i; owner++)
			err = pair_inputs(cover, owner, i);
	}
	if (!err)
		*ret = take_ptr(cover);
	return err;
}

void merge_cover_destroy(struct merge_cover *cover)
{
	if (!cover)
		return;
	for (size_t i = 0; cover->inputs && i < cover->n; i++) {
		struct input *input = &cover->inputs[i];

		followed_destroy(input->followed);
		ebt_map_deinit(&input->by_sort);
		ebt_map_deinit(&input->twins);
		free(input->spans);
	}
	free(cover->inputs);
	free(cover);
}
