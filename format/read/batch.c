/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a payload to columns and dictionaries: directory, then only what is wanted. */
#include "format/read/batch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "format/base/limits.h"
#include "format/encoding/column.h"
#include "format/encoding/layout.h"

/* As EBT_ENC_STRINGS, _STACKS, _TASKS. */
enum dict { STRINGS, STACKS, TASKS, N_DICTS, NO_DICT = N_DICTS };

static enum dict dict_of(enum ebt_type type)
{
	if (type == EBT_TYPE_STRING || type == EBT_TYPE_BYTES)
		return STRINGS;
	if (type == EBT_TYPE_STACK)
		return STACKS;
	return type == EBT_TYPE_TASK ? TASKS : NO_DICT;
}

/* One entry of the directory, with its contents. */
struct entry {
	struct ebt_bytes contents;
	uint8_t encoding;
	bool there;
};

/* A payload taken apart: by field index, and by dictionary. */
struct batch_parts {
	struct entry column[EBT_MAX_FIELDS];
	struct entry dict[N_DICTS];
};

void ebt_decoded_deinit(struct ebt_decoded *decoded)
{
	for (size_t i = 0; i < EBT_N_SPACES; i++)
		ebt_space_deinit(&decoded->spaces[i]);
}

size_t ebt_decoded_size(const struct ebt_decoded *decoded)
{
	size_t sum = 0;

	for (size_t i = 0; i < EBT_N_SPACES; i++)
		sum += decoded->spaces[i].size;
	return sum;
}

static struct ebt_error *bad_directory(const char *what)
{
	return ebt_error_create(EBT_ERR_CORRUPT, "directory: %s", what);
}

static bool read_entry(struct ebt_bytes *in, uint64_t *id, uint8_t *encoding, uint64_t *length)
{
	return ebt_bytes_varint(in, id) && ebt_bytes_u8(in, encoding) &&
	       ebt_bytes_varint(in, length);
}

/* Where the entry belongs; NULL: nothing that this program knows. */
static struct entry *place_of(struct batch_parts *parts, const struct ebt_table *table, uint64_t id,
			      uint8_t encoding)
{
	int field;

	if (!id) {
		bool known = encoding >= EBT_ENC_STRINGS && encoding < EBT_ENC_STRINGS + N_DICTS;

		return known ? &parts->dict[encoding - EBT_ENC_STRINGS] : NULL;
	}
	field = ebt_field_by_id(table, id);
	return field < 0 ? NULL : &parts->column[field];
}

/* Finds where the contents begin: behind n entries. */
static struct ebt_error *find_contents(struct ebt_bytes in, uint64_t n, struct ebt_bytes *ret)
{
	uint64_t id, length;
	uint8_t encoding;

	for (uint64_t i = 0; i < n; i++) {
		if (!read_entry(&in, &id, &encoding, &length))
			return bad_directory("ends within an entry");
	}
	*ret = in;
	return NULL;
}

static struct ebt_error *read_directory(struct ebt_bytes in, const struct ebt_table *table,
					struct batch_parts *parts)
{
	struct ebt_bytes contents = in, taken;
	uint64_t n, id = 0, length = 0, last_id = 0;
	struct ebt_error *err;
	uint8_t encoding = 0;

	if (!ebt_bytes_varint(&in, &n))
		return bad_directory("no number of entries");
	err = find_contents(in, n, &contents);
	if (err)
		return err;
	for (uint64_t i = 0; i < n; i++) {
		struct entry *entry;

		read_entry(&in, &id, &encoding, &length);
		if (!ebt_bytes_take(&contents, length, &taken))
			return bad_directory("an entry is longer than the payload");
		if (id < last_id || (id && id == last_id))
			return bad_directory("columns are not in ascending order");
		last_id = id;
		entry = place_of(parts, table, id, encoding);
		if (!entry)
			continue;
		if (entry->there)
			return bad_directory("a dictionary is there twice");
		*entry = (struct entry){ taken, encoding, true };
	}
	return ebt_bytes_left(&contents) ? bad_directory("bytes behind the last entry") : NULL;
}

/* Which dictionaries the wanted columns need, by bit. */
static unsigned int needed_dicts(const struct ebt_table *table, uint64_t columns)
{
	unsigned int needed = 0;

	for (uint32_t i = 0; i < table->n_fields; i++) {
		if (columns >> i & 1)
			needed |= 1u << dict_of(table->fields[i].type);
	}
	/* Names of tasks are there. */
	return needed & 1u << TASKS ? needed | 1u << STRINGS : needed;
}

static struct ebt_error *read_dicts(const struct batch_parts *parts, unsigned int needed,
				    struct ebt_decoded *decoded)
{
	static const struct {
		const char *name;
		struct ebt_error *(*read)(struct ebt_bytes in, struct ebt_decoded *decoded);
	} dicts[N_DICTS] = {
		[STRINGS] = { "strings", ebt_dict_read_strings },
		[STACKS] = { "stacks", ebt_dict_read_stacks },
		[TASKS] = { "tasks", ebt_dict_read_tasks },
	};
	struct ebt_batch *batch = &decoded->batch;

	batch->n_strings = batch->n_stacks = batch->n_tasks = 0;
	for (unsigned int i = 0; i < N_DICTS; i++) {
		const struct entry *entry = &parts->dict[i];
		struct ebt_error *err;

		if (!(needed >> i & 1) || !entry->there)
			continue;
		err = dicts[i].read(entry->contents, decoded);
		if (err)
			return ebt_error_prefix(err, "dictionary %s", dicts[i].name);
	}
	return NULL;
}

/* A value of a column is at most this. */
static uint64_t largest_value(const struct ebt_batch *batch, enum ebt_type type)
{
	const uint64_t largest[] = {
		[STRINGS] = batch->n_strings,
		[STACKS] = batch->n_stacks,
		[TASKS] = batch->n_tasks,
		[NO_DICT] = UINT64_MAX,
	};

	return largest[dict_of(type)];
}

static struct ebt_error *check_ids(const uint64_t *values, uint32_t rows, uint64_t largest)
{
	bool bad = false;

	if (largest == UINT64_MAX)
		return NULL;
	for (uint32_t i = 0; i < rows; i++)
		bad |= values[i] > largest;
	for (uint32_t i = 0; bad && i < rows; i++) {
		if (values[i] > largest)
			return ebt_error_create(EBT_ERR_CORRUPT,
						"row %u: id %" PRIu64
						" of a dictionary of %" PRIu64,
						i, values[i], largest);
	}
	return NULL;
}

static struct ebt_error *check_times(const uint64_t *times, const struct ebt_chunk_info *chunk)
{
	uint32_t rows = chunk->rows;
	bool falls = false;

	if (times[0] != chunk->time_min || times[rows - 1] != chunk->time_max)
		return ebt_error_create(EBT_ERR_CORRUPT,
					"rows are from %" PRIu64 " to %" PRIu64
					", the header says %" PRIu64 " to %" PRIu64,
					times[0], times[rows - 1], chunk->time_min,
					chunk->time_max);
	for (uint32_t i = 1; i < rows; i++)
		falls |= times[i] < times[i - 1];
	if (falls)
		return ebt_error_create(EBT_ERR_CORRUPT, "rows are not in order of time");
	return NULL;
}

static struct ebt_error *read_column(const struct entry *entry, const struct ebt_field *field,
				     const struct ebt_batch *batch, uint64_t *values)
{
	struct ebt_error *err;

	if (!entry->there) {
		memset(values, 0, batch->rows * sizeof(*values));
		return NULL;
	}
	err = ebt_column_decode(entry->encoding, entry->contents, batch->rows, values);
	if (!err)
		err = check_ids(values, batch->rows, largest_value(batch, field->type));
	return ebt_error_prefix(err, "column %s", field->name);
}

static struct ebt_error *read_columns(const struct batch_parts *parts, uint64_t columns,
				      struct ebt_decoded *decoded)
{
	struct ebt_batch *batch = &decoded->batch;
	const struct ebt_table *table = batch->table;
	uint64_t size = (uint64_t)__builtin_popcountll(columns) * batch->rows * sizeof(uint64_t);
	struct ebt_error *err;
	uint64_t *values;

	if (size > EBT_MAX_DECODED)
		return ebt_error_create(EBT_ERR_LIMIT, "%u rows of %d columns", batch->rows,
					__builtin_popcountll(columns));
	values = ebt_space_get(&decoded->spaces[EBT_SPACE_COLUMNS], (size_t)size);
	if (!values)
		return &ebt_enomem;
	memset(batch->col, 0, sizeof(batch->col));
	for (uint32_t i = 0; i < table->n_fields; i++) {
		if (!(columns >> i & 1))
			continue;
		err = read_column(&parts->column[i], &table->fields[i], batch, values);
		if (err)
			return err;
		batch->col[i] = values;
		values += batch->rows;
	}
	return batch->rows ? check_times(batch->col[0], batch->chunk) : NULL;
}

struct ebt_error *ebt_batch_decode(struct ebt_bytes payload, const struct ebt_chunk_info *chunk,
				   const struct ebt_table *table, uint64_t columns,
				   struct ebt_task_set *tasks, struct ebt_decoded *decoded)
{
	struct batch_parts parts = { 0 };
	struct ebt_error *err;

	if (table->n_fields < EBT_MAX_FIELDS)
		columns &= (UINT64_C(1) << table->n_fields) - 1;
	columns |= 1;
	decoded->set = tasks;
	decoded->batch.table = table;
	decoded->batch.chunk = chunk;
	decoded->batch.rows = chunk->rows;
	err = read_directory(payload, table, &parts);
	if (err)
		return err;
	err = read_dicts(&parts, needed_dicts(table, columns), decoded);
	return err ? err : read_columns(&parts, columns, decoded);
}

#ifndef NDEBUG
void ebt_row_misread(const struct ebt_row *row, uint16_t id, unsigned int field)
{
	const struct ebt_table *is = row->batch->table, *table = ebt_table_by_id(id);
	char said[256];

	if (is && is->id == id)
		table = is;
	if (!table || field >= table->n_fields)
		snprintf(said, sizeof(said), "field %u of table %u is there", field, id);
	else if (table != is)
		snprintf(said, sizeof(said), "a row of table %s has %s.%s", is ? is->name : "?",
			 table->name, table->fields[field].name);
	else
		snprintf(said, sizeof(said), "the query wants %s.%s", table->name,
			 table->fields[field].name);
	__assert_fail(said, __FILE__, __LINE__, __func__);
}
#endif
