/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event table at run time. A table's fields are an array; the compiled-in ones come first,
 * in the order of the .def file, so that EBT_F_TABLE_FIELD is an index into it even when the
 * file was written by another version. Fields that only the file knows follow.
 */
#ifndef FORMAT_SCHEMA_SCHEMA_H
#define FORMAT_SCHEMA_SCHEMA_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/schema/wire.h"

/* EBT_F_sched_switch_prev …: index of a field in its table; `time` is 0 in every table. */
/* clang-format off */
#define EBT_TABLE(name, id, class, doc) enum { EBT_F_##name##_time,
#define EBT_FIELD(table, id, ctype, name, type, unit, doc) EBT_F_##table##_##name,
#define EBT_END(name)                                                                              \
	EBT_N_##name };
#include "format/events/all.def"
/* clang-format on */

/* As written in table `schema`. */
enum ebt_type {
	EBT_TYPE_U64 = EBT_V_schema_type_u64,
	EBT_TYPE_I64 = EBT_V_schema_type_i64,
	EBT_TYPE_HEX = EBT_V_schema_type_hex,
	EBT_TYPE_TIME = EBT_V_schema_type_time,
	EBT_TYPE_DURATION = EBT_V_schema_type_duration,
	EBT_TYPE_ENUM = EBT_V_schema_type_enum,
	/* The column holds 1 + index in the chunk's dictionary of tasks; 0: none. */
	EBT_TYPE_TASK = EBT_V_schema_type_task,
	EBT_TYPE_STACK = EBT_V_schema_type_stack,   /* likewise, of stacks */
	EBT_TYPE_STRING = EBT_V_schema_type_string, /* likewise, of strings; 0: empty */
	EBT_TYPE_BYTES = EBT_V_schema_type_bytes,   /* as STRING, and not meant for people */
	EBT_N_TYPES,
};

enum ebt_class {
	EBT_CLASS_META = EBT_V_schema_table_class_meta,
	EBT_CLASS_STATE = EBT_V_schema_table_class_state,
	EBT_CLASS_EVENT = EBT_V_schema_table_class_event,
};

struct ebt_value_name {
	uint64_t value;
	const char *name;
};

struct ebt_field {
	uint32_t id;
	enum ebt_type type;
	const char *name, *unit, *doc;
	uint16_t wire_offset, wire_size; /* in the wire struct; size 0: only the file knows it */
	const struct ebt_value_name *values; /* ENUM only */
	uint32_t n_values;
};

struct ebt_table {
	uint16_t id;
	enum ebt_class class;
	const char *name, *doc;
	const struct ebt_field *fields;
	uint32_t n_fields;
	uint16_t wire_size;
};

/* The compiled-in tables, in ascending order of id. */
extern const struct ebt_table ebt_tables[];
extern const size_t ebt_n_tables;

/* A compiled-in table, or NULL. */
const struct ebt_table *ebt_table_by_id(uint16_t id);
const struct ebt_table *ebt_table_by_name(const char *name);

/* Index of the field, or -1. */
int ebt_field_by_name(const struct ebt_table *table, const char *name);
int ebt_field_by_id(const struct ebt_table *table, uint64_t id);
/* Is any of its fields of this type? */
bool ebt_table_has_type(const struct ebt_table *table, enum ebt_type type);

/* The value's name, or NULL. */
const char *ebt_value_name(const struct ebt_field *field, uint64_t value);

/* "u64", "task", … as in docs and `dump --schema`. */
const char *ebt_type_name(enum ebt_type type);

#endif
