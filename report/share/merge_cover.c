/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows that two recordings have; see merge_cover.h. */
#include "report/share/merge_cover.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "format/base/search.h"
#include "report/share/copying.h"
#include "report/share/merge_doubts.h"
#include "report/share/merge_spans.h"
#include "report/trace/followed.h"
#include "report/trace/losses.h"

DEFINE_CLEANUP(struct merge_cover *, merge_cover_destroy);

#define EDGE TWINS_APART

struct input {
	struct ebt_reader *reader;
	struct followed *followed;
	bool is_merged;
	/* Rows that an earlier input has a twin of: by offset of the chunk, a bit a row. */
	struct ebt_map by_chunk;
	uint8_t **twins;
	size_t n_twins, twins_capacity;
};

struct merge_cover {
	struct input *inputs;
	size_t n;
	struct merge_spans *spans;
};

/* --- one row --- */

/* Does the input record what these tasks do? A row with none is of the machine. */
static bool is_followed(const struct input *input, const struct ebt_row *row)
{
	const struct ebt_table *table = row->batch->table;
	bool any = false, recorder = false, others = false;

	for (uint32_t f = 0; f < table->n_fields; f++) {
		const struct ebt_task *task;

		if (table->fields[f].type != EBT_TYPE_TASK)
			continue;
		any = true;
		task = ebt_task(row, f);
		if (!task)
			continue;
		if (followed_has(input->followed, task))
			return true;
		if (followed_is_recorder(input->followed, task))
			recorder = true;
		else
			others = true;
	}
	return followed_is_partial(input->followed) ? !any : others || !recorder;
}

enum cover_place { OUTSIDE, AT_EDGE, INSIDE };

static bool is_before(const struct input *a, const struct input *b)
{
	return merge_later(ebt_reader_info(a->reader)->recorded_to_ns, TWINS_SKEW) <
	       ebt_reader_info(b->reader)->recorded_ns;
}

/* What was written one after the other has no event in common. */
static bool are_apart(const struct input *a, const struct input *b)
{
	return is_before(a, b) || is_before(b, a);
}

/* What an input lost, or what of it cannot be read, is in doubt, too. input: it has the row. */
static enum cover_place place_of(const struct merge_cover *cover, size_t owner, size_t input,
				 uint64_t sort, const struct ebt_row *row)
{
	const struct ebt_table *table = row->batch->table;
	const struct merge_span *span = merge_spans_find(cover->spans, owner, table->id, sort);
	const uint64_t time = row->time;

	if (!span)
		return OUTSIDE;
	if (table->class != EBT_CLASS_EVENT)
		return time >= span->from && time <= span->to ? INSIDE : OUTSIDE;
	if (merge_is_sampled(table->id)) {
		if (time < span->from || time > span->to)
			return OUTSIDE;
		return losses_touch(&merge_spans_table(cover->spans, owner, table->id)->gaps, time,
				    time)
			       ? AT_EDGE
			       : INSIDE;
	}
	if (merge_later(time, EDGE) < span->from || time > merge_later(span->to, EDGE))
		return OUTSIDE;
	if (copying_begin(row) < merge_later(span->from, EDGE) ||
	    merge_later(time, EDGE) > span->to)
		return are_apart(&cover->inputs[owner], &cover->inputs[input]) ? OUTSIDE : AT_EDGE;
	return losses_touch(&merge_spans_table(cover->spans, owner, table->id)->gaps,
			    merge_earlier(time, EDGE), merge_later(time, EDGE))
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

		switch (place_of(cover, i, input, sort, row)) {
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
static struct loss_span attached(const struct input *input, const struct merge_span *span)
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
static bool must_have(void *arg, size_t input, uint64_t sort, const struct ebt_row *row)
{
	const struct merge_cover *cover = arg;
	const uint16_t table = row->batch->table->id;
	const struct merge_span *span = merge_spans_find(cover->spans, input, table, sort);
	const uint64_t begin = copying_begin(row);
	struct loss_span time;

	if (!span || !is_followed(&cover->inputs[input], row))
		return false;
	time = attached(&cover->inputs[input], span);
	return begin >= time.from && row->time <= time.to &&
	       !losses_touch(&merge_spans_table(cover->spans, input, table)->gaps,
			     merge_earlier(begin, TWINS_SKEW), merge_later(row->time, TWINS_SKEW));
}

static bool has_twin(const struct input *input, const struct ebt_row *row)
{
	uint32_t k;

	return ebt_map_find(&input->by_chunk, row->batch->chunk->offset, &k) &&
	       input->twins[k][row->i / 8] >> row->i % 8 & 1;
}

bool merge_cover_has(const struct merge_cover *cover, size_t input, const struct ebt_row *row)
{
	if (!merge_spans_are_of(row->batch->table))
		return false;
	switch (role_of(cover, input, merge_spans_sort(cover->spans, input, row), row)) {
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
	for (size_t i = 0; merge_spans_are_of(table) && i < input; i++) {
		const struct merge_span *span = merge_spans_table(cover->spans, i, table->id);

		if (span && merge_later(chunk->time_max, EDGE) >= span->from &&
		    chunk->time_min <= merge_later(span->to, EDGE))
			return true;
	}
	return false;
}

bool merge_cover_has_all(const struct merge_cover *cover, size_t input, uint16_t table,
			 uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < cover->n; i++) {
		const struct input *owner = &cover->inputs[i];
		const struct merge_span *span =
			i == input ? NULL : merge_spans_table(cover->spans, i, table);

		if (span && from >= span->from && to <= span->to && !span->has_sorts &&
		    !losses_touch(&span->gaps, from, to) && !followed_is_partial(owner->followed))
			return true;
	}
	return false;
}

bool merge_cover_has_losses(const struct merge_cover *cover, size_t input,
			    const struct ebt_chunk_info *chunk)
{
	const struct merge_span *own = merge_spans_table(cover->spans, input, chunk->table);
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

/* --- rows that are compared --- */

static enum twin_role know_role(void *arg, size_t input, uint64_t sort, const struct ebt_row *row)
{
	return role_of(arg, input, sort, row);
}

static struct ebt_error *note_twin(void *arg, size_t i, const struct ebt_chunk_info *chunk,
				   uint32_t row)
{
	struct merge_cover *cover = arg;
	struct input *input = &cover->inputs[i];
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

static struct ebt_error *compare(struct merge_cover *cover, struct ebt_reader *const *readers)
{
	const struct merge_doubts doubts = {
		.readers = readers,
		.n = cover->n,
		.spans = cover->spans,
		.arg = cover,
		.role = know_role,
		.must_have = must_have,
		.found = note_twin,
	};

	return merge_doubts_compare(&doubts);
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
	for (size_t i = 0; !err && i < n; i++) {
		const char *merged = NULL;

		cover->inputs[i].reader = readers[i];
		err = followed_create(readers[i], &cover->inputs[i].followed)
			      ?: ebt_reader_meta(readers[i], "merge.version", &merged);
		cover->inputs[i].is_merged = merged;
	}
	err = err ?: merge_spans_create(readers, n, ids, &cover->spans) ?: compare(cover, readers);
	for (size_t i = 0; !err && i < n; i++)
		err = merge_spans_load_lost(cover->spans, i);
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
		ebt_map_deinit(&input->by_chunk);
		for (size_t k = 0; k < input->n_twins; k++)
			free(input->twins[k]);
		free(input->twins);
	}
	merge_spans_destroy(cover->spans);
	free(cover->inputs);
	free(cover);
}
