/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who had this thread id, and when. Thread ids are used again, names change, and exec by a
 * thread gives it the id of its process: rows carry a bare tid, and this tells whose it was.
 *
 * Records of different CPUs are learnt in any order; incarnations of a tid are told
 * apart by their start times. Any function may be called by any thread.
 */
#ifndef RECORD_SIDEBAND_TASKS_H
#define RECORD_SIDEBAND_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/write/writer.h"

struct tasks;

struct ebt_error *tasks_create(struct tasks **ret);
/* Accepts NULL. */
void tasks_destroy(struct tasks *tasks);

/*
 * Learns from a wire record of task_fork, task_exec, task_exit or task_rename; other records are
 * none of its business. To be called before the record is added to a stream.
 */
struct ebt_error *tasks_observe(struct tasks *tasks, const void *record, size_t len);

/* A task that was there at time_ns. */
struct ebt_error *tasks_add(struct tasks *tasks, const struct ebt_task_id *id, uint64_t time_ns);

/* A thread of this process did something at time_ns; for those whose fork was not seen. */
struct ebt_error *tasks_hint(struct tasks *tasks, uint32_t tid, uint32_t pid, uint64_t time_ns);

/* The process, which has been added, is one that is recorded. */
void tasks_follow(struct tasks *tasks, uint32_t pid);

/* An ebt_resolve_task_fn: the argument is a struct tasks. The name is that of the time. */
void tasks_resolve(void *tasks, uint32_t tid, uint64_t time_ns, struct ebt_task_id *ret);

/* Is, or was until lately, this a process that is recorded: followed, or seen to fork or exec? */
bool tasks_know_pid(const struct tasks *tasks, uint32_t pid);

/* Forgets tasks that ended before, and names that were given up before. Bounds the memory. */
void tasks_forget_before(struct tasks *tasks, uint64_t time_ns);

/* Incarnations that are remembered: for tests, as nothing else shows what was forgotten. */
size_t tasks_count(const struct tasks *tasks);

#endif
