/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks by thread, process, program, user, cgroup or container: a number for each, in order of
 * first appearance, so that a model keeps its figures in an array. The number of a task that was
 * seen before is one look into an array.
 */
#ifndef REPORT_GROUP_TASKS_H
#define REPORT_GROUP_TASKS_H

#include "format/base/map.h"
#include "report/base/names.h"
#include "report/group/group.h"
#include "report/procs/containers.h"
#include "report/procs/model_procs.h"
#include "report/trace/programs.h"

/* All zero: none; the trace must outlive it. */
struct group_tasks {
	enum group_key key;
	const struct names *names;
	const struct programs *programs; /* of program */
	struct procs *procs;		 /* of user, cgroup and container */
	struct proc_containers containers;
	const struct ebt_task **tasks; /* by number: one of them; NULL: not known */
	size_t n, capacity;
	struct ebt_map by_value;
	uint32_t *of_task; /* by task id: 1 + number; 0: not known yet */
	size_t of_task_capacity;
};

struct ebt_error *group_tasks_init(struct group_tasks *tasks, struct trace *trace,
				   enum group_key key);
void group_tasks_deinit(struct group_tasks *tasks);
struct ebt_error *group_tasks_of(struct group_tasks *tasks, const struct ebt_task *task,
				 uint32_t *ret);
/* What stands in the columns of such a key. */
void group_tasks_put(const struct group_tasks *tasks, uint32_t i, const char *no_task,
		     struct group_cells *cells);
/* The same as one text. */
struct ebt_error *group_tasks_label_add(const struct group_tasks *tasks, uint32_t i,
					struct text *text);
/* A key by its name in --by; false: it is none of these, or a list. */
bool group_tasks_key(const char *name, enum group_key *ret);

#endif
