/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All threads of the machine, at one moment. */
#ifndef RECORD_BASE_TASK_LIST_H
#define RECORD_BASE_TASK_LIST_H

#include <stddef.h>

#include "format/base/error.h"
#include "record/bpf/task_iter.h"

struct bpf_link;
struct bpf_program;

struct task_lister {
	struct bpf_link *link; /* NULL: no iterator */
	char detail[128];      /* why /proc has to do, for people; empty where the iterator works */
};

/* Attaches the iterator, which has been loaded; where that fails, /proc is read, whose times are
 * coarse. */
void task_lister_init(struct task_lister *ret, const struct bpf_program *iterator);
/* Accepts one that is all zero. */
void task_lister_deinit(struct task_lister *lister);

struct task_list {
	struct ebrec_task *tasks; /* by pid, then tid */
	size_t n, capacity;
};

/* lister NULL: without the iterator. The caller calls task_list_deinit(). */
struct ebt_error *task_lister_read(const struct task_lister *lister, struct task_list *ret);
void task_list_deinit(struct task_list *list);

#endif
