/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of OpenTelemetry's profiles; see otlp.h. A table is written an entry at a time. All of
 * them are one field, whose size comes first: they are gone through twice.
 */
#include "report/export/otlp.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"

#define DICTIONARY 2 /* field of ProfilesData */

/* Ids of a link that is none, as long as those of one. */
static uint8_t no_id[16];

struct ebt_error *otlp_tables_init(struct otlp_tables *tables, struct export *e)
{
	tables->n_attributes = tables->n_stacks = 1;
	return profile_init(&tables->profile, e);
}

void otlp_tables_deinit(struct otlp_tables *tables)
{
	profile_deinit(&tables->profile);
	free(tables->attributes);
	ebt_map_deinit(&tables->by_attribute);
	interned_deinit(&tables->values);
	free(tables->stacks);
	free(tables->stack_of);
	free(tables->indices);
	free(tables->lines);
	free(tables->line);
}

/* --- indices --- */

struct ebt_error *otlp_text_index(struct otlp_tables *tables, const char *s, int32_t *ret)
{
	uint32_t text = 0;
	struct ebt_error *err = profile_cstr(&tables->profile, s, &text);

	*ret = (int32_t)text;
	return err;
}

struct ebt_error *otlp_stack_index(struct otlp_tables *tables, uint32_t node, int32_t *ret)
{
	struct ebt_error *err =
		ebt_array_reserve(&tables->stacks, tables->n_stacks, &tables->stacks_capacity)
			?: ebt_array_reserve_zeroed(&tables->stack_of, node, &tables->n_stack_of);

	*ret = 0;
	if (err || !node)
		return err;
	if (!tables->stack_of[node]) {
		tables->stack_of[node] = (uint32_t)tables->n_stacks;
		tables->stacks[tables->n_stacks++] = node;
	}
	*ret = (int32_t)tables->stack_of[node];
	return NULL;
}

static struct ebt_error *attribute_index(struct otlp_tables *tables, const char *key,
					 bool is_number, uint64_t value, int32_t *ret)
{
	struct otlp_attribute attribute = { .is_number = is_number, .value = value };
	struct ebt_error *err =
		profile_cstr(&tables->profile, key, &attribute.key)
			?: ebt_array_reserve(&tables->attributes, tables->n_attributes,
					     &tables->attributes_capacity);
	uint32_t index;

	/* Numbers are ids of processes, so that there is room for both. */
	err = err
		      ?: ebt_map_add(&tables->by_attribute,
				     (uint64_t)attribute.key << 33 | (uint64_t)is_number << 32 |
					     (uint32_t)value,
				     (uint32_t)tables->n_attributes, &index);
	if (err)
		return err;
	if (index == tables->n_attributes)
		tables->attributes[tables->n_attributes++] = attribute;
	*ret = (int32_t)index;
	return NULL;
}

static struct ebt_error *text_attribute(struct otlp_tables *tables, const char *key,
					struct ebt_str s, int32_t *ret)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct ebt_error *err;
	uint32_t value;

	text_utf8(&text, s);
	err = text_error(&text) ?: interned_add(&tables->values, text_str(&text), &value);
	if (!err && value == INTERNED_NONE)
		err = ebt_error_create(EBT_ERR_LIMIT, "there are too many names: use a filter");
	return err ? err : attribute_index(tables, key, false, value, ret);
}

static struct ebt_error *cstr_attribute(struct otlp_tables *tables, const char *key, const char *s,
					int32_t *ret)
{
	return text_attribute(tables, key, ebt_str_of(s), ret);
}

struct ebt_error *otlp_sample_attributes(struct otlp_tables *tables, const struct ebt_task *task,
					 uint32_t why, int32_t *ret, size_t *ret_n)
{
	struct ebt_error *err = text_attribute(tables, "thread.name",
					       profile_thread_name(&tables->profile, task), ret);

	*ret_n = 1;
	if (!err && task)
		err = attribute_index(tables, "thread.id", true, task->tid, &ret[(*ret_n)++]);
	if (!err && why != SCHED_N_WHYS)
		err = cstr_attribute(tables, "thread.state", sched_why_name((enum sched_why)why),
				     &ret[(*ret_n)++]);
	return err;
}

/* --- tables --- */

static void put(struct otlp_tables *tables, const Otlp__ProfilesDictionary *part)
{
	if (tables->writer)
		message_write(tables->writer, &part->base);
	else
		tables->size += protobuf_c_message_get_packed_size(&part->base);
}

static struct ebt_error *put_mappings(struct otlp_tables *tables)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < tables->profile.n_mappings; i++) {
		const struct profile_mapping *mapping = &tables->profile.mappings[i];
		Otlp__Mapping message = OTLP__MAPPING__INIT, *messages = &message;
		Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
		int32_t build_id;

		if (i) {
			message.memory_start = mapping->start;
			message.memory_limit = mapping->limit;
			err = otlp_text_index(tables, mapping->sym->object,
					      &message.filename_strindex);
		}
		if (!err && i && *mapping->sym->build_id) {
			message.n_attribute_indices = 1;
			message.attribute_indices = &build_id;
			err = cstr_attribute(tables, "process.executable.build_id.gnu",
					     mapping->sym->build_id, &build_id);
		}
		part.mapping_table = &messages;
		part.n_mapping_table = 1;
		if (!err)
			put(tables, &part);
	}
	return err;
}

/* As OpenTelemetry names what runs the code; NULL: it has no name for that. */
static const char *frame_type(const struct sym_func *sym)
{
	if (!sym)
		return NULL;
	switch (sym->kind) {
	case SYM_USER:
	case SYM_VDSO:
		return "native";
	case SYM_KERNEL:
	case SYM_MODULE:
		return "kernel";
	case SYM_PYTHON:
		return "cpython";
	default:
		return NULL;
	}
}

static struct ebt_error *fill_location(struct otlp_tables *tables,
				       const struct profile_location *location,
				       Otlp__Location *message)
{
	uint32_t n_funcs;
	const struct calltree_func *funcs = calltree_funcs(tables->profile.e->tree, &n_funcs);
	const uint32_t *chain;
	struct ebt_error *err;
	size_t n;

	message->mapping_index = (int32_t)location->mapping;
	message->address = profile_address(&tables->profile, location);
	err = profile_lines(&tables->profile, location, &chain, &n)
		      ?: ebt_array_reserve(&tables->lines, n, &tables->lines_capacity)
		      ?: ebt_array_reserve(&tables->line, n, &tables->line_capacity);
	for (size_t i = 0; !err && i < n; i++) {
		const struct profile_location *at = &tables->profile.locations[chain[i]];

		otlp__line__init(&tables->lines[i]);
		tables->lines[i].function_index = (int32_t)at->function;
		tables->lines[i].line = funcs[at->func].line;
		tables->line[i] = &tables->lines[i];
	}
	message->lines = tables->line;
	message->n_lines = n;
	return err;
}

static struct ebt_error *put_locations(struct otlp_tables *tables)
{
	uint32_t n_funcs;
	const struct calltree_func *funcs = calltree_funcs(tables->profile.e->tree, &n_funcs);
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < tables->profile.n_used; i++) {
		const struct profile_location *location =
			&tables->profile.locations[i ? tables->profile.used[i] : 0];
		const char *type = i ? frame_type(funcs[location->func].sym) : NULL;
		Otlp__Location message = OTLP__LOCATION__INIT, *messages = &message;
		Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
		int32_t attribute;

		if (i)
			err = fill_location(tables, location, &message);
		if (!err && type) {
			message.attribute_indices = &attribute;
			message.n_attribute_indices = 1;
			err = cstr_attribute(tables, "profile.frame.type", type, &attribute);
		}
		part.location_table = &messages;
		part.n_location_table = 1;
		if (!err)
			put(tables, &part);
	}
	return err;
}

static void put_functions(struct otlp_tables *tables)
{
	for (size_t i = 0; i < tables->profile.n_functions; i++) {
		const struct profile_function *function = &tables->profile.functions[i];
		Otlp__Function message = OTLP__FUNCTION__INIT, *messages = &message;
		Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;

		if (i) {
			message.name_strindex = (int32_t)function->name;
			message.filename_strindex = (int32_t)function->file;
		}
		part.function_table = &messages;
		part.n_function_table = 1;
		put(tables, &part);
	}
}

static struct ebt_error *put_stacks(struct otlp_tables *tables)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < tables->n_stacks; i++) {
		Otlp__Stack message = OTLP__STACK__INIT, *messages = &message;
		Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
		const uint32_t *stack = NULL;
		size_t n = 0;

		if (i)
			err = profile_stack(&tables->profile, tables->stacks[i], &stack, &n);
		err = err ?: ebt_array_reserve(&tables->indices, n, &tables->indices_capacity);
		for (size_t k = 0; !err && k < n; k++)
			tables->indices[k] = (int32_t)stack[k];
		message.location_indices = tables->indices;
		message.n_location_indices = n;
		part.stack_table = &messages;
		part.n_stack_table = 1;
		if (!err)
			put(tables, &part);
	}
	return err;
}

static struct ebt_error *put_attributes(struct otlp_tables *tables)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	for (size_t i = 0; i < tables->n_attributes; i++) {
		const struct otlp_attribute *attribute = &tables->attributes[i];
		Otlp__KeyValueAndUnit message = OTLP__KEY_VALUE_AND_UNIT__INIT;
		Otlp__KeyValueAndUnit *messages = &message;
		Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;
		Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;

		text_clear(&text);
		if (i && attribute->is_number) {
			value.value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
			value.int_value = (int64_t)attribute->value;
		} else if (i) {
			const struct ebt_str s =
				interned_get(&tables->values, (uint32_t)attribute->value);

			text_add(&text, s.data, s.len);
			value.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
			value.string_value = (char *)text_get(&text);
		}
		if (i) {
			message.key_strindex = (int32_t)attribute->key;
			message.value = &value;
		}
		part.attribute_table = &messages;
		part.n_attribute_table = 1;
		put(tables, &part);
	}
	return text_error(&text);
}

static void put_texts(struct otlp_tables *tables)
{
	for (size_t i = 0; i < tables->profile.texts.n; i++) {
		char *text = (char *)profile_get_text(&tables->profile, (uint32_t)i);
		Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;

		part.string_table = &text;
		part.n_string_table = 1;
		put(tables, &part);
	}
}

static void put_link(struct otlp_tables *tables)
{
	Otlp__Link message = OTLP__LINK__INIT, *messages = &message;
	Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;

	message.trace_id = (ProtobufCBinaryData){ 16, no_id };
	message.span_id = (ProtobufCBinaryData){ 8, no_id };
	part.link_table = &messages;
	part.n_link_table = 1;
	put(tables, &part);
}

/* Stacks make locations, and all of them attributes and texts. */
static struct ebt_error *put_tables(struct otlp_tables *tables)
{
	struct ebt_error *err = put_stacks(tables);

	profile_finish(&tables->profile);
	err = err ?: put_mappings(tables) ?: put_locations(tables) ?: put_attributes(tables);
	if (err)
		return err;
	put_functions(tables);
	put_link(tables);
	put_texts(tables);
	return NULL;
}

struct ebt_error *otlp_tables_write(struct otlp_tables *tables, struct message_writer *writer)
{
	struct ebt_error *err =
		ebt_array_reserve(&tables->attributes, 0, &tables->attributes_capacity)
			?: put_tables(tables);

	if (err)
		return err;
	message_write_head(writer, DICTIONARY, tables->size);
	tables->writer = writer;
	return put_tables(tables);
}
