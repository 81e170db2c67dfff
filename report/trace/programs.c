/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs of processes; see programs.h. */
#include "report/trace/programs.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/map.h"

struct program {
	char *name; /* NULL: not known */
	bool kernel;
};

struct programs {
	const struct names *names;
	struct ebt_map map; /* process key to index of list */
	struct program *list;
	size_t n, capacity;
};

DEFINE_CLEANUP(struct programs *, programs_destroy);

static struct ebt_error *get(struct programs *programs, const struct ebt_task *task,
			     struct program **ret)
{
	uint64_t key = names_process_key(programs->names, task);
	struct ebt_error *err;
	uint32_t i;

	err = ebt_map_element(&programs->map, key, &programs->list, &programs->n,
			      &programs->capacity, &i);
	if (!err)
		*ret = &programs->list[i];
	return err;
}

static struct ebt_error *set_name(struct program *program, struct ebt_str path)
{
	const char *slash = memrchr(path.data, '/', path.len);
	size_t skip = slash ? (size_t)(slash + 1 - path.data) : 0;
	char *name;

	if (path.len == skip)
		return NULL;
	name = strndup(path.data + skip, path.len - skip);
	if (!name)
		return &ebt_enomem;
	free(program->name);
	program->name = name;
	return NULL;
}

/* Who makes threads of the kernel. Its own row may be lost. */
static bool is_kthreadd(const struct ebt_task *task)
{
	return task->tid == 2 && task->comm.len == 8 && !memcmp(task->comm.data, "kthreadd", 8);
}

/* A new process runs what its parent runs. */
static struct ebt_error *see_fork(struct programs *programs, const struct ebt_row *row)
{
	const struct ebt_task *parent = ebt_task_fork_parent(row);
	const struct ebt_task *child = ebt_task_fork_child(row);
	struct program *program;
	struct ebt_error *err;
	size_t from;

	if (!parent || !child || child->tid != child->pid)
		return NULL;
	err = get(programs, parent, &program);
	if (err)
		return err;
	program->kernel |= is_kthreadd(parent);
	from = (size_t)(program - programs->list);
	err = get(programs, child, &program);
	if (err || program == &programs->list[from])
		return err;
	program->kernel = programs->list[from].kernel;
	if (!programs->list[from].name)
		return NULL;
	return set_name(program, (struct ebt_str){ programs->list[from].name,
						   strlen(programs->list[from].name) });
}

static struct ebt_error *see_row(void *arg, const struct ebt_row *row)
{
	struct programs *programs = arg;
	bool was_there = row->batch->table->id == EBT_T_process;
	const struct ebt_task *task;
	struct program *program;
	struct ebt_error *err;

	if (row->batch->table->id == EBT_T_task_fork)
		return see_fork(programs, row);
	task = was_there ? ebt_process_task(row) : ebt_task_exec_task(row);
	if (!task)
		return NULL;
	err = get(programs, task, &program);
	if (err)
		return err;
	program->kernel = was_there && ebt_process_kernel(row);
	return set_name(program, was_there ? ebt_process_exe(row) : ebt_task_exec_filename(row));
}

struct ebt_error *programs_create(struct ebt_reader *reader, const struct names *names,
				  struct programs **ret)
{
	static const struct ebt_want wants[] = {
		EBT_WANT(process, task, kernel, exe),
		EBT_WANT(task_fork, parent, child),
		EBT_WANT(task_exec, task, filename),
	};
	const struct ebt_query query = {
		.wants = wants,
		.n_wants = sizeof(wants) / sizeof(wants[0]),
	};
	_cleanup_(programs_destroyp) struct programs *programs = calloc(1, sizeof(*programs));
	struct ebt_error *err;

	if (!programs)
		return &ebt_enomem;
	programs->names = names;
	err = ebt_read_rows(reader, &query, see_row, programs);
	if (!err)
		*ret = take_ptr(programs);
	return err;
}

void programs_destroy(struct programs *programs)
{
	if (!programs)
		return;
	for (size_t i = 0; i < programs->n; i++)
		free(programs->list[i].name);
	ebt_map_deinit(&programs->map);
	free(programs->list);
	free(programs);
}

static const struct program *find(const struct programs *programs, const struct ebt_task *task)
{
	uint32_t i;

	if (!ebt_map_find(&programs->map, names_process_key(programs->names, task), &i))
		return NULL;
	return &programs->list[i];
}

struct ebt_str programs_name(const struct programs *programs, const struct ebt_task *task)
{
	const struct program *program = find(programs, task);

	if (!program || !program->name)
		return names_process(programs->names, task);
	return ebt_str_of(program->name);
}

bool programs_is_kernel(const struct programs *programs, const struct ebt_task *task)
{
	const struct program *program = find(programs, task);

	return program && program->kernel;
}
