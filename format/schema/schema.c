/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The compiled-in tables, made from events/all.def, and look-ups in them. */
#include "format/schema/schema.h"

#include <string.h>

#include "format/base/search.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* clang-format off */

/* Look-ups need the tables in the order of their ids: each is at least one more than the last. */
enum {
#define EBT_TABLE(name, id, class, doc) LEAST_ID_##name, ID_##name = (id),
#include "format/events/all.def"
};
#define EBT_TABLE(name, id, class, doc)                                                            \
	_Static_assert((id) >= LEAST_ID_##name,                                                    \
		       "table " #name " stands behind one whose id is not lower: all.def");
#include "format/events/all.def"

/*
 * Names of values, one array a field. As values stand behind their field, each field closes the
 * array of the one before it. Element 0 is unused, so that no array is empty.
 */
#define EBT_TABLE(name, id, class, doc)                                                            \
	static const struct ebt_value_name values_##name##_time[] = { { 0, NULL }
#define EBT_FIELD(table, id, ctype, name, type, unit, doc)                                         \
	};                                                                                         \
	static const struct ebt_value_name values_##table##_##name[] = { { 0, NULL }
#define EBT_VALUE(table, field, token, value, text) , { value, text }
#define EBT_END(name) };
#include "format/events/all.def"

#define FIELD(table, field, f_id, f_type, f_unit, f_doc, offset, size)                             \
	{                                                                                          \
		.id = f_id, .type = EBT_TYPE_##f_type, .name = #field, .unit = f_unit,             \
		.doc = f_doc, .wire_offset = offset, .wire_size = size,                            \
		.values = values_##table##_##field + 1,                                            \
		.n_values = ARRAY_SIZE(values_##table##_##field) - 1,                              \
	},

#define EBT_TABLE(name, id, class, doc)                                                            \
	static const struct ebt_field fields_##name[] = {                                          \
		FIELD(name, time, 1, TIME, "ns", "CLOCK_MONOTONIC; the end of what lasted",        \
		      offsetof(struct ebt_wire_head, time), sizeof(__u64))
#define EBT_FIELD(table, id, ctype, name, type, unit, doc)                                         \
		FIELD(table, name, id, type, unit, doc,                                            \
		      offsetof(struct ebt_wire_##table, name), sizeof(ctype))
#define EBT_END(name) };
#include "format/events/all.def"

#define EBT_TABLE(t_name, t_id, t_class, t_doc)                                                    \
	{                                                                                          \
		.id = t_id, .class = EBT_CLASS_##t_class, .name = #t_name, .doc = t_doc,           \
		.fields = fields_##t_name, .n_fields = ARRAY_SIZE(fields_##t_name),                \
		.wire_size = sizeof(struct ebt_wire_##t_name),                                     \
	},
const struct ebt_table ebt_tables[] = {
#include "format/events/all.def"
};

/* clang-format on */

const size_t ebt_n_tables = ARRAY_SIZE(ebt_tables);

const struct ebt_table *ebt_table_by_id(uint16_t id)
{
	size_t at = ebt_count_first(ARRAY_SIZE(ebt_tables), i, ebt_tables[i].id < id);

	return at < ARRAY_SIZE(ebt_tables) && ebt_tables[at].id == id ? &ebt_tables[at] : NULL;
}

const struct ebt_table *ebt_table_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(ebt_tables); i++) {
		if (!strcmp(ebt_tables[i].name, name))
			return &ebt_tables[i];
	}
	return NULL;
}

int ebt_field_by_name(const struct ebt_table *table, const char *name)
{
	for (uint32_t i = 0; i < table->n_fields; i++) {
		if (!strcmp(table->fields[i].name, name))
			return (int)i;
	}
	return -1;
}

int ebt_field_by_id(const struct ebt_table *table, uint64_t id)
{
	for (uint32_t i = 0; i < table->n_fields; i++) {
		if (table->fields[i].id == id)
			return (int)i;
	}
	return -1;
}

bool ebt_table_has_type(const struct ebt_table *table, enum ebt_type type)
{
	for (uint32_t i = 0; i < table->n_fields; i++) {
		if (table->fields[i].type == type)
			return true;
	}
	return false;
}

const char *ebt_value_name(const struct ebt_field *field, uint64_t value)
{
	for (uint32_t i = 0; i < field->n_values; i++) {
		if (field->values[i].value == value)
			return field->values[i].name;
	}
	return NULL;
}

const char *ebt_type_name(enum ebt_type type)
{
	static const char *const names[EBT_N_TYPES] = {
		[EBT_TYPE_U64] = "u64",		  [EBT_TYPE_I64] = "i64",
		[EBT_TYPE_HEX] = "hex",		  [EBT_TYPE_TIME] = "time",
		[EBT_TYPE_DURATION] = "duration", [EBT_TYPE_ENUM] = "enum",
		[EBT_TYPE_TASK] = "task",	  [EBT_TYPE_STACK] = "stack",
		[EBT_TYPE_STRING] = "string",	  [EBT_TYPE_BYTES] = "bytes",
	};

	return (unsigned int)type < EBT_N_TYPES ? names[type] : "unknown";
}
