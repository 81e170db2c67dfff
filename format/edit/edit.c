/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Columns and dictionaries of a chunk that is written again; see edit.h. */
#include "format/edit/private.h"

#include <string.h>

struct ebt_error *ebt_edit_begin(struct ebt_edit *edit, const struct ebt_batch *batch,
				 struct ebt_encoder *encoder)
{
	size_t cells = (size_t)batch->rows * batch->table->n_fields;
	struct ebt_builder *builder = &edit->builder;
	uint64_t *columns = ebt_space_get(&edit->columns, cells * sizeof(*columns));
	bool *dropped = ebt_space_get(&edit->dropped, batch->rows);

	if (!columns || !dropped)
		return &ebt_enomem;
	edit->batch = batch;
	edit->encoder = encoder;
	edit->n_dropped = 0;
	edit->failed = false;
	ebt_dict_reset(&encoder->tasks);
	ebt_builder_reset(builder);
	memset(columns, 0, cells * sizeof(*columns));
	memset(dropped, 0, batch->rows);
	builder->table = batch->table;
	builder->columns = columns;
	builder->stride = batch->rows;
	builder->rows = batch->rows;
	if (batch->rows)
		memcpy(columns, batch->col[0], batch->rows * sizeof(*columns));
	return NULL;
}

void ebt_edit_deinit(struct ebt_edit *edit)
{
	ebt_dict_deinit(&edit->builder.strings);
	ebt_dict_deinit(&edit->builder.stacks);
	ebt_space_deinit(&edit->columns);
	ebt_space_deinit(&edit->dropped);
}

const struct ebt_batch *ebt_edit_batch(const struct ebt_edit *edit)
{
	return edit->batch;
}

uint64_t *ebt_edit_column(struct ebt_edit *edit, uint32_t field)
{
	return ebt_builder_column(&edit->builder, field);
}

uint64_t ebt_edit_string(struct ebt_edit *edit, struct ebt_str s)
{
	uint64_t value = s.len ? ebt_dict_intern(&edit->builder.strings, s.data, s.len) : 0;

	edit->failed |= s.len && !value;
	return value;
}

uint64_t ebt_edit_stack(struct ebt_edit *edit, const struct ebt_stack *stack)
{
	struct {
		struct ebt_wire_stack head;
		uint64_t addresses[EBT_MAX_FRAMES];
	} bytes;
	uint32_t n;
	uint64_t value;

	if (!stack)
		return 0;
	n = stack->n < EBT_MAX_FRAMES ? stack->n : EBT_MAX_FRAMES;
	bytes.head = (struct ebt_wire_stack){ .attrs = stack->attrs, .n = n };
	if (n)
		memcpy(bytes.addresses, stack->addresses, n * sizeof(uint64_t));
	value = ebt_dict_intern(&edit->builder.stacks, &bytes,
				sizeof(bytes.head) + n * sizeof(uint64_t));
	edit->failed |= !value;
	return value;
}

uint64_t ebt_edit_task(struct ebt_edit *edit, const struct ebt_task *task, struct ebt_str comm)
{
	struct ebt_dict_task entry;
	uint64_t value;

	if (!task)
		return 0;
	entry = (struct ebt_dict_task){
		.tid = task->tid,
		.pid = task->pid,
		.start_ns = task->start_ns,
		.comm = ebt_edit_string(edit, comm),
	};
	value = ebt_dict_intern(&edit->encoder->tasks, &entry, sizeof(entry));
	edit->failed |= !value;
	return value;
}

void ebt_edit_keep(struct ebt_edit *edit, uint32_t field)
{
	const struct ebt_batch *batch = edit->batch;
	uint64_t *to = ebt_edit_column(edit, field);

	for (uint32_t i = 0; i < batch->rows; i++) {
		const struct ebt_row row = { .batch = batch, .i = i };
		const struct ebt_task *task;

		switch (batch->table->fields[field].type) {
		case EBT_TYPE_TASK:
			task = ebt_task(&row, field);
			if (task)
				to[i] = ebt_edit_task(edit, task, task->comm);
			break;
		case EBT_TYPE_STACK:
			to[i] = ebt_edit_stack(edit, ebt_stack(&row, field));
			break;
		case EBT_TYPE_STRING:
		case EBT_TYPE_BYTES:
			to[i] = ebt_edit_string(edit, ebt_str(&row, field));
			break;
		default:
			to[i] = batch->col[field][i];
		}
	}
}

void ebt_edit_drop_row(struct ebt_edit *edit, uint32_t row)
{
	bool *dropped = edit->dropped.data;

	edit->n_dropped += !dropped[row];
	dropped[row] = true;
}

bool ebt_edit_dropped(const struct ebt_edit *edit, uint32_t row)
{
	const bool *dropped = edit->dropped.data;

	return dropped[row];
}

/* Closes the gaps that dropped rows leave. */
static void compact(struct ebt_edit *edit)
{
	struct ebt_builder *builder = &edit->builder;
	const bool *dropped = edit->dropped.data;

	for (uint32_t f = 0; f < builder->table->n_fields; f++) {
		uint64_t *column = ebt_builder_column(builder, f);
		uint32_t n = 0;

		for (uint32_t i = 0; i < builder->rows; i++) {
			if (!dropped[i])
				column[n++] = column[i];
		}
	}
	builder->rows -= edit->n_dropped;
}

struct ebt_error *ebt_edit_seal(struct ebt_edit *edit, struct ebt_payload *ret)
{
	struct ebt_builder *builder = &edit->builder;
	const uint64_t *times;

	if (edit->failed)
		return &ebt_enomem;
	if (edit->n_dropped)
		compact(edit);
	if (!builder->rows) {
		*ret = (struct ebt_payload){ 0 };
		return NULL;
	}
	times = ebt_builder_column(builder, 0);
	builder->time_min = times[0];
	builder->time_max = times[builder->rows - 1];
	return ebt_encoder_seal_resolved(edit->encoder, builder, ret);
}
