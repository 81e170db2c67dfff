/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Execs; see execs.h. Those that succeeded have rows of their own, whatever else was recorded.
 * Calls tell which did not, and, with what their arguments meant, the working directory.
 */
#include "report/procs/execs.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "report/base/interned.h"
#include "report/calls/object.h"
#include "report/out/out.h"

struct failed_exec {
	uint64_t time;
	const struct ebt_task *task;
	uint32_t error, file, cwd; /* INTERNED_NONE: not known */
};

/* Where one that succeeded was begun; the call returned then. */
struct begun_exec {
	uint64_t time;
	uint32_t pid, cwd;
};

struct execs {
	const struct proc_view *view;
	struct calls *calls;
	const struct syscall_machine *machine;
	struct failed_exec *failed;
	size_t n_failed, failed_capacity, next_failed;
	struct begun_exec *begun; /* in order of pid and time, once all are known */
	size_t n_begun, begun_capacity;
	struct interned names;
	struct text text;
};

static void execs_deinit(struct execs *e)
{
	calls_destroy(e->calls);
	free(e->failed);
	free(e->begun);
	interned_deinit(&e->names);
	text_deinit(&e->text);
}

/* --- calls --- */

static struct ebt_error *intern_text(struct execs *e, uint32_t *ret)
{
	return text_error(&e->text) ?: interned_add(&e->names, text_str(&e->text), ret);
}

static struct ebt_error *find_cwd(struct execs *e, const struct call *call, uint32_t *ret)
{
	const struct fd_file *cwd = call_fd_file(e->calls, call, FDS_CWD, false);

	*ret = INTERNED_NONE;
	if (!cwd)
		return NULL;
	text_clear(&e->text);
	calls_file_name_add(e->calls, cwd, call->entry, &e->text);
	return intern_text(e, ret);
}

static struct ebt_error *take_failed(struct execs *e, const struct call *call,
				     const struct call_shown *shown)
{
	struct failed_exec failed = {
		.time = call->exit,
		.task = call->task,
		.error = (uint32_t)-call->result,
		.file = INTERNED_NONE,
	};
	const unsigned int path = shown->desc->call == CALL_execveat;
	struct ebt_error *err = find_cwd(e, call, &failed.cwd);

	text_clear(&e->text);
	if (!err && call_path_add(e->calls, call, shown->signature, path, &e->text))
		err = intern_text(e, &failed.file);
	if (!err)
		err = ebt_array_reserve(&e->failed, e->n_failed, &e->failed_capacity);
	if (!err)
		e->failed[e->n_failed++] = failed;
	return err;
}

static struct ebt_error *take_begun(struct execs *e, const struct call *call)
{
	struct begun_exec begun = { .time = call->exit, .pid = call->task->pid };
	struct ebt_error *err = find_cwd(e, call, &begun.cwd);

	if (err || begun.cwd == INTERNED_NONE)
		return err;
	err = ebt_array_reserve(&e->begun, e->n_begun, &e->begun_capacity);
	if (!err)
		e->begun[e->n_begun++] = begun;
	return err;
}

static struct ebt_error *take_call(struct execs *e, const struct call *call)
{
	const struct call_view view = { .machine = e->machine,
					.compat = call->compat,
					.nr = call->nr };
	struct call_shown shown;

	call_show(&view, &shown);
	if (!call->task || !shown.desc ||
	    (shown.desc->call != CALL_execve && shown.desc->call != CALL_execveat))
		return NULL;
	return syscall_failed(call->result) ? take_failed(e, call, &shown) : take_begun(e, call);
}

static int compare_begun(const void *a, const void *b)
{
	const struct begun_exec *x = a, *y = b;

	return ebt_compare(x->pid, y->pid) ?: ebt_compare(x->time, y->time);
}

static struct ebt_error *read_calls(struct execs *e)
{
	struct trace *trace = e->view->trace;
	const struct call *call;
	struct ebt_error *err;

	err = calls_machine(trace, &e->machine)
		      ?: calls_create(trace, e->machine, TRACE_QUIET, &e->calls)
		      ?: calls_next(e->calls, &call);
	while (!err && call)
		err = take_call(e, call) ?: calls_next(e->calls, &call);
	if (!err && e->n_begun)
		qsort(e->begun, e->n_begun, sizeof(*e->begun), compare_begun);
	return err;
}

/* --- the table --- */

/* The call that made a program run returned next. */
static uint32_t cwd_of(const struct execs *e, uint32_t pid, uint64_t time)
{
	const struct begun_exec wanted = { .time = time, .pid = pid };
	size_t from = 0, to = e->n_begun;

	while (from < to) {
		const size_t middle = from + (to - from) / 2;

		if (compare_begun(&e->begun[middle], &wanted) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from < e->n_begun && e->begun[from].pid == pid ? e->begun[from].cwd : INTERNED_NONE;
}

struct exec_row {
	uint64_t time;
	const struct ebt_task *task;
	uint64_t pid;
	struct ebt_str comm, file, args;
	const char *error; /* NULL: it succeeded */
	uint32_t cwd;
};

static struct out_value name_value(const struct execs *e, uint32_t name)
{
	return name == INTERNED_NONE ? out_null() : out_str(interned_get(&e->names, name));
}

static struct out_value list_value(struct ebt_str list)
{
	return list.len ? out_str(list) : out_null();
}

#define EXECS(X)                                                                  \
	X("time_ns", "TIME", OUT_TIME, out_u64(row->time))                        \
	X("pid", "PID", OUT_U64, out_u64(row->pid))                               \
	X("comm", "COMM", OUT_STRING, out_str(row->comm))                         \
	X("ppid", "PPID", OUT_U64, out_u64_if(by && by->ppid, by ? by->ppid : 0)) \
	X("parent_comm", "BY", OUT_STRING, list_value(parent))                    \
	X("error", "ERROR", OUT_STRING, out_cstr_if(row->error))                  \
	X("cwd", "CWD", OUT_STRING, name_value(e, row->cwd), OUT_FLEX)            \
	X("file", "FILE", OUT_STRING, list_value(row->file), OUT_FLEX)            \
	X("args", "COMMAND", OUT_LIST, list_value(row->args), OUT_FLEX)

static const struct out_table execs_table = OUT_TABLE_OF("rows", EXECS, .flags = OUT_KEEP_ORDER);

static struct ebt_error *put_row(const struct execs *e, const struct exec_row *row)
{
	const struct proc_view *v = e->view;
	size_t n;
	const struct proc *all = procs_all(v->procs, &n);
	const uint32_t i = row->task ? procs_of(v->procs, row->task) : PROC_NONE;
	const struct proc *by = i == PROC_NONE ? NULL : &all[i];
	struct ebt_str parent = { "", 0 };

	if (by && by->parent != PROC_NONE)
		parent = proc_view_comm(v, &all[by->parent]);
	return out_row(v->out, 0, OUT_VALUES(EXECS));
}

static struct ebt_error *put_failed(struct execs *e, uint64_t until)
{
	struct ebt_error *err = NULL;

	while (!err && e->next_failed < e->n_failed && e->failed[e->next_failed].time <= until) {
		const struct failed_exec *failed = &e->failed[e->next_failed++];
		struct exec_row row = {
			.time = failed->time,
			.task = failed->task,
			.pid = failed->task->pid,
			.comm = failed->task->comm,
			.error = errno_name(failed->error),
			.cwd = failed->cwd,
		};

		if (failed->file != INTERNED_NONE)
			row.file = interned_get(&e->names, failed->file);
		if (!row.error)
			row.error = "error";
		err = put_row(e, &row);
	}
	return err;
}

static struct ebt_error *put_exec(const struct execs *e, const struct ebt_row *in)
{
	const struct exec_row row = {
		.time = in->time,
		.task = ebt_task_exec_task(in),
		.pid = ebt_task_exec_pid(in),
		.comm = ebt_task_exec_comm(in),
		.file = ebt_task_exec_filename(in),
		.args = ebt_task_exec_cmdline(in),
		.cwd = cwd_of(e, (uint32_t)ebt_task_exec_pid(in), in->time),
	};

	return put_row(e, &row);
}

static struct ebt_error *put_all(struct execs *e)
{
	static const struct ebt_want want = { EBT_T_task_exec, ~UINT64_C(0) };
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	struct ebt_row row;
	struct ebt_error *err;

	err = trace_cursor_create(e->view->trace, &want, 1, 0, &cursor) ?: trace_next(cursor, &row);
	while (!err && row.batch)
		err = put_failed(e, row.time) ?: put_exec(e, &row) ?: trace_next(cursor, &row);
	return err ?: put_failed(e, UINT64_MAX);
}

struct ebt_error *proc_view_execs(const struct proc_view *v)
{
	__attribute__((cleanup(execs_deinit))) struct execs e = { .view = v };
	struct ebt_error *err = NULL;

	if (trace_has_rows(v->trace, EBT_T_syscall))
		err = read_calls(&e);
	return err ?: out_begin(v->out, &execs_table) ?: put_all(&e) ?: out_end(v->out);
}
