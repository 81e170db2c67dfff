/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time off CPU to what was waited for; see wait_files.h. */
#include "report/sched/wait_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "report/base/interned.h"
#include "report/calls/object.h"

#define BEHIND_NS UINT64_C(1000000000)

/* In which call a thread was when the recording began or ended. */
struct stay {
	uint64_t time; /* 0: that is not known */
	int64_t nr;    /* -1: in none */
	bool compat;
	uint64_t args[SYSCALL_MAX_ARGS];
};

struct kept {
	struct sched_off off;
	uint32_t node;
};

struct thread {
	struct kept *list; /* since its last call */
	size_t n, capacity;
	struct stay begin, end;
};

struct wait_files {
	struct trace *trace;
	const struct syscall_machine *machine;
	struct calls *calls;
	const struct call *next; /* that has been read, but not looked at */
	struct thread *threads;	 /* by task id */
	size_t n_threads;
	size_t n_kept;	    /* of all threads */
	uint64_t n_dropped; /* there was no room to keep them */
	struct interned names;
	struct text text;
	wait_file_fn *fn;
	void *arg;
};

void wait_files_destroy(struct wait_files *waits)
{
	if (!waits)
		return;
	calls_destroy(waits->calls);
	for (size_t i = 0; i < waits->n_threads; i++)
		free(waits->threads[i].list);
	free(waits->threads);
	interned_deinit(&waits->names);
	text_deinit(&waits->text);
	free(waits);
}

static struct ebt_error *get_thread(struct wait_files *waits, const struct ebt_task *task,
				    struct thread **ret)
{
	struct ebt_error *err =
		ebt_array_reserve_zeroed(&waits->threads, task->id, &waits->n_threads);

	if (!err)
		*ret = &waits->threads[task->id];
	return err;
}

static struct ebt_error *take_stay(struct wait_files *waits, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_thread_stack_task(row);
	struct thread *thread;
	struct stay *stay;
	struct ebt_error *err;

	if (!task)
		return NULL;
	err = get_thread(waits, task, &thread);
	if (err)
		return err;
	stay = ebt_thread_stack_moment(row) == EBT_V_thread_stack_moment_end ? &thread->end
									     : &thread->begin;
	stay->time = row->time;
	stay->nr = ebt_thread_stack_call(row);
	stay->compat = ebt_thread_stack_abi(row) != EBT_V_thread_stack_abi_native;
	for (unsigned int i = 0; i < SYSCALL_MAX_ARGS; i++)
		stay->args[i] = ebt_u64(row, EBT_F_thread_stack_arg0 + i);
	return NULL;
}

static struct ebt_error *read_stays(struct wait_files *waits)
{
	const struct ebt_want want = { EBT_T_thread_stack, ~UINT64_C(0) };
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	struct ebt_row row;
	struct ebt_error *err;

	err = trace_cursor_create(waits->trace, &want, 1, TRACE_UNFILTERED | TRACE_QUIET, &cursor)
		      ?: trace_next(cursor, &row);
	while (!err && row.batch)
		err = take_stay(waits, &row) ?: trace_next(cursor, &row);
	return err;
}

struct ebt_error *wait_files_create(struct trace *trace, wait_file_fn *fn, void *arg,
				    struct wait_files **ret)
{
	static const struct ebt_str none[] = {
		[WAIT_NOT_KNOWN] = { "(not known)", 11 },
		[WAIT_PREEMPTED] = { "(preempted)", 11 },
		[WAIT_NO_CALL] = { "(no system call)", 16 },
	};
	_cleanup_(wait_files_destroyp) struct wait_files *waits = calloc(1, sizeof(*waits));
	struct ebt_error *err = NULL;
	uint32_t number;

	if (!waits)
		return &ebt_enomem;
	waits->trace = trace;
	waits->fn = fn;
	waits->arg = arg;
	for (size_t i = 0; !err && i < WAIT_FIRST_FILE; i++)
		err = interned_add(&waits->names, none[i], &number);
	if (!err)
		err = calls_machine(trace, &waits->machine) ?:
		      calls_create(trace, waits->machine, TRACE_ALL_CPUS | TRACE_TO_END,
			     &waits->calls) ?:
		      read_stays(waits);
	if (!err && !trace_has_rows(trace, EBT_T_fd))
		err = trace_warn(trace,
				 "files are not known, only system calls if they were "
				 "recorded: record with -e default,syscalls, not of syscalls:raw");
	if (err)
		return err;
	*ret = take_ptr(waits);
	return NULL;
}

static struct ebt_error *find_object(struct wait_files *waits, const struct call *call,
				     uint32_t *ret)
{
	struct ebt_error *err;

	text_clear(&waits->text);
	call_object_add(waits->calls, waits->machine, call, &waits->text);
	err = text_error(&waits->text) ?: interned_add(&waits->names, text_str(&waits->text), ret);
	if (!err && *ret == INTERNED_NONE)
		*ret = WAIT_NOT_KNOWN;
	return err;
}

/* Of a call that the recording saw one end of. entry: no later than that; 0: before the recording.
 */
static struct ebt_error *find_stay(struct wait_files *waits, const struct stay *stay,
				   const struct ebt_task *task, uint64_t entry, uint32_t *ret)
{
	struct call call = {
		.entry = entry,
		.nr = (uint64_t)stay->nr,
		.task = task,
		.compat = stay->compat,
		.result = -1,
	};

	*ret = stay->time ? WAIT_NO_CALL : WAIT_NOT_KNOWN;
	if (!stay->time || stay->nr < 0)
		return NULL;
	memcpy(call.args, stay->args, sizeof(call.args));
	return find_object(waits, &call, ret);
}

static uint64_t began(const struct sched_off *off)
{
	return off->flags & SCHED_CUT_START ? off->whole_start : off->start;
}

static void forget(struct wait_files *waits, struct thread *thread)
{
	waits->n_kept -= thread->n;
	thread->n = 0;
}

/* call: NULL where that is not known. */
static struct ebt_error *give_kept(struct wait_files *waits, struct thread *thread,
				   const struct call *call)
{
	uint32_t object = WAIT_NOT_KNOWN;
	struct ebt_error *err = NULL;

	/* Most calls do not wait. */
	if (call && thread->n)
		err = find_object(waits, call, &object);
	for (size_t i = 0; !err && i < thread->n; i++) {
		const struct kept *kept = &thread->list[i];
		bool inside = !call || began(&kept->off) >= call->entry;

		err = waits->fn(waits->arg, &kept->off, kept->node, inside ? object : WAIT_NO_CALL);
	}
	forget(waits, thread);
	return err;
}

/* *ret: that returned by then; NULL: there is no more. */
static struct ebt_error *next_call(struct wait_files *waits, uint64_t until,
				   const struct call **ret)
{
	struct ebt_error *err = waits->next ? NULL : calls_next(waits->calls, &waits->next);

	*ret = NULL;
	if (err || !waits->next || waits->next->exit > until)
		return err;
	*ret = waits->next;
	waits->next = NULL;
	return NULL;
}

static struct ebt_error *take_call(struct wait_files *waits, const struct call *call)
{
	return call->task && call->task->id < waits->n_threads
		       ? give_kept(waits, &waits->threads[call->task->id], call)
		       : NULL;
}

static struct ebt_error *read_calls(struct wait_files *waits, uint64_t until)
{
	const struct call *call;
	struct ebt_error *err = next_call(waits, until, &call);

	while (!err && call)
		err = take_call(waits, call) ?: next_call(waits, until, &call);
	return err;
}

struct ebt_error *wait_files_off(struct wait_files *waits, const struct sched_off *off,
				 uint32_t node)
{
	struct thread *thread;
	struct ebt_error *err;
	uint32_t object;

	/* Not before calls that had returned by then: what is kept belongs to a later one. */
	err = read_calls(waits, off->end) ?: get_thread(waits, off->task, &thread);
	if (err)
		return err;
	if (off->why == SCHED_RUNNABLE || off->why == SCHED_NEW)
		return waits->fn(waits->arg, off, node, WAIT_PREEMPTED);
	if ((off->flags & (SCHED_OPEN_START | SCHED_CUT_START)) == SCHED_OPEN_START) {
		err = find_stay(waits, &thread->begin, off->task, 0, &object);
		return err ?: waits->fn(waits->arg, off, node, object);
	}
	if (waits->n_kept >= WAIT_FILES_KEPT) {
		waits->n_dropped += thread->n + 1;
		err = give_kept(waits, thread, NULL);
		return err ?: waits->fn(waits->arg, off, node, WAIT_NOT_KNOWN);
	}
	err = ebt_array_reserve(&thread->list, thread->n, &thread->capacity);
	if (err)
		return err;
	thread->list[thread->n++] = (struct kept){ *off, node };
	waits->n_kept++;
	return NULL;
}

/* It made no call that returned. */
static struct ebt_error *give_rest(struct wait_files *waits, struct thread *thread)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < thread->n; i++) {
		const struct kept *kept = &thread->list[i];
		uint32_t object = WAIT_NOT_KNOWN;

		if (kept->off.flags & SCHED_OPEN_END && !trace_has_more(waits->trace))
			err = find_stay(waits, &thread->end, kept->off.task, began(&kept->off),
					&object);
		if (!err)
			err = waits->fn(waits->arg, &kept->off, kept->node, object);
	}
	forget(waits, thread);
	return err;
}

/* Waits of the window lie in calls that return behind it. Who looks at one second of many hours
 * does not want to read on to the end. */
static uint64_t until_known(const struct trace *trace)
{
	const uint64_t ns = trace_to_ns(trace) - trace_from_ns(trace);

	return trace_to_ns(trace) + (ns > BEHIND_NS ? ns : BEHIND_NS);
}

struct ebt_error *wait_files_finish(struct wait_files *waits)
{
	const uint64_t until = until_known(waits->trace);
	const struct call *call;
	struct ebt_error *err = NULL;

	while (!err && waits->n_kept) {
		err = next_call(waits, until, &call);
		if (err || !call)
			break;
		err = take_call(waits, call);
	}
	for (size_t i = 0; !err && i < waits->n_threads; i++)
		err = give_rest(waits, &waits->threads[i]);
	if (!err && waits->n_dropped)
		err = trace_warn(waits->trace,
				 "what %" PRIu64 " waits were for is not known: too many lay in "
				 "calls that lasted",
				 waits->n_dropped);
	return err;
}

struct ebt_str wait_files_name(const struct wait_files *waits, uint32_t file)
{
	return interned_get(&waits->names, file);
}
