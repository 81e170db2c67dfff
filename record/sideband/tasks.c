/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lives of thread ids in a hash table by tid. Each life has its names with the times from which
 * they were its own. Start times tell lives of one tid apart; an exit or a rename carries none,
 * so one that comes before its fork makes a life without start, which the fork then takes over.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "record/sideband/tasks.h"

#define COMM_LEN 16 /* TASK_COMM_LEN; kernel threads' longer names are not in task_struct */

/* A thread that renames itself in a loop costs no more than this. */
#define MAX_NAMES     64u

#define FIRST_BUCKETS 1024u

struct name {
	uint64_t since;
	char comm[COMM_LEN];
};

struct life {
	struct life *next; /* of the same bucket */
	uint32_t tid;
	uint32_t pid;	/* 0: not known */
	uint64_t start; /* 0: not known */
	uint64_t first; /* the earliest time that something was learnt of */
	uint64_t end;	/* 0: lives */
	uint64_t exec;	/* when a thread took this life over from the first one, which had ended */
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
	struct life **buckets;
	size_t n_buckets; /* a power of two */
	size_t n_lives;
};

static size_t bucket_of(const struct tasks *tasks, uint32_t tid)
{
	return (tid * 0x9E3779B1u) & (tasks->n_buckets - 1);
}

static void life_destroy(struct life *life)
{
	free(life->others);
	free(life);
}

struct ebt_error *tasks_create(struct tasks **ret)
{
	struct tasks *tasks = calloc(1, sizeof(*tasks));

	if (!tasks)
		return &ebt_enomem;
	tasks->n_buckets = FIRST_BUCKETS;
	tasks->buckets = calloc(tasks->n_buckets, sizeof(*tasks->buckets));
	if (!tasks->buckets || pthread_rwlock_init(&tasks->lock, NULL)) {
		free(tasks->buckets);
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
	for (size_t i = 0; i < tasks->n_buckets; i++) {
		for (struct life *life = tasks->buckets[i], *next; life; life = next) {
			next = life->next;
			life_destroy(life);
		}
	}
	pthread_rwlock_destroy(&tasks->lock);
	free(tasks->buckets);
	free(tasks);
}

/* Where memory is short the table just stays as it is, and gets slower. */
static void grow(struct tasks *tasks)
{
	struct tasks larger = { .n_buckets = tasks->n_buckets * 2 };

	larger.buckets = calloc(larger.n_buckets, sizeof(*larger.buckets));
	if (!larger.buckets)
		return;
	for (size_t i = 0; i < tasks->n_buckets; i++) {
		for (struct life *life = tasks->buckets[i], *next; life; life = next) {
			struct life **head = &larger.buckets[bucket_of(&larger, life->tid)];

			next = life->next;
			life->next = *head;
			*head = life;
		}
	}
	free(tasks->buckets);
	tasks->buckets = larger.buckets;
	tasks->n_buckets = larger.n_buckets;
}

static struct life *new_life(struct tasks *tasks, uint32_t tid, uint64_t time_ns)
{
	struct life *life = calloc(1, sizeof(*life));
	struct life **head;

	if (!life)
		return NULL;
	if (tasks->n_lives >= tasks->n_buckets)
		grow(tasks);
	head = &tasks->buckets[bucket_of(tasks, tid)];
	life->tid = tid;
	life->first = time_ns;
	life->next = *head;
	*head = life;
	tasks->n_lives++;
	return life;
}

/* The latest life of the tid that had begun by then. One without start began when first seen. */
static struct life *life_at(const struct tasks *tasks, uint32_t tid, uint64_t time_ns)
{
	struct life *best = NULL;
	uint64_t best_start = 0;

	for (struct life *life = tasks->buckets[bucket_of(tasks, tid)]; life; life = life->next) {
		uint64_t start = life->start ? life->start : life->first;

		if (life->tid != tid || start > time_ns)
			continue;
		if (!best || start >= best_start) {
			best = life;
			best_start = start;
		}
	}
	return best;
}

/*
 * The life that began at `start`; made if need be. One that was first seen without a start, at a
 * time when this one was there, is this one.
 */
static struct life *life_of(struct tasks *tasks, uint32_t tid, uint64_t start, uint64_t time_ns)
{
	struct life *nameless = NULL, *life;

	for (life = tasks->buckets[bucket_of(tasks, tid)]; life; life = life->next) {
		if (life->tid != tid)
			continue;
		if (life->start == start)
			return life;
		if (!life->start && life->first >= start &&
		    (!nameless || life->first < nameless->first))
			nameless = life;
	}
	life = nameless ? nameless : new_life(tasks, tid, time_ns);
	if (life)
		life->start = start;
	return life;
}

/* For an event that has no start time with it. */
static struct life *life_with_event(struct tasks *tasks, uint32_t tid, uint64_t time_ns)
{
	struct life *life = life_at(tasks, tid, time_ns);

	if (life && (!life->end || life->end >= time_ns))
		return life;
	/* Something later may have been learnt first. */
	for (life = tasks->buckets[bucket_of(tasks, tid)]; life; life = life->next) {
		if (life->tid == tid && !life->start && life->first > time_ns) {
			life->first = time_ns;
			return life;
		}
	}
	return new_life(tasks, tid, time_ns);
}

static struct name *name_at(struct life *life, unsigned int i)
{
	return i ? &life->others[i - 1] : &life->name;
}

static void forget_names(struct life *life, unsigned int n)
{
	if (!n)
		return;
	life->name = life->others[n - 1];
	memmove(life->others, life->others + n, (life->n_names - 1 - n) * sizeof(*life->others));
	life->n_names -= n;
	if (life->n_names == 1) {
		free(life->others);
		life->others = NULL;
	}
}

static struct ebt_error *add_name(struct life *life, const char *comm, size_t len, uint64_t since)
{
	struct name name = { .since = since }, *others;
	unsigned int at = life->n_names;

	if (!len)
		return NULL;
	memcpy(name.comm, comm, len < COMM_LEN - 1 ? len : COMM_LEN - 1);
	while (at && name_at(life, at - 1)->since > since)
		at--;
	if (at && !strcmp(name_at(life, at - 1)->comm, name.comm))
		return NULL;
	if (!life->n_names) {
		life->name = name;
		life->n_names = 1;
		return NULL;
	}
	if (life->n_names == MAX_NAMES) {
		forget_names(life, 1);
		at -= at ? 1 : 0;
	}
	others = realloc(life->others, life->n_names * sizeof(*others));
	if (!others)
		return &ebt_enomem;
	life->others = others;
	if (at) {
		memmove(others + at, others + at - 1, (life->n_names - at) * sizeof(*others));
		others[at - 1] = name;
	} else {
		memmove(others + 1, others, (life->n_names - 1u) * sizeof(*others));
		others[0] = life->name;
		life->name = name;
	}
	life->n_names++;
	return NULL;
}

/* A string of a record, checked. Does not end in NUL. */
static const char *ref_bytes(const void *record, size_t len, struct ebt_ref ref, size_t *ret_len)
{
	const char *bytes = record;

	*ret_len = 0;
	if (ref.off > len || ref.len > len - ref.off)
		return "";
	*ret_len = strnlen(bytes + ref.off, ref.len);
	return bytes + ref.off;
}

static struct ebt_error *learn_fork(struct tasks *tasks, const void *record, size_t len)
{
	struct ebt_wire_task_fork row;
	struct life *life;
	const char *comm;
	size_t comm_len;

	memcpy(&row, record, sizeof(row));
	life = life_of(tasks, row.child, row.child_start, row.head.time);
	if (!life)
		return &ebt_enomem;
	life->pid = row.child_pid;
	life->followed = true;
	if (row.head.time < life->first)
		life->first = row.head.time;
	comm = ref_bytes(record, len, row.comm, &comm_len);
	return add_name(life, comm, comm_len, row.child_start);
}

static struct ebt_error *learn_exec(struct tasks *tasks, const void *record, size_t len)
{
	struct ebt_wire_task_exec row;
	struct life *life, *old;
	const char *comm;
	size_t comm_len;

	memcpy(&row, record, sizeof(row));
	life = life_of(tasks, row.task, row.start, row.head.time);
	if (!life)
		return &ebt_enomem;
	life->pid = row.pid;
	life->followed = true;
	if (row.old_tid && row.old_tid != row.task) {
		/* The caller took over id and start time of the first thread. */
		old = life_at(tasks, row.old_tid, row.head.time);
		if (old && !old->end)
			old->end = row.head.time;
	}
	comm = ref_bytes(record, len, row.comm, &comm_len);
	return add_name(life, comm, comm_len, row.head.time);
}

/*
 * The id of a first thread stays taken while others of its process live: one of them may even
 * take over, by exec. Of threads that end at the same time, each may say that it is the last one,
 * also while the first one is still on its way.
 */
static struct ebt_error *learn_exit(struct tasks *tasks, const void *record)
{
	struct ebt_wire_task_exit row;
	struct life *life, *first;

	memcpy(&row, record, sizeof(row));
	life = life_with_event(tasks, row.task, row.head.time);
	if (!life)
		return &ebt_enomem;
	life->exited = true;
	if (row.group_dead || life->pid != life->tid || life->alone)
		life->end = row.head.time > life->alone ? row.head.time : life->alone;
	if (row.group_dead && life->pid && life->pid != life->tid) {
		first = life_at(tasks, life->pid, row.head.time);
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
	struct life *life;
	const char *comm;
	size_t comm_len;

	memcpy(&row, record, sizeof(row));
	life = life_with_event(tasks, row.task, row.head.time);
	if (!life)
		return &ebt_enomem;
	comm = ref_bytes(record, len, row.comm, &comm_len);
	return add_name(life, comm, comm_len, row.head.time);
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
	struct life *life;

	pthread_rwlock_wrlock(&tasks->lock);
	life = life_of(tasks, id->tid, id->start_ns, time_ns);
	if (life) {
		life->pid = id->pid;
		if (time_ns < life->first)
			life->first = time_ns;
		err = add_name(life, id->comm, strnlen(id->comm, sizeof(id->comm)), time_ns);
	}
	pthread_rwlock_unlock(&tasks->lock);
	return err;
}

struct ebt_error *tasks_hint(struct tasks *tasks, uint32_t tid, uint32_t pid, uint64_t time_ns)
{
	struct life *life;

	pthread_rwlock_wrlock(&tasks->lock);
	life = life_with_event(tasks, tid, time_ns);
	if (life && !life->pid)
		life->pid = pid;
	pthread_rwlock_unlock(&tasks->lock);
	return life ? NULL : &ebt_enomem;
}

void tasks_follow(struct tasks *tasks, uint32_t pid)
{
	struct life *life;

	pthread_rwlock_wrlock(&tasks->lock);
	life = life_at(tasks, pid, UINT64_MAX);
	if (life)
		life->followed = true;
	pthread_rwlock_unlock(&tasks->lock);
}

void tasks_resolve(void *arg, uint32_t tid, uint64_t time_ns, struct ebt_task_id *ret)
{
	struct tasks *tasks = arg;
	struct life *life;
	unsigned int i;

	memset(ret, 0, sizeof(*ret));
	ret->tid = tid;
	pthread_rwlock_rdlock(&tasks->lock);
	life = life_at(tasks, tid, time_ns);
	if (life) {
		ret->pid = life->pid;
		ret->start_ns = life->start;
		/* Before the first name that is known, that one is the best guess. */
		for (i = life->n_names; i > 1 && name_at(life, i - 1)->since > time_ns; i--)
			;
		if (life->n_names)
			memcpy(ret->comm, name_at(life, i - 1)->comm, COMM_LEN);
	}
	pthread_rwlock_unlock(&tasks->lock);
}

bool tasks_know_pid(const struct tasks *tasks, uint32_t pid)
{
	/* The lock is no part of what const promises. */
	pthread_rwlock_t *lock = (pthread_rwlock_t *)&tasks->lock;
	bool known = false;

	pthread_rwlock_rdlock(lock);
	for (struct life *life = tasks->buckets[bucket_of(tasks, pid)]; life && !known;
	     life = life->next)
		known = life->tid == pid && life->followed;
	pthread_rwlock_unlock(lock);
	return known;
}

static void forget_old_names(struct life *life, uint64_t time_ns)
{
	unsigned int n = 0;

	/* A name was given up when the next one came. */
	while (n + 1 < life->n_names && name_at(life, n + 1)->since < time_ns)
		n++;
	forget_names(life, n);
}

void tasks_forget_before(struct tasks *tasks, uint64_t time_ns)
{
	pthread_rwlock_wrlock(&tasks->lock);
	for (size_t i = 0; i < tasks->n_buckets; i++) {
		struct life **link = &tasks->buckets[i];

		while (*link) {
			struct life *life = *link;

			if (life->end && life->end < time_ns) {
				*link = life->next;
				life_destroy(life);
				tasks->n_lives--;
				continue;
			}
			forget_old_names(life, time_ns);
			link = &life->next;
		}
	}
	pthread_rwlock_unlock(&tasks->lock);
}

size_t tasks_count(const struct tasks *tasks)
{
	pthread_rwlock_t *lock = (pthread_rwlock_t *)&tasks->lock;
	size_t n;

	pthread_rwlock_rdlock(lock);
	n = tasks->n_lives;
	pthread_rwlock_unlock(lock);
	return n;
}
