/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks as Perfetto has them: `stack_profile_callsite` is a tree of frames, a frame is an address
 * of a mapping, and the functions at it, inlined ones first, are a set of symbols. And table
 * `stack`: each as a text. All rows are there as soon as the stacks of the trace have been read.
 */
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "format/read/reader.h"
#include "report/base/text.h"
#include "report/sql/made.h"
#include "report/sql/stacks.h"
#include "symbolize/symbolize.h"

#define NONE UINT32_MAX

/* What sym_resolve() gave for an address; it keeps it. */
struct profile_frame {
	struct sym_frames frames;
	uint32_t mapping;
};

struct callsite {
	uint32_t parent, frame, depth; /* parent NONE: the outermost */
};

struct profile_symbol {
	uint32_t frame;
	size_t i; /* in its frames */
};

struct sql_profile {
	struct profile_frame *frames;
	struct callsite *callsites;
	struct profile_symbol *symbols;
	const struct sym_func **mappings; /* any function of each */
	size_t n_frames, n_callsites, n_symbols, n_mappings;
	size_t frame_capacity, callsite_capacity, symbol_capacity, mapping_capacity;
	struct ebt_map by_frame, by_callsite, by_mapping;
	uint32_t at;	 /* the call site, while a stack is walked */
	bool has_stacks; /* all of the trace have been read */
	bool whole;	 /* and those of samples have their call sites */
};

void sql_profile_destroy(struct sql_profile *profile)
{
	if (!profile)
		return;
	free(profile->frames);
	free(profile->callsites);
	free(profile->symbols);
	free(profile->mappings);
	ebt_map_deinit(&profile->by_frame);
	ebt_map_deinit(&profile->by_callsite);
	ebt_map_deinit(&profile->by_mapping);
	free(profile);
}

static struct ebt_error *get(struct sql_source *source, struct sql_profile **ret)
{
	if (!source->profile)
		source->profile = calloc(1, sizeof(*source->profile));
	*ret = source->profile;
	return source->profile ? sql_source_sym(source) : &ebt_enomem;
}

/* --- made of stacks --- */

static struct ebt_error *find_mapping(struct sql_profile *p, const struct sym_func *func,
				      uint32_t *ret)
{
	const uint64_t key = ebt_hash_bytes(ebt_hash_bytes(0, func->object, strlen(func->object)),
					    func->build_id, strlen(func->build_id));
	struct ebt_error *err;

	*ret = ebt_map_search(&p->by_mapping, key, i,
			      !strcmp(p->mappings[i]->object, func->object) &&
				      !strcmp(p->mappings[i]->build_id, func->build_id));
	if (*ret != EBT_MAP_NONE)
		return NULL;
	*ret = (uint32_t)p->n_mappings;
	err = ebt_array_reserve(&p->mappings, p->n_mappings, &p->mapping_capacity);
	if (err)
		return err;
	p->mappings[p->n_mappings++] = func;
	return ebt_map_insert(&p->by_mapping, key, *ret);
}

static bool is_same(const struct sym_frames *a, const struct sym_frames *b)
{
	if (a->n != b->n || a->address != b->address)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (a->frames[i].func != b->frames[i].func ||
		    a->frames[i].line != b->frames[i].line)
			return false;
	}
	return true;
}

static struct ebt_error *find_frame(struct sql_profile *p, const struct sym_frames *frames,
				    uint32_t *ret)
{
	const uint64_t key =
		ebt_hash_u64(ebt_hash_u64(frames->n, frames->address), frames->frames[0].func->id);
	struct profile_frame frame = { .frames = *frames };
	struct ebt_error *err;

	*ret = ebt_map_search(&p->by_frame, key, i, is_same(&p->frames[i].frames, frames));
	if (*ret != EBT_MAP_NONE)
		return NULL;
	*ret = (uint32_t)p->n_frames;
	err = find_mapping(p, frames->frames[frames->n - 1].func, &frame.mapping)
		      ?: ebt_array_reserve(&p->frames, p->n_frames, &p->frame_capacity);
	for (size_t i = 0; !err && i < frames->n; i++) {
		err = ebt_array_reserve(&p->symbols, p->n_symbols, &p->symbol_capacity);
		if (!err)
			p->symbols[p->n_symbols++] = (struct profile_symbol){ *ret, i };
	}
	if (err)
		return err;
	p->frames[p->n_frames++] = frame;
	return ebt_map_insert(&p->by_frame, key, *ret);
}

static struct ebt_error *go_in(void *arg, const struct sym_frames *frames)
{
	struct sql_profile *p = arg;
	struct callsite *site;
	size_t before = p->n_callsites;
	uint32_t frame, i;
	struct ebt_error *err = find_frame(p, frames, &frame);

	err = err
		      ?: ebt_map_element(&p->by_callsite, (uint64_t)p->at << 32 | frame,
					 &p->callsites, &p->n_callsites, &p->callsite_capacity, &i);
	if (err)
		return err;
	if (p->n_callsites > before) {
		site = &p->callsites[i];
		*site = (struct callsite){ p->at, frame, 0 };
		if (p->at != NONE)
			site->depth = p->callsites[p->at].depth + 1;
	}
	p->at = i;
	return NULL;
}

struct ebt_error *sql_profile_callsite(struct sql_source *source, const int64_t *ustack,
				       const int64_t *kstack, int64_t *ret, bool *ret_found)
{
	const int64_t *const numbers[] = { ustack, kstack };
	struct sql_profile *p;
	struct ebt_error *err = get(source, &p);
	size_t i;

	*ret_found = false;
	if (err)
		return err;
	p->at = NONE;
	for (int k = 0; !err && k < 2; k++) {
		if (numbers[k] && sql_stacks_find(source->stacks, *numbers[k], &i))
			err = sql_stacks_walk(source->stacks, source->sym, i, go_in, p);
	}
	*ret_found = !err && p->at != NONE;
	*ret = p->at;
	return err;
}

/* --- all of them --- */

typedef struct ebt_error *row_fn(struct sql_source *source, const struct ebt_row *row,
				 const int64_t *ustack, const int64_t *kstack);

static struct ebt_error *number_row(struct sql_source *source, const struct ebt_row *row,
				    row_fn *take)
{
	const struct ebt_table *table = row->batch->table;
	const struct sql_stack_fields fields = sql_stack_fields(table);
	int64_t numbers[2];
	bool there[2] = { false, false };
	struct ebt_error *err = NULL;

	for (uint32_t i = 0; !err && i < table->n_fields; i++) {
		const struct ebt_stack *stack =
			table->fields[i].type == EBT_TYPE_STACK && row->batch->col[i]
				? ebt_stack(row, i)
				: NULL;
		struct sql_stack s;
		int kernel;

		if (!stack)
			continue;
		s = sql_stack_of(row, &fields, stack);
		kernel = !(stack->attrs & EBT_STACK_USER);
		there[kernel] = true;
		err = sql_stacks_number(&source->stacks, &s, &numbers[kernel]);
	}
	if (err || !take)
		return err;
	return take(source, row, there[0] ? &numbers[0] : NULL, there[1] ? &numbers[1] : NULL);
}

static struct ebt_error *read_stacks(struct sql_source *source, uint16_t only, row_fn *take)
{
	size_t n;
	const struct ebt_table *tables = ebt_reader_tables(source->reader, &n);
	_cleanup_free_ struct ebt_want *wants = calloc(n + 1, sizeof(*wants));
	struct ebt_query query = { .wants = wants };
	struct ebt_cursor *cursor = NULL;
	struct ebt_row row;
	struct ebt_error *err;

	if (!wants)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++) {
		const uint64_t columns =
			!only || tables[i].id == only ? sql_stack_wants(&tables[i]) : 0;

		if (columns)
			wants[query.n_wants++] = (struct ebt_want){ tables[i].id, columns };
	}
	err = ebt_cursor_create(source->reader, &query, &cursor);
	while (!err) {
		err = ebt_cursor_next(cursor, &row);
		if (err || !row.batch)
			break;
		err = number_row(source, &row, take);
	}
	ebt_cursor_destroy(cursor);
	return err;
}

static struct ebt_error *add_sample(struct sql_source *source, const struct ebt_row *row,
				    const int64_t *ustack, const int64_t *kstack)
{
	int64_t callsite;
	bool found;

	(void)row;
	return sql_profile_callsite(source, ustack, kstack, &callsite, &found);
}

/* --- rows --- */

struct profile_rows {
	struct sql_source *source;
	struct sql_profile *profile;
	size_t next, end; /* next: index + 1 of the row */
	struct text folded;
	const char *leaf;
	uint32_t depth;
};

static struct ebt_error *begin_rows(struct sql_source *source, struct profile_rows **ret)
{
	struct profile_rows *rows = calloc(1, sizeof(*rows));
	struct ebt_error *err;

	if (!rows)
		return &ebt_enomem;
	rows->source = source;
	err = get(source, &rows->profile);
	if (err)
		free(rows);
	else
		*ret = rows;
	return err;
}

static void end_rows(void *arg)
{
	struct profile_rows *rows = arg;

	text_deinit(&rows->folded);
	free(rows);
}

static void choose(struct profile_rows *rows, const struct sql_made_query *query, size_t n)
{
	rows->end = n;
	if (!query->has_id)
		return;
	rows->next = query->id >= 0 && (uint64_t)query->id < n ? (size_t)query->id : n;
	rows->end = rows->next < n ? rows->next + 1 : n;
}

/* count: offset of the number of rows in struct sql_profile. */
static struct ebt_error *begin_whole(struct sql_source *source, const struct sql_made_query *query,
				     size_t count, void **ret)
{
	struct profile_rows *rows = NULL;
	struct ebt_error *err = begin_rows(source, &rows);

	if (err)
		return err;
	if (!rows->profile->whole)
		err = read_stacks(source, EBT_T_sample, add_sample);
	if (err) {
		end_rows(rows);
		return err;
	}
	rows->profile->whole = true;
	choose(rows, query, *(const size_t *)((const char *)rows->profile + count));
	*ret = rows;
	return NULL;
}

#define BEGIN(of)                                                                             \
	static struct ebt_error *begin_##of(struct sql_source *source,                        \
					    const struct sql_made_query *query, void **ret)   \
	{                                                                                     \
		return begin_whole(source, query, offsetof(struct sql_profile, n_##of), ret); \
	}
BEGIN(callsites)
BEGIN(frames)
BEGIN(mappings)
BEGIN(symbols)

static struct ebt_error *next_row(void *arg, bool *ret_more)
{
	struct profile_rows *rows = arg;

	*ret_more = rows->next < rows->end;
	rows->next++;
	return NULL;
}

static void put_text(sqlite3_context *context, const char *text)
{
	if (text)
		sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static void put_callsite(const void *arg, sqlite3_context *context, int i)
{
	const struct profile_rows *rows = arg;
	const struct callsite *site = &rows->profile->callsites[rows->next - 1];

	if (i == 0)
		sqlite3_result_int64(context, (int64_t)rows->next - 1);
	else if (i == 1)
		sqlite3_result_int64(context, site->depth);
	else if (i == 3)
		sqlite3_result_int64(context, site->frame);
	else if (site->parent != NONE)
		sqlite3_result_int64(context, site->parent);
}

static void put_frame(const void *arg, sqlite3_context *context, int i)
{
	const struct profile_rows *rows = arg;
	const struct profile_frame *frame = &rows->profile->frames[rows->next - 1];

	if (i == 0 || i == 4)
		sqlite3_result_int64(context, (int64_t)rows->next - 1);
	else if (i == 1)
		put_text(context, frame->frames.frames[frame->frames.n - 1].func->name);
	else
		sqlite3_result_int64(context,
				     i == 2 ? frame->mapping : (int64_t)frame->frames.address);
}

static void put_mapping(const void *arg, sqlite3_context *context, int i)
{
	const struct profile_rows *rows = arg;
	const struct sym_func *func = rows->profile->mappings[rows->next - 1];

	if (i == 0)
		sqlite3_result_int64(context, (int64_t)rows->next - 1);
	else
		put_text(context, i == 1 ? func->build_id : func->object);
}

static void put_symbol(const void *arg, sqlite3_context *context, int i)
{
	const struct profile_rows *rows = arg;
	const struct profile_symbol *symbol = &rows->profile->symbols[rows->next - 1];
	const struct sym_frame *frame =
		&rows->profile->frames[symbol->frame].frames.frames[symbol->i];

	if (i == 0)
		sqlite3_result_int64(context, (int64_t)rows->next - 1);
	else if (i == 1)
		sqlite3_result_int64(context, symbol->frame);
	else if (i == 2 || i == 3)
		put_text(context, i == 2 ? frame->func->name : frame->file);
	else if (i == 5)
		sqlite3_result_int64(context, frame->inlined);
	else if (frame->line)
		sqlite3_result_int64(context, frame->line);
}

/* --- table `stack` --- */

static struct ebt_error *begin_stacks(struct sql_source *source, const struct sql_made_query *query,
				      void **ret)
{
	struct profile_rows *rows = NULL;
	struct ebt_error *err = begin_rows(source, &rows);
	size_t i;

	if (err)
		return err;
	*ret = rows;
	/* A row that has it was read, as a rule. */
	if (query->has_id && sql_stacks_find(source->stacks, query->id, &i)) {
		rows->next = i;
		rows->end = i + 1;
		return NULL;
	}
	if (!rows->profile->has_stacks)
		err = read_stacks(source, 0, NULL);
	if (err)
		return err;
	rows->profile->has_stacks = true;
	rows->end = sql_stacks_n(source->stacks);
	if (query->has_id) {
		rows->next = sql_stacks_find(source->stacks, query->id, &i) ? i : rows->end;
		rows->end = rows->next < rows->end ? rows->next + 1 : rows->end;
	}
	return NULL;
}

static struct ebt_error *add_frames(void *arg, const struct sym_frames *frames)
{
	struct profile_rows *rows = arg;

	rows->depth += (uint32_t)frames->n;
	rows->leaf = frames->frames[0].func->name;
	return NULL;
}

static struct ebt_error *next_stack(void *arg, bool *ret_more)
{
	struct profile_rows *rows = arg;
	const struct sql_source *source = rows->source;
	bool found;

	*ret_more = rows->next < rows->end;
	if (!*ret_more)
		return NULL;
	rows->depth = 0;
	rows->leaf = NULL;
	text_clear(&rows->folded);
	rows->next++;
	return sql_stacks_walk(source->stacks, source->sym, rows->next - 1, add_frames, rows)
		       ?: sql_stacks_folded(source->stacks, source->sym,
					    sql_stacks_at(source->stacks, rows->next - 1),
					    &rows->folded, &found);
}

static void put_stack(const void *arg, sqlite3_context *context, int i)
{
	const struct profile_rows *rows = arg;

	if (i == 0)
		sqlite3_result_int64(context, sql_stacks_at(rows->source->stacks, rows->next - 1));
	else if (i == 1)
		sqlite3_result_text64(context, text_get(&rows->folded), rows->folded.len,
				      SQLITE_TRANSIENT, SQLITE_UTF8);
	else if (i == 2)
		put_text(context, rows->leaf);
	else
		sqlite3_result_int64(context, rows->depth);
}

#define TABLE(variable, text, list, number, of, get) \
	const struct sql_made variable = {           \
		.name = (text),                      \
		.columns = (list),                   \
		.n = (number),                       \
		.ts = -1,                            \
		.by_id = true,                       \
		.begin = begin_##of,                 \
		.next = next_row,                    \
		.column = (get),                     \
		.end = end_rows,                     \
	}

TABLE(sql_made_callsites, "stack_profile_callsite",
      "id INTEGER, depth INTEGER, parent_id INTEGER, frame_id INTEGER", 4, callsites, put_callsite);
TABLE(sql_made_frames, "stack_profile_frame",
      "id INTEGER, name TEXT, mapping INTEGER, rel_pc INTEGER, symbol_set_id INTEGER", 5, frames,
      put_frame);
TABLE(sql_made_mappings, "stack_profile_mapping", "id INTEGER, build_id TEXT, name TEXT", 3,
      mappings, put_mapping);
TABLE(sql_made_symbols, "stack_profile_symbol",
      "id INTEGER, symbol_set_id INTEGER, name TEXT, source_file TEXT, line_number INTEGER, "
      "inlined INTEGER",
      6, symbols, put_symbol);

const struct sql_made sql_made_stacks = {
	.name = "stack",
	.columns = "id INTEGER, folded TEXT, leaf TEXT, depth INTEGER",
	.n = 4,
	.ts = -1,
	.by_id = true,
	.begin = begin_stacks,
	.next = next_stack,
	.column = put_stack,
	.end = end_rows,
};
