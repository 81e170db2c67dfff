/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls of a page: a track a thread, with the texts of `ebreport syscalls --trace`. */
#include "report/page/events.h"

#include "report/base/histogram.h"
#include "report/calls/arguments.h"
#include "report/page/private.h"

/* Of more calls only the slowest have a text, and those that failed. */
#define MOST_TEXTS 300000

struct calls_reader {
	struct page *page;
	struct page_events *events;
	const struct syscall_machine *machine;
	struct calls *calls;
	uint64_t details_ns;
	struct text text;
};

static struct ebt_error *count_call(void *arg, const struct ebt_row *row)
{
	return histogram_add(arg, ebt_syscall_duration(row));
}

/* From which duration on calls have a text; 0: all of them. */
static struct ebt_error *choose_details(struct page *page, uint64_t *ret)
{
	static const struct ebt_want want = EBT_WANT(syscall, duration);
	struct histogram durations = { 0 };
	struct ebt_error *err = trace_read_rows(page->trace, &want, 1, 0, count_call, &durations);

	*ret = durations.count > MOST_TEXTS ? histogram_percentile(&durations, 99) : 0;
	histogram_deinit(&durations);
	return err;
}

/* "(3, "text", 4) = 4": what stands behind the name. */
static struct ebt_error *call_text(struct calls_reader *r, const struct call *call, uint32_t *ret)
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
	struct call_shown shown;

	call_show(&view, &shown);
	text_clear(&r->text);
	text_addc(&r->text, '(');
	for (unsigned int i = 0; i < call_n_args(&shown); i++) {
		const size_t before = r->text.len;

		if (before > 1)
			text_cstr(&r->text, ", ");
		if (!call_add_arg(&shown, i, &r->text))
			r->text.len = before;
	}
	text_cstr(&r->text, ") = ");
	call_add_result(&shown, &r->text);
	return text_error(&r->text) ?: page_events_text(r->events, text_str(&r->text), ret);
}

static struct ebt_error *call_name(struct calls_reader *r, const struct call *call, uint32_t *ret)
{
	text_clear(&r->text);
	syscall_name_add(&r->text, r->machine, call->compat, (uint32_t)call->nr);
	text_cstr(&r->text, call->compat ? "[32]" : "");
	return text_error(&r->text) ?: page_events_text(r->events, text_str(&r->text), ret);
}

static struct ebt_error *put_call(struct calls_reader *r, const struct call *call)
{
	const uint64_t entry = call->entry ? call->entry : r->page->start_ns;
	const uint64_t start = entry < call->exit ? entry : call->exit;
	struct page_event event = {
		.time = start,
		.dur = call->exit - start,
		.value = call->result,
		.flags = (syscall_failed(call->result) ? EVENT_FAILED : 0) |
			 (call->entry ? 0 : EVENT_OPEN),
	};
	struct ebt_error *err;

	event.notable = event.flags || (r->details_ns && event.dur >= r->details_ns);
	err = page_events_thread_track(r->events, PAGE_SYSCALL, call->task, "system calls",
				       &event.track)
		      ?: call_name(r, call, &event.name);
	if (!err && (event.notable || !r->details_ns))
		err = call_text(r, call, &event.detail);
	return err ? err : page_events_add(r->events, PAGE_SYSCALL, &event);
}

static struct ebt_error *put_calls(struct calls_reader *r)
{
	const struct call *call = NULL;
	struct ebt_error *err = calls_create(r->page->trace, r->machine, 0, &r->calls);

	while (!err) {
		err = calls_next(r->calls, &call);
		if (err || !call)
			break;
		err = put_call(r, call);
	}
	return err;
}

struct ebt_error *page_read_calls(struct page *page, struct page_events *events)
{
	struct calls_reader r = { .page = page, .events = events, .text = TEXT_INIT };
	struct ebt_error *err;

	if (!ebt_reader_has_rows(trace_reader(page->trace), EBT_T_syscall))
		return NULL;
	err = calls_machine(page->trace, &r.machine) ?:
	      choose_details(page, &r.details_ns) ?:
	      put_calls(&r);
	page->events_said.details_ns = r.details_ns;
	calls_destroy(r.calls);
	text_deinit(&r.text);
	return err;
}
