/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last names of tasks. A task has a name in each chunk that it is in, and exec and prctl change
 * that name. A table of figures over the whole trace shows one name: the last that is known. A
 * process has the name of its first thread.
 */
#ifndef REPORT_BASE_NAMES_H
#define REPORT_BASE_NAMES_H

#include "format/read/reader.h"

struct names;

/* Reads the tables process, thread, task_fork, task_exec and task_rename. */
struct ebt_error *names_create(struct ebt_reader *reader, struct names **ret);
void names_destroy(struct names *names);

/* The last name of this task (which may be newer than task->comm). Not NULL. */
struct ebt_str names_task(const struct names *names, const struct ebt_task *task);

/* The last name of the process that the task belongs to: of its first thread where that is
 * known, else the task's own. */
struct ebt_str names_process(const struct names *names, const struct ebt_task *task);

/* The same for all threads of one process, and different for all other processes. */
uint64_t names_process_key(const struct names *names, const struct ebt_task *task);

#endif
