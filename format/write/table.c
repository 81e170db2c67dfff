/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Taking wire records apart into the columns of an open chunk. */
#include "format/write/table.h"

#include <stdlib.h>
#include <string.h>

enum copy_kind { COPY_WIDE, COPY_U32, COPY_S32, COPY_STRING, COPY_STACK, COPY_NONE };

static enum copy_kind copy_kind(const struct ebt_field *field)
{
	switch (field->type) {
	case EBT_TYPE_STACK:
		return field->wire_size == sizeof(struct ebt_ref) ? COPY_STACK : COPY_NONE;
	case EBT_TYPE_STRING:
	case EBT_TYPE_BYTES:
		return field->wire_size == sizeof(struct ebt_ref) ? COPY_STRING : COPY_NONE;
	default:
		if (field->wire_size == 8)
			return COPY_WIDE;
		if (field->wire_size != 4)
			return COPY_NONE;
		return field->type == EBT_TYPE_I64 ? COPY_S32 : COPY_U32;
	}
}

static uint8_t add_copies(struct ebt_builder *builder, enum copy_kind kind, uint32_t *n)
{
	uint32_t before = *n;

	for (uint32_t i = 0; i < builder->table->n_fields; i++) {
		const struct ebt_field *field = &builder->table->fields[i];

		if (copy_kind(field) == kind)
			builder->copies[(*n)++] =
				(struct ebt_copy){ field->wire_offset, (uint16_t)i };
	}
	return (uint8_t)(*n - before);
}

struct ebt_error *ebt_builder_init(struct ebt_builder *builder, const struct ebt_table *table,
				   uint32_t limit)
{
	uint32_t n = 0;

	*builder = (struct ebt_builder){ .table = table, .limit = limit };
	builder->n_wide = add_copies(builder, COPY_WIDE, &n);
	builder->n_u32 = add_copies(builder, COPY_U32, &n);
	builder->n_s32 = add_copies(builder, COPY_S32, &n);
	builder->n_string = add_copies(builder, COPY_STRING, &n);
	builder->n_stack = add_copies(builder, COPY_STACK, &n);
	if (n != table->n_fields)
		return ebt_error_create(EBT_ERR_INVALID,
					"table %s has a field of a width that has no wire form",
					table->name);
	ebt_builder_reset(builder);
	return NULL;
}

void ebt_builder_deinit(struct ebt_builder *builder)
{
	free(builder->columns);
	ebt_dict_deinit(&builder->strings);
	ebt_dict_deinit(&builder->stacks);
}

void ebt_builder_reset(struct ebt_builder *builder)
{
	builder->rows = 0;
	builder->sorted = true;
	builder->time_min = UINT64_MAX;
	builder->time_max = 0;
	builder->opened_ns = 0;
	ebt_dict_reset(&builder->strings);
	ebt_dict_reset(&builder->stacks);
}

void ebt_builder_release(struct ebt_builder *builder)
{
	free(builder->columns);
	builder->columns = NULL;
	builder->capacity = 0;
	builder->stride = 0;
	ebt_dict_deinit(&builder->strings);
	ebt_dict_deinit(&builder->stacks);
}

struct ebt_error *ebt_builder_grow(struct ebt_builder *builder)
{
	uint32_t n = builder->table->n_fields;
	uint32_t capacity = builder->capacity ? builder->capacity * 4 : 64;
	uint64_t *columns;
	size_t stride;

	if (capacity > builder->limit)
		capacity = builder->limit;
	stride = capacity + 8;
	columns = reallocarray(NULL, n * stride, sizeof(*columns));
	if (!columns)
		return &ebt_enomem;
	for (uint32_t i = 0; builder->rows && i < n; i++)
		memcpy(columns + i * stride, ebt_builder_column(builder, i),
		       builder->rows * sizeof(*columns));
	free(builder->columns);
	builder->columns = columns;
	builder->capacity = capacity;
	builder->stride = stride;
	return NULL;
}

static struct ebt_ref load_ref(const unsigned char *record, const struct ebt_copy *copy)
{
	struct ebt_ref ref;

	memcpy(&ref, record + copy->offset, sizeof(ref));
	return ref;
}

static struct ebt_error *check_ref(const struct ebt_builder *builder, const struct ebt_copy *copy,
				   struct ebt_ref ref, size_t len)
{
	const char *field = builder->table->fields[copy->column].name;

	if (ref.len > len || ref.off > len - ref.len)
		return ebt_error_create(EBT_ERR_INVALID,
					"%s.%s lies outside of its record: %u bytes at %u of %zu",
					builder->table->name, field, ref.len, ref.off, len);
	if (ref.len > EBT_MAX_STRING)
		return ebt_error_create(EBT_ERR_INVALID, "%s.%s has %u bytes, at most %u can be",
					builder->table->name, field, ref.len, EBT_MAX_STRING);
	return NULL;
}

static struct ebt_error *check_stack(const struct ebt_builder *builder, const struct ebt_copy *copy,
				     const unsigned char *record, struct ebt_ref ref)
{
	struct ebt_wire_stack stack;

	if (!ref.len)
		return NULL;
	if (ref.len >= sizeof(stack)) {
		memcpy(&stack, record + ref.off, sizeof(stack));
		if (stack.n <= EBT_MAX_FRAMES && ref.len == sizeof(stack) + stack.n * 8)
			return NULL;
	}
	return ebt_error_create(EBT_ERR_INVALID, "%s.%s of %u bytes is no stack",
				builder->table->name, builder->table->fields[copy->column].name,
				ref.len);
}

/* Strings, then stacks: all are checked before any is interned, so that a record that is refused
 * leaves nothing behind. */
static struct ebt_error *add_refs(struct ebt_builder *builder, const unsigned char *record,
				  size_t len)
{
	const struct ebt_copy *first =
		builder->copies + builder->n_wide + builder->n_u32 + builder->n_s32;
	unsigned int n = builder->n_string + builder->n_stack;

	for (unsigned int i = 0; i < n; i++) {
		struct ebt_ref ref = load_ref(record, &first[i]);
		struct ebt_error *err = check_ref(builder, &first[i], ref, len);

		if (err)
			return err;
		if (i >= builder->n_string)
			err = check_stack(builder, &first[i], record, ref);
		if (err)
			return err;
	}
	for (unsigned int i = 0; i < n; i++) {
		struct ebt_dict *dict =
			i < builder->n_string ? &builder->strings : &builder->stacks;
		struct ebt_ref ref = load_ref(record, &first[i]);
		uint64_t value = ref.len ? ebt_dict_intern(dict, record + ref.off, ref.len) : 0;

		if (ref.len && !value)
			return &ebt_enomem;
		ebt_builder_column(builder, first[i].column)[builder->rows] = value;
	}
	return NULL;
}

static void add_numbers(struct ebt_builder *builder, const unsigned char *record)
{
	const struct ebt_copy *copy = builder->copies, *end = copy + builder->n_wide;
	uint64_t *row = builder->columns + builder->rows;
	size_t stride = builder->stride;
	uint64_t wide;
	uint32_t u32;
	int32_t s32;

	for (; copy < end; copy++) {
		memcpy(&wide, record + copy->offset, sizeof(wide));
		row[copy->column * stride] = wide;
	}
	for (end += builder->n_u32; copy < end; copy++) {
		memcpy(&u32, record + copy->offset, sizeof(u32));
		row[copy->column * stride] = u32;
	}
	for (end += builder->n_s32; copy < end; copy++) {
		memcpy(&s32, record + copy->offset, sizeof(s32));
		row[copy->column * stride] = (uint64_t)(int64_t)s32;
	}
}

struct ebt_error *ebt_builder_add(struct ebt_builder *builder, const void *record, size_t len)
{
	struct ebt_error *err;
	uint64_t time;

	if (builder->n_string + builder->n_stack) {
		err = add_refs(builder, record, len);
		if (err)
			return err;
	}
	add_numbers(builder, record);
	memcpy(&time, record, sizeof(time));
	if (time < builder->time_max)
		builder->sorted = false;
	else
		builder->time_max = time;
	if (time < builder->time_min)
		builder->time_min = time;
	builder->rows++;
	return NULL;
}
