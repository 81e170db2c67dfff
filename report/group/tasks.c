/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tasks to numbers; see tasks.h. */
#include "report/group/tasks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"

static bool needs_procs(enum group_key key)
{
	return key == GROUP_USER || key == GROUP_CGROUP || key == GROUP_CONTAINER;
}

struct ebt_error *group_tasks_init(struct group_tasks *tasks, struct trace *trace,
				   enum group_key key)
{
	struct ebt_error *err;

	tasks->key = key;
	err = trace_names(trace, &tasks->names);
	if (!err && key == GROUP_PROGRAM)
		err = trace_programs(trace, &tasks->programs);
	if (err || !needs_procs(key))
		return err;
	err = procs_create(trace, 0, &tasks->procs);
	if (err || key != GROUP_CONTAINER)
		return err;
	return proc_containers_collect(trace_reader(trace), &tasks->containers);
}

void group_tasks_deinit(struct group_tasks *tasks)
{
	procs_destroy(tasks->procs);
	proc_containers_deinit(&tasks->containers);
	ebt_map_deinit(&tasks->by_value);
	free(tasks->tasks);
	free(tasks->of_task);
}

/* NULL: not known. */
static const struct proc *proc_of(const struct group_tasks *tasks, const struct ebt_task *task)
{
	uint32_t i = procs_of(tasks->procs, task);
	size_t n;

	return i == PROC_NONE ? NULL : &procs_all(tasks->procs, &n)[i];
}

static const struct proc_container *container_of_task(const struct group_tasks *tasks,
						      const struct ebt_task *task)
{
	const struct proc *proc = proc_of(tasks, task);

	return proc ? proc_containers_of(&tasks->containers, proc->task) : NULL;
}

/* Of the lines of /proc/PID/cgroup ("0::/path", "4:memory:/path") the path of cgroup v2 or, where
 * that is the root, the first of v1 that is not. */
static struct ebt_str cgroup_in(struct ebt_str text)
{
	struct ebt_str found = { "/", 1 };
	const char *p = text.data, *end = text.len ? p + text.len : p;

	while (p < end) {
		const char *line_end = memchr(p, '\n', (size_t)(end - p));
		const char *controllers, *path;

		line_end = line_end ? line_end : end;
		controllers = memchr(p, ':', (size_t)(line_end - p));
		path = controllers
			       ? memchr(controllers + 1, ':', (size_t)(line_end - controllers - 1))
			       : NULL;
		if (path && line_end - path > 2) {
			bool v2 = path == controllers + 1;

			if (v2 || found.len == 1)
				found = (struct ebt_str){ path + 1, (size_t)(line_end - path - 1) };
			if (v2)
				break;
		}
		p = line_end + 1;
	}
	return found;
}

/* What tasks of one group have in common, of keys that are texts. */
static struct ebt_str text_of(const struct group_tasks *tasks, const struct ebt_task *task)
{
	const struct proc *proc;
	struct ebt_str text;

	if (tasks->key == GROUP_PROGRAM)
		return programs_name(tasks->programs, task);
	proc = proc_of(tasks, task);
	text = proc ? procs_text(tasks->procs, proc->cgroup) : (struct ebt_str){ "", 0 };
	return text.len ? cgroup_in(text) : text;
}

/* Of other keys; 0 is for those of whom nothing is known. */
static uint64_t number_of(const struct group_tasks *tasks, const struct ebt_task *task)
{
	const struct proc_container *container;
	const struct proc *proc;

	switch (tasks->key) {
	case GROUP_THREAD:
		return (uint64_t)task->id + 1;
	case GROUP_USER:
		proc = proc_of(tasks, task);
		return proc && proc->uid != UINT32_MAX ? (uint64_t)proc->uid + 1 : 0;
	case GROUP_CONTAINER:
		container = container_of_task(tasks, task);
		return container ? (uint64_t)(container - tasks->containers.items) + 1 : 0;
	default:
		return names_process_key(tasks->names, task) + 1;
	}
}

static bool same_text(const struct group_tasks *tasks, uint32_t i, struct ebt_str text)
{
	struct ebt_str other = { "", 0 };

	if (tasks->tasks[i])
		other = text_of(tasks, tasks->tasks[i]);
	return ebt_str_equal(other, text);
}

/* The group of a value: the one that is there, or the next. */
static struct ebt_error *find(struct group_tasks *tasks, const struct ebt_task *task, uint32_t *ret)
{
	bool is_text = tasks->key == GROUP_PROGRAM || tasks->key == GROUP_CGROUP;
	struct ebt_str text = { "", 0 };
	size_t at = 0;
	uint64_t hash;

	if (!is_text)
		return ebt_map_add(&tasks->by_value, task ? number_of(tasks, task) : 0,
				   (uint32_t)tasks->n, ret);
	if (task)
		text = text_of(tasks, task);
	hash = ebt_hash_bytes(0, text.data, text.len);
	while ((*ret = ebt_map_next(&tasks->by_value, hash, &at)) != EBT_MAP_NONE) {
		if (same_text(tasks, *ret, text))
			return NULL;
	}
	*ret = (uint32_t)tasks->n;
	return ebt_map_insert(&tasks->by_value, hash, *ret);
}

static struct ebt_error *find_group(struct group_tasks *tasks, const struct ebt_task *task,
				    uint32_t *ret)
{
	struct ebt_error *err;

	if (tasks->n >= UINT32_MAX / 2)
		return ebt_error_create(EBT_ERR_LIMIT, "too many tasks");
	err = ebt_array_reserve(&tasks->tasks, tasks->n, &tasks->capacity);
	if (err)
		return err;
	err = find(tasks, task, ret);
	if (!err && *ret == tasks->n)
		tasks->tasks[tasks->n++] = task;
	return err;
}

struct ebt_error *group_tasks_of(struct group_tasks *tasks, const struct ebt_task *task,
				 uint32_t *ret)
{
	struct ebt_error *err;

	if (!task || task->id > UINT32_MAX / 4)
		return find_group(tasks, task, ret);
	if (task->id < tasks->of_task_capacity && tasks->of_task[task->id]) {
		*ret = tasks->of_task[task->id] - 1;
		return NULL;
	}
	err = ebt_array_reserve_zeroed(&tasks->of_task, task->id, &tasks->of_task_capacity)
		      ?: find_group(tasks, task, ret);
	if (err)
		return err;
	tasks->of_task[task->id] = *ret + 1;
	/* A process shows its first thread, where that is known. */
	if (task->tid == task->pid)
		tasks->tasks[*ret] = task;
	return NULL;
}

/* --- columns --- */

static void put_task(const struct group_tasks *tasks, const struct ebt_task *task,
		     struct group_cells *cells)
{
	bool thread = tasks->key == GROUP_THREAD;
	struct ebt_str comm =
		thread ? names_task(tasks->names, task) : names_process(tasks->names, task);
	uint32_t pid = task->pid ? task->pid : task->tid;

	text_task(cells->label, comm, thread ? task->tid : pid);
	cells->values[0] = out_u64(pid);
	if (thread)
		cells->values[1] = out_u64(task->tid);
	cells->values[thread ? 2 : 1] = out_str(comm);
}

static void put_container(const struct proc_container *container, struct group_cells *cells)
{
	text_add(&cells->texts[1], container->id, CONTAINER_ID_LEN);
	if (container->name[0])
		text_cstr(&cells->texts[0], container->name);
	else
		text_add(&cells->texts[0], container->id, 12);
	if (container->image[0])
		text_cstr(&cells->texts[2], container->image);
}

/* Where the value is known it is in its column; the label has it in any case. */
static void put_value(const struct group_tasks *tasks, const struct ebt_task *task,
		      struct group_cells *cells)
{
	const struct proc_container *container;
	const struct proc *proc;
	struct ebt_str text;

	switch (tasks->key) {
	case GROUP_USER:
		proc = proc_of(tasks, task);
		if (proc && proc->uid != UINT32_MAX) {
			cells->values[0] = out_u64(proc->uid);
			text_printf(cells->label, "user %" PRIu32, proc->uid);
		}
		break;
	case GROUP_CONTAINER:
		container = container_of_task(tasks, task);
		if (container)
			put_container(container, cells);
		else
			text_cstr(&cells->texts[0], "(none)");
		text_add(cells->label, text_get(&cells->texts[0]), cells->texts[0].len);
		break;
	default:
		text = text_of(tasks, task);
		text_add(&cells->texts[0], text.data, text.len);
		text_add(cells->label, text.data, text.len);
	}
}

void group_tasks_put(const struct group_tasks *tasks, uint32_t i, const char *no_task,
		     struct group_cells *cells)
{
	const struct ebt_task *task = tasks->tasks[i];
	size_t comm = tasks->key == GROUP_THREAD ? 2 : tasks->key == GROUP_PROCESS ? 1 : 0;

	if (task && tasks->key <= GROUP_PROCESS)
		put_task(tasks, task, cells);
	else if (task)
		put_value(tasks, task, cells);
	if (cells->label->len)
		return;
	no_task = no_task ? no_task : "(not known)";
	text_cstr(cells->label, no_task);
	if (tasks->key != GROUP_USER)
		text_cstr(&cells->texts[comm], no_task);
}

struct ebt_error *group_tasks_label_add(const struct group_tasks *tasks, uint32_t i,
					struct text *text)
{
	struct out_value values[GROUP_MAX_CELLS];
	struct text texts[GROUP_MAX_CELLS] = { 0 };
	struct ebt_error *err;

	group_tasks_put(tasks, i, NULL, &(struct group_cells){ values, texts, text });
	err = text_error(text);
	for (size_t k = 0; k < GROUP_MAX_CELLS; k++) {
		err = err ?: text_error(&texts[k]);
		text_deinit(&texts[k]);
	}
	return err;
}
