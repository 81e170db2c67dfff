/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is mapped where, at one time; see model.h. */
#include "record/unwind/model.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/search.h"

static void put(struct unwind_mappings *mappings)
{
	if (mappings && !--mappings->users)
		free(mappings);
}

static struct unwind_mappings *new_mappings(uint32_t capacity)
{
	struct unwind_mappings *m = malloc(sizeof(*m) + capacity * sizeof(*m->known));

	if (m)
		*m = (struct unwind_mappings){ .users = 1 };
	return m;
}

static void set_mappings(struct unwind_process *space, struct unwind_mappings *mappings)
{
	put(space->mappings);
	space->mappings = mappings;
}

void unwind_model_deinit(struct unwind_model *model)
{
	for (size_t i = 0; i < model->n; i++)
		put(model->list[i].mappings);
	free(model->list);
	free(model->ops);
	ebt_map_deinit(&model->by_pid);
	*model = (struct unwind_model){ 0 };
}

/* --- processes --- */

struct unwind_process *unwind_model_process(const struct unwind_model *model, uint32_t pid)
{
	uint32_t i;

	return ebt_map_find(&model->by_pid, pid, &i) ? &model->list[i] : NULL;
}

/* NULL: no memory. */
static struct unwind_process *get_space(struct unwind_model *model, uint32_t pid)
{
	uint32_t i;

	if (ebt_array_reserve(&model->list, model->n, &model->capacity) ||
	    ebt_map_add(&model->by_pid, pid, (uint32_t)model->n, &i))
		return NULL;
	if (i == model->n)
		model->list[model->n++] = (struct unwind_process){ .pid = pid };
	return &model->list[i];
}

/* The last of the list takes the place. */
static void remove_space(struct unwind_model *model, uint32_t pid)
{
	struct unwind_process *space = unwind_model_process(model, pid);
	uint32_t i;

	if (!space)
		return;
	put(space->mappings);
	i = (uint32_t)(space - model->list);
	ebt_map_remove(&model->by_pid, pid, i);
	if (i == --model->n)
		return;
	*space = model->list[model->n];
	ebt_map_remove(&model->by_pid, space->pid, (uint32_t)model->n);
	/* There is room for as many as there were. */
	ebt_map_insert(&model->by_pid, space->pid, i);
}

/* --- what happens --- */

static int compare(const void *a, const void *b)
{
	const struct unwind_op *x = a, *y = b;

	return ebt_compare(x->time, y->time) ?: ebt_compare(x->kind, y->kind);
}

struct ebt_error *unwind_model_add(struct unwind_model *model, const struct unwind_op *op)
{
	struct ebt_error *err = ebt_array_reserve(&model->ops, model->n_ops, &model->ops_capacity);

	if (err)
		return err;
	model->unsorted |= model->n_ops && compare(&model->ops[model->n_ops - 1], op) > 0;
	model->ops[model->n_ops++] = *op;
	return NULL;
}

void unwind_model_sort(struct unwind_model *model)
{
	if (model->unsorted)
		qsort(model->ops, model->n_ops, sizeof(*model->ops), compare);
	model->unsorted = false;
}

/* The new one takes what others had of its range, and splits one that reaches over both ends. */
static bool insert(struct unwind_process *space, const struct unwind_op *op)
{
	const struct ebrec_unwind_mapping *m = &op->mapping;
	const struct unwind_known added = { *m, op->time, op->is_code };
	const struct unwind_mappings *old = space->mappings;
	struct unwind_mappings *new;
	uint32_t n = old ? old->n : 0;
	bool done = false;

	if (m->start >= m->end || n + 2 > UNWIND_MAX_MAPPINGS)
		return false;
	new = new_mappings(n + 2);
	if (!new)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct unwind_known piece = old->known[i];

		if (piece.mapping.start < m->start) {
			new->known[new->n] = piece;
			if (piece.mapping.end > m->start)
				new->known[new->n].mapping.end = m->start;
			new->n++;
		}
		if (!done && piece.mapping.end > m->start) {
			new->known[new->n++] = added;
			done = true;
		}
		if (piece.mapping.end > m->end) {
			if (piece.mapping.start < m->end)
				piece.mapping.start = m->end;
			new->known[new->n++] = piece;
		}
	}
	if (!done)
		new->known[new->n++] = added;
	set_mappings(space, new);
	return true;
}

/*
 * The kernel renames a thread that runs another program, maps the program, and reports the exec
 * last: what was mapped before the rename has gone.
 */
static bool exec(struct unwind_process *space, uint64_t time)
{
	const struct unwind_mappings *old = space->mappings;
	struct unwind_mappings *new = old ? new_mappings(old->n) : NULL;

	space->exec = time;
	if (!new)
		return !old;
	for (uint32_t i = 0; i < old->n; i++) {
		if (old->known[i].since >= space->renamed)
			new->known[new->n++] = old->known[i];
	}
	set_mappings(space, new);
	return true;
}

static bool fork_space(struct unwind_model *model, uint32_t pid, uint32_t child)
{
	const struct unwind_process *parent = unwind_model_process(model, pid);
	struct unwind_process copy, *space;

	if (!parent)
		return true;
	copy = (struct unwind_process){
		.pid = child,
		.changed = parent->changed,
		.exec = parent->exec,
		.mappings = parent->mappings,
	};
	if (copy.mappings)
		copy.mappings->users++;
	remove_space(model, child);
	space = get_space(model, child);
	if (space)
		*space = copy;
	else
		put(copy.mappings);
	return space;
}

bool unwind_model_apply(struct unwind_model *model, const struct unwind_op *op)
{
	struct unwind_process *space = op->kind == OP_MAP ? get_space(model, op->pid)
							  : unwind_model_process(model, op->pid);

	if (!space)
		return op->kind != OP_MAP;
	switch (op->kind) {
	case OP_RENAME:
		space->renamed = op->time;
		return true;
	case OP_FORGET:
		set_mappings(space, NULL);
		return true;
	case OP_MAP:
		space->changed = op->time;
		return insert(space, op);
	case OP_EXEC:
		return exec(space, op->time);
	case OP_FORK:
		return fork_space(model, op->pid, op->child);
	case OP_EXIT:
		remove_space(model, op->pid);
		return true;
	}
	return true;
}

void unwind_model_advance(struct unwind_model *model, uint64_t time_ns)
{
	size_t done = 0;

	unwind_model_sort(model);
	while (done < model->n_ops && model->ops[done].time <= time_ns)
		unwind_model_apply(model, &model->ops[done++]);
	if (!done)
		return;
	model->n_ops -= done;
	memmove(model->ops, model->ops + done, model->n_ops * sizeof(*model->ops));
}

const struct ebrec_unwind_mapping *unwind_model_find(const struct unwind_model *model, uint32_t pid,
						     uint64_t address)
{
	const struct unwind_process *space = unwind_model_process(model, pid);
	const struct unwind_known *known = space && space->mappings ? space->mappings->known : NULL;
	size_t n = known ? space->mappings->n : 0;
	size_t at = ebt_count_first(n, i, known[i].mapping.end <= address);

	return at < n && known[at].mapping.start <= address ? &known[at].mapping : NULL;
}
