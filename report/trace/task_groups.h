/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups of rows, by process or by thread. Groups are numbered in order of first appearance, so
 * that a model keeps its figures in an array. One look into another array finds the group of a row.
 */
#ifndef REPORT_TRACE_TASK_GROUPS_H
#define REPORT_TRACE_TASK_GROUPS_H

#include "report/trace/trace.h"

struct task_groups;

/* The trace must outlive the groups. */
struct ebt_error *task_groups_create(struct trace *trace, bool by_thread, struct task_groups **ret);
void task_groups_destroy(struct task_groups *groups);
DEFINE_CLEANUP(struct task_groups *, task_groups_destroy);

/* NULL belongs to a group of its own, of rows whose task is not known. *ret is below
 * task_groups_n() then. */
struct ebt_error *task_groups_of(struct task_groups *groups, const struct ebt_task *task,
				 uint32_t *ret);

size_t task_groups_n(const struct task_groups *groups);
/* The thread; or a task of the process: its first thread, if that had rows. NULL: not known. */
const struct ebt_task *task_groups_task(const struct task_groups *groups, size_t i);
/* The last name of the process or thread; empty where it is not known. */
struct ebt_str task_groups_name(const struct task_groups *groups, size_t i);

#endif
