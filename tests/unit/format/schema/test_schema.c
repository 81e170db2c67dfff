/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The compiled-in tables keep the promises of events/all.def and docs/FORMAT.md. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/limits.h"
#include "format/schema/schema.h"

static void ids_ascend(void **state)
{
	(void)state;
	assert_true(ebt_n_tables <= EBT_MAX_TABLES);
	for (size_t t = 0; t < ebt_n_tables; t++) {
		const struct ebt_table *table = &ebt_tables[t];

		assert_true(!t || table->id > ebt_tables[t - 1].id);
		assert_in_range(table->n_fields, 2, EBT_MAX_FIELDS);
		for (uint32_t f = 0; f < table->n_fields; f++)
			assert_int_equal(table->fields[f].id, f + 1);
	}
}

static void names_are_unique(void **state)
{
	(void)state;
	for (size_t t = 0; t < ebt_n_tables; t++) {
		const struct ebt_table *table = &ebt_tables[t];

		assert_ptr_equal(ebt_table_by_name(table->name), table);
		assert_ptr_equal(ebt_table_by_id(table->id), table);
		for (uint32_t f = 0; f < table->n_fields; f++)
			assert_int_equal(ebt_field_by_name(table, table->fields[f].name), f);
	}
	assert_null(ebt_table_by_name("no such table"));
	assert_null(ebt_table_by_id(0));
	assert_null(ebt_table_by_id(UINT16_MAX));
	assert_int_equal(ebt_field_by_name(&ebt_tables[0], "no such field"), -1);
}

static void time_comes_first(void **state)
{
	(void)state;
	for (size_t t = 0; t < ebt_n_tables; t++) {
		const struct ebt_field *time = &ebt_tables[t].fields[0];

		assert_string_equal(time->name, "time");
		assert_int_equal(time->type, EBT_TYPE_TIME);
		assert_int_equal(time->wire_offset, 0);
		assert_int_equal(time->wire_size, 8);
	}
}

/* Fields follow each other in the wire struct without a hole. */
static void wire_is_dense(void **state)
{
	(void)state;
	for (size_t t = 0; t < ebt_n_tables; t++) {
		const struct ebt_table *table = &ebt_tables[t];
		size_t at = sizeof(struct ebt_wire_head);

		for (uint32_t f = 1; f < table->n_fields; f++) {
			assert_int_equal(table->fields[f].wire_offset, at);
			at += table->fields[f].wire_size;
		}
		assert_int_equal(table->wire_size, at);
	}
}

#define CHECK(table, field)                                                                     \
	do {                                                                                    \
		const struct ebt_table *t_ = ebt_table_by_id(EBT_T_##table);                    \
		const struct ebt_field *f_ = &t_->fields[EBT_F_##table##_##field];              \
                                                                                                \
		assert_string_equal(f_->name, #field);                                          \
		assert_int_equal(f_->wire_offset, offsetof(struct ebt_wire_##table, field));    \
		assert_int_equal(f_->wire_size, sizeof(((struct ebt_wire_##table *)0)->field)); \
	} while (0)

static void offsets_match_structs(void **state)
{
	(void)state;
	CHECK(syscall, nr);
	CHECK(syscall, ret);
	CHECK(syscall, arg5);
	CHECK(sched_switch, ustack);
	CHECK(mmap, build_id);
	CHECK(process, cmdline);
	CHECK(index, lost);
	assert_int_equal(EBT_N_syscall, ebt_table_by_id(EBT_T_syscall)->n_fields);
}

static void values_have_names(void **state)
{
	const struct ebt_table *clock = ebt_table_by_name("clock");
	const struct ebt_table *syscall = ebt_table_by_name("syscall");
	const struct ebt_field *abi = &syscall->fields[EBT_F_syscall_abi];

	(void)state;
	assert_int_equal(abi->n_values, 2);
	assert_string_equal(ebt_value_name(abi, 1), "compat");
	assert_null(ebt_value_name(abi, 2));
	assert_int_equal(clock->fields[EBT_F_clock_tai].n_values, 0);
	for (size_t t = 0; t < ebt_n_tables; t++) {
		for (uint32_t f = 0; f < ebt_tables[t].n_fields; f++) {
			const struct ebt_field *field = &ebt_tables[t].fields[f];

			assert_int_equal(!!field->n_values, field->type == EBT_TYPE_ENUM);
			for (uint32_t i = 0; i < field->n_values; i++)
				assert_string_equal(ebt_value_name(field, field->values[i].value),
						    field->values[i].name);
		}
	}
}

/* A value's token is its name, with an underscore for all that is no letter or digit. */
static void tokens_are_names(void **state)
{
	static const struct {
		const char *token, *name;
	} values[] = {
#define EBT_VALUE(table, field, token, value, text) { #token, text },
#include "format/events/all.def"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		const char *token = values[i].token, *name = values[i].name;
		bool agree = strlen(token) == strlen(name);

		for (size_t at = 0; agree && name[at]; at++)
			agree = token[at] == (isalnum((unsigned char)name[at]) ? name[at] : '_');
		if (!agree)
			fail_msg("the token of \"%s\" is %s", name, token);
	}
	assert_int_equal(EBT_V_block_io_state_in_flight, 1);
	assert_string_equal(
		ebt_value_name(&ebt_table_by_id(EBT_T_block_io)->fields[EBT_F_block_io_state],
			       EBT_V_block_io_state_in_flight),
		"in flight");
}

/* The names of types are also values of schema.type in every file. */
static void type_names_match_the_table(void **state)
{
	const struct ebt_table *schema = ebt_table_by_id(EBT_T_schema);

	(void)state;
	for (unsigned int type = 0; type < EBT_N_TYPES; type++)
		assert_string_equal(ebt_type_name((enum ebt_type)type),
				    ebt_value_name(&schema->fields[EBT_F_schema_type], type));
	assert_string_equal(ebt_type_name(EBT_N_TYPES), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_ascend),
		cmocka_unit_test(names_are_unique),
		cmocka_unit_test(time_comes_first),
		cmocka_unit_test(wire_is_dense),
		cmocka_unit_test(offsets_match_structs),
		cmocka_unit_test(values_have_names),
		cmocka_unit_test(tokens_are_names),
		cmocka_unit_test(type_names_match_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
