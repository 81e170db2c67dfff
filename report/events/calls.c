/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls: a track a thread, with the texts of `ebreport syscalls --trace`. */
#include "report/events/private.h"

#include "report/calls/arguments.h"

struct calls_reader {
	struct trace *trace;
	const struct event_sink *sink;
	const struct syscall_machine *machine;
	struct calls *calls;
	struct text name, detail;
};

/* "(3, "text", 4) = 4": what stands behind the name. */
static void write_detail(struct calls_reader *r, const struct call *call)
{
	const struct call_view view = {
		.machine = r->machine,
		.compat = call->compat,
		.nr = call->nr,
		.result = call->result,
		.args = call->args,
		.calls = r->calls,
		.call = call,
	};
	struct text *text = &r->detail;
	struct call_shown shown;

	call_show(&view, &shown);
	text_addc(text, '(');
	for (unsigned int i = 0; i < call_n_args(&shown); i++) {
		const size_t before = text->len;

		if (before > 1)
			text_cstr(text, ", ");
		if (!call_add_arg(&shown, i, text))
			text->len = before;
	}
	text_cstr(text, ") = ");
	call_add_result(&shown, text);
}

static void write_name(struct calls_reader *r, const struct call *call)
{
	text_clear(&r->name);
	syscall_name_add(&r->name, r->machine, call->compat, (uint32_t)call->nr);
	text_cstr(&r->name, call->compat ? "[32]" : "");
}

static struct ebt_error *give_call(struct calls_reader *r, const struct call *call)
{
	const struct event_sink *sink = r->sink;
	const uint64_t entry = call->entry ? call->entry : trace_start_ns(r->trace);
	const uint64_t start = entry < call->exit ? entry : call->exit;
	struct event event = {
		.kind = EVENT_SYSCALL,
		.time = start,
		.dur = call->exit - start,
		.value = call->result,
		.task = call->task,
		.track = event_thread_key(call->task),
		.track_name = ebt_str_of("system calls"),
		.flags = (syscall_failed(call->result) ? EVENT_FAILED : 0) |
			 (call->entry ? 0 : EVENT_OPEN),
	};
	struct ebt_error *err;

	event.notable = event.flags;
	write_name(r, call);
	text_clear(&r->detail);
	if (!sink->wants_detail || sink->wants_detail(sink->arg, &event))
		write_detail(r, call);
	err = text_error(&r->name) ?: text_error(&r->detail);
	if (err)
		return err;
	event.name = text_str(&r->name);
	event.detail = text_str(&r->detail);
	return event_give(sink, &event);
}

static struct ebt_error *give_calls(struct calls_reader *r)
{
	const struct call *call = NULL;
	struct ebt_error *err = calls_create(r->trace, r->machine, 0, &r->calls);

	while (!err) {
		err = calls_next(r->calls, &call);
		if (err || !call)
			break;
		err = give_call(r, call);
	}
	return err;
}

struct ebt_error *events_read_calls(struct trace *trace, const struct event_sink *sink)
{
	struct calls_reader r = {
		.trace = trace,
		.sink = sink,
		.name = TEXT_INIT,
		.detail = TEXT_INIT,
	};
	struct ebt_error *err;

	if (!ebt_reader_has_rows(trace_reader(trace), EBT_T_syscall))
		return NULL;
	err = calls_machine(trace, &r.machine) ?: give_calls(&r);
	calls_destroy(r.calls);
	text_deinit(&r.name);
	text_deinit(&r.detail);
	return err;
}
