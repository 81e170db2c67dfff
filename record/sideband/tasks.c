/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Incarnations of thread ids. Each has its names, with the times from which they were its own.
 * Start times tell incarnations of one tid apart. An exit or a rename has no start time with it:
 * one that comes before its fork makes an incarnation without start, which the fork takes over.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/map.h"
#include "format/schema/wire.h"
#include "record/sideband/tasks.h"

#define COMM_LEN 16 /* TASK_COMM_LEN; kernel threads' longer names are not in task_struct */

/* A thread that renames itself in a loop costs no more than this. */
#define MAX_NAMES 64u

struct name {
	uint64_t since;
	char comm[COMM_LEN];
};

struct incarnation {
	uint32_t tid;
	uint32_t pid;	/* 0: not known */
	uint64_t start; /* 0: not known */
	uint64_t first; /* the earliest time that something was learnt of */
	uint64_t end;	/* 0: it has not ended */
	uint64_t alone; /* since when it is the last thread of its process; 0: others may live */
	bool exited;
	bool followed;
	uint16_t n_names;
	/* Most threads have one name for all their life. */
	struct name name;    /* the first */
	struct name *others; /* the later ones, n_names - 1, in order of time */
};

struct tasks {
	pthread_rwlock_t lock;
	struct incarnation *list;
	size_t n, capacity;
	struct ebt_map by_tid; /* to indices of the list */
};

struct ebt_error *tasks_create(struct tasks **ret)
{
	struct tasks *tasks = calloc(1, sizeof(*tasks));

	if (!tasks || pthread_rwlock_init(&tasks->lock, NULL)) {
		free(tasks);
		return &ebt_enomem;
	}
	*ret = tasks;
	return NULL;
}

void tasks_destroy(struct tasks *tasks)
{
	if (!tasks)
		return;
	for (size_t i = 0; i < tasks->n; i++)
		free(tasks->list[i].others);
	pthread_rwlock_destroy(&tasks->lock);
	free(tasks->list);
	ebt_map_deinit(&tasks->by_tid);
	free(tasks);
}

/* The next incarnation of the tid; NULL: there is no more. *at is 0 for the first. */
static struct incarnation *next_of(const struct tasks *tasks, uint32_t tid, size_t *at)
{
	uint32_t i = ebt_map_next(&tasks->by_tid, tid, at);

	return i == EBT_MAP_NONE ? NULL : &tasks->list[i];
}

/* NULL: no memory. It stays where it is until the next one is made. */
static struct incarnation *new_incarnation(struct tasks *tasks, uint32_t tid, uint64_t time_ns)
{
	struct incarnation *task;

	if (ebt_array_reserve(&tasks->list, tasks->n, &tasks->capacity) ||
	    ebt_map_insert(&tasks->by_tid, tid, (uint32_t)tasks->n))
		return NULL;
	task = &tasks->list[tasks->n++];
	*task = (struct incarnation){ .tid = tid, .first = time_ns };
	return task;
}

/* The last of the list takes the place. */
static void remove_incarnation(struct tasks *tasks, size_t i)
{
	const size_t last = --tasks->n;

	free(tasks->list[i].others);
	ebt_map_remove(&tasks->by_tid, tasks->list[i].tid, (uint32_t)i);
	if (i == last)
		return;
	tasks->list[i] = tasks->list[last];
	ebt_map_remove(&tasks->by_tid, tasks->list[i].tid, (uint32_t)last);
	/* There is room for as many as there were. */
	ebt_map_insert(&tasks->by_tid, tasks->list[i].tid, (uint32_t)i);
}

/* The latest incarnation of the tid that had begun by then. One without start began when first
 * seen. */
static struct incarnation *incarnation_at(const struct tasks *tasks, uint32_t tid, uint64_t time_ns)
{
	struct incarnation *best = NULL, *task;
	uint64_t best_start = 0;

	for (size_t at = 0; (task = next_of(tasks, tid, &at));) {
		uint64_t start = task->start ? task->start : task->first;

		if (start <= time_ns && (!best || start > best_start)) {
			best = task;
			best_start = start;
		}
	}
	return best;
}

/*
 * The incarnation that began at `start`; made if need be. One that was first seen without a start,
 * at a time when this one was there, is this one.
 */
static struct incarnation *incarnation_of(struct tasks *tasks, uint32_t tid, uint64_t start,
					  uint64_t time_ns)
{
	struct incarnation *nameless = NULL, *task;

	for (size_t at = 0; (task = next_of(tasks, tid, &at));) {
		if (task->start == start)
			return task;
		if (!task->start && task->first >= start &&
		    (!nameless || task->first < nameless->first))
			nameless = task;
	}
	task = nameless ? nameless : new_incarnation(tasks, tid, time_ns);
	if (task)
		task->start = start;
	return task;
}

/* For an event that has no start time with it. */
static struct incarnation *incarnation_with_event(struct tasks *tasks, uint32_t tid,
						  uint64_t time_ns)
{
	struct incarnation *task = incarnation_at(tasks, tid, time_ns);

	if (task && (!task->end || task->end >= time_ns))
		return task;
	/* Something later may have been learnt first. */
	for (size_t at = 0; (task = next_of(tasks, tid, &at));) {
		if (!task->start && task->first > time_ns) {
			task->first = time_ns;
			return task;
		}
	}
	return new_incarnation(tasks, tid, time_ns);
}

static struct name *name_at(struct incarnation *task, unsigned int i)
{
	return i ? &task->others[i - 1] : &task->name;
}

static void forget_names(struct incarnation *task, unsigned int n)
{
	if (!n)
		return;
	task->name = task->others[n - 1];
	memmove(task->others, task->others + n, (task->n_names - 1 - n) * sizeof(*task->others));
	task->n_names -= n;
	if (task->n_names == 1) {
		free(task->others);
		task->others = NULL;
	}
}

static struct ebt_error *add_name(struct incarnation *task, const char *comm, size_t len,
				  uint64_t since)
{
	struct name name = { .since = since }, *others;
	unsigned int at = task->n_names;

	if (!len)
		return NULL;
	memcpy(name.comm, comm, len < COMM_LEN - 1 ? len : COMM_LEN - 1);
	while (at && name_at(task, at - 1)->since > since)
		at--;
	if (at && !strcmp(name_at(task, at - 1)->comm, name.comm))
		return NULL;
	if (!task->n_names) {
		task->name = name;
		task->n_names = 1;
		return NULL;
	}
	if (task->n_names == MAX_NAMES) {
		forget_names(task, 1);
		at -= at ? 1 : 0;
	}
	/* Exactly as many: a thread that gets another name, by exec, seldom gets more. */
	others = realloc(task->others, task->n_names * sizeof(*others));
	if (!others)
		return &ebt_enomem;
	task->others = others;
	if (at) {
		memmove(others + at, others + at - 1, (task->n_names - at) * sizeof(*others));
		others[at - 1] = name;
	} else {
		memmove(others + 1, others, (task->n_names - 1u) * sizeof(*others));
		others[0] = task->name;
		task->name = name;
	}
	task->n_names++;
	return NULL;
}

/* The name that a record has, whose bytes may not be in it. */
static struct ebt_error *learn_name(struct incarnation *task, const void *record, size_t len,
				    struct ebt_ref comm, uint64_t since)
{
	const char *bytes = (const char *)record + comm.off;

	if (comm.off > len || comm.len > len - comm.off)
		return NULL;
	return add_name(task, bytes, strnlen(bytes, comm.len), since);
}

/* An incarnation that is followed, by what tells of its beginning. */
static struct incarnation *learn_start(struct tasks *tasks, uint32_t tid, uint32_t pid,
				       uint64_t start, uint64_t time_ns)
{
	struct incarnation *task = incarnation_of(tasks, tid, start, time_ns);

	if (task) {
		task->pid = pid;
		task->followed = true;
	}
	return task;
}

static struct ebt_error *learn_fork(struct tasks *tasks, const void *record, size_t len)
{
	struct ebt_wire_task_fork row;
	struct incarnation *task;

	memcpy(&row, record, sizeof(row));
	task = learn_start(tasks, row.child, row.child_pid, row.child_start, row.head.time);
	if (!task)
		return &ebt_enomem;
	if (row.head.time < task->first)
		task->first = row.head.time;
	return learn_name(task, record, len, row.comm, row.child_start);
}

static struct ebt_error *learn_exec(struct tasks *tasks, const void *record, size_t len)
{
	struct ebt_wire_task_exec row;
	struct incarnation *task, *old;

	memcpy(&row, record, sizeof(row));
	task = learn_start(tasks, row.task, row.pid, row.start, row.head.time);
	if (!task)
		return &ebt_enomem;
	if (row.old_tid && row.old_tid != row.task) {
		/* The caller took over id and start time of the first thread. */
		old = incarnation_at(tasks, row.old_tid, row.head.time);
		if (old && !old->end)
			old->end = row.head.time;
	}
	return learn_name(task, record, len, row.comm, row.head.time);
}

/*
 * The id of a first thread stays taken while others of its process live: one of them may even
 * take over, by exec. Of threads that end at the same time, each may say that it is the last one,
 * also while the first one is still on its way.
 */
static struct ebt_error *learn_exit(struct tasks *tasks, const void *record)
{
	struct ebt_wire_task_exit row;
	struct incarnation *task, *first;

	memcpy(&row, record, sizeof(row));
	task = incarnation_with_event(tasks, row.task, row.head.time);
	if (!task)
		return &ebt_enomem;
	task->exited = true;
	if (row.group_dead || task->pid != task->tid || task->alone)
		task->end = row.head.time > task->alone ? row.head.time : task->alone;
	if (row.group_dead && task->pid && task->pid != task->tid) {
		first = incarnation_at(tasks, task->pid, row.head.time);
		if (first && !first->end) {
			first->alone = row.head.time;
			first->end = first->exited ? row.head.time : 0;
		}
	}
	return NULL;
}

static struct ebt_error *learn_rename(struct tasks *tasks, const void *record, size_t len)
{
	struct ebt_wire_task_rename row;
	struct incarnation *task;

	memcpy(&row, record, sizeof(row));
	task = incarnation_with_event(tasks, row.task, row.head.time);
	if (!task)
		return &ebt_enomem;
	return learn_name(task, record, len, row.comm, row.head.time);
}

struct ebt_error *tasks_observe(struct tasks *tasks, const void *record, size_t len)
{
	struct ebt_wire_head head;
	struct ebt_error *err = NULL;

	if (len < sizeof(head))
		return NULL;
	memcpy(&head, record, sizeof(head));
	pthread_rwlock_wrlock(&tasks->lock);
	if (head.table == EBT_T_task_fork && len >= sizeof(struct ebt_wire_task_fork))
		err = learn_fork(tasks, record, len);
	else if (head.table == EBT_T_task_exec && len >= sizeof(struct ebt_wire_task_exec))
		err = learn_exec(tasks, record, len);
	else if (head.table == EBT_T_task_exit && len >= sizeof(struct ebt_wire_task_exit))
		err = learn_exit(tasks, record);
	else if (head.table == EBT_T_task_rename && len >= sizeof(struct ebt_wire_task_rename))
		err = learn_rename(tasks, record, len);
	pthread_rwlock_unlock(&tasks->lock);
	return err;
}

struct ebt_error *tasks_add(struct tasks *tasks, const struct ebt_task_id *id, uint64_t time_ns)
{
	struct ebt_error *err = &ebt_enomem;
	struct incarnation *task;

	pthread_rwlock_wrlock(&tasks->lock);
	task = incarnation_of(tasks, id->tid, id->start_ns, time_ns);
	if (task) {
		task->pid = id->pid;
		if (time_ns < task->first)
			task->first = time_ns;
		err = add_name(task, id->comm, strnlen(id->comm, sizeof(id->comm)), time_ns);
	}
	pthread_rwlock_unlock(&tasks->lock);
	return err;
}

struct ebt_error *tasks_hint(struct tasks *tasks, uint32_t tid, uint32_t pid, uint64_t time_ns)
{
	struct incarnation *task;

	pthread_rwlock_wrlock(&tasks->lock);
	task = incarnation_with_event(tasks, tid, time_ns);
	if (task && !task->pid)
		task->pid = pid;
	pthread_rwlock_unlock(&tasks->lock);
	return task ? NULL : &ebt_enomem;
}

void tasks_follow(struct tasks *tasks, uint32_t pid)
{
	struct incarnation *task;

	pthread_rwlock_wrlock(&tasks->lock);
	task = incarnation_at(tasks, pid, UINT64_MAX);
	if (task)
		task->followed = true;
	pthread_rwlock_unlock(&tasks->lock);
}

void tasks_resolve(void *arg, uint32_t tid, uint64_t time_ns, struct ebt_task_id *ret)
{
	struct tasks *tasks = arg;
	struct incarnation *task;
	unsigned int i;

	memset(ret, 0, sizeof(*ret));
	ret->tid = tid;
	pthread_rwlock_rdlock(&tasks->lock);
	task = incarnation_at(tasks, tid, time_ns);
	if (task) {
		ret->pid = task->pid;
		ret->start_ns = task->start;
		/* Before the first name that is known, that one is the best guess. */
		for (i = task->n_names; i > 1 && name_at(task, i - 1)->since > time_ns; i--)
			;
		if (task->n_names)
			memcpy(ret->comm, name_at(task, i - 1)->comm, COMM_LEN);
	}
	pthread_rwlock_unlock(&tasks->lock);
}

bool tasks_know_pid(const struct tasks *tasks, uint32_t pid)
{
	/* The lock is no part of what const promises. */
	pthread_rwlock_t *lock = (pthread_rwlock_t *)&tasks->lock;
	const struct incarnation *task;
	bool known = false;

	pthread_rwlock_rdlock(lock);
	for (size_t at = 0; !known && (task = next_of(tasks, pid, &at));)
		known = task->followed;
	pthread_rwlock_unlock(lock);
	return known;
}

static void forget_old_names(struct incarnation *task, uint64_t time_ns)
{
	unsigned int n = 0;

	/* A name was given up when the next one came. */
	while (n + 1 < task->n_names && name_at(task, n + 1)->since < time_ns)
		n++;
	forget_names(task, n);
}

void tasks_forget_before(struct tasks *tasks, uint64_t time_ns)
{
	pthread_rwlock_wrlock(&tasks->lock);
	for (size_t i = 0; i < tasks->n;) {
		struct incarnation *task = &tasks->list[i];

		if (task->end && task->end < time_ns) {
			remove_incarnation(tasks, i);
			continue;
		}
		forget_old_names(task, time_ns);
		i++;
	}
	pthread_rwlock_unlock(&tasks->lock);
}

size_t tasks_count(const struct tasks *tasks)
{
	pthread_rwlock_t *lock = (pthread_rwlock_t *)&tasks->lock;
	size_t n;

	pthread_rwlock_rdlock(lock);
	n = tasks->n;
	pthread_rwlock_unlock(lock);
	return n;
}
