/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames by mapped file; see model_modules.h. */
#include "report/system/model_modules.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "report/trace/stack_iterator.h"

/* Frames of one file in one stack, alike in whether they have a name. */
struct hit {
	uint32_t object;
	enum sym_reason reason;
	uint32_t n;
};

/* What a stack came to, for the task that had it last. */
struct known {
	size_t first, n; /* hits */
};

struct module_model {
	struct sym *sym;
	struct module_stat *stats;
	uint64_t *last; /* by file: the stack that counted it last */
	uint64_t n_stacks;

	struct known *known; /* by stack of the batch at hand */
	size_t capacity;
	struct hit *hits;
	size_t n_hits, hits_capacity;
};

static struct ebt_error *add_hit(struct module_model *m, struct known *known, uint32_t object,
				 enum sym_reason reason)
{
	struct ebt_error *err;

	for (size_t i = known->first; i < known->first + known->n; i++) {
		if (m->hits[i].object == object && m->hits[i].reason == reason) {
			m->hits[i].n++;
			return NULL;
		}
	}
	err = ebt_array_reserve(&m->hits, m->n_hits, &m->hits_capacity);
	if (err)
		return err;
	m->hits[m->n_hits++] = (struct hit){ object, reason, 1 };
	known->n++;
	return NULL;
}

static struct ebt_error *look_up(struct module_model *m, const struct stack_visit *visit,
				 struct known *known)
{
	const struct ebt_stack *stack = &visit->row->batch->stacks[visit->number];
	uint64_t time = visit->row->time;

	*known = (struct known){ .first = m->n_hits };
	for (uint32_t i = 0; i < stack->n; i++) {
		bool caller = i || visit->first_is_caller, found;
		struct sym_frames frames;
		struct ebt_error *err;
		uint32_t object;

		err = sym_locate(m->sym, visit->task, time, stack->addresses[i], caller, &found,
				 &object);
		if (err)
			return err;
		if (!found)
			continue;
		err = sym_resolve(m->sym, visit->task, time, stack->attrs, stack->addresses[i],
				  caller, &frames);
		if (err)
			return err;
		err = add_hit(m, known, object, frames.frames[0].func->reason);
		if (err)
			return err;
	}
	return NULL;
}

static struct ebt_error *count_stack(void *arg, const struct stack_visit *visit)
{
	struct module_model *m = arg;
	struct ebt_error *err;
	struct known *known;

	if (visit->new_batch)
		m->n_hits = 0;
	if (!(visit->row->batch->stacks[visit->number].attrs & EBT_STACK_USER))
		return NULL;
	err = ebt_array_reserve(&m->known, visit->row->batch->n_stacks, &m->capacity);
	if (err)
		return err;
	known = &m->known[visit->number];
	if (!visit->again) {
		err = look_up(m, visit, known);
		if (err)
			return err;
	}
	m->n_stacks++;
	for (size_t i = known->first; i < known->first + known->n; i++) {
		const struct hit *hit = &m->hits[i];
		struct module_stat *stat = &m->stats[hit->object];

		stat->frames[hit->reason] += hit->n;
		stat->samples += m->last[hit->object] != m->n_stacks;
		m->last[hit->object] = m->n_stacks;
	}
	return NULL;
}

struct ebt_error *module_model_create(struct trace *trace, struct sym *sym,
				      struct module_model **ret)
{
	_cleanup_(module_model_destroyp) struct module_model *m = calloc(1, sizeof(*m));
	size_t n = sym_n_objects(sym) + 1;
	struct ebt_error *err;

	if (!m)
		return &ebt_enomem;
	m->sym = sym;
	m->stats = calloc(n, sizeof(*m->stats));
	m->last = calloc(n, sizeof(*m->last));
	if (!m->stats || !m->last)
		return &ebt_enomem;
	err = stack_iterator_all(trace, 0, count_stack, m);
	if (err)
		return err;
	*ret = take_ptr(m);
	return NULL;
}

void module_model_destroy(struct module_model *m)
{
	if (!m)
		return;
	free(m->stats);
	free(m->last);
	free(m->known);
	free(m->hits);
	free(m);
}

const struct module_stat *module_model_stat(const struct module_model *model, uint32_t object)
{
	return &model->stats[object];
}
