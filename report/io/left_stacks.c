/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of descriptors that were left open; see left_stacks.h. The row of a stack is before that
 * of its call, which has the same time of entry, and whose return is when the descriptor was made.
 */
#include "report/io/left_stacks.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/map.h"
#include "format/base/search.h"

/* The last stack of a thread. */
struct stack {
	uint32_t task; /* id */
	uint32_t node;
	uint64_t entry;
};

struct left {
	struct left_fds *fds;
	struct grouping *g;
	struct stack *stacks;
	size_t n, capacity;
	struct ebt_map by_task;
};

void left_fds_deinit(struct left_fds *fds)
{
	free(fds->list);
	*fds = (struct left_fds){ 0 };
}

struct ebt_error *left_fds_add(struct left_fds *fds, const struct ebt_task *task, uint64_t since)
{
	struct ebt_error *err = ebt_array_reserve(&fds->list, fds->n, &fds->capacity);

	if (!err)
		fds->list[fds->n++] = (struct left_fd){ .task = task, .since = since };
	return err;
}

static int compare(uint32_t pid, uint64_t since, const struct left_fd *fd)
{
	return ebt_compare(pid, fd->task ? fd->task->pid : 0) ?: ebt_compare(since, fd->since);
}

static int compare_fds(const void *a, const void *b)
{
	const struct left_fd *x = a;

	return compare(x->task ? x->task->pid : 0, x->since, b);
}

/* The first one of a process that was made then or later. */
static size_t find_first(const struct left_fds *fds, uint32_t pid, uint64_t time)
{
	return ebt_count_first(fds->n, i, compare(pid, time, &fds->list[i]) > 0);
}

static struct ebt_error *on_stack(struct left *left, const struct ebt_row *row)
{
	const struct calltree_stack at = {
		.batch = row->batch,
		.time = row->time,
		.task = ebt_syscall_stack_task(row),
		.user = ebt_syscall_stack_ustack_id(row),
	};
	const struct left_fds *fds = left->fds;
	struct stack *stack;
	struct ebt_error *err;
	uint32_t i;
	size_t n;

	if (!at.task || ebt_syscall_stack_ret(row) < 0)
		return NULL;
	/* Not one of a process that left nothing open from then on. */
	n = find_first(fds, at.task->pid, row->time);
	if (n == fds->n || fds->list[n].task->pid != at.task->pid)
		return NULL;
	err = ebt_map_element(&left->by_task, at.task->id, &left->stacks, &left->n, &left->capacity,
			      &i);
	if (err)
		return err;
	stack = &left->stacks[i];
	stack->entry = row->time - ebt_syscall_stack_duration(row);
	return grouping_place(left->g, &at, &stack->node);
}

/* What the call made has the stack, if it is of the same entry. */
static struct ebt_error *on_call(struct left *left, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_syscall_task(row);
	const struct left_fds *fds = left->fds;
	size_t at = 0;
	uint32_t i = task ? ebt_map_next(&left->by_task, task->id, &at) : EBT_MAP_NONE;

	if (i == EBT_MAP_NONE || left->stacks[i].entry != row->time - ebt_syscall_duration(row))
		return NULL;
	for (size_t n = find_first(fds, task->pid, row->time);
	     n < fds->n && !compare(task->pid, row->time, &fds->list[n]); n++)
		fds->list[n].node = left->stacks[i].node;
	return NULL;
}

static struct ebt_error *on_row(void *arg, const struct ebt_row *row)
{
	return row->batch->table->id == EBT_T_syscall ? on_call(arg, row) : on_stack(arg, row);
}

struct ebt_error *left_stacks_read(struct trace *trace, struct left_fds *fds, struct grouping *g,
				   group_add_fn *add)
{
	const struct ebt_want wants[] = {
		EBT_WANT(syscall, task, duration),
		EBT_WANT(syscall_stack, task, duration, ret, ustack),
	};
	struct left left = { .fds = fds, .g = g };
	struct ebt_error *err;

	qsort(fds->list, fds->n, sizeof(fds->list[0]), compare_fds);
	err = trace_read_rows(trace, wants, 2, TRACE_ALL_TASKS | TRACE_ALL_CPUS | TRACE_FROM_START,
			      on_row, &left);
	for (size_t i = 0; !err && i < fds->n; i++) {
		const struct group_row row = { .task = fds->list[i].task,
					       .node = fds->list[i].node };

		err = grouping_add_stack(g, &row, add, &fds->list[i]);
	}
	free(left.stacks);
	ebt_map_deinit(&left.by_task);
	return err;
}
