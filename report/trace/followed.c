/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which processes a recording followed; see followed.h. */
#include "report/trace/followed.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/array.h"
#include "report/trace/cut_lists.h"

struct followed {
	bool known, partial;
	uint32_t *pids; /* in order */
	size_t n, capacity;
};

DEFINE_CLEANUP(struct followed *, followed_destroy);

static struct ebt_error *add(struct followed *followed, uint64_t pid)
{
	struct ebt_error *err;

	if (!pid || pid > UINT32_MAX)
		return NULL;
	err = ebt_array_reserve(&followed->pids, followed->n, &followed->capacity);
	if (err)
		return err;
	followed->pids[followed->n++] = (uint32_t)pid;
	return NULL;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	struct followed *followed = arg;
	const struct ebt_task *task;

	switch (row->batch->table->id) {
	case EBT_T_process:
		task = ebt_process_task(row);
		return task ? add(followed, task->pid) : NULL;
	case EBT_T_task_fork:
		return add(followed, ebt_task_fork_child_pid(row));
	default:
		return add(followed, ebt_task_exec_pid(row));
	}
}

static struct ebt_error *read_pids(struct ebt_reader *reader, struct followed *followed)
{
	const struct ebt_want wants[] = {
		EBT_WANT(process, task),
		EBT_WANT(task_fork, child_pid),
		EBT_WANT(task_exec, pid),
	};
	const struct ebt_query query = { .wants = wants, .n_wants = 3 };

	return ebt_read_rows(reader, &query, take_row, followed);
}

struct ebt_error *followed_create(struct ebt_reader *reader, struct followed **ret)
{
	_cleanup_(followed_destroyp) struct followed *followed = calloc(1, sizeof(*followed));
	_cleanup_free_ uint32_t *pids = NULL;
	struct option_u32s part = { 0 };
	const char *kind;
	size_t n = 0;
	struct ebt_error *err;

	if (!followed)
		return &ebt_enomem;
	err = ebt_reader_meta(reader, "target.kind", &kind)
		      ?: cut_list_read(reader, CUT_PIDS, &part);
	pids = part.v;
	if (!err && part.n) { /* what else was recorded is not in this copy */
		followed->known = followed->partial = true;
		for (size_t i = 0; i < part.n && !err; i++)
			err = add(followed, part.v[i]);
	} else if (!err && kind) {
		followed->known = true;
		followed->partial = strcmp(kind, "all") != 0;
		err = read_pids(reader, followed);
	}
	if (err)
		return err;
	if (followed->n)
		qsort(followed->pids, followed->n, sizeof(*followed->pids), compare);
	for (size_t i = 0; i < followed->n; i++) {
		if (!n || followed->pids[n - 1] != followed->pids[i])
			followed->pids[n++] = followed->pids[i];
	}
	followed->n = n;
	*ret = take_ptr(followed);
	return NULL;
}

void followed_destroy(struct followed *followed)
{
	if (!followed)
		return;
	free(followed->pids);
	free(followed);
}

bool followed_has(const struct followed *followed, const struct ebt_task *task)
{
	if (!followed->known)
		return true;
	return followed->n &&
	       bsearch(&task->pid, followed->pids, followed->n, sizeof(*followed->pids), compare);
}

bool followed_is_partial(const struct followed *followed)
{
	return followed->partial;
}
