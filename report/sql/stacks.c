/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks by number; see stacks.h. */
#include "report/sql/stacks.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/map.h"
#include "format/schema/schema.h"
#include "format/schema/wire.h"
#include "report/base/text.h"
#include "symbolize/symbolize.h"

struct kept_stack {
	struct sql_stack s; /* addresses and dump are ours */
	int64_t number;
	uint64_t *unwound; /* addresses, where there is a dump and it was needed */
	uint32_t n_unwound, attrs;
};

struct sql_stacks {
	struct kept_stack *list;
	size_t n, capacity;
	struct ebt_map by_number;
};

void sql_stacks_destroy(struct sql_stacks *stacks)
{
	if (!stacks)
		return;
	for (size_t i = 0; i < stacks->n; i++) {
		free((uint64_t *)stacks->list[i].s.stack.addresses);
		free((char *)stacks->list[i].s.dump.data);
		free(stacks->list[i].unwound);
	}
	free(stacks->list);
	ebt_map_deinit(&stacks->by_number);
	free(stacks);
}

/* FNV-1a, eight bytes at a time and mixed, as addresses differ in few bits. */
static uint64_t add_hash(uint64_t hash, uint64_t v)
{
	hash = (hash ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static uint64_t number_of(const struct sql_stack *s)
{
	const bool user = s->stack.attrs & EBT_STACK_USER;
	uint64_t hash = add_hash(UINT64_C(0xcbf29ce484222325), s->stack.attrs);

	hash = add_hash(hash, user && s->task ? s->task->pid : 0);
	hash = add_hash(hash, s->below_kernel);
	for (uint32_t i = 0; i < s->stack.n; i++)
		hash = add_hash(hash, s->stack.addresses[i]);
	for (size_t i = 0; i < s->dump.len; i++)
		hash = add_hash(hash, (unsigned char)s->dump.data[i]);
	return hash;
}

static struct ebt_error *keep(struct sql_stack *to, const struct sql_stack *from)
{
	uint64_t *addresses = calloc(from->stack.n + 1, sizeof(*addresses));
	char *dump = calloc(from->dump.len + 1, 1);

	*to = *from;
	to->stack.addresses = addresses;
	to->dump.data = dump;
	if (!addresses || !dump)
		return &ebt_enomem;
	if (from->stack.n)
		memcpy(addresses, from->stack.addresses, from->stack.n * sizeof(*addresses));
	if (from->dump.len)
		memcpy(dump, from->dump.data, from->dump.len);
	return NULL;
}

struct ebt_error *sql_stacks_number(struct sql_stacks **ref, const struct sql_stack *stack,
				    int64_t *ret)
{
	const uint64_t number = number_of(stack);
	struct sql_stacks *stacks = *ref;
	struct ebt_error *err;
	uint32_t i;

	*ret = (int64_t)number;
	if (!stacks) {
		stacks = *ref = calloc(1, sizeof(*stacks));
		if (!stacks)
			return &ebt_enomem;
	}
	if (ebt_map_find(&stacks->by_number, number, &i))
		return NULL;
	err = ebt_array_reserve(&stacks->list, stacks->n, &stacks->capacity);
	if (err)
		return err;
	stacks->list[stacks->n] = (struct kept_stack){ .number = *ret };
	err = keep(&stacks->list[stacks->n++].s, stack);
	return err ? err : ebt_map_insert(&stacks->by_number, number, (uint32_t)stacks->n - 1);
}

/* --- of rows --- */

struct sql_stack_fields sql_stack_fields(const struct ebt_table *table)
{
	struct sql_stack_fields fields = { .task = -1, .dump = ebt_field_by_name(table, "udump") };

	for (uint32_t i = table->n_fields; i-- > 0;)
		fields.task = table->fields[i].type == EBT_TYPE_TASK ? (int)i : fields.task;
	return fields;
}

uint64_t sql_stack_wants(const struct ebt_table *table)
{
	const struct sql_stack_fields at = sql_stack_fields(table);
	uint64_t fields = 0;

	for (uint32_t i = 0; i < table->n_fields; i++) {
		if (table->fields[i].type == EBT_TYPE_STACK)
			fields |= UINT64_C(1) << i;
	}
	if (fields && at.task >= 0)
		fields |= UINT64_C(1) << at.task;
	if (fields && at.dump >= 0)
		fields |= UINT64_C(1) << at.dump;
	return fields;
}

/* A table that is not ours may have other fields in another file. */
static bool has_type(const struct ebt_row *row, int field, enum ebt_type type)
{
	const struct ebt_table *table = row->batch->table;

	return field >= 0 && (uint32_t)field < table->n_fields && row->batch->col[field] &&
	       table->fields[field].type == type;
}

static bool is_in_kernel(const struct ebt_row *row)
{
	for (uint32_t i = 0; i < row->batch->table->n_fields; i++) {
		const struct ebt_stack *stack =
			has_type(row, (int)i, EBT_TYPE_STACK) ? ebt_stack(row, i) : NULL;

		if (stack && !(stack->attrs & EBT_STACK_USER))
			return true;
	}
	return false;
}

struct sql_stack sql_stack_of(const struct ebt_row *row, const struct sql_stack_fields *fields,
			      const struct ebt_stack *stack)
{
	struct sql_stack s = { .time = row->time, .stack = *stack };

	if (has_type(row, fields->task, EBT_TYPE_TASK))
		s.task = ebt_task(row, (unsigned int)fields->task);
	if (stack->attrs & EBT_STACK_USER) {
		s.below_kernel = is_in_kernel(row);
		if (has_type(row, fields->dump, EBT_TYPE_BYTES))
			s.dump = ebt_str(row, (unsigned int)fields->dump);
	}
	return s;
}

/* --- their names --- */

size_t sql_stacks_n(const struct sql_stacks *stacks)
{
	return stacks ? stacks->n : 0;
}

int64_t sql_stacks_at(const struct sql_stacks *stacks, size_t i)
{
	return stacks->list[i].number;
}

bool sql_stacks_find(const struct sql_stacks *stacks, int64_t number, size_t *ret)
{
	uint32_t i;

	if (!stacks || !ebt_map_find(&stacks->by_number, (uint64_t)number, &i))
		return false;
	*ret = i;
	return true;
}

/* It takes its time, and is done once. */
static struct ebt_error *unwind(struct kept_stack *kept, struct sym *sym)
{
	const struct sql_stack *s = &kept->s;
	uint64_t addresses[EBT_MAX_FRAMES];
	struct ebt_stack whole;
	struct ebt_error *err =
		sym_unwind_deferred(sym, s->task, s->time, &s->stack, s->dump, addresses, &whole);

	if (err)
		return err;
	kept->unwound = calloc(whole.n + 1, sizeof(*addresses));
	if (!kept->unwound)
		return &ebt_enomem;
	if (whole.n)
		memcpy(kept->unwound, whole.addresses, whole.n * sizeof(*addresses));
	kept->n_unwound = whole.n;
	kept->attrs = whole.attrs;
	return NULL;
}

struct ebt_error *sql_stacks_walk(const struct sql_stacks *stacks, struct sym *sym, size_t i,
				  sql_place_fn *take, void *arg)
{
	struct kept_stack *kept = &stacks->list[i];
	struct ebt_stack whole = kept->s.stack;
	struct ebt_error *err = NULL;
	struct sym_frames frames;

	if (kept->s.dump.len && !kept->unwound)
		err = unwind(kept, sym);
	if (kept->unwound)
		whole = (struct ebt_stack){ kept->attrs, kept->n_unwound, kept->unwound };
	for (uint32_t k = err ? 0 : whole.n; !err && k-- > 0;) {
		if (sym_is_shown_by_next(&whole, k))
			continue;
		err = sym_resolve(sym, kept->s.task, kept->s.time, whole.attrs, whole.addresses[k],
				  k > 0 || kept->s.below_kernel, &frames)
			      ?: take(arg, &frames);
	}
	return err;
}

static struct ebt_error *add_names(void *arg, const struct sym_frames *frames)
{
	struct text *to = arg;

	for (size_t k = frames->n; k-- > 0;) {
		if (to->len)
			text_addc(to, ';');
		text_cstr(to, frames->frames[k].func->name);
	}
	return NULL;
}

struct ebt_error *sql_stacks_folded(const struct sql_stacks *stacks, struct sym *sym,
				    int64_t number, struct text *to, bool *ret_found)
{
	struct ebt_error *err;
	size_t i;

	*ret_found = sql_stacks_find(stacks, number, &i);
	if (!*ret_found)
		return NULL;
	if (stacks->list[i].s.stack.attrs & EBT_STACK_TRUNCATED)
		text_cstr(to, "[truncated]"); /* as in flame graphs */
	err = sql_stacks_walk(stacks, sym, i, add_names, to);
	return err ? err : text_error(to);
}
