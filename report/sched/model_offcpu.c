/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time off CPU by thread and by stack; see model_offcpu.h. */
#include "report/sched/model_offcpu.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "format/base/array.h"

#define NO_STACK UINT32_MAX

/* A waker and one that it woke. */
struct pair {
	const struct ebt_task *waker;
	uint64_t ns, count;
	uint32_t owner; /* task id or index of a stack */
	bool used;
};

/* Open hash table, size a power of two. */
struct pairs {
	struct pair *v;
	size_t n, size;
};

/* What is kept of a thread besides its figures. */
struct held {
	uint32_t node; /* where it stopped last */
	bool pending;  /* off is complete, and its stack may follow */
	struct sched_off off;
};

struct offcpu {
	struct offcpu_options options;
	bool late_stacks; /* stacks come behind the interval: ebrec --min-block */
	struct offcpu_thread *threads;
	struct held *held; /* as many as threads */
	uint32_t n_threads;

	struct offcpu_stack *stacks;
	size_t n_stacks, stacks_capacity;
	struct ebt_map stack_of;

	struct pairs thread_wakers, stack_wakers;
};

/* --- who woke whom --- */

static size_t pair_slot(const struct pairs *pairs, uint32_t owner, const struct ebt_task *waker)
{
	uint64_t h = (uint64_t)owner * UINT64_C(0x9e3779b97f4a7c15) ^ (waker ? waker->id + 1 : 0);
	size_t slot;

	h *= UINT64_C(0xff51afd7ed558ccd);
	slot = (h ^ h >> 32) & (pairs->size - 1);
	while (pairs->v[slot].used) {
		const struct pair *pair = &pairs->v[slot];
		bool same =
			pair->waker && waker ? pair->waker->id == waker->id : pair->waker == waker;

		if (pair->owner == owner && same)
			break;
		slot = (slot + 1) & (pairs->size - 1);
	}
	return slot;
}

static struct ebt_error *grow_pairs(struct pairs *pairs)
{
	struct pairs grown = { .size = pairs->size ? pairs->size * 2 : 256, .n = pairs->n };

	grown.v = calloc(grown.size, sizeof(*grown.v));
	if (!grown.v)
		return &ebt_enomem;
	for (size_t i = 0; i < pairs->size; i++) {
		const struct pair *pair = &pairs->v[i];

		if (pair->used)
			grown.v[pair_slot(&grown, pair->owner, pair->waker)] = *pair;
	}
	free(pairs->v);
	*pairs = grown;
	return NULL;
}

static struct ebt_error *count_pair(struct pairs *pairs, uint32_t owner,
				    const struct ebt_task *waker, uint64_t ns)
{
	struct pair *pair;

	if (pairs->n >= pairs->size / 2) {
		struct ebt_error *err = grow_pairs(pairs);

		if (err)
			return err;
	}
	pair = &pairs->v[pair_slot(pairs, owner, waker)];
	pairs->n += !pair->used;
	pair->used = true;
	pair->owner = owner;
	pair->waker = waker;
	pair->ns += ns;
	pair->count++;
	return NULL;
}

static void choose_waker(struct offcpu_sum *sum, const struct pair *pair)
{
	uint32_t id = pair->waker ? pair->waker->id : UINT32_MAX;
	uint32_t best = sum->waker ? sum->waker->id : UINT32_MAX;

	if (sum->woken && (pair->ns < sum->waker_ns || (pair->ns == sum->waker_ns && id > best)))
		return;
	sum->woken = true;
	sum->waker = pair->waker;
	sum->waker_ns = pair->ns;
	sum->waker_count = pair->count;
}

/* --- places for figures --- */

static struct ebt_error *get_thread(struct offcpu *offcpu, const struct ebt_task *task)
{
	uint32_t n = offcpu->n_threads + offcpu->n_threads / 2 + 64;
	struct offcpu_thread *threads;
	struct held *held;

	if (task->id >= offcpu->n_threads) {
		n = n > task->id ? n : task->id + 1;
		threads = reallocarray(offcpu->threads, n, sizeof(*threads));
		if (!threads)
			return &ebt_enomem;
		offcpu->threads = threads;
		held = reallocarray(offcpu->held, n, sizeof(*held));
		if (!held)
			return &ebt_enomem;
		offcpu->held = held;
		for (uint32_t i = offcpu->n_threads; i < n; i++) {
			threads[i] = (struct offcpu_thread){ 0 };
			held[i] = (struct held){ .node = NO_STACK };
		}
		offcpu->n_threads = n;
	}
	offcpu->threads[task->id].task = task;
	return NULL;
}

/* Of one stack, waits in one state: a task that is sent off its CPU as it goes to sleep did not
 * sleep. */
static struct ebt_error *get_stack(struct offcpu *offcpu, uint32_t node, enum sched_why why,
				   uint32_t *ret)
{
	struct ebt_error *err;
	uint32_t i;

	err = ebt_map_add(&offcpu->stack_of, (uint64_t)why << 32 | node, (uint32_t)offcpu->n_stacks,
			  &i);
	if (!err && i == offcpu->n_stacks) {
		err = ebt_array_reserve(&offcpu->stacks, offcpu->n_stacks,
					&offcpu->stacks_capacity);
		if (!err)
			offcpu->stacks[offcpu->n_stacks++] =
				(struct offcpu_stack){ .node = node, .why = why };
	}
	if (!err)
		*ret = i;
	return err;
}

/* --- counting --- */

/* Since when it lasts, windows before this one included. */
static uint64_t whole_ns(const struct sched_off *off)
{
	return off->end - (off->flags & SCHED_CUT_START ? off->whole_start : off->start);
}

static void sum_off(struct offcpu_sum *sum, const struct sched_off *off)
{
	uint64_t ns = off->end - off->start, whole = whole_ns(off);

	sum->total_ns += ns;
	sum->wait_ns += off->runnable ? off->end - off->runnable : 0;
	sum->why_ns[off->why] += ns;
	sum->open += sched_is_open(off->flags);
	sum->doubtful += (off->flags & SCHED_DOUBTFUL) != 0;
	if (!sum->count || whole < sum->min_ns)
		sum->min_ns = whole;
	sum->count++;
	if (whole >= sum->max_ns) {
		sum->max_ns = whole;
		sum->max_at = off->end;
	}
}

static struct ebt_error *count_off(struct offcpu *offcpu, const struct sched_off *off,
				   uint32_t node)
{
	uint64_t ns = off->end - off->start;
	struct ebt_error *err = NULL;
	uint32_t stack;

	if (whole_ns(off) < offcpu->options.min_ns ||
	    (offcpu->options.only && off->why != offcpu->options.why))
		return NULL;
	sum_off(&offcpu->threads[off->task->id].sum, off);
	if (off->woken)
		err = count_pair(&offcpu->thread_wakers, off->task->id, off->waker, ns);
	if (err || !offcpu->options.tree || node == NO_STACK)
		return err;
	if (offcpu->options.take)
		return offcpu->options.take(offcpu->options.arg, off, node);
	calltree_add(offcpu->options.tree, node, ns);
	err = get_stack(offcpu, node, off->why, &stack);
	if (err)
		return err;
	sum_off(&offcpu->stacks[stack].sum, off);
	if (off->woken)
		err = count_pair(&offcpu->stack_wakers, stack, off->waker, ns);
	return err;
}

/* Where no stack is known the time belongs to the process as such. */
static struct ebt_error *place_without_stack(struct offcpu *offcpu, const struct ebt_task *task,
					     uint64_t time, uint32_t *ret)
{
	static const struct ebt_batch none = { .id = UINT64_MAX };
	const struct calltree_stack stack = { .batch = &none, .task = task, .time = time };

	if (!offcpu->options.tree) {
		*ret = NO_STACK;
		return NULL;
	}
	return calltree_place(offcpu->options.tree, &stack, ret);
}

static struct ebt_error *count_pending(struct offcpu *offcpu, struct held *held, uint32_t node)
{
	struct ebt_error *err = NULL;

	if (!held->pending)
		return NULL;
	held->pending = false;
	if (node == NO_STACK)
		err = place_without_stack(offcpu, held->off.task, held->off.end, &node);
	return err ? err : count_off(offcpu, &held->off, node);
}

struct ebt_error *offcpu_run(struct offcpu *offcpu, const struct sched_run *run)
{
	struct calltree_stack stack = { .task = run->task, .time = run->end };
	struct held *held;
	struct ebt_error *err = get_thread(offcpu, run->task);

	if (err)
		return err;
	offcpu->threads[run->task->id].ran = true;
	held = &offcpu->held[run->task->id];
	held->node = NO_STACK;
	err = count_pending(offcpu, held, NO_STACK);
	if (err || !run->row || !offcpu->options.tree || offcpu->late_stacks)
		return err;
	stack.batch = run->row->batch;
	stack.kernel = ebt_sched_switch_kstack_id(run->row);
	stack.user = ebt_sched_switch_ustack_id(run->row);
	return calltree_place(offcpu->options.tree, &stack, &held->node);
}

struct ebt_error *offcpu_off(struct offcpu *offcpu, const struct sched_off *off)
{
	struct held *held;
	struct ebt_error *err = get_thread(offcpu, off->task);
	uint32_t node;

	if (err)
		return err;
	held = &offcpu->held[off->task->id];
	err = count_pending(offcpu, held, NO_STACK);
	if (err)
		return err;
	if (offcpu->late_stacks) {
		held->pending = true;
		held->off = *off;
		return NULL;
	}
	/* Why a task is off CPU since before the first row is in no stack of this trace. */
	if ((off->flags & (SCHED_OPEN_START | SCHED_CUT_START)) == SCHED_OPEN_START)
		node = NO_STACK;
	else
		node = held->node;
	if (node == NO_STACK)
		err = place_without_stack(offcpu, off->task, off->end, &node);
	return err ? err : count_off(offcpu, off, node);
}

struct ebt_error *offcpu_stack_row(struct offcpu *offcpu, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_offcpu_stack_task(row);
	struct calltree_stack stack = { .batch = row->batch, .task = task, .time = row->time };
	struct held *held;
	struct ebt_error *err;
	uint32_t node = NO_STACK;

	if (!task || task->id >= offcpu->n_threads)
		return NULL;
	held = &offcpu->held[task->id];
	if (!held->pending || held->off.end != row->time)
		return NULL;
	if (offcpu->options.tree) {
		stack.kernel = ebt_offcpu_stack_kstack_id(row);
		stack.user = ebt_offcpu_stack_ustack_id(row);
		err = calltree_place(offcpu->options.tree, &stack, &node);
		if (err)
			return err;
	}
	return count_pending(offcpu, held, node);
}

static void forget_pairs(struct pairs *pairs)
{
	free(pairs->v);
	*pairs = (struct pairs){ 0 };
}

void offcpu_next_window(struct offcpu *offcpu)
{
	for (uint32_t i = 0; i < offcpu->n_threads; i++) {
		offcpu->threads[i].sum = (struct offcpu_sum){ 0 };
		offcpu->threads[i].ran = false;
	}
	ebt_map_deinit(&offcpu->stack_of);
	offcpu->n_stacks = 0;
	forget_pairs(&offcpu->thread_wakers);
	forget_pairs(&offcpu->stack_wakers);
}

struct ebt_error *offcpu_finish(struct offcpu *offcpu)
{
	for (uint32_t i = 0; i < offcpu->n_threads; i++) {
		struct ebt_error *err = count_pending(offcpu, &offcpu->held[i], NO_STACK);

		if (err)
			return err;
	}
	for (size_t i = 0; i < offcpu->thread_wakers.size; i++) {
		const struct pair *pair = &offcpu->thread_wakers.v[i];

		if (pair->used)
			choose_waker(&offcpu->threads[pair->owner].sum, pair);
	}
	for (size_t i = 0; i < offcpu->stack_wakers.size; i++) {
		const struct pair *pair = &offcpu->stack_wakers.v[i];

		if (pair->used)
			choose_waker(&offcpu->stacks[pair->owner].sum, pair);
	}
	return NULL;
}

/* --- life --- */

struct ebt_error *offcpu_create(struct ebt_reader *reader, const struct offcpu_options *options,
				struct offcpu **ret)
{
	struct offcpu *offcpu = calloc(1, sizeof(*offcpu));

	if (!offcpu)
		return &ebt_enomem;
	offcpu->options = *options;
	offcpu->late_stacks = ebt_reader_has_rows(reader, EBT_T_offcpu_stack);
	*ret = offcpu;
	return NULL;
}

void offcpu_destroy(struct offcpu *offcpu)
{
	if (!offcpu)
		return;
	free(offcpu->threads);
	free(offcpu->held);
	free(offcpu->stacks);
	ebt_map_deinit(&offcpu->stack_of);
	free(offcpu->thread_wakers.v);
	free(offcpu->stack_wakers.v);
	free(offcpu);
}

const struct offcpu_thread *offcpu_threads(const struct offcpu *offcpu, uint32_t *ret_n)
{
	*ret_n = offcpu->n_threads;
	return offcpu->threads;
}

const struct offcpu_stack *offcpu_stacks(const struct offcpu *offcpu, uint32_t *ret_n)
{
	*ret_n = (uint32_t)offcpu->n_stacks;
	return offcpu->stacks;
}
