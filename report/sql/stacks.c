/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks by number; see stacks.h. */
#include "report/sql/stacks.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/map.h"
#include "format/schema/wire.h"
#include "report/base/text.h"
#include "symbolize/symbolize.h"

struct sql_stacks {
	struct sql_stack *list; /* addresses and dumps are ours */
	size_t n, capacity;
	struct ebt_map by_number;
};

void sql_stacks_destroy(struct sql_stacks *stacks)
{
	if (!stacks)
		return;
	for (size_t i = 0; i < stacks->n; i++) {
		free((uint64_t *)stacks->list[i].stack.addresses);
		free((char *)stacks->list[i].dump.data);
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
	err = keep(&stacks->list[stacks->n++], stack);
	return err ? err : ebt_map_insert(&stacks->by_number, number, (uint32_t)stacks->n - 1);
}

static struct ebt_error *add_address(const struct sql_stack *kept, const struct ebt_stack *stack,
				     struct sym *sym, uint32_t i, struct text *to)
{
	struct sym_frames frames;
	struct ebt_error *err;

	if (sym_is_shown_by_next(stack, i))
		return NULL;
	err = sym_resolve(sym, kept->task, kept->time, stack->attrs, stack->addresses[i],
			  i > 0 || kept->below_kernel, &frames);
	for (size_t k = err ? 0 : frames.n; k-- > 0;) {
		if (to->len)
			text_addc(to, ';');
		text_cstr(to, frames.frames[k].func->name);
	}
	return err;
}

struct ebt_error *sql_stacks_folded(const struct sql_stacks *stacks, struct sym *sym,
				    int64_t number, struct text *to, bool *ret_found)
{
	const struct sql_stack *kept;
	uint64_t addresses[EBT_MAX_FRAMES];
	struct ebt_error *err = NULL;
	struct ebt_stack whole;
	uint32_t i;

	*ret_found = stacks && ebt_map_find(&stacks->by_number, (uint64_t)number, &i);
	if (!*ret_found)
		return NULL;
	kept = &stacks->list[i];
	whole = kept->stack;
	if (kept->dump.len)
		err = sym_unwind_deferred(sym, kept->task, kept->time, &kept->stack, kept->dump,
					  addresses, &whole);
	if (kept->stack.attrs & EBT_STACK_TRUNCATED)
		text_cstr(to, "[truncated]"); /* as in flame graphs */
	for (uint32_t k = whole.n; !err && k-- > 0;)
		err = add_address(kept, &whole, sym, k, to);
	return err ? err : text_error(to);
}
