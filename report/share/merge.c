/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which rows of several traces go into one; see merge.h. */
#include "report/share/merge.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "report/base/text.h"
#include "report/share/copying.h"
#include "report/share/merge_cover.h"
#include "report/share/merge_ids.h"
#include "report/share/merge_parts.h"
#include "report/trace/cut_lists.h"

/* What is true of the merged trace is worked out of all inputs, and appended. */
static const char *const joined_keys[] = { "target.kind", "target.pids", "options.events" };

/* What an input says of itself, or of a source: who says it best, or first. */
struct saying {
	char *name;
	size_t len, input;
	unsigned int rank;
};

struct sayings {
	struct saying *list;
	size_t n, capacity;
	struct ebt_map by_name;
};

struct merge_input {
	struct merge *merge;
	size_t i;
};

struct merge {
	struct ebt_reader *const *readers;
	size_t n;
	struct merge_input *inputs;
	struct merge_ids *ids;
	struct merge_cover *cover; /* NULL where they are parts of one recording */
	struct merge_parts *parts; /* NULL where they are not */
	bool whole;		   /* parts, of all processes, and none is missing */
	struct sayings keys, sources;
	struct sayings damage; /* parts: what was missing before they were cut */
	struct ebt_map named;  /* parts: a place in code, by hash: the input whose names it has */
	void *arg;
	size_t reading;
	uint64_t addresses[EBT_MAX_FRAMES];
};

DEFINE_CLEANUP(struct merge *, merge_destroy);

/* --- meta and source --- */

static bool is_name(const struct saying *saying, struct ebt_str name)
{
	return saying->len == name.len && !memcmp(saying->name, name.data, name.len);
}

static struct saying *find_saying(const struct sayings *sayings, struct ebt_str name)
{
	const uint64_t hash = ebt_hash_bytes(0, name.data, name.len);
	uint32_t i = ebt_map_search(&sayings->by_name, hash, k, is_name(&sayings->list[k], name));

	return i == EBT_MAP_NONE ? NULL : &sayings->list[i];
}

static struct ebt_error *say(struct sayings *sayings, struct ebt_str name, size_t input,
			     unsigned int rank)
{
	struct saying *saying = find_saying(sayings, name);
	struct ebt_error *err;
	char *copy;

	if (saying) {
		if (rank > saying->rank)
			*saying = (struct saying){ saying->name, saying->len, input, rank };
		return NULL;
	}
	copy = malloc(name.len + 1);
	if (!copy)
		return &ebt_enomem;
	memcpy(copy, name.data, name.len);
	err = ebt_array_reserve(&sayings->list, sayings->n, &sayings->capacity)
		      ?: ebt_map_insert(&sayings->by_name, ebt_hash_bytes(0, name.data, name.len),
					(uint32_t)sayings->n);
	if (err) {
		free(copy);
		return err;
	}
	sayings->list[sayings->n++] = (struct saying){ copy, name.len, input, rank };
	return NULL;
}

static void sayings_deinit(struct sayings *sayings)
{
	for (size_t i = 0; i < sayings->n; i++)
		free(sayings->list[i].name);
	free(sayings->list);
	ebt_map_deinit(&sayings->by_name);
}

/* The more of it was there, the better. */
static unsigned int source_rank(uint64_t status)
{
	switch (status) {
	case EBT_V_source_status_on:
		return 3;
	case EBT_V_source_status_partial:
		return 2;
	case EBT_V_source_status_unavailable:
		return 1;
	default:
		return 0;
	}
}

static bool is_key(struct ebt_str key, const char *name)
{
	return key.len == strlen(name) && !memcmp(key.data, name, key.len);
}

static struct ebt_error *take_saying(void *arg, const struct ebt_row *row)
{
	struct merge *merge = arg;

	if (row->batch->table->id == EBT_T_meta) {
		if (merge->parts && is_key(ebt_meta_key(row), "copy.damage"))
			return say(&merge->damage, ebt_meta_value(row), merge->reading, 0);
		return say(&merge->keys, ebt_meta_key(row), merge->reading, 0);
	}
	return say(&merge->sources, ebt_source_name(row), merge->reading,
		   source_rank(ebt_source_status(row)));
}

static bool is_joined(struct ebt_str key)
{
	for (size_t i = 0; i < sizeof(joined_keys) / sizeof(joined_keys[0]); i++) {
		if (is_key(key, joined_keys[i]))
			return true;
	}
	return false;
}

/* --- rows --- */

/* What cut says of a part. */
static bool is_of_cut(struct ebt_str key)
{
	return key.len >= strlen("cut.") && !memcmp(key.data, "cut.", strlen("cut."));
}

static bool is_said(const struct merge *merge, size_t input, const struct ebt_row *row)
{
	const struct saying *saying;

	if (row->batch->table->id == EBT_T_meta) {
		if (merge->whole && is_of_cut(ebt_meta_key(row)))
			return true;
		if (is_joined(ebt_meta_key(row)))
			return true;
		/* Each recording's own. */
		saying = is_key(ebt_meta_key(row), "copy.damage")
				 ? find_saying(&merge->damage, ebt_meta_value(row))
				 : find_saying(&merge->keys, ebt_meta_key(row));
	} else {
		saying = find_saying(&merge->sources, ebt_source_name(row));
	}
	return saying && saying->input != input;
}

/* Is there another input's word for this row in the copy? */
static bool is_there(const struct merge *merge, size_t input, const struct ebt_row *row)
{
	const uint16_t table = row->batch->table->id;

	switch (table) {
	case EBT_T_meta:
	case EBT_T_source:
		return is_said(merge, input, row);
	case EBT_T_lost:
		if (merge->parts)
			break;
		return ebt_lost_table_id(row) <= UINT16_MAX &&
		       merge_cover_has_all(merge->cover, input, (uint16_t)ebt_lost_table_id(row),
					   ebt_lost_from(row), row->time);
	}
	if (table == EBT_T_name_frame)
		return false;
	if (row->batch->table->class != EBT_CLASS_EVENT && merge_ids_are_shared(table))
		return merge_ids_known(merge->ids, input, row);
	if (merge->parts)
		return merge_parts_home(merge->parts, table, row->time) != input;
	return merge_cover_has(merge->cover, input, row);
}

/* Names of a place come from one part, which may have got them before it was cut or after. */
static struct ebt_error *is_named(struct merge *merge, size_t input, const struct ebt_row *row,
				  bool *ret)
{
	const uint64_t object = merge_ids_of(merge->ids, input, row);
	const uint64_t hash = ebt_hash_u64(ebt_hash_u64(0, ebt_name_frame_offset(row)),
					   object << 1 | ebt_name_frame_caller(row));
	uint32_t named_by;
	struct ebt_error *err = ebt_map_add(&merge->named, hash, (uint32_t)input, &named_by);

	*ret = !err && named_by != input;
	return err;
}

static void keep_row(struct merge *merge, size_t input, struct ebt_edit *edit,
		     const struct ebt_row *row)
{
	const struct ebt_table *table = row->batch->table;
	const int id = merge_ids_field(table->id);

	for (uint32_t f = 1; f < table->n_fields; f++) {
		struct ebt_stack stack;

		if ((int)f == id && ebt_u64(row, f)) {
			ebt_edit_column(edit, f)[row->i] = merge_ids_of(merge->ids, input, row);
			continue;
		}
		if (table->fields[f].type == EBT_TYPE_STACK &&
		    merge_ids_stack(merge->ids, input, ebt_stack(row, f), merge->addresses)) {
			stack = *ebt_stack(row, f);
			stack.addresses = merge->addresses;
			ebt_edit_column(edit, f)[row->i] = ebt_edit_stack(edit, &stack);
			continue;
		}
		ebt_edit_keep_value(edit, f, row->i);
	}
}

/* Chunks of a part tell all losses of the recording. */
static bool has_losses(const struct merge *merge, size_t input, const struct ebt_chunk_info *chunk)
{
	return merge->parts ? input != 0 : merge_cover_has_losses(merge->cover, input, chunk);
}

static struct ebt_error *edit_chunk(void *arg, struct ebt_edit *edit, bool *ret_changed)
{
	const struct merge_input *input = arg;
	struct merge *merge = input->merge;
	const struct ebt_batch *batch = ebt_edit_batch(edit);
	const bool names = merge->parts && batch->table->id == EBT_T_name_frame;
	bool changed = merge_ids_moved(merge->ids, input->i, batch->table);

	for (uint32_t i = 0; i < batch->rows; i++) {
		const struct ebt_row row = { .batch = batch, .time = batch->col[0][i], .i = i };
		bool there = is_there(merge, input->i, &row);
		struct ebt_error *err = names ? is_named(merge, input->i, &row, &there) : NULL;

		if (err)
			return err;
		if (there) {
			ebt_edit_drop_row(edit, i);
			changed = true;
		} else {
			keep_row(merge, input->i, edit, &row);
		}
	}
	if (batch->chunk->lost && has_losses(merge, input->i, batch->chunk)) {
		ebt_edit_drop_losses(edit);
		changed = true;
	}
	*ret_changed = changed;
	return NULL;
}

static enum ebt_copy_action choose(void *arg, const struct ebt_chunk_info *chunk,
				   const struct ebt_table *table)
{
	const struct merge_input *input = arg;
	const struct merge *merge = input->merge;

	if (!table)
		return merge->parts && input->i ? EBT_COPY_DROP : EBT_COPY_AS_IT_IS;
	if (!chunk->rows)
		return has_losses(merge, input->i, chunk) ? EBT_COPY_DROP : EBT_COPY_AS_IT_IS;
	switch (table->id) {
	case EBT_T_meta:
	case EBT_T_source:
	case EBT_T_lost:
		return EBT_COPY_EDIT;
	}
	if (merge->parts || merge_ids_moved(merge->ids, input->i, table) ||
	    merge_ids_are_shared(table->id) ||
	    merge_cover_touches(merge->cover, input->i, chunk, table) ||
	    (chunk->lost && merge_cover_has_losses(merge->cover, input->i, chunk)))
		return EBT_COPY_EDIT;
	return EBT_COPY_AS_IT_IS;
}

/* --- what is true of all --- */

static bool has_word(const char *list, const char *word, size_t len)
{
	for (size_t n; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (n == len && !memcmp(list, word, len))
			return true;
	}
	return false;
}

/* The words of all inputs' lists, with commas between them, each once. */
static struct ebt_error *join(const struct merge *merge, const char *key, struct text *ret)
{
	struct ebt_error *err = NULL;
	const char *list;

	for (size_t i = 0; !err && i < merge->n; i++) {
		err = ebt_reader_meta(merge->readers[i], key, &list);
		for (size_t n; !err && list && *list; list += n + (list[n] == ',')) {
			n = strcspn(list, ",");
			if (has_word(text_get(ret), list, n))
				continue;
			text_cstr(ret, ret->len ? "," : "");
			text_add(ret, list, n);
		}
	}
	return err ?: text_error(ret);
}

/* Whoever recorded everything did so for all. */
static struct ebt_error *put_joined(const struct merge *merge, struct ebt_stream *stream,
				    uint64_t time, const char *key)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct ebt_error *err = join(merge, key, &text);

	if (err || !text.len)
		return err;
	if (!strcmp(key, "target.kind") && has_word(text_get(&text), "all", strlen("all"))) {
		text_clear(&text);
		text_cstr(&text, "all");
	}
	return copying_meta_at(stream, time, key, text_get(&text));
}

struct ebt_error *merge_append(const struct merge *merge, struct ebt_stream *stream, uint64_t time)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < sizeof(joined_keys) / sizeof(joined_keys[0]); i++)
		err = put_joined(merge, stream, time, joined_keys[i]);
	return err;
}

/* --- --- */

static struct ebt_error *read_sayings(struct merge *merge)
{
	struct ebt_error *err = NULL;

	for (merge->reading = 0; !err && merge->reading < merge->n; merge->reading++)
		err = ebt_read_table(merge->readers[merge->reading], EBT_T_meta, take_saying, merge)
			      ?: ebt_read_table(merge->readers[merge->reading], EBT_T_source,
						take_saying, merge);
	return err;
}

struct ebt_error *merge_create(struct ebt_reader *const *readers, size_t n, void *arg,
			       struct merge **ret)
{
	_cleanup_(merge_destroyp) struct merge *merge = calloc(1, sizeof(*merge));
	const bool are_parts = merge_parts_are(readers, n);
	struct ebt_error *err;

	if (!merge)
		return &ebt_enomem;
	merge->readers = readers;
	merge->n = n;
	merge->arg = arg;
	merge->inputs = calloc(n, sizeof(*merge->inputs));
	if (!merge->inputs)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++)
		merge->inputs[i] = (struct merge_input){ merge, i };
	err = are_parts ? merge_parts_create(readers, n, &merge->parts) : NULL;
	err = err ?: merge_ids_create(readers, n, are_parts, &merge->ids) ?: read_sayings(merge);
	if (!err && are_parts) {
		struct ebt_window window = { 0 };
		const char *pids = NULL;

		err = merge_parts_window(readers, n, &window)
			      ?: ebt_reader_meta(readers[0], CUT_PIDS, &pids);
		merge->whole = !ebt_window_is_set(&window) && !pids;
	} else if (!err) {
		err = merge_cover_create(readers, n, merge->ids, &merge->cover);
	}
	if (!err)
		*ret = take_ptr(merge);
	return err;
}

void merge_destroy(struct merge *merge)
{
	if (!merge)
		return;
	merge_cover_destroy(merge->cover);
	merge_parts_destroy(merge->parts);
	merge_ids_destroy(merge->ids);
	sayings_deinit(&merge->keys);
	sayings_deinit(&merge->sources);
	sayings_deinit(&merge->damage);
	ebt_map_deinit(&merge->named);
	free(merge->inputs);
	free(merge);
}

void merge_set_options(struct merge *merge, size_t input, struct ebt_copy_options *options)
{
	options->arg = &merge->inputs[input];
	options->action = choose;
	options->edit = edit_chunk;
}

void *merge_arg(void *options_arg)
{
	const struct merge_input *input = options_arg;

	return input->merge->arg;
}
