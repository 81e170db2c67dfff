/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel did: interrupts, timers and work items, and page faults. */
#include "report/events/private.h"

#include <inttypes.h>

#include "report/sched/model_irqs.h"
#include "report/trace/inode_paths.h"
#include "symbolize/symbolize.h"

/* Until a soft interrupt begins that was raised; less is nothing to speak of. */
#define LATE_NS 100000

struct kernel_reader {
	struct trace *trace;
	const struct event_sink *sink;
	struct irq_model *irqs;
	struct sym *sym;
	struct inode_paths *paths;
	struct text name, detail;
};

static void reader_deinit(struct kernel_reader *r)
{
	irq_model_destroy(r->irqs);
	inode_paths_destroy(r->paths);
	text_deinit(&r->name);
	text_deinit(&r->detail);
}

/* --- interrupts --- */

/* On the track of a CPU. */
static struct ebt_error *give_of_cpu(struct kernel_reader *r, struct event *event, uint64_t cpu)
{
	char name[32];

	snprintf(name, sizeof(name), "CPU %" PRIu32, (uint32_t)cpu);
	event->track = (uint32_t)cpu;
	event->track_name = ebt_str_of(name);
	return event_give(r->sink, event);
}

static struct ebt_error *irq_texts(struct kernel_reader *r, const struct ebt_row *row,
				   struct event *event)
{
	const uint64_t delay = ebt_irq_delay(row);

	text_clear(&r->name);
	text_clear(&r->detail);
	irq_model_name_add(r->irqs, (uint32_t)ebt_irq_kind(row), (uint32_t)ebt_irq_number(row),
			   &r->name);
	text_cstr(&r->detail, ebt_row_value_name(row, EBT_F_irq_kind) ?: "unknown");
	if (delay >= LATE_NS) {
		text_cstr(&r->detail, ", raised ");
		text_duration(&r->detail, delay);
		text_cstr(&r->detail, " before it began");
	}
	event->name = text_str(&r->name);
	event->detail = text_str(&r->detail);
	return text_error(&r->name) ?: text_error(&r->detail);
}

static struct ebt_error *take_irq(struct kernel_reader *r, const struct ebt_row *row)
{
	struct event event = {
		.kind = EVENT_IRQ,
		.value = event_value(ebt_irq_self(row)),
		.other = ebt_irq_task(row),
	};

	event_ended(&event, row->time, ebt_irq_duration(row));
	return irq_texts(r, row, &event) ?: give_of_cpu(r, &event, ebt_irq_cpu(row));
}

static struct ebt_error *function_name(struct kernel_reader *r, uint64_t time, uint64_t function,
				       struct event *event)
{
	struct sym_frames frames;
	struct ebt_error *err = r->sym ? NULL : trace_sym(r->trace, &r->sym);

	err = err ?: sym_resolve(r->sym, NULL, time, 0, function, false, &frames);
	if (!err)
		event->name = ebt_str_of(frames.frames[frames.n - 1].func->name);
	return err;
}

static struct ebt_error *take_timer(struct kernel_reader *r, const struct ebt_row *row)
{
	const bool high = ebt_timer_kind(row) == EBT_V_timer_kind_hrtimer;
	struct event event = {
		.kind = EVENT_IRQ,
		.value = event_value(ebt_timer_self(row)),
		.other = ebt_timer_task(row),
		.detail = ebt_str_of(high ? "hrtimer" : "timer"),
	};

	event_ended(&event, row->time, ebt_timer_duration(row));
	return function_name(r, row->time, ebt_timer_function(row), &event)
		       ?: give_of_cpu(r, &event, ebt_timer_cpu(row));
}

/* It may sleep, and so is its thread's. */
static struct ebt_error *take_work(struct kernel_reader *r, const struct ebt_row *row)
{
	struct event event = {
		.kind = EVENT_IRQ,
		.value = event_value(ebt_work_duration(row)),
		.task = ebt_work_task(row),
		.track = EVENT_WORK_TRACKS | event_thread_key(ebt_work_task(row)),
		.track_name = ebt_str_of("work items"),
		.detail = ebt_str_of("work"),
	};

	event_ended(&event, row->time, ebt_work_duration(row));
	return function_name(r, row->time, ebt_work_function(row), &event)
		       ?: event_give(r->sink, &event);
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

struct ebt_error *events_read_irqs(struct trace *trace, const struct event_sink *sink)
{
	static const struct ebt_want wants[] = {
		EBT_WANT(irq, cpu, task, kind, number, duration, self, delay),
		EBT_WANT(timer, cpu, task, function, duration, self, kind),
		EBT_WANT(work, cpu, task, function, duration),
	};
	const size_t n = sizeof(wants) / sizeof(wants[0]);
	__attribute__((cleanup(reader_deinit))) struct kernel_reader r = {
		.trace = trace,
		.sink = sink,
	};
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any |= ebt_reader_has_rows(trace_reader(trace), wants[i].table);
	if (!any)
		return NULL;
	return irq_model_create(trace, &r.irqs)
		       ?: trace_read_rows(trace, wants, n, 0, take_irq_row, &r);
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
static void write_fault(const struct kernel_reader *r, const struct ebt_row *row, struct text *text)
{
	static const char *const accesses[] = {
		[EBT_V_fault_access_not_known] = "access to ",
		[EBT_V_fault_access_read] = "read of ",
		[EBT_V_fault_access_write] = "write to ",
		[EBT_V_fault_access_execute] = "execution of ",
	};
	const uint64_t access = ebt_fault_access(row), mapping = ebt_fault_mapping(row);
	const struct inode_key key = INODE_KEY(fault, row);

	text_cstr(text, accesses[access < sizeof(accesses) / sizeof(accesses[0]) ? access : 0]);
	if (mapping == EBT_V_fault_mapping_file)
		inode_paths_add(r->paths, &key, text);
	else
		text_cstr(text, mapping_name(mapping));
	text_cstr(text, ebt_fault_user(row) ? "" : ", by the kernel");
}

static struct ebt_error *take_fault(void *arg, const struct ebt_row *row)
{
	struct kernel_reader *r = arg;
	const struct calltree_stack stack = { row->batch, ebt_fault_task(row), row->time,
					      ebt_fault_kstack_id(row), ebt_fault_ustack_id(row) };
	const bool major = ebt_fault_kind(row) == EBT_V_fault_kind_major;
	struct event event = {
		.kind = EVENT_FAULT,
		.value = (int64_t)ebt_fault_address(row),
		.task = stack.task,
		.track = event_thread_key(stack.task),
		.track_name = ebt_str_of("page faults"),
		.name = ebt_str_of(major ? "major" : "minor"),
		.notable = major,
	};
	struct ebt_error *err = NULL;

	event_ended(&event, row->time, ebt_fault_duration(row));
	text_clear(&r->detail);
	write_fault(r, row, &r->detail);
	event.detail = text_str(&r->detail);
	if (r->sink->place && (stack.kernel || stack.user))
		err = r->sink->place(r->sink->arg, &stack, &event.node);
	return err ?: text_error(&r->detail) ?: event_give(r->sink, &event);
}

struct ebt_error *events_read_faults(struct trace *trace, const struct event_sink *sink)
{
	static const struct ebt_want want =
		EBT_WANT(fault, task, kind, access, user, mapping, address, duration, inode,
			 dev_major, dev_minor, generation, kstack, ustack);
	__attribute__((cleanup(reader_deinit))) struct kernel_reader r = {
		.trace = trace,
		.sink = sink,
	};

	if (!ebt_reader_has_rows(trace_reader(trace), EBT_T_fault))
		return NULL;
	return inode_paths_create(trace, &r.paths)
		       ?: trace_read_rows(trace, &want, 1, 0, take_fault, &r);
}
