/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of several tables in order of (time, table, place in the file): a merge over the chunks
 * that overlap. A chunk is opened only when the merge reaches its first row, and given back
 * behind its last, so that memory follows what overlaps and not the size of the file.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/search.h"
#include "format/read/reader_impl.h"

/* Decoded batches kept to be filled again. */
#define MAX_FREE 4

/* Place of a row in the order of the merge. */
struct cursor_key {
	uint64_t time;
	uint32_t table, chunk;
};

/* A chunk that is to be read, and the earliest place that a row of it can have. */
struct waiting {
	struct cursor_key key;
	uint32_t want;
};

/* An open chunk. */
struct run {
	struct ebt_decoded *decoded;
	const uint64_t *times;
	uint32_t i, end; /* next row; behind the last row that the query wants */
	uint32_t table, chunk;
};

/* Rows of these times are wanted. */
struct time_range {
	uint64_t from, to;
	bool no_end; /* whatever `to` is */
};

struct ebt_cursor {
	struct ebt_reader *reader;
	struct ebt_want *wants;
	size_t n_wants;
	struct time_range ranges[EBT_CLASS_EVENT + 1]; /* by class of the table */

	struct waiting *waiting; /* sorted; the first next_waiting are done with */
	size_t n_waiting, next_waiting;

	struct run *heap; /* [0] is the run whose row was given last */
	size_t n_heap, heap_capacity;
	/* Rows of heap[0] before this time come before those of any other run. */
	uint64_t limit;

	struct ebt_decoded *free[MAX_FREE];
	size_t n_free;
	size_t held; /* bytes of all decoded, open or free */
	uint64_t next_id;
};

static int compare_keys(const struct cursor_key *a, const struct cursor_key *b)
{
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	return a->chunk < b->chunk ? -1 : a->chunk > b->chunk;
}

static int compare_waiting(const void *a, const void *b)
{
	return compare_keys(&((const struct waiting *)a)->key, &((const struct waiting *)b)->key);
}

static struct cursor_key key_of(const struct run *run)
{
	return (struct cursor_key){ run->times[run->i], run->table, run->chunk };
}

static bool run_before(const struct run *a, const struct run *b)
{
	struct cursor_key ka = key_of(a), kb = key_of(b);

	return compare_keys(&ka, &kb) < 0;
}

/* --- what to read --- */

/* One want a table: columns of those that name the same table are joined. */
static struct ebt_error *copy_wants(struct ebt_cursor *cursor, const struct ebt_query *query)
{
	cursor->wants = calloc(query->n_wants + 1, sizeof(*cursor->wants));
	if (!cursor->wants)
		return &ebt_enomem;
	for (size_t i = 0; i < query->n_wants; i++) {
		size_t k = 0;

		while (k < cursor->n_wants && cursor->wants[k].table != query->wants[i].table)
			k++;
		cursor->wants[k].table = query->wants[i].table;
		cursor->wants[k].columns |= query->wants[i].columns;
		if (k == cursor->n_wants)
			cursor->n_wants++;
	}
	return NULL;
}

static bool may_have_pid(const struct ebt_chunk_info *chunk, uint32_t pid)
{
	uint32_t bit = (pid * 0x9E3779B1u) >> 25;

	return !pid || (chunk->pids[bit / 64] >> bit % 64 & 1);
}

static bool is_wanted(const struct time_range *range, const struct ebt_query *query,
		      const struct ebt_chunk_info *chunk)
{
	return chunk->type == EBT_CHUNK_TABLE && chunk->rows && chunk->time_max >= range->from &&
	       (range->no_end || chunk->time_min < range->to) && may_have_pid(chunk, query->pid);
}

static struct ebt_error *choose_chunks(struct ebt_cursor *cursor, const struct ebt_query *query)
{
	const struct ebt_chunk_list *chunks = &cursor->reader->chunks;

	cursor->waiting = malloc((chunks->n + 1) * sizeof(*cursor->waiting));
	if (!cursor->waiting)
		return &ebt_enomem;
	for (size_t i = cursor->reader->passed; i < chunks->n; i++) {
		const struct ebt_chunk_info *chunk = &chunks->chunk[i];
		const struct ebt_table *table = ebt_reader_table(cursor->reader, chunk->table);
		uint64_t time = chunk->time_min;
		const struct time_range *range;
		uint32_t want = 0;

		while (want < cursor->n_wants && cursor->wants[want].table != chunk->table)
			want++;
		if (want == cursor->n_wants || !table)
			continue;
		range = &cursor->ranges[table->class];
		if (!is_wanted(range, query, chunk))
			continue;
		if (time < range->from)
			time = range->from;
		cursor->waiting[cursor->n_waiting++] = (struct waiting){
			.key = { time, chunk->table, (uint32_t)i },
			.want = want,
		};
	}
	qsort(cursor->waiting, cursor->n_waiting, sizeof(*cursor->waiting), compare_waiting);
	return NULL;
}

struct ebt_error *ebt_cursor_create(struct ebt_reader *reader, const struct ebt_query *query,
				    struct ebt_cursor **ret)
{
	struct ebt_cursor *cursor = calloc(1, sizeof(*cursor));
	struct ebt_error *err;

	if (!cursor)
		return &ebt_enomem;
	cursor->reader = reader;
	cursor->next_id = (uint64_t)++reader->n_cursors << 32;
	for (uint32_t i = 0; i <= EBT_CLASS_EVENT; i++)
		cursor->ranges[i] = (struct time_range){
			.from = query->any_from >> i & 1 ? 0 : query->from_ns,
			.to = query->to_ns,
			.no_end = !query->to_ns || query->any_to >> i & 1,
		};
	err = copy_wants(cursor, query);
	if (!err)
		err = choose_chunks(cursor, query);
	if (err) {
		ebt_cursor_destroy(cursor);
		return err;
	}
	*ret = cursor;
	return NULL;
}

/* --- batches --- */

static void destroy_decoded(struct ebt_decoded *decoded)
{
	ebt_decoded_deinit(decoded);
	free(decoded);
}

void ebt_cursor_destroy(struct ebt_cursor *cursor)
{
	if (!cursor)
		return;
	for (size_t i = 0; i < cursor->n_heap; i++)
		destroy_decoded(cursor->heap[i].decoded);
	for (size_t i = 0; i < cursor->n_free; i++)
		destroy_decoded(cursor->free[i]);
	free(cursor->heap);
	free(cursor->waiting);
	free(cursor->wants);
	free(cursor);
}

static struct ebt_decoded *get_decoded(struct ebt_cursor *cursor)
{
	if (cursor->n_free)
		return cursor->free[--cursor->n_free];
	return calloc(1, sizeof(struct ebt_decoded));
}

static void put_decoded(struct ebt_cursor *cursor, struct ebt_decoded *decoded)
{
	if (cursor->n_free < MAX_FREE && cursor->held < EBT_MAX_OPEN / 2) {
		cursor->free[cursor->n_free++] = decoded;
		return;
	}
	cursor->held -= ebt_decoded_size(decoded);
	destroy_decoded(decoded);
}

/* Index of the first of n ascending times that is not before `time`. */
static uint32_t lower_bound(const uint64_t *times, uint32_t n, uint64_t time)
{
	return (uint32_t)ebt_count_first(n, i, times[i] < time);
}

static void give_id_and_range(struct ebt_cursor *cursor, struct ebt_decoded *decoded,
			      const struct waiting *waiting, struct run *ret)
{
	struct ebt_batch *batch = &decoded->batch;
	const struct time_range *range = &cursor->ranges[batch->table->class];

	batch->id = cursor->next_id++;
	*ret = (struct run){
		.decoded = decoded,
		.times = batch->col[0],
		.i = lower_bound(batch->col[0], batch->rows, range->from),
		.end = range->no_end ? batch->rows
				     : lower_bound(batch->col[0], batch->rows, range->to),
		.table = waiting->key.table,
		.chunk = waiting->key.chunk,
	};
}

/* *ret_any: the chunk could be read and has rows in the range. */
static struct ebt_error *open_run(struct ebt_cursor *cursor, const struct waiting *waiting,
				  struct run *ret, bool *ret_any)
{
	struct ebt_decoded *decoded = get_decoded(cursor);
	uint16_t id = (uint16_t)waiting->key.table;
	struct ebt_error *err;
	bool ok;

	if (!decoded)
		return &ebt_enomem;
	cursor->held -= ebt_decoded_size(decoded);
	err = ebt_reader_load(cursor->reader, waiting->key.chunk,
			      ebt_reader_table(cursor->reader, id),
			      cursor->wants[waiting->want].columns, decoded, &ok);
	cursor->held += ebt_decoded_size(decoded);
	if (!err && ok && cursor->held > EBT_MAX_OPEN) {
		ok = false;
		err = ebt_reader_blame(cursor->reader, waiting->key.chunk,
				       ebt_error_create(EBT_ERR_LIMIT,
							"more than %u MiB of chunks overlap",
							EBT_MAX_OPEN >> 20));
	}
	if (!err && ok)
		give_id_and_range(cursor, decoded, waiting, ret);
	*ret_any = !err && ok && ret->i < ret->end;
	if (!*ret_any)
		put_decoded(cursor, decoded);
	return err;
}

/* --- merge --- */

static void sift_down(struct ebt_cursor *cursor)
{
	struct run *heap = cursor->heap;
	struct run moving = heap[0];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= cursor->n_heap)
			break;
		if (child + 1 < cursor->n_heap && run_before(&heap[child + 1], &heap[child]))
			child++;
		if (!run_before(&heap[child], &moving))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moving;
}

static void sift_up(struct ebt_cursor *cursor, size_t i)
{
	struct run *heap = cursor->heap;
	struct run moving = heap[i];

	while (i && run_before(&moving, &heap[(i - 1) / 2])) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = moving;
}

static struct ebt_error *push(struct ebt_cursor *cursor, const struct run *run)
{
	struct ebt_error *err =
		ebt_array_reserve(&cursor->heap, cursor->n_heap, &cursor->heap_capacity);

	if (err)
		return err;
	cursor->heap[cursor->n_heap++] = *run;
	sift_up(cursor, cursor->n_heap - 1);
	return NULL;
}

/* Opens every chunk that can have a row before the first of the heap. */
static struct ebt_error *open_due(struct ebt_cursor *cursor)
{
	while (cursor->next_waiting < cursor->n_waiting) {
		const struct waiting *waiting = &cursor->waiting[cursor->next_waiting];
		struct ebt_error *err;
		struct run run;
		bool any;

		if (cursor->n_heap) {
			struct cursor_key first = key_of(&cursor->heap[0]);

			if (compare_keys(&first, &waiting->key) < 0)
				return NULL;
		}
		cursor->next_waiting++;
		err = open_run(cursor, waiting, &run, &any);
		if (err)
			return err;
		if (!any)
			continue;
		err = push(cursor, &run);
		if (err) {
			put_decoded(cursor, run.decoded);
			return err;
		}
	}
	return NULL;
}

/* Time before which rows of heap[0] need no look at others. Rows of exactly that time may: they
 * come before the runner-up's where table and place say so, which makes it one more. */
static uint64_t find_limit(const struct ebt_cursor *cursor)
{
	const struct run *first = &cursor->heap[0];
	struct cursor_key next = { UINT64_MAX, UINT32_MAX, UINT32_MAX };
	struct cursor_key own = { 0, first->table, first->chunk };

	for (size_t i = 1; i < 3 && i < cursor->n_heap; i++) {
		struct cursor_key key = key_of(&cursor->heap[i]);

		if (compare_keys(&key, &next) < 0)
			next = key;
	}
	if (cursor->next_waiting < cursor->n_waiting) {
		const struct cursor_key *key = &cursor->waiting[cursor->next_waiting].key;

		if (compare_keys(key, &next) < 0)
			next = *key;
	}
	own.time = next.time;
	if (next.time != UINT64_MAX && compare_keys(&own, &next) < 0)
		return next.time + 1;
	return next.time;
}

/* Puts heap[0], whose row i is the next of it or which is at its end, into its place. */
static void settle_first(struct ebt_cursor *cursor)
{
	struct run *first = &cursor->heap[0];

	if (first->i == first->end) {
		put_decoded(cursor, first->decoded);
		*first = cursor->heap[--cursor->n_heap];
	}
	if (cursor->n_heap)
		sift_down(cursor);
}

static inline void give(struct run *run, struct ebt_row *ret)
{
	ret->batch = &run->decoded->batch;
	ret->time = run->times[run->i];
	ret->i = run->i;
}

static struct ebt_error *next_run(struct ebt_cursor *cursor, struct ebt_row *ret)
{
	struct ebt_error *err;

	if (cursor->n_heap)
		settle_first(cursor);
	err = open_due(cursor);
	if (err)
		return err;
	if (!cursor->n_heap) {
		*ret = (struct ebt_row){ 0 };
		return NULL;
	}
	cursor->limit = find_limit(cursor);
	give(&cursor->heap[0], ret);
	return NULL;
}

struct ebt_error *ebt_cursor_next(struct ebt_cursor *cursor, struct ebt_row *ret)
{
	if (cursor->n_heap) {
		struct run *run = &cursor->heap[0];

		if (++run->i < run->end && run->times[run->i] < cursor->limit) {
			give(run, ret);
			return NULL;
		}
	}
	return next_run(cursor, ret);
}

struct ebt_error *ebt_read_rows(struct ebt_reader *reader, const struct ebt_query *query,
				ebt_row_fn *take, void *arg)
{
	struct ebt_cursor *cursor = NULL;
	struct ebt_error *err;
	struct ebt_row row;

	err = ebt_cursor_create(reader, query, &cursor);
	while (!err) {
		err = ebt_cursor_next(cursor, &row);
		if (err || !row.batch)
			break;
		err = take(arg, &row);
	}
	ebt_cursor_destroy(cursor);
	return err;
}

struct ebt_error *ebt_read_table(struct ebt_reader *reader, uint16_t table, ebt_row_fn *take,
				 void *arg)
{
	const struct ebt_want want = { table, ~UINT64_C(0) };

	return ebt_read_rows(reader, &(struct ebt_query){ &want, 1 }, take, arg);
}
