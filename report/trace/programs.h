/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which program a process runs, and which processes are threads of the kernel. */
#ifndef REPORT_TRACE_PROGRAMS_H
#define REPORT_TRACE_PROGRAMS_H

#include <stdbool.h>

#include "report/base/names.h"

struct programs;

/* Reads the tables process, task_fork and task_exec. The names must outlive it. */
struct ebt_error *programs_create(struct ebt_reader *reader, const struct names *names,
				  struct programs **ret);
void programs_destroy(struct programs *programs);

/* The name of the file of the program that the task's process ran last; the name of the process
 * where no file is known. */
struct ebt_str programs_name(const struct programs *programs, const struct ebt_task *task);

bool programs_is_kernel(const struct programs *programs, const struct ebt_task *task);

#endif
