/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel did, in a page: interrupts, timers and work items, and page faults. */
#include "report/page/events.h"

#include <inttypes.h>

#include "report/page/private.h"
#include "report/sched/model_irqs.h"
#include "report/trace/inode_paths.h"
#include "symbolize/symbolize.h"

/* Until a soft interrupt begins that was raised; less is nothing to speak of. */
#define LATE_NS	    100000

#define WORK_TRACKS (UINT64_C(1) << 63) /* keys of tracks that are no CPU's */

struct kernel_reader {
	struct page *page;
	struct page_events *events;
	struct irq_model *irqs;
	struct sym *sym;
	struct inode_paths *paths;
};

static int64_t exact(uint64_t value)
{
	return (int64_t)(value < PAGE_MOST_NS ? value : 0);
}

/* --- interrupts --- */

static struct ebt_error *cpu_track(struct kernel_reader *r, uint64_t cpu, uint32_t *ret)
{
	char name[32];

	snprintf(name, sizeof(name), "CPU %" PRIu32, (uint32_t)cpu);
	return page_events_track(r->events, PAGE_IRQ, (uint32_t)cpu, NULL,
				 (struct ebt_str){ name, strlen(name) }, ret);
}

static struct ebt_error *irq_texts(struct kernel_reader *r, const struct ebt_row *row,
				   struct page_event *event)
{
	_cleanup_text_ struct text name = TEXT_INIT, detail = TEXT_INIT;
	const uint64_t delay = ebt_irq_delay(row);

	irq_model_name_add(r->irqs, (uint32_t)ebt_irq_kind(row), (uint32_t)ebt_irq_number(row),
			   &name);
	text_cstr(&detail, page_value_name(row, EBT_F_irq_kind) ?: "unknown");
	if (delay >= LATE_NS) {
		text_cstr(&detail, ", raised ");
		text_duration(&detail, delay);
		text_cstr(&detail, " before it began");
	}
	return text_error(&name) ?:
	       text_error(&detail) ?:
	       page_events_text(r->events, text_str(&name), &event->name) ?:
	       page_events_text(r->events, text_str(&detail), &event->detail);
}

static struct ebt_error *take_irq(struct kernel_reader *r, const struct ebt_row *row)
{
	struct page_event event = { .value = exact(ebt_irq_self(row)) };
	struct ebt_error *err =
		cpu_track(r, ebt_irq_cpu(row), &event.track) ?: irq_texts(r, row, &event);

	page_event_ended(&event, row->time, ebt_irq_duration(row));
	return err ? err : page_events_add_of(r->events, PAGE_IRQ, &event, ebt_irq_task(row));
}

static struct ebt_error *function_texts(struct kernel_reader *r, uint64_t time, uint64_t function,
					const char *kind, struct page_event *event)
{
	struct sym_frames frames;
	struct ebt_error *err = r->sym ? NULL : trace_sym(r->page->trace, &r->sym);

	err = err ?: sym_resolve(r->sym, NULL, time, 0, function, false, &frames);
	return err ? err
		   : page_events_cstr(r->events, frames.frames[frames.n - 1].func->name,
				      &event->name)
			     ?: page_events_cstr(r->events, kind, &event->detail);
}

static struct ebt_error *take_timer(struct kernel_reader *r, const struct ebt_row *row)
{
	const bool high = ebt_timer_kind(row) == EBT_V_timer_kind_hrtimer;
	struct page_event event = { .value = exact(ebt_timer_self(row)) };
	struct ebt_error *err = cpu_track(r, ebt_timer_cpu(row), &event.track)
					?: function_texts(r, row->time, ebt_timer_function(row),
							  high ? "hrtimer" : "timer", &event);

	page_event_ended(&event, row->time, ebt_timer_duration(row));
	return err ? err : page_events_add_of(r->events, PAGE_IRQ, &event, ebt_timer_task(row));
}

/* It may sleep, and so is its thread's. */
static struct ebt_error *take_work(struct kernel_reader *r, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_work_task(row);
	struct page_event event = { .value = exact(ebt_work_duration(row)) };
	struct ebt_error *err =
		page_events_track(r->events, PAGE_IRQ, WORK_TRACKS | (task ? task->id + 1ull : 0),
				  task, (struct ebt_str){ "work items", 10 }, &event.track)
			?: function_texts(r, row->time, ebt_work_function(row), "work", &event);

	page_event_ended(&event, row->time, ebt_work_duration(row));
	return err ? err : page_events_add(r->events, PAGE_IRQ, &event);
}

static struct ebt_error *take_irq_row(void *arg, const struct ebt_row *row)
{
	switch (row->batch->table->id) {
	case EBT_T_irq:
		return take_irq(arg, row);
	case EBT_T_timer:
		return take_timer(arg, row);
	default:
		return take_work(arg, row);
	}
}

struct ebt_error *page_read_irqs(struct page *page, struct page_events *events)
{
	static const struct ebt_want wants[] = {
		EBT_WANT(irq, cpu, task, kind, number, duration, self, delay),
		EBT_WANT(timer, cpu, task, function, duration, self, kind),
		EBT_WANT(work, cpu, task, function, duration),
	};
	const size_t n = sizeof(wants) / sizeof(wants[0]);
	struct kernel_reader r = { .page = page, .events = events };
	bool any = false;
	struct ebt_error *err;

	for (size_t i = 0; i < n; i++)
		any |= ebt_reader_has_rows(trace_reader(page->trace), wants[i].table);
	if (!any)
		return NULL;
	err = irq_model_create(page->trace, &r.irqs)
		      ?: trace_read_rows(page->trace, wants, n, 0, take_irq_row, &r);
	irq_model_destroy(r.irqs);
	return err;
}

/* --- page faults --- */

static const char *mapping_name(uint64_t mapping)
{
	static const char *const names[] = {
		[EBT_V_fault_mapping_not_known] = "what is not known",
		[EBT_V_fault_mapping_anonymous] = "[anon]",
		[EBT_V_fault_mapping_heap] = "[heap]",
		[EBT_V_fault_mapping_stack] = "[stack]",
		[EBT_V_fault_mapping_special] = "[special]",
	};

	return names[mapping < sizeof(names) / sizeof(names[0]) ? mapping : 0];
}

/* "write to [heap]", "read of /usr/lib/libc.so.6, by the kernel": of few words, for many events. */
static struct ebt_error *fault_texts(struct kernel_reader *r, const struct ebt_row *row,
				     struct page_event *event)
{
	static const char *const accesses[] = {
		[EBT_V_fault_access_not_known] = "access to ",
		[EBT_V_fault_access_read] = "read of ",
		[EBT_V_fault_access_write] = "write to ",
		[EBT_V_fault_access_execute] = "execution of ",
	};
	const uint64_t access = ebt_fault_access(row), mapping = ebt_fault_mapping(row);
	const bool major = ebt_fault_kind(row) == EBT_V_fault_kind_major;
	const struct inode_key key = INODE_KEY(fault, row);
	_cleanup_text_ struct text text = TEXT_INIT;

	text_cstr(&text, accesses[access < sizeof(accesses) / sizeof(accesses[0]) ? access : 0]);
	if (mapping == EBT_V_fault_mapping_file)
		inode_paths_add(r->paths, &key, &text);
	else
		text_cstr(&text, mapping_name(mapping));
	text_cstr(&text, ebt_fault_user(row) ? "" : ", by the kernel");
	return text_error(&text)
		       ?: page_events_cstr(r->events, major ? "major" : "minor", &event->name)
		       ?: page_events_text(r->events, text_str(&text), &event->detail);
}

static struct ebt_error *take_fault(void *arg, const struct ebt_row *row)
{
	struct kernel_reader *r = arg;
	const struct calltree_stack stack = { row->batch, ebt_fault_task(row), row->time,
					      ebt_fault_kstack_id(row), ebt_fault_ustack_id(row) };
	const bool major = ebt_fault_kind(row) == EBT_V_fault_kind_major;
	struct page_event event = { .value = exact(ebt_fault_address(row)), .notable = major };
	struct ebt_error *err = page_events_thread_track(r->events, PAGE_FAULT, stack.task,
							 "page faults", &event.track)
					?: fault_texts(r, row, &event);

	page_event_ended(&event, row->time, ebt_fault_duration(row));
	if (!err && (stack.kernel || stack.user))
		err = calltree_place(why_graph_tree(r->page->why->graph), &stack, &event.node);
	return err ? err : page_events_add(r->events, PAGE_FAULT, &event);
}

struct ebt_error *page_read_faults(struct page *page, struct page_events *events)
{
	static const struct ebt_want want =
		EBT_WANT(fault, task, kind, access, user, mapping, address, duration, inode,
			 dev_major, dev_minor, generation, kstack, ustack);
	struct kernel_reader r = { .page = page, .events = events };
	struct ebt_error *err;

	if (!ebt_reader_has_rows(trace_reader(page->trace), EBT_T_fault))
		return NULL;
	err = inode_paths_create(page->trace, &r.paths)
		      ?: trace_read_rows(page->trace, &want, 1, 0, take_fault, &r);
	inode_paths_destroy(r.paths);
	return err;
}
