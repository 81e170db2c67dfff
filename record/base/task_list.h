/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All threads of the machine, at one moment. */
#ifndef RECORD_BASE_TASK_LIST_H
#define RECORD_BASE_TASK_LIST_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "format/base/error.h"
#include "record/bpf/task_iter.h"

struct task_lister;

/* Loads the iterator; where the kernel has none, /proc is read, whose times are coarse. */
struct ebt_error *task_lister_create(struct task_lister **ret);
/* Accepts NULL. */
void task_lister_destroy(struct task_lister *lister);

/* Why /proc has to do, for people; NULL where the iterator works. Belongs to the lister. */
const char *task_lister_detail(const struct task_lister *lister);

struct task_list {
	struct ebrec_task *tasks; /* by pid, then tid */
	size_t n, capacity;
};

/* lister NULL: without the iterator. The caller calls task_list_deinit(). */
struct ebt_error *task_lister_read(struct task_lister *lister, struct task_list *ret);
void task_list_deinit(struct task_list *list);

#endif
