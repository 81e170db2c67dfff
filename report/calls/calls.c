/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls with what belongs to them; see calls.h. Rows of a call's arguments have its time and task.
 * Which file a descriptor is depends on rows of all processes from the beginning of the trace on,
 * so these have a cursor of their own. What is not in the window of the calls, or of processes that
 * nobody asked for, are their closes: who uses a number after a close that succeeds has been given
 * a new descriptor, of which there is a row.
 */
#include "report/calls/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "report/calls/arguments.h"
#include "report/calls/recorded.h"
#include "report/calls/signature.h"

#define UNREADABLE 1
#define CUT	   2

enum effect {
	EFFECT_NONE,
	EFFECT_CLOSE,
	EFFECT_REPLACE,
	EFFECT_SOCKET,
	EFFECT_ALL,
	EFFECT_CWD,
	EFFECT_SHARED,
	EFFECT_UNSHARE,
	EFFECT_EXEC,
};

/* An argument that was recorded, of the time that is being put together. */
struct arg {
	const struct ebt_task *task;
	uint32_t arg, kind, attrs;
	size_t off, len; /* in bytes */
};

/* Execs whose calls have not returned yet; they do so at once. */
#define MAX_EXECS 64

struct exec {
	uint64_t time;
	uint32_t pid;
	struct text file, args;
};

struct calls {
	struct trace *trace;
	const struct syscall_machine *machine;
	struct trace_cursor *cursor;
	struct ebt_row row; /* the next one; batch NULL: none */
	/* What returned at one time: mostly one call. */
	struct call *list;
	size_t n, capacity, next;
	struct arg *args;
	size_t n_args, args_capacity;
	struct text bytes;
	uint64_t time;

	struct fds *fds; /* NULL: no descriptor was told */
	struct exec execs[MAX_EXECS];
	size_t n_execs; /* ever; the newest take the place of the oldest */
	struct inode_paths *paths;
	struct sockets *sockets;
	struct trace_cursor *state;
	struct ebt_row state_row;
	fd_held_fn *left; /* gets what processes leave open when they end; or NULL */
	void *left_arg;
};

void calls_destroy(struct calls *calls)
{
	if (!calls)
		return;
	trace_cursor_destroy(calls->cursor);
	trace_cursor_destroy(calls->state);
	fds_destroy(calls->fds);
	inode_paths_destroy(calls->paths);
	sockets_destroy(calls->sockets);
	text_deinit(&calls->bytes);
	for (size_t i = 0; i < MAX_EXECS; i++) {
		text_deinit(&calls->execs[i].file);
		text_deinit(&calls->execs[i].args);
	}
	free(calls->list);
	free(calls->args);
	free(calls);
}

static const uint8_t effects[N_CALLS] = {
#define EFFECT(call, effect) [CALL_##call] = EFFECT_##effect,
#include "format/calls/effects.def"
#undef EFFECT
};

static struct ebt_error *open_state(struct calls *calls)
{
	static const struct ebt_want wants[] = {
		{ EBT_T_fd, ~UINT64_C(0) },
		{ EBT_T_socket, ~UINT64_C(0) },
		EBT_WANT(task_fork, parent, child_pid, thread),
		EBT_WANT(task_exec, pid, filename, cmdline),
		EBT_WANT(task_exit, task, group_dead),
	};

	return fds_create(&calls->fds) ?:
	       sockets_create(&calls->sockets) ?:
	       inode_paths_create(calls->trace, &calls->paths) ?:
	       trace_cursor_create(calls->trace, wants, 5,
				   TRACE_ALL_TASKS | TRACE_ALL_CPUS | TRACE_FROM_START,
				   &calls->state) ?:
	       trace_next(calls->state, &calls->state_row);
}

struct ebt_error *calls_machine(struct trace *trace, const struct syscall_machine **ret)
{
	const char *name = NULL;
	struct ebt_error *err;

	err = ebt_reader_meta(trace_reader(trace), "host.machine", &name);
	if (err)
		return err;
	*ret = name ? syscall_machine(name) : NULL;
	if (name && !*ret)
		return trace_warn(trace,
				  "system calls of machine '%s' are not known here: numbers stand "
				  "for names",
				  name);
	if (!name)
		return trace_warn(trace, "the trace does not say which machine it is of: "
					 "numbers of system calls stand for names");
	return NULL;
}

struct ebt_error *calls_create(struct trace *trace, const struct syscall_machine *machine,
			       unsigned int flags, struct calls **ret)
{
	static const struct ebt_want wants[] = {
		{ EBT_T_syscall, ~UINT64_C(0) },
		{ EBT_T_syscall_arg, ~UINT64_C(0) },
	};
	_cleanup_(calls_destroyp) struct calls *calls = calloc(1, sizeof(*calls));
	struct ebt_error *err;

	if (!calls)
		return &ebt_enomem;
	calls->trace = trace;
	calls->machine = machine;
	err = trace_cursor_create(trace, wants, 2, flags, &calls->cursor)
		      ?: trace_next(calls->cursor, &calls->row);
	if (!err && trace_has_rows(trace, EBT_T_fd))
		err = open_state(calls);
	if (err)
		return err;
	*ret = take_ptr(calls);
	return NULL;
}

/* --- the calls of one time --- */

static struct ebt_error *take_call(struct calls *calls, const struct ebt_row *row)
{
	struct call *call;
	struct ebt_error *err;
	uint64_t duration = ebt_syscall_duration(row);

	err = ebt_array_reserve(&calls->list, calls->n, &calls->capacity);
	if (err)
		return err;
	call = &calls->list[calls->n++];
	*call = (struct call){
		.entry = row->time > duration ? row->time - duration : 0,
		.exit = row->time,
		.nr = ebt_syscall_nr(row),
		.result = ebt_syscall_ret(row),
		.task = ebt_syscall_task(row),
		.compat = ebt_syscall_abi(row) != EBT_V_syscall_abi_native,
	};
	for (unsigned int i = 0; i < SYSCALL_MAX_ARGS; i++)
		call->args[i] = ebt_u64(row, EBT_F_syscall_arg0 + i);
	return NULL;
}

static struct ebt_error *take_arg(struct calls *calls, const struct ebt_row *row)
{
	const uint32_t kind = (uint32_t)ebt_syscall_arg_kind(row);
	const bool is_text =
		kind == EBT_V_syscall_arg_kind_text || kind == EBT_V_syscall_arg_kind_result;
	const struct ebt_str bytes =
		is_text ? ebt_syscall_arg_text(row) : ebt_syscall_arg_data(row);
	struct ebt_error *err;

	err = ebt_array_reserve(&calls->args, calls->n_args, &calls->args_capacity);
	if (err)
		return err;
	calls->args[calls->n_args++] = (struct arg){
		.task = ebt_syscall_arg_task(row),
		.arg = (uint32_t)ebt_syscall_arg_arg(row),
		.kind = kind,
		.attrs = (uint32_t)ebt_syscall_arg_attrs(row),
		.off = calls->bytes.len,
		.len = bytes.len,
	};
	text_add(&calls->bytes, bytes.data, bytes.len);
	return text_error(&calls->bytes);
}

static void give_args(struct calls *calls)
{
	for (size_t i = 0; i < calls->n_args; i++) {
		const struct arg *arg = &calls->args[i];

		for (size_t j = 0; j < calls->n && arg->arg < SYSCALL_MAX_ARGS; j++) {
			struct call *call = &calls->list[j];

			if (!call->task || !arg->task || call->task->id != arg->task->id)
				continue;
			call->texts[arg->arg] = (struct call_text){
				.there = true,
				.kind = arg->kind,
				.unreadable = arg->attrs & UNREADABLE,
				.cut = arg->attrs & CUT,
				.bytes = { text_get(&calls->bytes) + arg->off, (uint32_t)arg->len },
			};
		}
	}
}

static struct ebt_error *take_exec(struct calls *calls, const struct ebt_row *row)
{
	struct exec *exec = &calls->execs[calls->n_execs++ % MAX_EXECS];
	const struct ebt_str file = ebt_task_exec_filename(row), args = ebt_task_exec_cmdline(row);

	exec->time = row->time;
	exec->pid = (uint32_t)ebt_task_exec_pid(row);
	text_clear(&exec->file);
	text_clear(&exec->args);
	text_add(&exec->file, file.data, file.len);
	text_add(&exec->args, args.data, args.len);
	return text_error(&exec->file) ?: text_error(&exec->args) ?: fds_exec(calls->fds, row);
}

static struct ebt_error *take_exit(struct calls *calls, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_task_exit_task(row);
	struct ebt_error *err = NULL;

	if (!ebt_task_exit_group_dead(row))
		return NULL;
	if (calls->left)
		err = fds_held_by(calls->fds, task, row->time, calls->left, calls->left_arg);
	return err ?: fds_end(calls->fds, task, row->time);
}

static void give_exec(const struct calls *calls, struct call *call)
{
	for (size_t i = 0; call->task && i < MAX_EXECS; i++) {
		const struct exec *exec = &calls->execs[i];

		if (exec->pid != call->task->pid || exec->time < call->entry ||
		    exec->time > call->exit)
			continue;
		call->exec_file = text_str(&exec->file);
		call->exec_args = text_str(&exec->args);
	}
}

static enum effect effect_of(const struct calls *calls, const struct call *call)
{
	const struct syscall_desc *desc = syscall_desc(calls->machine, call->compat, call->nr);

	return desc ? (enum effect)effects[desc->call] : EFFECT_NONE;
}

static struct ebt_error *read_state(struct calls *calls, uint64_t until)
{
	struct ebt_error *err = NULL;

	while (!err && calls->state_row.batch && calls->state_row.time <= until) {
		const struct ebt_row *row = &calls->state_row;

		switch (row->batch->table->id) {
		case EBT_T_fd:
			err = fds_told(calls->fds, row);
			break;
		case EBT_T_socket:
			err = sockets_told(calls->sockets, row);
			break;
		case EBT_T_task_fork:
			err = fds_fork(calls->fds, row);
			break;
		case EBT_T_task_exec:
			err = take_exec(calls, row);
			break;
		default:
			err = take_exit(calls, row);
		}
		if (!err)
			err = trace_next(calls->state, &calls->state_row);
	}
	return err;
}

/* Everything that returned at the time of the next row. */
static struct ebt_error *read_time(struct calls *calls)
{
	struct ebt_error *err = NULL;

	calls->n = calls->n_args = calls->next = 0;
	text_clear(&calls->bytes);
	calls->time = calls->row.time;
	while (!err && calls->row.batch && calls->row.time == calls->time) {
		err = calls->row.batch->table->id == EBT_T_syscall ? take_call(calls, &calls->row)
								   : take_arg(calls, &calls->row);
		if (!err)
			err = trace_next(calls->cursor, &calls->row);
	}
	if (!err && calls->fds)
		err = read_state(calls, calls->time);
	if (err)
		return err;
	give_args(calls);
	for (size_t i = 0; calls->fds && i < calls->n; i++) {
		if (effect_of(calls, &calls->list[i]) == EFFECT_EXEC && !calls->list[i].result)
			give_exec(calls, &calls->list[i]);
	}
	return NULL;
}

/* The row of what a call made was lost: what had its number before has gone. */
static struct ebt_error *take_result(struct calls *calls, const struct call *call)
{
	const struct call_view view = { .machine = calls->machine,
					.compat = call->compat,
					.nr = call->nr };
	struct call_shown shown;

	if (call->result < 0 || !call->task)
		return NULL;
	call_show(&view, &shown);
	if (!shown.signature || shown.signature->result != KIND_fd ||
	    fds_is_told(calls->fds, call->task, call->result, call->exit))
		return NULL;
	return fds_close(calls->fds, call->task, call->result, call->exit);
}

/* include/uapi/linux/fcntl.h, include/uapi/asm-generic/ioctls.h, include/uapi/linux/close_range.h
 */
#define SET_FLAGS	    2	   /* F_SETFD */
#define IOCTL_CLOSE_ON_EXEC 0x5451 /* FIOCLEX; FIONCLEX is one less */
#define RANGE_ON_EXEC	    4	   /* CLOSE_RANGE_CLOEXEC */

/* The call said whether exec is to close its descriptor. */
static struct ebt_error *take_flags(struct calls *calls, const struct call *call)
{
	const struct syscall_desc *desc = syscall_desc(calls->machine, call->compat, call->nr);
	const uint32_t what = (uint32_t)call->args[1];
	bool is_ioctl = desc && desc->call == CALL_ioctl, on_exec;

	if (call->result || !desc)
		return NULL;
	if ((desc->call == CALL_fcntl || desc->call == CALL_fcntl64) && what == SET_FLAGS)
		on_exec = call->args[2] & 1;
	else if (is_ioctl && (what == IOCTL_CLOSE_ON_EXEC || what == IOCTL_CLOSE_ON_EXEC - 1))
		on_exec = what == IOCTL_CLOSE_ON_EXEC;
	else
		return NULL;
	return fds_close_on_exec(calls->fds, call->task, (int32_t)call->args[0], on_exec,
				 call->exit);
}

static struct ebt_error *take_close_range(struct calls *calls, const struct call *call)
{
	const uint32_t flags = (uint32_t)call->args[2];

	/* To unshare is another way to forget. */
	if (flags & ~(uint32_t)RANGE_ON_EXEC)
		return fds_forget(calls->fds, call->task, call->exit);
	return call->result ? NULL
			    : fds_close_range(calls->fds, call->task, (uint32_t)call->args[0],
					      (uint32_t)call->args[1], flags, call->exit);
}

/* What the last call did to descriptors, after it has been looked at. */
static struct ebt_error *take_effect(struct calls *calls, const struct call *call)
{
	switch (effect_of(calls, call)) {
	case EFFECT_CLOSE:
		return call->result == -EBADF ? NULL
					      : fds_close(calls->fds, call->task,
							  (int32_t)call->args[0], call->exit);
	case EFFECT_ALL:
		return take_close_range(calls, call);
	case EFFECT_UNSHARE:
		return fds_forget(calls->fds, call->task, call->exit);
	case EFFECT_CWD:
		return call->result ? NULL : fds_close(calls->fds, call->task, FDS_CWD, call->exit);
	default:
		return take_result(calls, call) ?: take_flags(calls, call);
	}
}

struct ebt_error *calls_next(struct calls *calls, const struct call **ret)
{
	struct ebt_error *err = NULL;

	*ret = NULL;
	if (calls->fds && calls->next)
		err = take_effect(calls, &calls->list[calls->next - 1]);
	/* Arguments of calls that were lost may be all that there is of a time. */
	while (!err && calls->next == calls->n && calls->row.batch)
		err = read_time(calls);
	if (!err && calls->next < calls->n)
		*ret = &calls->list[calls->next++];
	return err;
}

/* Up to those that returned at this time. */
static struct ebt_error *read_until(struct calls *calls, uint64_t time)
{
	const struct call *call;
	struct ebt_error *err;

	do {
		err = calls_next(calls, &call);
	} while (!err && call && call->exit <= time);
	return err || !calls->fds ? err : read_state(calls, time);
}

struct ebt_error *calls_held(struct calls *calls, uint64_t time, fd_held_fn *fn, void *arg)
{
	struct ebt_error *err = read_until(calls, time);

	return err || !calls->fds ? err : fds_held(calls->fds, time, fn, arg);
}

struct ebt_error *calls_left(struct calls *calls, fd_held_fn *fn, void *arg)
{
	calls->left = fn;
	calls->left_arg = arg;
	return calls_held(calls, UINT64_MAX - 1, fn, arg);
}

const struct fd_file *call_fd_file(const struct calls *calls, const struct call *call, int64_t fd,
				   bool made)
{
	/* Who has no such descriptor may have had one. */
	if (!calls->fds || call->result == -EBADF)
		return NULL;
	if (!made && !call->entry)
		return fds_unchanged(calls->fds, call->task, fd);
	return made ? fds_at(calls->fds, call->task, fd, call->exit)
		    : fds_used(calls->fds, call->task, fd, call->entry, call->exit);
}

uint32_t calls_file_number(const struct calls *calls, const struct fd_file *file)
{
	return fds_number(calls->fds, file);
}

void calls_file_name_add(const struct calls *calls, const struct fd_file *file, uint64_t time,
			 struct text *text)
{
	if (file->type != EBT_V_fd_type_socket ||
	    !sockets_add(calls->sockets, file->key.inode, time, text))
		fd_file_name_add(file, calls->paths, text);
}

bool calls_inode_name_add(const struct calls *calls, const struct inode_key *key, struct text *text)
{
	if (!calls->paths)
		return false;
	inode_paths_add(calls->paths, key, text);
	return true;
}

bool calls_socket(const struct calls *calls, const struct fd_file *file, uint64_t time,
		  struct socket_end *ret)
{
	return file->type == EBT_V_fd_type_socket &&
	       sockets_end(calls->sockets, file->key.inode, time, ret);
}

bool calls_file_system_add(const struct calls *calls, const struct fd_file *file, struct text *text)
{
	return inode_paths_add_filesystem(calls->paths, &file->key, file->mount, text);
}

static void add_device(const struct calls *calls, const struct fd_file *file, struct text *text)
{
	_cleanup_text_ struct text device = TEXT_INIT;

	if ((file->type != EBT_V_fd_type_character && file->type != EBT_V_fd_type_block) ||
	    !inode_paths_add_device(calls->paths, &file->key, &device))
		return;
	text_cstr(text, file->type == EBT_V_fd_type_block ? "<block " : "<char ");
	text_add(text, text_get(&device), device.len);
	text_addc(text, '>');
}

bool call_fd_name_add(const struct calls *calls, const struct call *call, int64_t fd, bool made,
		      bool devices, struct text *text)
{
	const struct fd_file *file = call_fd_file(calls, call, fd, made);
	_cleanup_text_ struct text name = TEXT_INIT;

	if (!file)
		return false;
	text_addc(text, '<');
	calls_file_name_add(calls, file, made ? call->exit : call->entry, &name);
	/* A socket's has been made harmless, and has a > of its own. */
	if (file->type == EBT_V_fd_type_socket)
		text_add(text, text_get(&name), name.len);
	else
		recorded_add_name(text, text_str(&name));
	if (devices)
		add_device(calls, file, text);
	text_cstr(text, fd_file_is_deleted(file, calls->paths) ? ">(deleted)" : ">");
	return true;
}
