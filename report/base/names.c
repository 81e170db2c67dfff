/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Last names of tasks and processes; see names.h. */
#include "report/base/names.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "format/base/search.h"

struct leader {
	uint32_t pid, id; /* id of the task whose tid is pid */
	uint64_t start_ns;
};

struct named_task {
	const struct ebt_task *task; /* as last seen; NULL: never */
	char *last;		     /* NULL: the name is that of the task */
};

struct names {
	struct named_task *tasks; /* by task id */
	size_t n_tasks;
	struct leader *leaders; /* sorted by pid, then start */
	size_t n_leaders, capacity;
};

DEFINE_CLEANUP(struct names *, names_destroy);

static struct ebt_error *add_leader(struct names *names, const struct ebt_task *task)
{
	struct ebt_error *err;

	err = ebt_array_reserve(&names->leaders, names->n_leaders, &names->capacity);
	if (err)
		return err;
	names->leaders[names->n_leaders++] =
		(struct leader){ .pid = task->pid, .id = task->id, .start_ns = task->start_ns };
	return NULL;
}

/* A task was seen, under this name (empty: that of the task itself). */
static struct ebt_error *see(struct names *names, const struct ebt_task *task, struct ebt_str name)
{
	struct named_task *named;
	struct ebt_error *err;
	char *copy;

	if (!task)
		return NULL;
	err = ebt_array_reserve_zeroed(&names->tasks, task->id, &names->n_tasks);
	if (err)
		return err;
	named = &names->tasks[task->id];
	if (!named->task && task->pid && task->tid == task->pid) {
		err = add_leader(names, task);
		if (err)
			return err;
	}
	named->task = task;
	if (!name.len)
		name = task->comm;
	if (!name.len)
		return NULL;
	copy = strndup(name.data, name.len);
	if (!copy)
		return &ebt_enomem;
	free(named->last);
	named->last = copy;
	return NULL;
}

static struct ebt_error *see_row(void *arg, const struct ebt_row *row)
{
	struct names *names = arg;
	const struct ebt_str none = { "", 0 };

	switch (row->batch->table->id) {
	case EBT_T_process:
		return see(names, ebt_process_task(row), none);
	case EBT_T_thread:
		return see(names, ebt_thread_task(row), none);
	case EBT_T_task_fork:
		return see(names, ebt_task_fork_child(row), ebt_task_fork_comm(row));
	case EBT_T_task_exec:
		return see(names, ebt_task_exec_task(row), ebt_task_exec_comm(row));
	default:
		return see(names, ebt_task_rename_task(row), ebt_task_rename_comm(row));
	}
}

static int compare_leaders(const void *a, const void *b)
{
	const struct leader *x = a, *y = b;

	return ebt_compare(x->pid, y->pid) ?: ebt_compare(x->start_ns, y->start_ns);
}

struct ebt_error *names_create(struct ebt_reader *reader, struct names **ret)
{
	static const struct ebt_want wants[] = {
		EBT_WANT(process, task),	   EBT_WANT(thread, task),
		EBT_WANT(task_fork, child, comm),  EBT_WANT(task_exec, task, comm),
		EBT_WANT(task_rename, task, comm),
	};
	const struct ebt_query query = {
		.wants = wants,
		.n_wants = sizeof(wants) / sizeof(wants[0]),
	};
	_cleanup_(names_destroyp) struct names *names = calloc(1, sizeof(*names));
	struct ebt_error *err;

	if (!names)
		return &ebt_enomem;
	err = ebt_read_rows(reader, &query, see_row, names);
	if (err)
		return err;
	if (names->n_leaders)
		qsort(names->leaders, names->n_leaders, sizeof(*names->leaders), compare_leaders);
	*ret = take_ptr(names);
	return NULL;
}

void names_destroy(struct names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->n_tasks; i++)
		free(names->tasks[i].last);
	free(names->tasks);
	free(names->leaders);
	free(names);
}

static struct ebt_str name_of(const struct names *names, uint32_t id, struct ebt_str otherwise)
{
	const char *last = id < names->n_tasks ? names->tasks[id].last : NULL;

	return last ? ebt_str_of(last) : otherwise;
}

struct ebt_str names_task(const struct names *names, const struct ebt_task *task)
{
	return name_of(names, task->id, task->comm);
}

/* The latest leader of this pid that is not younger than the task; NULL: not known. */
static const struct leader *leader_of(const struct names *names, const struct ebt_task *task)
{
	uint64_t start = task->start_ns ? task->start_ns : UINT64_MAX;
	const struct leader *l = names->leaders;
	size_t n;

	if (!task->pid)
		return NULL;
	n = ebt_count_first(names->n_leaders, i,
			    l[i].pid < task->pid ||
				    (l[i].pid == task->pid && l[i].start_ns <= start));
	return n && l[n - 1].pid == task->pid ? &l[n - 1] : NULL;
}

struct ebt_str names_process(const struct names *names, const struct ebt_task *task)
{
	const struct leader *leader = leader_of(names, task);

	return leader ? name_of(names, leader->id, task->comm) : names_task(names, task);
}

uint64_t names_process_key(const struct names *names, const struct ebt_task *task)
{
	const struct leader *leader = leader_of(names, task);

	if (leader)
		return leader->id;
	/* Its first thread is nowhere in the trace: the pid must do. */
	return task->pid ? UINT64_C(1) << 32 | task->pid : UINT64_C(2) << 32 | task->id;
}
