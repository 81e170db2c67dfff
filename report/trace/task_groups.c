/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows by process or thread; see task_groups.h. */
#include "report/trace/task_groups.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/map.h"
#include "report/base/names.h"

struct task_groups {
	const struct names *names;
	bool by_thread;
	const struct ebt_task **tasks; /* by group */
	size_t n, capacity;
	struct ebt_map by_key;
	uint32_t *group_of_task; /* by task id: 1 + group; 0: not known yet */
	size_t n_group_of_task;
};

struct ebt_error *task_groups_create(struct trace *trace, bool by_thread, struct task_groups **ret)
{
	_cleanup_(task_groups_destroyp) struct task_groups *groups = calloc(1, sizeof(*groups));
	struct ebt_error *err;

	if (!groups)
		return &ebt_enomem;
	groups->by_thread = by_thread;
	err = trace_names(trace, &groups->names);
	if (err)
		return err;
	*ret = take_ptr(groups);
	return NULL;
}

void task_groups_destroy(struct task_groups *groups)
{
	if (!groups)
		return;
	free(groups->tasks);
	free(groups->group_of_task);
	ebt_map_deinit(&groups->by_key);
	free(groups);
}

/* Key 0 is for rows without a task. */
static struct ebt_error *find_group(struct task_groups *groups, const struct ebt_task *task,
				    uint32_t *ret)
{
	struct ebt_error *err;
	uint64_t key = 0;

	if (task && groups->by_thread)
		key = (uint64_t)task->id + 1;
	else if (task)
		key = names_process_key(groups->names, task) + 1;
	if (groups->n >= UINT32_MAX / 2)
		return ebt_error_create(EBT_ERR_LIMIT, "too many tasks");
	err = ebt_map_element(&groups->by_key, key, &groups->tasks, &groups->n, &groups->capacity,
			      ret);
	if (!err && !groups->tasks[*ret])
		groups->tasks[*ret] = task;
	return err;
}

struct ebt_error *task_groups_of(struct task_groups *groups, const struct ebt_task *task,
				 uint32_t *ret)
{
	struct ebt_error *err;
	uint32_t i;

	if (!task || task->id > UINT32_MAX / 4)
		return find_group(groups, task, ret);
	err = ebt_array_reserve_zeroed(&groups->group_of_task, task->id, &groups->n_group_of_task);
	if (err)
		return err;
	if (!groups->group_of_task[task->id]) {
		err = find_group(groups, task, &i);
		if (err)
			return err;
		groups->group_of_task[task->id] = i + 1;
		/* A process shows the name of its first thread, where that is known. */
		if (task->tid == task->pid)
			groups->tasks[i] = task;
	}
	*ret = groups->group_of_task[task->id] - 1;
	return NULL;
}

size_t task_groups_n(const struct task_groups *groups)
{
	return groups->n;
}

const struct ebt_task *task_groups_task(const struct task_groups *groups, size_t i)
{
	return groups->tasks[i];
}

struct ebt_str task_groups_name(const struct task_groups *groups, size_t i)
{
	const struct ebt_task *task = groups->tasks[i];

	if (!task)
		return (struct ebt_str){ "", 0 };
	return groups->by_thread ? names_task(groups->names, task)
				 : names_process(groups->names, task);
}
