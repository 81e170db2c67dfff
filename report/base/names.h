/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tasks were called last. A task has a name in every chunk that it is in, and it changes
 * with exec and prctl; a table of figures over the whole trace shows one: the last that is known.
 * A process is called as its first thread.
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
