/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table `task`: every thread of a trace once, and the process and parent of each. */
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/read/reader.h"
#include "report/sql/made.h"

#define NOBODY UINT32_MAX

/* By task id. */
struct sql_task {
	const struct ebt_task *task; /* as it was called last; NULL: none has this id */
	uint64_t end;		     /* 0: not seen */
	uint32_t parent;	     /* id of who forked it; NOBODY */
	uint32_t ppid;		     /* of a process that was there; 0: not known */
	uint32_t process;	     /* id of its first thread, or of the first that is known */
};

struct sql_tasks {
	struct sql_task *list;
	size_t n, capacity;
	struct sql_task **sorted; /* by pid, and then in the order in which they began */
	size_t n_sorted;
};

struct task_rows {
	const struct sql_source *source;
	const struct sql_tasks *tasks;
	size_t next, end; /* next: index + 1 of the row */
};

void sql_tasks_destroy(struct sql_tasks *tasks)
{
	if (tasks) {
		free(tasks->list);
		free(tasks->sorted);
		free(tasks);
	}
}

static struct ebt_error *see(struct sql_tasks *tasks, const struct ebt_task *task)
{
	struct ebt_error *err;

	while (task->id >= tasks->n) {
		err = ebt_array_reserve(&tasks->list, tasks->n, &tasks->capacity);
		if (err)
			return err;
		tasks->list[tasks->n++] = (struct sql_task){ .parent = NOBODY, .process = NOBODY };
	}
	tasks->list[task->id].task = task;
	return NULL;
}

/* Rows come in the order of time, and so the last name stays. */
static struct ebt_error *see_all(struct sql_tasks *tasks, const struct ebt_row *row)
{
	const struct ebt_table *table = row->batch->table;
	struct ebt_error *err = NULL;

	for (uint32_t i = 0; !err && i < table->n_fields; i++) {
		const struct ebt_task *task =
			table->fields[i].type == EBT_TYPE_TASK && row->batch->col[i]
				? ebt_task(row, i)
				: NULL;

		if (task)
			err = see(tasks, task);
	}
	return err;
}

static void note(struct sql_tasks *tasks, const struct ebt_row *row)
{
	const struct ebt_task *task, *parent;

	switch (row->batch->table->id) {
	case EBT_T_task_fork:
		task = ebt_task_fork_child(row);
		parent = ebt_task_fork_parent(row);
		if (task && parent)
			tasks->list[task->id].parent = parent->id;
		return;
	case EBT_T_task_exit:
		task = ebt_task_exit_task(row);
		if (task)
			tasks->list[task->id].end = row->time;
		return;
	case EBT_T_process:
		task = ebt_process_task(row);
		if (task)
			tasks->list[task->id].ppid = (uint32_t)ebt_process_ppid(row);
		return;
	default:
		return;
	}
}

/* Of each table the columns that are tasks; and ppid. */
static struct ebt_error *make_wants(const struct ebt_reader *reader, struct ebt_want **ret,
				    size_t *ret_n)
{
	size_t n;
	const struct ebt_table *tables = ebt_reader_tables(reader, &n);
	struct ebt_want *wants = calloc(n + 1, sizeof(*wants));

	*ret = wants;
	*ret_n = 0;
	if (!wants)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++) {
		uint64_t columns = 0;

		for (uint32_t k = 0; k < tables[i].n_fields; k++) {
			if (tables[i].fields[k].type == EBT_TYPE_TASK)
				columns |= UINT64_C(1) << k;
		}
		if (tables[i].id == EBT_T_process)
			columns |= EBT_COL(process, ppid);
		if (columns)
			wants[(*ret_n)++] = (struct ebt_want){ tables[i].id, columns };
	}
	return NULL;
}

static struct ebt_error *read_all(struct ebt_reader *reader, struct sql_tasks *tasks)
{
	_cleanup_free_ struct ebt_want *wants = NULL;
	struct ebt_query query = { .from_ns = 0 };
	struct ebt_cursor *cursor = NULL;
	struct ebt_row row = { .batch = NULL };
	struct ebt_error *err = make_wants(reader, &wants, &query.n_wants);

	query.wants = wants;
	err = err ?: ebt_cursor_create(reader, &query, &cursor);
	while (!err) {
		err = ebt_cursor_next(cursor, &row);
		if (err || !row.batch)
			break;
		err = see_all(tasks, &row);
		if (!err)
			note(tasks, &row);
	}
	ebt_cursor_destroy(cursor);
	return err;
}

/* --- processes --- */

/* The first thread of a process before the others that began with it. */
static int compare_entries(const void *a, const void *b)
{
	const struct ebt_task *x = (*(struct sql_task *const *)a)->task;
	const struct ebt_task *y = (*(struct sql_task *const *)b)->task;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if ((x->tid == x->pid) != (y->tid == y->pid))
		return x->tid == x->pid ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* A pid may be used again: a thread is of the process that began last before it. */
static struct ebt_error *find_processes(struct sql_tasks *tasks)
{
	const struct sql_task *process = NULL;

	tasks->sorted = calloc(tasks->n + 1, sizeof(struct sql_task *));
	if (!tasks->sorted)
		return &ebt_enomem;
	for (size_t i = 0; i < tasks->n; i++) {
		if (tasks->list[i].task)
			tasks->sorted[tasks->n_sorted++] = &tasks->list[i];
	}
	qsort(tasks->sorted, tasks->n_sorted, sizeof(struct sql_task *), compare_entries);
	for (size_t i = 0; i < tasks->n_sorted; i++) {
		struct sql_task *entry = tasks->sorted[i];
		const struct ebt_task *task = entry->task;

		if (!process || !task->pid || process->task->pid != task->pid ||
		    task->tid == task->pid)
			process = entry;
		entry->process = process->task->id;
	}
	return NULL;
}

/* The process that had this pid when the entry began. */
static uint32_t process_of_pid(const struct sql_tasks *tasks, const struct sql_task *entry)
{
	uint32_t found = NOBODY;
	size_t low = 0, high = tasks->n_sorted;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (tasks->sorted[middle]->task->pid < entry->ppid)
			low = middle + 1;
		else
			high = middle;
	}
	for (; entry->ppid && low < tasks->n_sorted; low++) {
		const struct ebt_task *task = tasks->sorted[low]->task;

		if (task->pid != entry->ppid ||
		    (found != NOBODY && task->start_ns > entry->task->start_ns))
			break;
		found = tasks->sorted[low]->process;
	}
	return found;
}

static struct ebt_error *make(struct sql_source *source)
{
	struct sql_tasks *tasks = calloc(1, sizeof(*tasks));
	struct ebt_error *err;

	if (!tasks)
		return &ebt_enomem;
	err = read_all(source->reader, tasks) ?: find_processes(tasks);
	if (err)
		sql_tasks_destroy(tasks);
	else
		source->tasks = tasks;
	return err;
}

/* --- rows --- */

static struct ebt_error *begin(struct sql_source *source, const struct sql_made_query *query,
			       void **ret)
{
	struct ebt_error *err = source->tasks ? NULL : make(source);
	struct task_rows *rows = err ? NULL : calloc(1, sizeof(*rows));

	if (!rows)
		return err ?: &ebt_enomem;
	rows->source = source;
	rows->tasks = source->tasks;
	rows->end = source->tasks->n;
	if (query->has_id) {
		const bool there = query->id >= 0 && (uint64_t)query->id < rows->end;

		rows->next = there ? (size_t)query->id : 0;
		rows->end = there ? rows->next + 1 : 0;
	}
	*ret = rows;
	return NULL;
}

static struct ebt_error *next(void *arg, bool *ret_more)
{
	struct task_rows *rows = arg;

	while (rows->next < rows->end && !rows->tasks->list[rows->next].task)
		rows->next++;
	*ret_more = rows->next < rows->end;
	rows->next++;
	return NULL;
}

static uint32_t parent_of(const struct sql_tasks *tasks, const struct sql_task *entry)
{
	if (entry->parent < tasks->n && tasks->list[entry->parent].task)
		return tasks->list[entry->parent].process;
	return process_of_pid(tasks, entry);
}

static void put_number(sqlite3_context *context, uint32_t v, uint32_t none)
{
	if (v != none)
		sqlite3_result_int64(context, v);
}

static void column(const void *arg, sqlite3_context *context, int i)
{
	const struct task_rows *rows = arg;
	const struct sql_task *entry = &rows->tasks->list[rows->next - 1];
	const struct ebt_task *task = entry->task;
	const uint64_t time = i == 4 ? task->start_ns : entry->end;

	if (i == 0)
		put_number(context, task->id, NOBODY);
	else if (i == 1)
		sqlite3_result_int64(context, task->tid);
	else if (i == 2)
		put_number(context, task->pid, 0);
	else if (i == 3)
		sqlite3_result_text64(context, task->comm.data ? task->comm.data : "",
				      task->comm.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	else if (i == 4 || i == 5) {
		if (time)
			sqlite3_result_int64(context, sql_made_time(rows->source, time));
	} else if (i == 6)
		put_number(context, entry->process, NOBODY);
	else
		put_number(context, parent_of(rows->tasks, entry), NOBODY);
}

const struct sql_made sql_made_tasks = {
	.name = "task",
	.columns = "task INTEGER, tid INTEGER, pid INTEGER, comm TEXT, start_ts INTEGER, "
		   "end_ts INTEGER, process INTEGER, parent INTEGER",
	.n = 8,
	.ts = -1,
	.by_id = true,
	.begin = begin,
	.next = next,
	.column = column,
	.end = free,
};
