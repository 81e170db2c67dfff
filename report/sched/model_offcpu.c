/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time off CPU, interval by interval; see model_offcpu.h. */
#include "report/sched/model_offcpu.h"

#include <stdlib.h>

#include "format/base/array.h"

#define NO_STACK UINT32_MAX

/* What is kept of a thread besides its figures. */
struct held {
	uint32_t node; /* where it stopped last: 1 + that of the tree, 0 without a stack */
	uint32_t told; /* the same, of a look at it since then */
	bool pending;  /* off is complete, and its stack may follow */
	struct sched_off off;
};

struct offcpu {
	struct offcpu_options options;
	bool late_stacks; /* stacks come behind the interval: ebrec --min-block */
	struct offcpu_thread *threads;
	struct held *held;
	size_t n_threads, n_held;
};

/* --- sums --- */

void offcpu_wakers_deinit(struct offcpu_wakers *wakers)
{
	ebt_map_deinit(&wakers->by_pair);
	free(wakers->pairs);
	*wakers = (struct offcpu_wakers){ 0 };
}

static void choose_waker(struct offcpu_sum *sum, const struct ebt_task *waker,
			 const struct offcpu_pair *pair)
{
	uint32_t id = waker ? waker->id : UINT32_MAX;
	uint32_t best = sum->waker ? sum->waker->id : UINT32_MAX;

	if (sum->woken && (pair->ns < sum->waker_ns || (pair->ns == sum->waker_ns && id > best)))
		return;
	sum->woken = true;
	sum->waker = waker;
	sum->waker_ns = pair->ns;
	sum->waker_count = pair->count;
}

struct ebt_error *offcpu_wakers_add(struct offcpu_wakers *wakers, uint32_t owner,
				    const struct sched_off *off, struct offcpu_sum *sum)
{
	uint64_t key = (uint64_t)owner << 32 | (off->waker ? off->waker->id + 1 : 0);
	struct offcpu_pair *pair;
	struct ebt_error *err;
	uint32_t i;

	if (!off->woken)
		return NULL;
	err = ebt_map_element(&wakers->by_pair, key, &wakers->pairs, &wakers->n, &wakers->capacity,
			      &i);
	if (err)
		return err;
	pair = &wakers->pairs[i];
	pair->ns += off->end - off->start;
	pair->count++;
	choose_waker(sum, off->waker, pair);
	return NULL;
}

/* Since when it lasts, windows before this one included. */
static uint64_t whole_ns(const struct sched_off *off)
{
	return off->end - (off->flags & SCHED_CUT_START ? off->whole_start : off->start);
}

void offcpu_sum_add(struct offcpu_sum *sum, const struct sched_off *off)
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

/* --- intervals --- */

static struct ebt_error *get_thread(struct offcpu *offcpu, const struct ebt_task *task,
				    struct held **ret)
{
	struct ebt_error *err =
		ebt_array_reserve_zeroed(&offcpu->held, task->id, &offcpu->n_held)
			?: ebt_array_reserve_zeroed(&offcpu->threads, task->id, &offcpu->n_threads);

	if (err)
		return err;
	offcpu->threads[task->id].task = task;
	*ret = &offcpu->held[task->id];
	return NULL;
}

static struct ebt_error *count_off(struct offcpu *offcpu, const struct sched_off *off,
				   uint32_t node)
{
	if (whole_ns(off) < offcpu->options.min_ns ||
	    (offcpu->options.only && off->why != offcpu->options.why))
		return NULL;
	if (offcpu->options.take)
		return offcpu->options.take(offcpu->options.arg, off, node == NO_STACK ? 0 : node);
	offcpu_sum_add(&offcpu->threads[off->task->id].sum, off);
	if (node != NO_STACK)
		calltree_add(offcpu->options.tree, node, off->end - off->start);
	return NULL;
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
		node = held->told - 1;
	if (node == NO_STACK)
		err = place_without_stack(offcpu, held->off.task, held->off.end, &node);
	return err ? err : count_off(offcpu, &held->off, node);
}

static struct ebt_error *hold_stack(struct offcpu *offcpu, const struct ebt_task *task,
				    const struct ebt_row *row, struct held *held)
{
	const struct calltree_stack stack = {
		.batch = row->batch,
		.task = task,
		.time = row->time,
		.kernel = ebt_sched_switch_kstack_id(row),
		.user = ebt_sched_switch_ustack_id(row),
	};
	struct ebt_error *err = calltree_place(offcpu->options.tree, &stack, &held->node);

	held->node++;
	return err;
}

bool offcpu_has_stops(const struct offcpu *offcpu)
{
	return offcpu->options.tree && !offcpu->late_stacks;
}

struct ebt_error *offcpu_stopped(struct offcpu *offcpu, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_sched_switch_prev(row);
	struct held *held;

	return get_thread(offcpu, task, &held) ?: hold_stack(offcpu, task, row, held);
}

struct ebt_error *offcpu_told(struct offcpu *offcpu, const struct ebt_row *row)
{
	const struct calltree_stack stack = {
		.batch = row->batch,
		.task = ebt_thread_stack_task(row),
		.time = row->time,
		.kernel = ebt_thread_stack_kstack_id(row),
		.user = ebt_thread_stack_ustack_id(row),
	};
	struct held *held;
	struct ebt_error *err;

	if (!offcpu->options.tree || !stack.task || !(stack.kernel || stack.user))
		return NULL;
	err = get_thread(offcpu, stack.task, &held)
		      ?: calltree_place(offcpu->options.tree, &stack, &held->told);
	if (!err)
		held->told++;
	return err;
}

struct ebt_error *offcpu_run(struct offcpu *offcpu, const struct sched_run *run)
{
	struct held *held;
	struct ebt_error *err = get_thread(offcpu, run->task, &held);

	if (err)
		return err;
	held->node = 0;
	err = count_pending(offcpu, held, NO_STACK);
	held->told = 0;
	if (err || !run->row || !offcpu_has_stops(offcpu))
		return err;
	return hold_stack(offcpu, run->task, run->row, held);
}

struct ebt_error *offcpu_off(struct offcpu *offcpu, const struct sched_off *off)
{
	struct held *held;
	struct ebt_error *err = get_thread(offcpu, off->task, &held);
	uint32_t node;

	if (err)
		return err;
	err = count_pending(offcpu, held, NO_STACK);
	if (err)
		return err;
	if (offcpu->late_stacks) {
		held->pending = true;
		held->off = *off;
		return NULL;
	}
	/* Why a task is off CPU since before the first row is in no row of a switch. */
	if ((off->flags & (SCHED_OPEN_START | SCHED_CUT_START)) == SCHED_OPEN_START || !held->node)
		node = held->told - 1;
	else
		node = held->node - 1;
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

	if (!task || task->id >= offcpu->n_held)
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

struct ebt_error *offcpu_finish(struct offcpu *offcpu)
{
	for (size_t i = 0; i < offcpu->n_held; i++) {
		struct ebt_error *err = count_pending(offcpu, &offcpu->held[i], NO_STACK);

		if (err)
			return err;
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
	free(offcpu);
}

const struct offcpu_thread *offcpu_threads(const struct offcpu *offcpu, uint32_t *ret_n)
{
	*ret_n = (uint32_t)offcpu->n_threads;
	return offcpu->threads;
}
