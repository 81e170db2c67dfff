/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of several recorders; see merge_ids.h. */
#include "report/share/merge_ids.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "format/schema/wire.h"
#include "report/base/text.h"

enum number_kind { FILES, CODES, OBJECTS, COUNTERS, BUSES, PROBES, N_KINDS };

/* What a row says of the number: all, some more, or nothing. */
enum role { NAMES, DETAILS, USES };

static const struct {
	uint16_t table;
	uint8_t field, kind;
	enum role role;
} fields[] = {
	{ EBT_T_file, EBT_F_file_file_id, FILES, NAMES },
	{ EBT_T_file_data, EBT_F_file_data_file_id, FILES, USES },
	{ EBT_T_object, EBT_F_object_file_id, FILES, USES },
	{ EBT_T_interp_code, EBT_F_interp_code_id, CODES, NAMES },
	{ EBT_T_name_object, EBT_F_name_object_object_id, OBJECTS, NAMES },
	{ EBT_T_name_frame, EBT_F_name_frame_object_id, OBJECTS, USES },
	{ EBT_T_counter_def, EBT_F_counter_def_counter, COUNTERS, NAMES },
	{ EBT_T_counter, EBT_F_counter_counter, COUNTERS, USES },
	{ EBT_T_dbus_bus, EBT_F_dbus_bus_bus, BUSES, NAMES },
	{ EBT_T_dbus_message, EBT_F_dbus_message_bus, BUSES, USES },
	{ EBT_T_probe, EBT_F_probe_probe, PROBES, NAMES },
	{ EBT_T_probe_arg, EBT_F_probe_arg_probe, PROBES, DETAILS },
	{ EBT_T_probe_hit, EBT_F_probe_hit_probe, PROBES, USES },
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

/* Things that two inputs describe alike are one. */
static bool is_shared(unsigned int kind)
{
	return kind != FILES && kind != CODES;
}

struct thing {
	size_t input; /* that described it first */
	char *text;   /* what it is */
	size_t len;
};

struct things {
	struct thing *list; /* number in the copy - 1 */
	size_t n, capacity;
	struct ebt_map by_text;
};

struct numbers {
	struct ebt_map map; /* of the input's to those of the copy */
	bool moved;
};

/* What other tables say of a thing. */
struct details {
	struct text text;
	uint64_t n;
};

struct detailed {
	struct details *list;
	size_t n, capacity;
	struct ebt_map by_number;
};

struct merge_ids {
	size_t n;
	bool parts; /* inputs are of one recording, and have the same numbers */
	struct things things[N_KINDS];
	struct numbers (*inputs)[N_KINDS];
	size_t input;			   /* that is being read */
	struct detailed detailed[N_KINDS]; /* in this input */
};

DEFINE_CLEANUP(struct merge_ids *, merge_ids_destroy);

static int find_field(uint16_t table)
{
	for (size_t i = 0; i < N_FIELDS; i++) {
		if (fields[i].table == table)
			return (int)i;
	}
	return -1;
}

int merge_ids_field(uint16_t table)
{
	int i = find_field(table);

	return i < 0 ? -1 : fields[i].field;
}

/* All that the row says of the thing, but for when. */
static void describe(const struct ebt_row *row, unsigned int id, struct text *text)
{
	const struct ebt_table *table = row->batch->table;

	for (uint32_t f = 1; f < table->n_fields; f++) {
		const struct ebt_task *task;
		struct ebt_str s;

		switch (table->fields[f].type) {
		case EBT_TYPE_TASK:
			task = ebt_task(row, f);
			text_printf(text, "%" PRIu32 " %" PRIu64 ",", task ? task->tid : 0,
				    task ? task->start_ns : 0);
			break;
		case EBT_TYPE_STRING:
		case EBT_TYPE_BYTES:
			s = ebt_str(row, f);
			text_printf(text, "%zu:", s.len);
			text_add(text, s.data, s.len);
			break;
		case EBT_TYPE_STACK:
			break;
		default:
			if (f != id)
				text_printf(text, "%" PRIu64 ",", ebt_u64(row, f));
		}
	}
}

static bool is_same(const struct thing *thing, const struct text *text)
{
	return thing->len == text->len && !memcmp(thing->text, text->data, text->len);
}

static struct ebt_error *add_thing(struct things *things, size_t input, struct text *text,
				   uint64_t hash, uint32_t *ret)
{
	struct ebt_error *err =
		ebt_array_reserve(&things->list, things->n, &things->capacity)
			?: ebt_map_insert(&things->by_text, hash, (uint32_t)things->n);

	if (err)
		return err;
	*ret = (uint32_t)things->n++;
	things->list[*ret] =
		(struct thing){ .input = input, .text = take_ptr(text->data), .len = text->len };
	return NULL;
}

/* Rows of details have an index, and may be told again. */
static struct ebt_error *take_details(void *arg, const struct ebt_row *row)
{
	struct merge_ids *ids = arg;
	const int i = find_field(row->batch->table->id);
	struct detailed *detailed = &ids->detailed[fields[i].kind];
	const int index = ebt_field_by_name(row->batch->table, "index");
	struct details *details;
	struct ebt_error *err;
	uint32_t k;

	err = ebt_map_element(&detailed->by_number, ebt_u64(row, fields[i].field), &detailed->list,
			      &detailed->n, &detailed->capacity, &k);
	if (err)
		return err;
	details = &detailed->list[k];
	if (ebt_u64(row, (unsigned int)index) < details->n)
		return NULL;
	details->n = ebt_u64(row, (unsigned int)index) + 1;
	describe(row, fields[i].field, &details->text);
	return text_error(&details->text);
}

static void add_details(const struct detailed *detailed, uint64_t number, struct text *text)
{
	uint32_t k;

	if (ebt_map_find(&detailed->by_number, number, &k))
		text_add(text, detailed->list[k].text.data, detailed->list[k].text.len);
}

static void forget_details(struct merge_ids *ids)
{
	for (size_t kind = 0; kind < N_KINDS; kind++) {
		struct detailed *detailed = &ids->detailed[kind];

		for (size_t i = 0; i < detailed->n; i++)
			text_deinit(&detailed->list[i].text);
		free(detailed->list);
		ebt_map_deinit(&detailed->by_number);
		*detailed = (struct detailed){ 0 };
	}
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	struct merge_ids *ids = arg;
	const int i = find_field(row->batch->table->id);
	struct things *things = &ids->things[fields[i].kind];
	struct numbers *numbers = &ids->inputs[ids->input][fields[i].kind];
	const uint64_t number = ebt_u64(row, fields[i].field);
	_cleanup_text_ struct text text = TEXT_INIT;
	uint32_t thing, had;
	struct ebt_error *err;
	uint64_t hash;

	if (!number || ebt_map_find(&numbers->map, number, &thing))
		return NULL;
	if (is_shared(fields[i].kind)) {
		describe(row, fields[i].field, &text);
		add_details(&ids->detailed[fields[i].kind], number, &text);
	} else {
		text_printf(&text, "%zu %" PRIu64, ids->parts ? 0 : ids->input, number);
	}
	err = text_error(&text);
	if (err)
		return err;
	hash = ebt_hash_bytes(0, text.data, text.len);
	thing = ebt_map_search(&things->by_text, hash, k, is_same(&things->list[k], &text));
	if (thing == EBT_MAP_NONE)
		err = add_thing(things, ids->input, &text, hash, &thing);
	numbers->moved |= thing + 1 != number;
	return err ?: ebt_map_add(&numbers->map, number, thing, &had);
}

static struct ebt_error *read_tables(struct merge_ids *ids, struct ebt_reader *reader,
				     enum role role,
				     struct ebt_error *(*take)(void *, const struct ebt_row *))
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < N_FIELDS; i++) {
		if (fields[i].role == role)
			err = ebt_read_table(reader, fields[i].table, take, ids);
	}
	return err;
}

struct ebt_error *merge_ids_create(struct ebt_reader *const *readers, size_t n, bool parts,
				   struct merge_ids **ret)
{
	_cleanup_(merge_ids_destroyp) struct merge_ids *ids = calloc(1, sizeof(*ids));
	struct ebt_error *err = NULL;

	if (!ids)
		return &ebt_enomem;
	ids->n = n;
	ids->parts = parts;
	ids->inputs = calloc(n, sizeof(*ids->inputs));
	if (!ids->inputs)
		return &ebt_enomem;
	for (ids->input = 0; !err && ids->input < n; ids->input++) {
		err = read_tables(ids, readers[ids->input], DETAILS, take_details)
			      ?: read_tables(ids, readers[ids->input], NAMES, take_row);
		forget_details(ids);
	}
	if (!err)
		*ret = take_ptr(ids);
	return err;
}

void merge_ids_destroy(struct merge_ids *ids)
{
	if (!ids)
		return;
	for (size_t kind = 0; kind < N_KINDS; kind++) {
		struct things *things = &ids->things[kind];

		for (size_t i = 0; i < things->n; i++)
			free(things->list[i].text);
		free(things->list);
		ebt_map_deinit(&things->by_text);
		for (size_t i = 0; ids->inputs && i < ids->n; i++)
			ebt_map_deinit(&ids->inputs[i][kind].map);
	}
	free(ids->inputs);
	free(ids);
}

bool merge_ids_moved(const struct merge_ids *ids, size_t input, const struct ebt_table *table)
{
	const struct numbers *numbers = ids->inputs[input];
	const int i = find_field(table->id);

	if (i >= 0 && numbers[fields[i].kind].moved)
		return true;
	return numbers[CODES].moved && ebt_table_has_type(table, EBT_TYPE_STACK);
}

bool merge_ids_are_shared(uint16_t table)
{
	const int i = find_field(table);

	return i >= 0 && is_shared(fields[i].kind);
}

/* What nothing describes stands for nothing: 0. */
static uint64_t number_of(const struct merge_ids *ids, size_t input, unsigned int kind,
			  uint64_t number)
{
	uint32_t thing;

	return ebt_map_find(&ids->inputs[input][kind].map, number, &thing) ? thing + UINT64_C(1)
									   : 0;
}

uint64_t merge_ids_of(const struct merge_ids *ids, size_t input, const struct ebt_row *row)
{
	const int i = find_field(row->batch->table->id);

	return number_of(ids, input, fields[i].kind, ebt_u64(row, fields[i].field));
}

bool merge_ids_known(const struct merge_ids *ids, size_t input, const struct ebt_row *row)
{
	const int i = find_field(row->batch->table->id);
	const uint64_t number = merge_ids_of(ids, input, row);

	return number && ids->things[fields[i].kind].list[number - 1].input < input;
}

bool merge_ids_stack(const struct merge_ids *ids, size_t input, const struct ebt_stack *stack,
		     uint64_t *to)
{
	bool any = false;

	for (uint32_t i = 0; stack && i < stack->n && !any; i++)
		any = stack->addresses[i] & EBT_ENTRY_INTERP && stack->attrs & EBT_STACK_USER;
	if (!any)
		return false;
	for (uint32_t i = 0; i < stack->n; i++) {
		uint64_t entry = stack->addresses[i];

		to[i] = entry;
		if (!(entry & EBT_ENTRY_INTERP))
			continue;
		to[i] &= ~((uint64_t)UINT32_MAX << EBT_ENTRY_ID_SHIFT);
		to[i] |= number_of(ids, input, CODES,
				   entry >> EBT_ENTRY_ID_SHIFT & (uint64_t)UINT32_MAX)
			 << EBT_ENTRY_ID_SHIFT;
	}
	return true;
}
