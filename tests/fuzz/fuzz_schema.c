/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzing the schema of a file. */
#include "format/read/batch.h"
#include "format/read/file_schema.h"
#include "tests/fuzz/fuzz.h"

static struct ebt_error *merge(struct ebt_file_schema *schema, struct ebt_bytes payload,
			       uint16_t id, uint32_t rows, struct ebt_task_set *tasks)
{
	struct ebt_chunk_info info = { .rows = rows };
	struct ebt_decoded decoded = { 0 };
	struct ebt_error *err;

	err = ebt_batch_decode(payload, &info, ebt_table_by_id(id), ~UINT64_C(0), tasks, &decoded);
	if (!err)
		err = ebt_file_schema_merge(schema, &decoded.batch);
	ebt_decoded_deinit(&decoded);
	return err;
}

static void check_field(const struct ebt_field *field)
{
	fuzz_expect(*field->name && field->type < EBT_N_TYPES, "a field has a name and a type");
	for (uint32_t i = 0; i < field->n_values; i++)
		fuzz_expect(ebt_value_name(field, field->values[i].value), "a value has a name");
}

/* Compiled-in fields are where they were, and whatever was added can be printed. */
static void check(const struct ebt_file_schema *schema)
{
	for (size_t i = 0; i < schema->n_tables; i++) {
		const struct ebt_table *table = &schema->tables[i];
		const struct ebt_table *compiled = ebt_table_by_id(table->id);

		fuzz_expect(ebt_file_schema_table(schema, table->id) == table,
			    "a table is found by its id");
		fuzz_expect(*table->name && table->n_fields && table->n_fields <= EBT_MAX_FIELDS,
			    "a table has a name and fields");
		for (uint32_t k = 0; k < table->n_fields; k++) {
			check_field(&table->fields[k]);
			fuzz_expect(!compiled || k >= compiled->n_fields ||
					    table->fields[k].id == compiled->fields[k].id,
				    "compiled-in fields keep their places");
		}
	}
}

bool fuzz_schema(const uint8_t *data, size_t len)
{
	struct ebt_bytes in = ebt_bytes(data, len), fields;
	uint16_t rows, value_rows;
	struct ebt_file_schema schema;
	struct ebt_task_set tasks;
	struct ebt_error *err;
	uint32_t n;

	if (!ebt_bytes_u16(&in, &rows) || !ebt_bytes_u16(&in, &value_rows) ||
	    !ebt_bytes_u32(&in, &n) || !ebt_bytes_take(&in, n, &fields))
		return false;
	if (ebt_file_schema_init(&schema))
		return false;
	ebt_task_set_init(&tasks);
	err = merge(&schema, fields, EBT_T_schema, rows, &tasks);
	if (!err)
		err = merge(&schema, in, EBT_T_schema_value, value_rows, &tasks);
	if (!err)
		err = ebt_file_schema_finish(&schema);
	if (!err)
		check(&schema);
	ebt_task_set_deinit(&tasks);
	ebt_file_schema_deinit(&schema);
	return fuzz_succeeded(err);
}
