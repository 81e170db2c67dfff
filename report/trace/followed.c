/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which processes a recording followed; see followed.h. */
#include "report/trace/followed.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "format/base/search.h"
#include "report/trace/cut_lists.h"

/* /proc tells when a process began to 10 ms; no pid is given again so soon. */
#define START_APART UINT64_C(20000000)

/* One that had this pid. */
struct process {
	uint32_t pid;
	uint64_t start; /* 0: not known, it is whoever has the pid */
	uint64_t end;	/* UINT64_MAX: not known */
};

struct followed {
	bool known, partial;
	uint32_t recorder;    /* its pid; 0: not known */
	struct process *list; /* in order of pid, then start */
	size_t n, capacity;
};

DEFINE_CLEANUP(struct followed *, followed_destroy);

static struct ebt_error *add(struct followed *followed, uint64_t pid, uint64_t start)
{
	struct ebt_error *err;

	if (!pid || pid > UINT32_MAX)
		return NULL;
	err = ebt_array_reserve(&followed->list, followed->n, &followed->capacity);
	if (err)
		return err;
	followed->list[followed->n++] =
		(struct process){ .pid = (uint32_t)pid, .start = start, .end = UINT64_MAX };
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return ebt_compare(x->pid, y->pid) ?: ebt_compare(x->start, y->start);
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	struct followed *followed = arg;
	const struct ebt_task *task;

	switch (row->batch->table->id) {
	case EBT_T_process:
		task = ebt_process_task(row);
		return task ? add(followed, task->pid, task->start_ns) : NULL;
	case EBT_T_task_fork:
		return ebt_task_fork_thread(row) ? NULL
						 : add(followed, ebt_task_fork_child_pid(row),
						       ebt_task_fork_child_start(row));
	default:
		return add(followed, ebt_task_exec_pid(row), ebt_task_exec_start(row));
	}
}

/* Of rows that are in order; the last of this process counts. */
static struct ebt_error *take_end(void *arg, const struct ebt_row *row)
{
	struct followed *followed = arg;
	const struct ebt_task *task = ebt_task_exit_task(row);
	size_t i;

	if (!task || !ebt_task_exit_group_dead(row))
		return NULL;
	i = ebt_count_first(followed->n, k,
			    followed->list[k].pid < task->pid ||
				    (followed->list[k].pid == task->pid &&
				     followed->list[k].start <= row->time));
	if (i && followed->list[i - 1].pid == task->pid && followed->list[i - 1].start)
		followed->list[i - 1].end = row->time;
	return NULL;
}

static bool is_near(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) <= START_APART;
}

/* In order, and each process once. */
static void sort(struct followed *followed)
{
	size_t n = 0;

	if (followed->n)
		qsort(followed->list, followed->n, sizeof(*followed->list), compare);
	for (size_t i = 0; i < followed->n; i++) {
		const struct process *last = n ? &followed->list[n - 1] : NULL;

		if (!last || last->pid != followed->list[i].pid ||
		    !is_near(last->start, followed->list[i].start))
			followed->list[n++] = followed->list[i];
	}
	followed->n = n;
}

static struct ebt_error *read_pids(struct ebt_reader *reader, struct followed *followed)
{
	const struct ebt_want wants[] = {
		EBT_WANT(process, task),
		EBT_WANT(task_fork, child_pid, child_start, thread),
		EBT_WANT(task_exec, pid, start),
	};
	const struct ebt_want end = EBT_WANT(task_exit, task, group_dead);
	const struct ebt_query query = { .wants = wants, .n_wants = 3 };
	const struct ebt_query ends = { .wants = &end, .n_wants = 1 };
	struct ebt_error *err = ebt_read_rows(reader, &query, take_row, followed);

	if (err)
		return err;
	sort(followed);
	return ebt_read_rows(reader, &ends, take_end, followed);
}

static struct ebt_error *find_recorder(struct ebt_reader *reader, uint32_t *ret)
{
	const char *pid, *merged;
	struct ebt_error *err = ebt_reader_meta(reader, "recorder.pid", &pid)
					?: ebt_reader_meta(reader, "merge.version", &merged);

	if (!err && pid && !merged)
		*ret = (uint32_t)strtoul(pid, NULL, 10);
	return err;
}

struct ebt_error *followed_create(struct ebt_reader *reader, struct followed **ret)
{
	_cleanup_(followed_destroyp) struct followed *followed = calloc(1, sizeof(*followed));
	_cleanup_free_ uint32_t *pids = NULL;
	struct option_u32s part = { 0 };
	const char *kind;
	struct ebt_error *err;

	if (!followed)
		return &ebt_enomem;
	err = ebt_reader_meta(reader, "target.kind", &kind)
		      ?: find_recorder(reader, &followed->recorder)
		      ?: cut_list_read(reader, CUT_PIDS, &part);
	pids = part.v;
	if (!err && part.n) { /* what else was recorded is not in this copy */
		followed->known = followed->partial = true;
		for (size_t i = 0; i < part.n && !err; i++)
			err = add(followed, part.v[i], 0);
		sort(followed);
	} else if (!err && kind) {
		followed->known = true;
		followed->partial = strcmp(kind, "all") != 0;
		err = read_pids(reader, followed);
	}
	if (err)
		return err;
	*ret = take_ptr(followed);
	return NULL;
}

void followed_destroy(struct followed *followed)
{
	if (!followed)
		return;
	free(followed->list);
	free(followed);
}

/* A thread began in the life of its process. */
static bool is_of(const struct ebt_task *task, const struct process *process)
{
	if (!task->start_ns || !process->start || is_near(task->start_ns, process->start))
		return true;
	return task->tid != task->pid && task->start_ns > process->start &&
	       task->start_ns <= process->end;
}

bool followed_has(const struct followed *followed, const struct ebt_task *task)
{
	size_t i;

	if (!followed->known)
		return true;
	i = ebt_count_first(followed->n, k, followed->list[k].pid < task->pid);
	for (; i < followed->n && followed->list[i].pid == task->pid; i++) {
		if (is_of(task, &followed->list[i]))
			return true;
	}
	return false;
}

bool followed_is_recorder(const struct followed *followed, const struct ebt_task *task)
{
	return followed->recorder && task->pid == followed->recorder;
}

bool followed_is_partial(const struct followed *followed)
{
	return followed->partial;
}

static bool follows(const struct followed *followed, const struct process *process)
{
	size_t i = ebt_count_first(followed->n, k, followed->list[k].pid < process->pid);

	for (; i < followed->n && followed->list[i].pid == process->pid; i++) {
		const uint64_t start = followed->list[i].start;

		if (!start || !process->start || is_near(start, process->start))
			return true;
	}
	return false;
}

bool followed_meet(const struct followed *a, const struct followed *b)
{
	if (!a->partial || !b->partial)
		return true;
	for (size_t i = 0; i < a->n; i++) {
		if (follows(b, &a->list[i]))
			return true;
	}
	return false;
}
