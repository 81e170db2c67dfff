/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A capture for Sysprof: processes, samples, marks, counters and lines of logs. A function at a
 * place is an address of its own with a name, so that inlined functions have frames. Marks have no
 * stacks and no threads there: what a mark is of stands in its message.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/map.h"
#include "report/base/text.h"
#include "report/export/export.h"
#include "report/export/syscap.h"
#include "report/export/threads.h"
#include "report/procs/model_procs.h"

#define MOST_COUNTERS ((1u << 24) - 1)
#define NO_NUMBER     (-1)

struct sysprof {
	struct export *e;
	struct syscap file;
	struct procs *procs;
	struct ebt_map by_process; /* to its number */
	struct export_numbers numbers;
	bool idle;   /* is told of */
	bool *named; /* functions that are in the file, by the number of name_function() */
	size_t n_named;
	uint64_t *stack;
	size_t stack_capacity;
	uint32_t n_counters;
	struct text message, name;
	uint64_t without_stack, cut_stacks, counters_left_out;
};

static struct ebt_error *state_of(const struct sysprof *s)
{
	return syscap_error(&s->file) ?: text_error(&s->message) ?: text_error(&s->name);
}

/* --- processes --- */

/* NULL: nothing is known of it. */
static const struct proc *proc_of(const struct sysprof *s, const struct ebt_task *task)
{
	const uint32_t i = procs_of(s->procs, task);
	size_t n;

	return i == PROC_NONE ? NULL : &procs_all(s->procs, &n)[i];
}

/* Arguments with blanks between them; of one without any its name. */
static struct ebt_str cmdline_of(struct sysprof *s, const struct ebt_task *task,
				 const struct proc *proc)
{
	struct ebt_str cmdline =
		proc ? procs_text(s->procs, proc->cmdline) : (struct ebt_str){ NULL, 0 };

	while (cmdline.len && !cmdline.data[cmdline.len - 1])
		cmdline.len--;
	if (!cmdline.len)
		return text_comm(names_process(s->e->names, task));
	text_clear(&s->message);
	for (size_t i = 0; i < cmdline.len; i++)
		text_addc(&s->message, cmdline.data[i] ? cmdline.data[i] : ' ');
	return text_str(&s->message);
}

static struct ebt_error *add_process(struct sysprof *s, const struct ebt_task *task, uint64_t key,
				     uint32_t *ret)
{
	const uint32_t wanted = task->pid ? task->pid : task->tid;
	const uint64_t from = trace_from_ns(s->e->trace);
	const struct proc *proc = proc_of(s, task);
	struct syscap_when when = { from, NO_NUMBER, 0 };
	struct ebt_error *err;
	uint32_t was;

	/* 0 is the idle thread. */
	err = export_number(&s->numbers, 0, wanted ? wanted : EXPORT_OWN_NUMBERS, ret)
		      ?: ebt_map_add(&s->by_process, key, *ret, &was);
	if (err)
		return err;
	when.pid = (int32_t)*ret;
	if (proc && proc->start_ns > from)
		when.time = proc->start_ns;
	syscap_put_process(&s->file, when, cmdline_of(s, task, proc));
	if (proc && proc->ended) {
		when.time = proc->end_ns > from ? proc->end_ns : from;
		syscap_put_exit(&s->file, when);
	}
	return state_of(s);
}

/* task NULL: an idle CPU, or nobody. */
static struct ebt_error *find_process(struct sysprof *s, const struct ebt_task *task, int32_t *ret)
{
	const uint64_t key = task ? names_process_key(s->e->names, task) : 0;
	struct ebt_error *err = NULL;
	uint32_t number = 0;

	if (task && !ebt_map_find(&s->by_process, key, &number))
		err = add_process(s, task, key, &number);
	*ret = task ? (int32_t)number : NO_NUMBER;
	return err;
}

static struct ebt_error *put_processes(struct sysprof *s)
{
	struct ebt_error *err = procs_create(s->e->trace, TRACE_QUIET, &s->procs);
	const struct proc *all = NULL;
	size_t n = 0;
	int32_t pid;

	if (!err)
		all = procs_all(s->procs, &n);
	for (size_t i = 0; !err && i < n; i++) {
		if (procs_wanted(s->procs, s->e->trace, &all[i]))
			err = find_process(s, all[i].task, &pid);
	}
	return err;
}

/* --- samples --- */

/* number: 0 is the frame of samples without any, those of funcs of the tree follow. */
static struct ebt_error *name_function(struct sysprof *s, uint32_t number, uint64_t *ret)
{
	uint32_t n;
	const struct calltree_func *funcs = calltree_funcs(s->e->tree, &n);
	struct ebt_error *err = ebt_array_reserve_zeroed(&s->named, number, &s->n_named);

	*ret = SYSCAP_FUNCTIONS + 1 + number;
	if (err || s->named[number])
		return err;
	s->named[number] = true;
	syscap_put_function(&s->file, *ret,
			    ebt_str_of(number ? funcs[number - 1].name : CALLTREE_NO_FRAMES));
	return state_of(s);
}

static struct ebt_error *make_stack(struct sysprof *s, uint32_t node, size_t *ret_n)
{
	uint32_t n_nodes;
	const struct calltree_node *nodes = calltree_nodes(s->e->tree, &n_nodes);
	struct ebt_error *err = NULL;
	size_t n = 0;

	do {
		const uint32_t number = node ? nodes[node].func + 1 : 0;

		if (n == SYSCAP_MOST_ADDRESSES) {
			s->cut_stacks++;
			break;
		}
		err = ebt_array_reserve(&s->stack, n, &s->stack_capacity)
			      ?: name_function(s, number, &s->stack[n]);
		n++;
		node = node ? nodes[node].parent : 0;
	} while (!err && node);
	*ret_n = n;
	return err;
}

static struct ebt_error *take_sample(void *arg, const struct export_sample *sample)
{
	const struct ebt_task *task = sample->task;
	struct sysprof *s = arg;
	struct syscap_when when = { sample->time, (int32_t)sample->cpu, 0 };
	struct ebt_error *err = NULL;
	size_t n;

	if (task) {
		err = find_process(s, task, &when.pid);
	} else if (!s->idle) {
		s->idle = true;
		syscap_put_process(&s->file,
				   (struct syscap_when){ trace_from_ns(s->e->trace), NO_NUMBER, 0 },
				   ebt_str_of("idle"));
	}
	err = err ?: make_stack(s, sample->node, &n);
	if (err)
		return err;
	syscap_put_sample(&s->file, when, task ? task->tid : 0, s->stack, n);
	return state_of(s);
}

/* --- marks --- */

static void add_part(struct sysprof *s, const char *what)
{
	text_printf(&s->message, "%s%s", s->message.len ? ", " : "", what);
}

static void add_task(struct sysprof *s, const char *what, const struct ebt_task *task)
{
	add_part(s, what);
	text_task(&s->message, names_task(s->e->names, task), task->tid);
}

static void begin_message(struct sysprof *s, const struct ebt_task *task)
{
	text_clear(&s->message);
	if (task)
		add_task(s, "", task);
}

/* What a name has no room for stands in the message. */
static struct ebt_error *put_mark(struct sysprof *s, struct syscap_when when, uint64_t duration,
				  struct ebt_str group, struct ebt_str name)
{
	if (group.len >= SYSCAP_GROUP || name.len >= SYSCAP_MARK) {
		add_part(s, "");
		text_add(&s->message, group.data, group.len);
		text_cstr(&s->message, ": ");
		text_add(&s->message, name.data, name.len);
	}
	syscap_put_mark(&s->file, when, duration, group, name, text_str(&s->message));
	return state_of(s);
}

static struct ebt_error *take_off(void *arg, const struct sched_off *off, uint32_t node)
{
	struct sysprof *s = arg;
	struct syscap_when when = { off->start, NO_NUMBER, NO_NUMBER };
	struct ebt_error *err = find_process(s, off->task, &when.pid);

	if (err)
		return err;
	s->without_stack += node != 0;
	begin_message(s, off->task);
	if (off->runnable) {
		add_part(s, "");
		text_duration(&s->message, off->end - off->runnable);
		text_cstr(&s->message, " on a run queue");
	}
	if (off->woken && off->waker)
		add_task(s, "woken by ", off->waker);
	else if (off->woken)
		add_part(s, "woken by an interrupt");
	if (sched_is_open(off->flags))
		add_part(s, "open");
	if (off->flags & SCHED_DOUBTFUL)
		add_part(s, "doubtful");
	return put_mark(s, when, off->end - off->start, ebt_str_of("off CPU"),
			ebt_str_of(sched_why_name(off->why)));
}

/* As GLib tells the journal, and backwards. */
static uint16_t severity_of(int64_t severity)
{
	static const uint8_t bits[] = { 2, 2, 2, 2, 4, 5, 6, 7 };

	return severity >= 0 && severity < (int64_t)sizeof(bits) ? (uint16_t)(1u << bits[severity])
								 : 0;
}

static struct ebt_error *take_line(struct sysprof *s, const struct event *event)
{
	struct syscap_when when = { event->time, NO_NUMBER, NO_NUMBER };
	struct ebt_error *err = find_process(s, event->task, &when.pid);

	if (err)
		return err;
	syscap_put_log(&s->file, when, severity_of(event->value), event->track_name, event->detail);
	return state_of(s);
}

/* What events of a kind are below: marks have groups of their own, and what is of no thread is
 * below the disk or bus that it is of. */
static struct ebt_str group_of(struct sysprof *s, const struct event *event)
{
	const enum event_kind kind = event->kind;

	if (kind == EVENT_MARK)
		return event->track_name;
	if (kind != EVENT_BLOCK && kind != EVENT_DBUS)
		return ebt_str_of(event_kinds[kind].name);
	text_clear(&s->name);
	text_printf(&s->name, "%s ", event_kinds[kind].name);
	text_add(&s->name, event->track_name.data, event->track_name.len);
	return text_str(&s->name);
}

static void add_value(struct sysprof *s, const struct event *event)
{
	const char *what = event_kinds[event->kind].value;

	/* Details of these have it. */
	if (!what || event->kind == EVENT_SYSCALL || event->kind == EVENT_BLOCK)
		return;
	add_part(s, what);
	if (event->kind == EVENT_FAULT)
		text_printf(&s->message, " %#" PRIx64, (uint64_t)event->value);
	else
		text_printf(&s->message, " %" PRId64, event->value);
}

static struct ebt_error *take_event(void *arg, const struct event *event)
{
	struct sysprof *s = arg;
	const bool of_cpu = event->kind == EVENT_IRQ && !(event->track & EVENT_WORK_TRACKS);
	struct syscap_when when = {
		.time = event->time,
		.cpu = of_cpu ? (int32_t)event->track : NO_NUMBER,
	};
	struct ebt_error *err;

	if (event->kind == EVENT_LOG)
		return take_line(s, event);
	err = find_process(s, event->task ? event->task : event->other, &when.pid);
	if (err)
		return err;
	begin_message(s, event->task);
	if (event->detail.len) {
		add_part(s, "");
		text_add(&s->message, event->detail.data, event->detail.len);
	}
	add_value(s, event);
	if (event->other && event->other != event->task && event->kind != EVENT_BLOCK)
		add_task(s, "for ", event->other);
	if (event->flags & EVENT_FAILED)
		add_part(s, "failed");
	if (event->flags & EVENT_OPEN)
		add_part(s, "open");
	return put_mark(s, when, event->dur, group_of(s, event), event->name);
}

/* --- counters --- */

/* Without the category, which stands before it. */
static struct ebt_str name_of(const struct counter *counter)
{
	const size_t len = strlen(counter->category);
	const bool begins = len && strncmp(counter->name, counter->category, len) == 0 &&
			    counter->name[len] == '.' && counter->name[len + 1];

	return ebt_str_of(counter->name + (begins ? len + 1 : 0));
}

/* A value is drawn up to the next: a speed stands where it began. */
static struct ebt_error *put_counter(void *arg, const struct counter *counter)
{
	struct sysprof *s = arg;
	const uint64_t from = trace_from_ns(s->e->trace);
	struct syscap_when when = { from, NO_NUMBER, NO_NUMBER };
	struct ebt_error *err = find_process(s, counter->owner, &when.pid);
	const struct ebt_str name = name_of(counter);

	if (err)
		return err;
	if (s->n_counters == MOST_COUNTERS) {
		s->counters_left_out++;
		return NULL;
	}
	s->n_counters++;
	text_clear(&s->message);
	if (*counter->unit)
		text_printf(&s->message, "%s%s, ", counter->unit, counter->cumulative ? "/s" : "");
	text_cstr(&s->message, name.len < SYSCAP_CATEGORY ? counter->doc : name.data);
	syscap_put_counter(&s->file, when, s->n_counters, ebt_str_of(counter->category), name,
			   text_str(&s->message));
	for (size_t i = counter->cumulative; i < counter->n_points; i++) {
		const struct out_point *point = &counter->points[i];
		const uint64_t time = counter->cumulative ? point[-1].time : point->time;

		when.time = time < from ? from : time;
		syscap_put_value(&s->file, when, s->n_counters,
				 counter->cumulative ? counter_rate(&point[-1], point)
						     : point->value);
	}
	return state_of(s);
}

/* --- the file --- */

static struct ebt_error *put_file(struct sysprof *s)
{
	const struct export_intervals intervals = { .off = take_off, .arg = s };
	const struct event_sink sink = { .take = take_event, .arg = s };
	struct trace *trace = s->e->trace;
	struct ebt_error *err;

	syscap_put_head(&s->file, ebt_reader_info(trace_reader(trace))->start_realtime_ns,
			trace_from_ns(trace), trace_to_ns(trace));
	err = put_processes(s) ?: export_samples(s->e, take_sample, s)
		      ?: export_intervals(s->e, &intervals);
	for (enum event_kind kind = 0; !err && kind < EVENT_N_KINDS; kind++)
		err = events_read(trace, kind, &sink);
	return err ?: export_counters(s->e, put_counter, s);
}

static void sysprof_deinit(struct sysprof *s)
{
	syscap_deinit(&s->file);
	procs_destroy(s->procs);
	ebt_map_deinit(&s->by_process);
	export_numbers_deinit(&s->numbers);
	text_deinit(&s->message);
	text_deinit(&s->name);
	free(s->named);
	free(s->stack);
}

struct ebt_error *export_sysprof(struct export *e)
{
	static const uint16_t held[] = { EXPORT_SAMPLE_TABLES, EXPORT_INTERVAL_TABLES,
					 EXPORT_EVENT_TABLES, EXPORT_COUNTER_TABLES, 0 };
	__attribute__((cleanup(sysprof_deinit))) struct sysprof s = { .e = e, .file.f = e->f };
	struct ebt_error *err = put_file(&s);

	export_holds(e, held);
	export_leave_out(e, "stacks of time off CPU", s.without_stack);
	export_leave_out(e, "ends of stacks of more than 8,000 frames", s.cut_stacks);
	export_leave_out(e, "ends of texts that are too long", s.file.cut);
	export_leave_out(e, "counters beyond 16,777,215", s.counters_left_out);
	return err;
}
