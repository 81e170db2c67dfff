/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When rows of a table were lost; see losses.h. */
#include "report/trace/losses.h"

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/search.h"

/* A file can claim any number of losses. Beyond this the last span grows instead. */
#define MAX_SPANS (1u << 16)

DEFINE_CLEANUP(struct ebt_cursor *, ebt_cursor_destroy);

struct ebt_error *losses_add(struct losses *losses, uint64_t from, uint64_t to)
{
	struct ebt_error *err;

	if (from > to)
		return NULL;
	if (losses->n == MAX_SPANS) {
		struct loss_span *last = &losses->spans[losses->n - 1];

		last->from = from < last->from ? from : last->from;
		last->to = to > last->to ? to : last->to;
		return NULL;
	}
	err = ebt_array_reserve(&losses->spans, losses->n, &losses->capacity);
	if (err)
		return err;
	losses->spans[losses->n++] = (struct loss_span){ from, to };
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const struct loss_span *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

void losses_finish(struct losses *losses)
{
	size_t n = 0;

	if (losses->n == 0)
		return;
	qsort(losses->spans, losses->n, sizeof(*losses->spans), compare);
	for (size_t i = 1; i < losses->n; i++) {
		struct loss_span *last = &losses->spans[n];
		const struct loss_span *span = &losses->spans[i];

		if (span->from <= last->to) {
			if (span->to > last->to)
				last->to = span->to;
		} else {
			losses->spans[++n] = *span;
		}
	}
	losses->n = n + 1;
}

static struct ebt_error *add_lost_rows(struct ebt_reader *reader, uint16_t table,
				       struct losses *losses)
{
	const struct ebt_want want = EBT_WANT(lost, from, count, table_id);
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };
	_cleanup_(ebt_cursor_destroyp) struct ebt_cursor *cursor = NULL;
	struct ebt_error *err = ebt_cursor_create(reader, &query, &cursor);

	while (!err) {
		struct ebt_row row;

		err = ebt_cursor_next(cursor, &row);
		if (err || !row.batch)
			break;
		if (ebt_lost_table_id(&row) == table && ebt_lost_count(&row) > 0)
			err = losses_add(losses, ebt_lost_from(&row), row.time);
	}
	return err;
}

/* Counts in headers repeat what table `lost` says more exactly, unless that did not survive. */
static struct ebt_error *add_chunk_counts(const struct ebt_chunk_info *chunks, size_t n,
					  uint16_t table, struct losses *losses)
{
	_cleanup_free_ uint64_t *previous = calloc(UINT16_MAX + 1, sizeof(*previous));
	size_t known = losses->n;

	if (!previous)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++) {
		const struct ebt_chunk_info *chunk = &chunks[i];
		/* What is added meanwhile is not in order yet. */
		const struct losses before = { .spans = losses->spans, .n = known };
		uint64_t from = previous[chunk->stream];
		struct ebt_error *err;
		size_t at;

		if (chunk->table != table)
			continue;
		previous[chunk->stream] = chunk->time_max;
		if (chunk->lost == 0)
			continue;
		at = losses_find(&before, from);
		if (at < known && before.spans[at].from <= chunk->time_max)
			continue;
		err = losses_add(losses, from, chunk->time_max);
		if (err)
			return err;
	}
	return NULL;
}

/* A damaged stretch that is a chunk of this table, or where one may have been. */
static struct ebt_error *add_damage(const struct ebt_damage *damage,
				    const struct ebt_chunk_info *chunks, size_t n, uint16_t table,
				    struct losses *losses)
{
	uint64_t from = 0, to = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		const struct ebt_chunk_info *chunk = &chunks[i];

		if (chunk->offset == damage->offset) {
			if (chunk->table != table)
				return NULL;
			return losses_add(losses, chunk->time_min, chunk->time_max);
		}
		if (chunk->table != table)
			continue;
		if (chunk->offset < damage->offset)
			from = chunk->time_max > from ? chunk->time_max : from;
		else
			to = chunk->time_min < to ? chunk->time_min : to;
	}
	return losses_add(losses, from, to);
}

struct ebt_error *losses_load(struct ebt_reader *reader, uint16_t table, struct losses *ret)
{
	_cleanup_losses_ struct losses losses = { 0 };
	const struct ebt_chunk_info *chunks;
	const struct ebt_damage *damage;
	size_t n_chunks, n_damage;
	uint64_t total;
	struct ebt_error *err;

	err = add_lost_rows(reader, table, &losses);
	if (err)
		return err;
	losses_finish(&losses);
	chunks = ebt_reader_chunks(reader, &n_chunks);
	err = add_chunk_counts(chunks, n_chunks, table, &losses);
	if (err)
		return err;
	damage = ebt_reader_damage(reader, &n_damage, &total);
	for (size_t i = 0; i < n_damage; i++) {
		err = add_damage(&damage[i], chunks, n_chunks, table, &losses);
		if (err)
			return err;
	}
	losses_finish(&losses);
	*ret = losses;
	losses = (struct losses){ 0 };
	return NULL;
}

size_t losses_find(const struct losses *losses, uint64_t time)
{
	return ebt_count_first(losses->n, i, losses->spans[i].to < time);
}

bool losses_touch(const struct losses *losses, uint64_t from, uint64_t to)
{
	const size_t i = losses_find(losses, from);

	return i < losses->n && losses->spans[i].from <= to;
}
