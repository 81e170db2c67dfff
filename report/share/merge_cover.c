/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows that two recordings have; see merge_cover.h. */
#include "report/share/merge_cover.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "format/base/map.h"
#include "format/base/search.h"
#include "report/share/copying.h"
#include "report/share/merge_twins.h"
#include "report/trace/followed.h"
#include "report/trace/losses.h"

DEFINE_CLEANUP(struct merge_cover *, merge_cover_destroy);

#define EDGE TWINS_APART

static uint64_t later(uint64_t time, uint64_t by)
{
	return time < UINT64_MAX - by ? time + by : UINT64_MAX;
}

static uint64_t earlier(uint64_t time, uint64_t by)
{
	return time > by ? time - by : 0;
}

/* Tables whose rows each recorder makes for itself, so that no two are of the same event. */
static const uint16_t sampled[] = { EBT_T_sample, EBT_T_counter, EBT_T_rss_stat };

/* When a table, or one sort of its rows, was recorded: both ends included. */
struct cover_span {
	uint16_t table;
	uint64_t from, to;
	bool any;
	bool has_sorts;	    /* of a whole table: what is true of it need not be of each sort */
	struct losses gaps; /* of a whole table: what was lost of it, or cannot be read */
	bool has_gaps;	    /* they have been loaded */
};

struct input {
	struct ebt_reader *reader;
	struct followed *followed;
	bool is_merged;
	struct ebt_map by_sort; /* of a table and a sort of its rows: index of spans */
	struct cover_span *spans;
	size_t n_spans, spans_capacity;
	/* Rows that an earlier input has a twin of: by offset of the chunk, a bit a row. */
	struct ebt_map by_chunk;
	uint8_t **twins;
	size_t n_twins, twins_capacity;
};

struct merge_cover {
	struct input *inputs;
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
	span->table = table;
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

/* Columns of which no row can be read without: time, and what tells sorts apart. */
static struct ebt_error *read_sorts(struct merge_cover *cover, size_t i,
				    const struct ebt_table *table, ebt_row_fn *take)
{
	const int columns[] = { sort_field(table), merge_ids_field(table->id) };
	struct finding finding = { cover, i };
	struct ebt_want want = { table->id, 0 };
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };

	for (size_t k = 0; k < 2; k++)
		want.columns |= columns[k] >= 0 ? UINT64_C(1) << columns[k] : 0;
	return ebt_read_rows(cover->inputs[i].reader, &query, take, &finding);
}

/* Other state may be told any number of times. */
static bool is_once(const struct ebt_table *table)
{
	return table->class == EBT_CLASS_EVENT || table->id == EBT_T_ended_threads ||
	       (table->class == EBT_CLASS_STATE && ebt_field_by_name(table, "moment") >= 0);
}

/* Rows of a moment stand for the whole recording. */
static struct ebt_error *take_state(void *arg, const struct ebt_row *row)
{
	const struct finding *finding = arg;
	struct input *input = &finding->cover->inputs[finding->input];
	const struct ebt_reader_info *info = ebt_reader_info(input->reader);
	const uint16_t table = row->batch->table->id;

	return widen(input, table, ALL_SORTS, info->recorded_ns, info->recorded_to_ns)
		       ?: widen(input, table, sort_of(finding->cover, finding->input, row),
				info->recorded_ns, info->recorded_to_ns);
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
	struct input *input = &cover->inputs[i];
	struct ebt_error *err = NULL;
	size_t n;
	const struct ebt_chunk_info *chunks = ebt_reader_chunks(input->reader, &n);

	if (!is_once(table) || !ebt_reader_has_rows(input->reader, table->id))
		return NULL;
	if (table->class == EBT_CLASS_STATE)
		return read_sorts(cover, i, table, take_state);
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
	return read_sorts(cover, i, table, take_sort);
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

static bool is_before(const struct input *a, const struct input *b)
{
	return later(ebt_reader_info(a->reader)->recorded_to_ns, TWINS_SKEW) <
	       ebt_reader_info(b->reader)->recorded_ns;
}

/* What was written one after the other has no event in common. */
static bool are_apart(const struct input *a, const struct input *b)
{
	return is_before(a, b) || is_before(b, a);
}

/* What an input lost, or what of it cannot be read, is in doubt, too. input: it has the row. */
static enum cover_place place_of(const struct input *owner, const struct input *input,
				 uint64_t sort, const struct ebt_row *row)
{
	const struct ebt_table *table = row->batch->table;
	const struct cover_span *span = find_span(owner, table->id, sort);
	const uint64_t time = row->time;

	if (!span)
		return OUTSIDE;
	if (table->class != EBT_CLASS_EVENT)
		return time >= span->from && time <= span->to ? INSIDE : OUTSIDE;
	if (is_sampled(table->id)) {
		if (time < span->from || time > span->to)
			return OUTSIDE;
		return losses_touch(&table_span(owner, table->id)->gaps, time, time) ? AT_EDGE
										     : INSIDE;
	}
	if (later(time, EDGE) < span->from || time > later(span->to, EDGE))
		return OUTSIDE;
	if (copying_begin(row) < later(span->from, EDGE) || later(time, EDGE) > span->to)
		return are_apart(owner, input) ? OUTSIDE : AT_EDGE;
	return losses_touch(&table_span(owner, table->id)->gaps, earlier(time, EDGE),
			    later(time, EDGE))
		       ? AT_EDGE
		       : INSIDE;
}

/* What is known of a row before twins are looked for. */
static enum twin_role role_of(const struct merge_cover *cover, size_t input, uint64_t sort,
			      const struct ebt_row *row)
{
	enum twin_role role = TWIN_KEPT;

	for (size_t i = 0; i < input; i++) {
		const struct input *owner = &cover->inputs[i];

		switch (place_of(owner, &cover->inputs[input], sort, row)) {
		case INSIDE:
			if (is_followed(owner, row))
				return TWIN_HAD;
			break;
		case AT_EDGE:
			role = TWIN_DOUBT;
			break;
		case OUTSIDE:
			break;
		}
	}
	return role;
}

/* When an input had its hooks where rows of a sort come from. It may have had them for longer. */
static struct loss_span attached(const struct input *input, const struct cover_span *span)
{
	const struct ebt_reader_info *info = ebt_reader_info(input->reader);
	struct loss_span time = { span->from, span->to };

	/* A merged recording lasts as long as all of its inputs, and has a table from some. */
	if (!input->is_merged && info->start_told && info->start_ns < time.from)
		time.from = info->start_ns;
	if (!input->is_merged && info->end_told && info->end_ns > time.to)
		time.to = info->end_ns;
	return time;
}

/* Has the input a row of the event, too, whenever it read the clock for it? */
static bool must_have(const struct input *input, uint64_t sort, const struct ebt_row *row)
{
	const uint16_t table = row->batch->table->id;
	const struct cover_span *span = find_span(input, table, sort);
	const uint64_t begin = copying_begin(row);
	struct loss_span time;

	if (!span || !is_followed(input, row))
		return false;
	time = attached(input, span);
	return begin >= time.from && row->time <= time.to &&
	       !losses_touch(&table_span(input, table)->gaps, earlier(begin, TWINS_SKEW),
			     later(row->time, TWINS_SKEW));
}

static bool has_twin(const struct input *input, const struct ebt_row *row)
{
	uint32_t k;

	return ebt_map_find(&input->by_chunk, row->batch->chunk->offset, &k) &&
	       input->twins[k][row->i / 8] >> row->i % 8 & 1;
}

bool merge_cover_has(const struct merge_cover *cover, size_t input, const struct ebt_row *row)
{
	if (!is_once(row->batch->table))
		return false;
	switch (role_of(cover, input, sort_of(cover, input, row), row)) {
	case TWIN_HAD:
		return true;
	case TWIN_DOUBT:
		return has_twin(&cover->inputs[input], row);
	case TWIN_NONE:
	case TWIN_KEPT:
		break;
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
	for (size_t i = 0; i < cover->n; i++) {
		const struct input *owner = &cover->inputs[i];
		const struct cover_span *span = i == input ? NULL : table_span(owner, table);

		if (span && from >= span->from && to <= span->to && !span->has_sorts &&
		    !losses_touch(&span->gaps, from, to) && !followed_is_partial(owner->followed))
			return true;
	}
	return false;
}

bool merge_cover_has_losses(const struct merge_cover *cover, size_t input,
			    const struct ebt_chunk_info *chunk)
{
	const struct cover_span *own = table_span(&cover->inputs[input], chunk->table);
	uint64_t from = chunk->time_min;
	size_t i;

	if (!own)
		return merge_cover_has_all(cover, input, chunk->table, from, chunk->time_max);
	/* They may have been told some time after they were lost. */
	i = ebt_count_first(own->gaps.n, k, own->gaps.spans[k].from <= chunk->time_max);
	if (i && own->gaps.spans[i - 1].from < from)
		from = own->gaps.spans[i - 1].from;
	return merge_cover_has_all(cover, input, chunk->table, from, chunk->time_max);
}

/* --- twins --- */

/* Inputs that have a table at the same time, or one behind the other. */
struct cluster {
	struct merge_cover *cover;
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
	return !is_sampled(table->id) || ebt_field_by_name(table, "cpu") == (int)f ||
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
	const uint64_t sort = sort_of(cluster->cover, input, row);

	if (!losses_touch(&cluster->doubts, copying_begin(row), row->time))
		return TWIN_NONE;
	*ret = (struct twin_says){ .hash = ebt_hash_u64(content_hash(row), sort) };
	for (size_t k = 0; k < cluster->n; k++) {
		const size_t other = cluster->inputs[k];

		if (other != input && must_have(&cluster->cover->inputs[other], sort, row))
			ret->due |= UINT64_C(1) << other;
	}
	return role_of(cluster->cover, input, sort, row);
}

static struct ebt_error *note_twin(void *arg, size_t i, const struct ebt_chunk_info *chunk,
				   uint32_t row)
{
	const struct cluster *cluster = arg;
	struct input *input = &cluster->cover->inputs[i];
	uint32_t k;
	struct ebt_error *err = ebt_map_element(&input->by_chunk, chunk->offset, &input->twins,
						&input->n_twins, &input->twins_capacity, &k);

	if (err)
		return err;
	if (!input->twins[k])
		input->twins[k] = calloc(chunk->rows / 8 + 1, 1);
	if (!input->twins[k])
		return &ebt_enomem;
	input->twins[k][row / 8] |= (uint8_t)(1u << row % 8);
	return NULL;
}

static struct ebt_error *add_doubt(struct cluster *cluster, uint64_t from, uint64_t to)
{
	/* Twins of rows that are in doubt, and theirs. */
	return losses_add(&cluster->doubts, earlier(from, 2 * EDGE), later(to, 2 * EDGE));
}

static struct ebt_error *add_doubts_of(struct cluster *cluster, const struct input *input)
{
	const struct losses *gaps = &table_span(input, cluster->table->id)->gaps;
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < gaps->n; i++)
		err = add_doubt(cluster, gaps->spans[i].from, gaps->spans[i].to);
	for (size_t i = 0; !err && i < input->n_spans && !is_sampled(cluster->table->id); i++) {
		const struct cover_span *span = &input->spans[i];

		if (span->table == cluster->table->id)
			err = add_doubt(cluster, span->from, span->from)
				      ?: add_doubt(cluster, span->to, span->to);
	}
	return err;
}

static struct ebt_error *pass_over(void *arg, const struct ebt_row *row)
{
	(void)arg, (void)row;
	return NULL;
}

/* What cannot be read is known when it has been tried. */
static struct ebt_error *load_gaps(struct merge_cover *cover, size_t i,
				   const struct ebt_table *table)
{
	struct input *input = &cover->inputs[i];
	struct ebt_error *err = NULL;
	uint32_t span;

	if (!ebt_map_find(&input->by_sort, span_key(table->id, ALL_SORTS), &span) ||
	    input->spans[span].has_gaps)
		return NULL;
	input->spans[span].has_gaps = true;
	/* Sorts of rows have been read already. */
	if (table->class == EBT_CLASS_EVENT && !input->spans[span].has_sorts)
		err = read_sorts(cover, i, table, pass_over);
	return err ?: losses_load(input->reader, table->id, &input->spans[span].gaps);
}

static struct ebt_error *find_doubts(struct cluster *cluster)
{
	struct ebt_error *err = NULL;

	for (size_t k = 0; !err && k < cluster->n; k++)
		err = load_gaps(cluster->cover, cluster->inputs[k], cluster->table)
			      ?: add_doubts_of(cluster,
					       &cluster->cover->inputs[cluster->inputs[k]]);
	losses_finish(&cluster->doubts);
	return err;
}

static struct ebt_error *compare_at(struct cluster *cluster, uint64_t from, uint64_t to)
{
	size_t inputs[TWINS_INPUTS];
	struct ebt_reader *readers[TWINS_INPUTS];
	struct twins_search search = {
		.readers = readers,
		.inputs = inputs,
		.table = cluster->table->id,
		.sampled = is_sampled(cluster->table->id),
		.from = from,
		.to = to,
		.arg = cluster,
		.role = choose_role,
		.found = note_twin,
	};

	for (size_t k = 0; k < cluster->n; k++) {
		const struct input *input = &cluster->cover->inputs[cluster->inputs[k]];
		const struct cover_span *span = table_span(input, cluster->table->id);

		readers[cluster->inputs[k]] = input->reader;
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
static struct ebt_error *compare_some(struct merge_cover *cover, const struct ebt_table *table,
				      const struct placed *placed, size_t n)
{
	struct cluster cluster = { .cover = cover, .table = table, .n = n };
	struct ebt_error *err = NULL;

	for (size_t k = 0; k < n; k++)
		cluster.inputs[k] = placed[k].input;
	qsort(cluster.inputs, n, sizeof(cluster.inputs[0]), compare_indices);
	if (n > 1)
		err = compare_cluster(&cluster);
	losses_deinit(&cluster.doubts);
	return err;
}

static struct ebt_error *compare_table(struct merge_cover *cover, const struct ebt_table *table)
{
	struct placed placed[TWINS_INPUTS];
	size_t n = 0, first = 0;
	uint64_t to = 0;
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < cover->n; i++) {
		const struct cover_span *span = table_span(&cover->inputs[i], table->id);

		if (span)
			placed[n++] = (struct placed){ span->from, span->to, i };
	}
	qsort(placed, n, sizeof(placed[0]), compare_placed);
	for (size_t k = 0; !err && k < n; k++) {
		if (k > first && placed[k].from > later(to, EDGE)) {
			err = compare_some(cover, table, &placed[first], k - first);
			first = k;
		}
		to = placed[k].to > to ? placed[k].to : to;
	}
	return err ?: compare_some(cover, table, &placed[first], n - first);
}

static bool is_of_earlier(const struct merge_cover *cover, size_t input, uint16_t table)
{
	for (size_t i = 0; i < input; i++) {
		if (table_span(&cover->inputs[i], table))
			return true;
	}
	return false;
}

static struct ebt_error *compare_tables_of(struct merge_cover *cover, size_t input)
{
	struct ebt_error *err = NULL;
	size_t n;
	const struct ebt_table *tables = ebt_reader_tables(cover->inputs[input].reader, &n);

	for (size_t t = 0; !err && t < n; t++) {
		if (tables[t].class == EBT_CLASS_EVENT &&
		    table_span(&cover->inputs[input], tables[t].id) &&
		    !is_of_earlier(cover, input, tables[t].id))
			err = compare_table(cover, &tables[t]);
	}
	return err;
}

/* --- losses --- */

static void note_loss(struct merge_cover *cover, uint16_t table)
{
	cover->lost[table / 8] |= (uint8_t)(1u << table % 8);
}

static struct ebt_error *take_loss(void *arg, const struct ebt_row *row)
{
	if (ebt_lost_table_id(row) <= UINT16_MAX)
		note_loss(arg, (uint16_t)ebt_lost_table_id(row));
	return NULL;
}

static struct ebt_error *find_losses(struct merge_cover *cover, size_t input)
{
	size_t n;
	const struct ebt_chunk_info *chunks = ebt_reader_chunks(cover->inputs[input].reader, &n);

	for (size_t k = 0; k < n; k++) {
		if (chunks[k].lost)
			note_loss(cover, chunks[k].table);
	}
	return ebt_read_table(cover->inputs[input].reader, EBT_T_lost, take_loss, cover);
}

/* Who has rows alone may yet have what another lost of them, or have lost it, too. */
static struct ebt_error *load_more_gaps(struct merge_cover *cover, size_t input)
{
	struct ebt_error *err = NULL;
	size_t n;
	const struct ebt_table *tables = ebt_reader_tables(cover->inputs[input].reader, &n);

	for (size_t t = 0; !err && t < n; t++) {
		if (cover->lost[tables[t].id / 8] >> tables[t].id % 8 & 1)
			err = load_gaps(cover, input, &tables[t]);
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
		const char *merged = NULL;

		cover->inputs[i].reader = readers[i];
		err = followed_create(readers[i], &cover->inputs[i].followed)
			      ?: ebt_reader_meta(readers[i], "merge.version", &merged)
			      ?: find_spans(cover, i) ?: find_losses(cover, i);
		cover->inputs[i].is_merged = merged;
	}
	for (size_t i = 0; !err && i < n; i++)
		err = compare_tables_of(cover, i) ?: load_more_gaps(cover, i);
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
		for (size_t k = 0; k < input->n_spans; k++)
			losses_deinit(&input->spans[k].gaps);
		ebt_map_deinit(&input->by_chunk);
		for (size_t k = 0; k < input->n_twins; k++)
			free(input->twins[k]);
		free(input->twins);
		free(input->spans);
	}
	free(cover->inputs);
	free(cover);
}
