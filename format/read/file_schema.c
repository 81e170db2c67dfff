/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Merging the schema that a file carries with the one that is compiled in. */
#include "format/read/file_schema.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/limits.h"

/* A name of an enum value that the file has and the compiled-in table has not. */
struct ebt_new_value {
	size_t table, order;
	uint32_t field;
	struct ebt_value_name name;
};

struct ebt_error *ebt_file_schema_init(struct ebt_file_schema *schema)
{
	*schema = (struct ebt_file_schema){ .capacity = ebt_n_tables };
	ebt_arena_init(&schema->arena, EBT_MAX_KEPT);
	schema->tables = malloc(ebt_n_tables * sizeof(*schema->tables));
	schema->place = calloc(UINT16_MAX + 1, sizeof(*schema->place));
	if (!schema->tables || !schema->place) {
		ebt_file_schema_deinit(schema);
		return &ebt_enomem;
	}
	memcpy(schema->tables, ebt_tables, ebt_n_tables * sizeof(*schema->tables));
	schema->n_tables = ebt_n_tables;
	for (size_t i = 0; i < ebt_n_tables; i++)
		schema->place[ebt_tables[i].id] = (uint16_t)(i + 1);
	return NULL;
}

void ebt_file_schema_deinit(struct ebt_file_schema *schema)
{
	free(schema->tables);
	free(schema->place);
	free(schema->values);
	ebt_arena_deinit(&schema->arena);
	*schema = (struct ebt_file_schema){ 0 };
}

const struct ebt_table *ebt_file_schema_table(const struct ebt_file_schema *schema, uint16_t id)
{
	uint16_t place = schema->place[id];

	return place ? &schema->tables[place - 1] : NULL;
}

/* Names are printed as they are, and are keys of JSON: no other characters than those of the
 * compiled-in ones. */
static bool is_name(struct ebt_str s)
{
	if (!s.len || s.len > EBT_MAX_NAME)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_')
			return false;
	}
	return true;
}

static struct ebt_error *string_of(struct ebt_file_schema *schema, struct ebt_str s,
				   const char **ret)
{
	return ebt_arena_string(&schema->arena, s.data, s.len, ret);
}

static struct ebt_error *name_of(struct ebt_file_schema *schema, const struct ebt_row *row,
				 struct ebt_str name, const char **ret)
{
	if (!is_name(name))
		return ebt_error_create(EBT_ERR_CORRUPT,
					"schema: table %" PRIu64 ", field %" PRIu64
					": a name is not of a to z, 0 to 9 and _",
					ebt_schema_table_id(row), ebt_schema_field_id(row));
	return string_of(schema, name, ret);
}

static struct ebt_error *add_table(struct ebt_file_schema *schema, const struct ebt_row *row,
				   size_t *ret)
{
	struct ebt_table table = { .id = (uint16_t)ebt_schema_table_id(row) };
	struct ebt_error *err;

	if (schema->n_tables == EBT_MAX_TABLES)
		return ebt_error_create(EBT_ERR_LIMIT, "schema: more than %u tables",
					EBT_MAX_TABLES);
	if (ebt_schema_table_class(row) > EBT_CLASS_EVENT)
		return ebt_error_create(EBT_ERR_CORRUPT, "schema: table %u has class %" PRIu64,
					table.id, ebt_schema_table_class(row));
	table.class = (enum ebt_class)ebt_schema_table_class(row);
	err = ebt_array_reserve(&schema->tables, schema->n_tables, &schema->capacity);
	if (err)
		return err;
	err = name_of(schema, row, ebt_schema_table_name(row), &table.name);
	if (err)
		return err;
	err = string_of(schema, ebt_schema_table_doc(row), &table.doc);
	if (err)
		return err;
	schema->tables[schema->n_tables] = table;
	*ret = schema->n_tables++;
	schema->place[table.id] = (uint16_t)schema->n_tables;
	return NULL;
}

static struct ebt_error *find_or_add_table(struct ebt_file_schema *schema,
					   const struct ebt_row *row, size_t *ret)
{
	uint64_t id = ebt_schema_table_id(row);

	if (!id || id > UINT16_MAX)
		return ebt_error_create(EBT_ERR_CORRUPT, "schema: table id %" PRIu64, id);
	if (schema->place[id]) {
		*ret = schema->place[id] - 1u;
		return NULL;
	}
	return add_table(schema, row, ret);
}

/* A copy of the table's fields with room for EBT_MAX_FIELDS, where it is not one already. */
static struct ebt_error *own_fields(struct ebt_file_schema *schema, struct ebt_table *table,
				    struct ebt_field **ret)
{
	const struct ebt_table *compiled = ebt_table_by_id(table->id);
	struct ebt_error *err;
	struct ebt_field *fields;
	void *memory;

	if (table->fields && (!compiled || table->fields != compiled->fields)) {
		*ret = (struct ebt_field *)table->fields;
		return NULL;
	}
	err = ebt_arena_alloc(&schema->arena, EBT_MAX_FIELDS * sizeof(*fields), &memory);
	if (err)
		return err;
	fields = memory;
	if (table->n_fields)
		memcpy(fields, table->fields, table->n_fields * sizeof(*fields));
	table->fields = *ret = fields;
	return NULL;
}

static struct ebt_error *add_field(struct ebt_file_schema *schema, struct ebt_table *table,
				   const struct ebt_row *row, enum ebt_type type)
{
	struct ebt_field field = {
		.id = (uint32_t)ebt_schema_field_id(row),
		.type = type,
	};
	struct ebt_field *fields;
	struct ebt_error *err;

	if (table->n_fields == EBT_MAX_FIELDS)
		return ebt_error_create(EBT_ERR_LIMIT, "schema: table %s has more than %u fields",
					table->name, EBT_MAX_FIELDS);
	err = name_of(schema, row, ebt_schema_field_name(row), &field.name);
	if (err)
		return err;
	err = string_of(schema, ebt_schema_unit(row), &field.unit);
	if (err)
		return err;
	err = string_of(schema, ebt_schema_field_doc(row), &field.doc);
	if (err)
		return err;
	err = own_fields(schema, table, &fields);
	if (err)
		return err;
	fields[table->n_fields++] = field;
	return NULL;
}

static struct ebt_error *merge_field(struct ebt_file_schema *schema, const struct ebt_row *row)
{
	uint64_t id = ebt_schema_field_id(row);
	uint64_t type = ebt_schema_type(row);
	struct ebt_table *table;
	struct ebt_error *err;
	size_t at;
	int field;

	err = find_or_add_table(schema, row, &at);
	if (err)
		return err;
	table = &schema->tables[at];
	if (!id || id > UINT32_MAX)
		return ebt_error_create(EBT_ERR_CORRUPT, "schema: table %s has field id %" PRIu64,
					table->name, id);
	if (type >= EBT_N_TYPES) /* from a later version: a number, at least */
		type = EBT_TYPE_U64;
	/* The first field of every table: merging, filters and limits rely on it. */
	if (!table->n_fields && (id != 1 || type != EBT_TYPE_TIME))
		return ebt_error_create(EBT_ERR_CORRUPT, "schema: field 1 of table %s is not time",
					table->name);
	field = ebt_field_by_id(table, id);
	if (field < 0)
		return add_field(schema, table, row, (enum ebt_type)type);
	if (table->fields[field].type != (enum ebt_type)type)
		return ebt_error_create(EBT_ERR_CORRUPT,
					"schema: field %s of table %s has type %s, not %s",
					table->fields[field].name, table->name,
					ebt_type_name((enum ebt_type)type),
					ebt_type_name(table->fields[field].type));
	return NULL;
}

static struct ebt_error *keep_value(struct ebt_file_schema *schema, size_t table, uint32_t field,
				    const struct ebt_row *row)
{
	struct ebt_new_value value = { .table = table, .field = field, .order = schema->n_values };
	struct ebt_error *err;

	if (schema->n_values == EBT_MAX_VALUES)
		return ebt_error_create(EBT_ERR_LIMIT, "schema: more than %u names of values",
					EBT_MAX_VALUES);
	err = ebt_array_reserve(&schema->values, schema->n_values, &schema->values_capacity);
	if (err)
		return err;
	value.name.value = ebt_schema_value_value(row);
	err = string_of(schema, ebt_schema_value_name(row), &value.name.name);
	if (err)
		return err;
	schema->values[schema->n_values++] = value;
	return NULL;
}

/* A name for what is not an enum field of this schema means nothing, and is passed over. */
static struct ebt_error *merge_value(struct ebt_file_schema *schema, const struct ebt_row *row)
{
	uint64_t id = ebt_schema_value_table_id(row);
	uint64_t value = ebt_schema_value_value(row);
	const struct ebt_table *table;
	int field;

	if (id > UINT16_MAX || !schema->place[id])
		return NULL;
	table = &schema->tables[schema->place[id] - 1];
	field = ebt_field_by_id(table, ebt_schema_value_field_id(row));
	if (field < 0 || table->fields[field].type != EBT_TYPE_ENUM)
		return NULL;
	if (ebt_value_name(&table->fields[field], value))
		return NULL;
	return keep_value(schema, schema->place[id] - 1u, (uint32_t)field, row);
}

struct ebt_error *ebt_file_schema_merge(struct ebt_file_schema *schema,
					const struct ebt_batch *batch)
{
	bool values = batch->table->id == EBT_T_schema_value;

	for (uint32_t i = 0; i < batch->rows; i++) {
		struct ebt_row row = { .batch = batch, .time = batch->col[0][i], .i = i };
		struct ebt_error *err;

		err = values ? merge_value(schema, &row) : merge_field(schema, &row);
		if (err)
			return err;
	}
	return NULL;
}

static int compare_values(const void *pa, const void *pb)
{
	const struct ebt_new_value *a = pa, *b = pb;
	int order = ebt_compare(a->table, b->table) ?: ebt_compare(a->field, b->field);

	order = order ?: ebt_compare(a->name.value, b->name.value);
	return order ?: ebt_compare(a->order, b->order);
}

/* Appends n values, all of one field and sorted, to those that the field has; the first of each
 * value counts. */
static struct ebt_error *append_values(struct ebt_file_schema *schema,
				       const struct ebt_new_value *values, size_t n)
{
	struct ebt_table *table = &schema->tables[values[0].table];
	struct ebt_value_name *names;
	struct ebt_field *fields, *field;
	struct ebt_error *err;
	void *memory;

	err = own_fields(schema, table, &fields);
	if (err)
		return err;
	field = &fields[values[0].field];
	err = ebt_arena_alloc(&schema->arena, (field->n_values + n) * sizeof(*names), &memory);
	if (err)
		return err;
	names = memory;
	if (field->n_values)
		memcpy(names, field->values, field->n_values * sizeof(*names));
	field->values = names;
	for (size_t i = 0; i < n; i++) {
		if (!i || values[i].name.value != values[i - 1].name.value)
			names[field->n_values++] = values[i].name;
	}
	return NULL;
}

struct ebt_error *ebt_file_schema_finish(struct ebt_file_schema *schema)
{
	const struct ebt_new_value *values = schema->values;
	struct ebt_error *err;
	size_t end;

	if (!schema->n_values)
		return NULL;
	qsort(schema->values, schema->n_values, sizeof(*schema->values), compare_values);
	for (size_t i = 0; i < schema->n_values; i = end) {
		end = i + 1;
		while (end < schema->n_values && values[end].table == values[i].table &&
		       values[end].field == values[i].field)
			end++;
		err = append_values(schema, &values[i], end - i);
		if (err)
			return err;
	}
	schema->n_values = 0;
	return NULL;
}
