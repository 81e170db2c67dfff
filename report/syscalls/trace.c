/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines as strace prints them. Rows come in order of return; a heap of bounded size brings them
 * into order of entry. A call that lasted longer than the heap reaches back comes out late.
 */
#include "report/syscalls/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/text.h"
#include "report/calls/arguments.h"
#include "report/out/out.h"
#include "report/trace/trace.h"

/* A call that is held back, with its arguments as text: what they need may be gone by then. */
struct held_call {
	uint64_t duration, nr;
	int64_t result;
	const struct ebt_task *task;
	bool compat;
	uint32_t args_len; /* bytes of text: arguments, each with a zero byte, */
	uint32_t len;	   /* and the result behind them */
	char text[];
};

struct entered_call {
	uint64_t time, order; /* order: of return, for calls that were entered at the same time */
	struct held_call *held;
};

struct lines {
	struct report *report;
	const struct syscall_machine *machine;
	bool as_strace;
	uint64_t realtime_ns; /* at time 0 */
	struct entered_call *heap;
	size_t n;
	uint64_t printed, rows;
	uint64_t last_entry, late;
	struct text text, args;
};

static void lines_deinit(struct lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->heap[i].held);
	free(l->heap);
	text_deinit(&l->text);
	text_deinit(&l->args);
}

static bool before(const struct entered_call *a, const struct entered_call *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static void heap_push(struct lines *l, const struct entered_call *entry)
{
	size_t i = l->n++;

	while (i && before(entry, &l->heap[(i - 1) / 2])) {
		l->heap[i] = l->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	l->heap[i] = *entry;
}

static struct entered_call heap_pop(struct lines *l)
{
	struct entered_call first = l->heap[0], last = l->heap[--l->n];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < l->n && before(&l->heap[child + 1], &l->heap[child]))
			child++;
		if (child >= l->n || !before(&l->heap[child], &last))
			break;
		l->heap[i] = l->heap[child];
		i = child;
	}
	l->heap[i] = last;
	return first;
}

/* --- one line --- */

static const char *call_name(const struct lines *l, const struct held_call *call, char buffer[32])
{
	const struct syscall_desc *desc = syscall_desc(l->machine, call->compat, call->nr);

	if (desc)
		return desc->name;
	snprintf(buffer, 32, "syscall_%" PRIu64, call->nr);
	return buffer;
}

#define RESULT_COLUMN 40 /* strace: DEFAULT_ACOLUMN */

/* As `strace -f -ttt -o FILE`. */
static void add_strace_head(struct lines *l, uint64_t time, const struct held_call *call)
{
	const uint64_t us = (l->realtime_ns + time) / 1000;

	text_printf(&l->text, "%-5" PRIu32 " %" PRIu64 ".%06" PRIu64 " ",
		    call->task ? call->task->tid : 0, us / 1000000, us % 1000000);
}

static void add_head(struct lines *l, uint64_t time, const struct held_call *call)
{
	text_printf(&l->text, "[pid %5" PRIu32 "] ", call->task ? call->task->tid : 0);
	text_seconds(&l->text, time, trace_start_ns(l->report->trace));
	text_addc(&l->text, ' ');
}

static void add_line(struct lines *l, uint64_t time, const struct held_call *call)
{
	char buffer[32];

	if (l->as_strace)
		add_strace_head(l, time, call);
	else
		add_head(l, time, call);
	text_cstr(&l->text, call_name(l, call, buffer));
	text_cstr(&l->text, call->compat && !l->as_strace ? "[32](" : "(");
	for (uint32_t at = 0; at < call->args_len;) {
		size_t len = strlen(call->text + at);

		if (at)
			text_add(&l->text, ", ", 2);
		text_add(&l->text, call->text + at, len);
		at += (uint32_t)len + 1;
	}
	text_addc(&l->text, ')');
	while (l->as_strace && l->text.len < RESULT_COLUMN - 1)
		text_addc(&l->text, ' ');
	text_cstr(&l->text, " = ");
	text_add(&l->text, call->text + call->args_len, call->len - call->args_len);
	text_cstr(&l->text, " <");
	text_seconds(&l->text, call->duration, 0);
	text_cstr(&l->text, ">\n");
}

/* --- tables --- */

#define CALLS(X)                                                                  \
	X("time_ns", "START", OUT_TIME, out_u64(time))                            \
	X("tid", "TID", OUT_U64, out_tid(task))                                   \
	X("pid", "PID", OUT_U64, out_pid(task))                                   \
	X("comm", "COMM", OUT_STRING, out_comm(task))                             \
	X("name", "CALL", OUT_STRING, out_cstr(call_name(l, call, buffer)))       \
	X("abi", "ABI", OUT_STRING, out_cstr(call->compat ? "compat" : "native")) \
	X("args", "ARGS", OUT_LIST, out_str(args))                                \
	X("ret", "RESULT", OUT_SIGNED_ID, out_i64(call->result))                  \
	X("errno", "ERROR", OUT_STRING, out_cstr_if(error))                       \
	X("duration_ns", "DURATION", OUT_DURATION, out_u64(call->duration))

static const struct out_table table = OUT_TABLE_OF("rows", CALLS, .flags = OUT_STREAM);

static struct ebt_error *put_row(struct lines *l, uint64_t time, const struct held_call *call)
{
	const char *error =
		syscall_failed(call->result) ? errno_name((uint64_t)-call->result) : NULL;
	const struct ebt_str args = { call->text, call->args_len };
	const struct ebt_task *task = call->task;
	char buffer[32];

	return out_row(l->report->out, 0, OUT_VALUES(CALLS));
}

/* --- */

static bool is_full(const struct lines *l)
{
	return l->report->options->top && l->printed >= l->report->options->top;
}

static struct ebt_error *put_held(struct lines *l, uint64_t time, const struct held_call *call)
{
	if (is_full(l))
		return NULL;
	l->printed++;
	if (time < l->last_entry)
		l->late++;
	else
		l->last_entry = time;
	if (out_format(l->report->out) != FORMAT_TABLE)
		return put_row(l, time, call);
	text_clear(&l->text);
	add_line(l, time, call);
	fwrite(text_get(&l->text), 1, l->text.len, out_file(l->report->out));
	return text_error(&l->text);
}

static struct ebt_error *put_first(struct lines *l)
{
	const struct entered_call first = heap_pop(l);
	struct ebt_error *err = put_held(l, first.time, first.held);

	free(first.held);
	return err;
}

static struct ebt_error *hold(struct lines *l, struct calls *calls, const struct call *call)
{
	const struct call_view view = {
		.machine = l->machine,
		.compat = call->compat,
		.nr = call->nr,
		.result = call->result,
		.args = call->args,
		.as_strace = l->as_strace,
		.calls = calls,
		.call = call,
	};
	struct entered_call entry = { call->entry, l->rows++, NULL };
	struct call_shown shown;
	uint32_t args_len;

	call_show(&view, &shown);
	text_clear(&l->args);
	for (unsigned int i = 0; i < call_n_args(&shown); i++) {
		if (call_add_arg(&shown, i, &l->args))
			text_addc(&l->args, '\0');
	}
	args_len = (uint32_t)l->args.len;
	call_add_result(&shown, &l->args);
	entry.held = text_error(&l->args) ? NULL : malloc(sizeof(*entry.held) + l->args.len);
	if (!entry.held)
		return &ebt_enomem;
	*entry.held = (struct held_call){
		.duration = call->exit - call->entry,
		.nr = call->nr,
		.result = call->result,
		.task = call->task,
		.compat = call->compat,
		.args_len = args_len,
		.len = (uint32_t)l->args.len,
	};
	memcpy(entry.held->text, text_get(&l->args), l->args.len);
	heap_push(l, &entry);
	return NULL;
}

static struct ebt_error *put_calls(struct lines *l)
{
	_cleanup_(calls_destroyp) struct calls *calls = NULL;
	const struct call *call;
	struct ebt_error *err;

	err = calls_create(l->report->trace, l->machine, 0, &calls);
	while (!err && !is_full(l)) {
		err = calls_next(calls, &call);
		if (err || !call)
			break;
		err = hold(l, calls, call);
		if (!err && l->n == SYSCALL_TRACE_WINDOW)
			err = put_first(l);
	}
	while (!err && l->n)
		err = put_first(l);
	if (!err && l->late)
		err = trace_warn(l->report->trace,
				 "%" PRIu64 " %s after calls that were entered later: "
				 "more than %u calls returned while %s lasted",
				 l->late, text_plural(l->late, "call stands", "calls stand"),
				 SYSCALL_TRACE_WINDOW, text_plural(l->late, "it", "they"));
	return err;
}

struct ebt_error *syscall_trace(struct report *report, const struct syscall_machine *machine,
				bool as_strace)
{
	__attribute__((cleanup(lines_deinit))) struct lines l = { .report = report,
								  .machine = machine,
								  .as_strace = as_strace };
	const struct ebt_reader_info *info = ebt_reader_info(trace_reader(report->trace));
	bool is_table = out_format(report->out) != FORMAT_TABLE;

	l.realtime_ns = info->start_realtime_ns - info->start_ns;

	l.heap = malloc(SYSCALL_TRACE_WINDOW * sizeof(*l.heap));
	if (!l.heap)
		return &ebt_enomem;
	if (!is_table)
		return put_calls(&l);
	return out_begin(report->out, &table) ?: put_calls(&l) ?: out_end(report->out);
}
