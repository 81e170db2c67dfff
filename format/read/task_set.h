/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tasks of a trace, each kept once: chunks name tasks in dictionaries of their own, a reader
 * gives the same object for the same task, for as long as it lives.
 */
#ifndef FORMAT_READ_TASK_SET_H
#define FORMAT_READ_TASK_SET_H

#include "format/base/arena.h"
#include "format/base/map.h"
#include "format/read/rows.h"

struct ebt_task_set {
	struct ebt_arena arena;
	const struct ebt_task **tasks;
	size_t n, capacity;
	struct ebt_map by_task;	       /* tid, pid, start and comm */
	struct ebt_map by_incarnation; /* tid and start: any task of that incarnation */
};

void ebt_task_set_init(struct ebt_task_set *set);
void ebt_task_set_deinit(struct ebt_task_set *set);

/* The task like `key`, whose id is ignored; made, with a copy of comm, where it is new. */
struct ebt_error *ebt_task_set_intern(struct ebt_task_set *set, const struct ebt_task *key,
				      const struct ebt_task **ret);

#endif
