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
#include "report/out/out.h"
#include "report/syscalls/arguments.h"
#include "report/trace/trace.h"

struct call {
	uint64_t entry, order; /* order: of return, for calls that were entered at the same time */
	uint64_t duration, nr;
	int64_t result;
	uint64_t args[SYSCALL_MAX_ARGS];
	const struct ebt_task *task;
	bool compat;
};

struct lines {
	struct report *report;
	const struct syscall_machine *machine;
	struct call *heap;
	size_t n;
	uint64_t printed, rows;
	uint64_t last_entry, late;
	struct text text, args;
};

static void lines_deinit(struct lines *l)
{
	free(l->heap);
	text_deinit(&l->text);
	text_deinit(&l->args);
}

static bool before(const struct call *a, const struct call *b)
{
	return a->entry != b->entry ? a->entry < b->entry : a->order < b->order;
}

static void heap_push(struct lines *l, const struct call *call)
{
	size_t i = l->n++;

	while (i && before(call, &l->heap[(i - 1) / 2])) {
		l->heap[i] = l->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	l->heap[i] = *call;
}

static struct call heap_pop(struct lines *l)
{
	struct call first = l->heap[0], last = l->heap[--l->n];
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

static const char *call_name(const struct lines *l, const struct call *call, char buffer[32])
{
	const struct syscall_desc *desc = syscall_desc(l->machine, call->compat, call->nr);

	if (desc)
		return desc->name;
	snprintf(buffer, 32, "syscall_%" PRIu64, call->nr);
	return buffer;
}

static void show(const struct lines *l, const struct call *call, struct call_view *view,
		 struct call_shown *ret)
{
	*view = (struct call_view){
		.machine = l->machine,
		.compat = call->compat,
		.nr = call->nr,
		.result = call->result,
		.args = call->args,
	};
	call_show(view, ret);
}

static void add_line(struct lines *l, const struct call *call)
{
	struct call_shown shown;
	struct call_view view;
	bool first = true;
	char buffer[32];

	show(l, call, &view, &shown);
	text_printf(&l->text, "[pid %5" PRIu32 "] ", call->task ? call->task->tid : 0);
	text_seconds(&l->text, call->entry, trace_start_ns(l->report->trace));
	text_addc(&l->text, ' ');
	text_cstr(&l->text, call_name(l, call, buffer));
	text_cstr(&l->text, call->compat ? "[32](" : "(");
	for (unsigned int i = 0; i < call_n_args(&shown); i++) {
		size_t before = l->text.len;

		if (!first)
			text_add(&l->text, ", ", 2);
		if (call_add_arg(&shown, i, &l->text))
			first = false;
		else
			l->text.len = before;
	}
	text_cstr(&l->text, ") = ");
	call_add_result(&shown, &l->text);
	text_cstr(&l->text, " <");
	text_seconds(&l->text, call->duration, 0);
	text_cstr(&l->text, ">\n");
}

/* --- tables --- */

#define CALLS(X)                                                                  \
	X("time_ns", "START", OUT_TIME, out_u64(call->entry))                     \
	X("tid", "TID", OUT_U64, out_tid(task))                                   \
	X("pid", "PID", OUT_U64, out_pid(task))                                   \
	X("comm", "COMM", OUT_STRING, out_comm(task))                             \
	X("name", "CALL", OUT_STRING, out_cstr(call_name(l, call, buffer)))       \
	X("abi", "ABI", OUT_STRING, out_cstr(call->compat ? "compat" : "native")) \
	X("args", "ARGS", OUT_LIST, out_str(text_str(&l->args)))                  \
	X("ret", "RESULT", OUT_SIGNED_ID, out_i64(call->result))                  \
	X("errno", "ERROR", OUT_STRING, out_cstr_if(error))                       \
	X("duration_ns", "DURATION", OUT_DURATION, out_u64(call->duration))

static const struct out_table table = OUT_TABLE_OF("rows", CALLS, .flags = OUT_STREAM);

static struct ebt_error *put_row(struct lines *l, const struct call *call)
{
	const char *error =
		syscall_failed(call->result) ? errno_name((uint64_t)-call->result) : NULL;
	const struct ebt_task *task = call->task;
	struct call_shown shown;
	struct call_view view;
	char buffer[32];

	show(l, call, &view, &shown);
	text_clear(&l->args);
	for (unsigned int i = 0; i < call_n_args(&shown); i++) {
		if (call_add_arg(&shown, i, &l->args))
			text_addc(&l->args, '\0');
	}
	return out_row(l->report->out, 0, OUT_VALUES(CALLS));
}

/* --- */

static bool is_full(const struct lines *l)
{
	return l->report->options->top && l->printed >= l->report->options->top;
}

static struct ebt_error *put_first(struct lines *l)
{
	struct call call = heap_pop(l);

	if (is_full(l))
		return NULL;
	l->printed++;
	if (call.entry < l->last_entry)
		l->late++;
	else
		l->last_entry = call.entry;
	if (out_format(l->report->out) != FORMAT_TABLE)
		return put_row(l, &call);
	text_clear(&l->text);
	add_line(l, &call);
	fwrite(text_get(&l->text), 1, l->text.len, out_file(l->report->out));
	return text_error(&l->text);
}

static void read_call(struct lines *l, const struct ebt_row *row, struct call *ret)
{
	*ret = (struct call){
		.order = l->rows++,
		.duration = ebt_syscall_duration(row),
		.nr = ebt_syscall_nr(row),
		.result = ebt_syscall_ret(row),
		.task = ebt_syscall_task(row),
		.compat = ebt_syscall_abi(row) != EBT_V_syscall_abi_native,
	};
	ret->entry = row->time > ret->duration ? row->time - ret->duration : 0;
	for (unsigned int i = 0; i < SYSCALL_MAX_ARGS; i++)
		ret->args[i] = ebt_u64(row, EBT_F_syscall_arg0 + i);
}

static struct ebt_error *put_calls(struct lines *l)
{
	static const struct ebt_want want = { EBT_T_syscall, ~UINT64_C(0) };
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	struct ebt_error *err;
	struct ebt_row row;
	struct call call;

	err = trace_cursor_create(l->report->trace, &want, 1, 0, &cursor);
	while (!err && !is_full(l)) {
		err = trace_next(cursor, &row);
		if (err || !row.batch)
			break;
		read_call(l, &row, &call);
		heap_push(l, &call);
		if (l->n == SYSCALL_TRACE_WINDOW)
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

struct ebt_error *syscall_trace(struct report *report, const struct syscall_machine *machine)
{
	__attribute__((cleanup(lines_deinit))) struct lines l = { .report = report,
								  .machine = machine };
	bool is_table = out_format(report->out) != FORMAT_TABLE;

	l.heap = malloc(SYSCALL_TRACE_WINDOW * sizeof(*l.heap));
	if (!l.heap)
		return &ebt_enomem;
	if (!is_table)
		return put_calls(&l);
	return out_begin(report->out, &table) ?: put_calls(&l) ?: out_end(report->out);
}
