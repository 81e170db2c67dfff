/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The execution graph; see graph.h. */
#include "report/why/graph.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "report/calls/names.h"
#include "report/sched/feed.h"
#include "report/sched/model_offcpu.h"
#include "report/trace/prepare.h"
#include "report/why/objects.h"

#define KTHREADD 2 /* which starts all threads of the kernel */

struct why_graph {
	struct trace *trace;
	const struct syscall_machine *machine; /* NULL: its calls are not known */
	struct calltree *tree;
	struct offcpu *offcpu;
	struct why_thread *threads; /* by task id */
	size_t n_threads;
	uint8_t *reason_at; /* by node: 0 not known yet, else 1 + the reason */
	size_t n_reason_at;
	struct why_objects *objects;
	bool stacks;
	uint64_t from, to;
};

static struct ebt_error *get_thread(struct why_graph *graph, const struct ebt_task *task,
				    struct why_thread **ret)
{
	struct ebt_error *err =
		ebt_array_reserve_zeroed(&graph->threads, task->id, &graph->n_threads);

	if (err)
		return err;
	*ret = &graph->threads[task->id];
	if (!(*ret)->task) {
		(*ret)->task = task;
		(*ret)->parent = WHY_NOBODY;
		(*ret)->kernel = task->pid == KTHREADD;
	}
	return NULL;
}

static uint64_t no_less(uint64_t time, uint64_t than)
{
	return time < than ? than : time;
}

/* Of clocks that lie, spells would overlap. */
static struct why_spell behind(const struct why_spell *spell, uint64_t time)
{
	struct why_spell ret = *spell;

	ret.stop = no_less(ret.stop, time);
	ret.runnable = ret.runnable ? no_less(ret.runnable, ret.stop) : 0;
	ret.start = no_less(ret.start, no_less(ret.runnable, ret.stop));
	ret.end = no_less(ret.end, ret.start);
	return ret;
}

static struct ebt_error *add_spell(struct why_graph *graph, const struct ebt_task *task,
				   const struct why_spell *spell)
{
	struct why_thread *thread;
	struct ebt_error *err =
		get_thread(graph, task, &thread)
			?: ebt_array_reserve(&thread->spells, thread->n, &thread->capacity);

	if (err)
		return err;
	/* Where rows were lost it went on to something that is not known. */
	if (thread->n)
		thread->spells[thread->n - 1].lasts = false;
	thread->spells[thread->n] =
		behind(spell, thread->n ? thread->spells[thread->n - 1].end : 0);
	thread->n++;
	return NULL;
}

/* By its stack, or by the state alone where that tells nothing. */
static struct ebt_error *reason_of(struct why_graph *graph, uint32_t node, enum sched_why why,
				   enum wait_reason *ret)
{
	enum wait_reason reason;
	struct ebt_error *err =
		ebt_array_reserve_zeroed(&graph->reason_at, node, &graph->n_reason_at);

	if (err)
		return err;
	if (!graph->reason_at[node])
		graph->reason_at[node] =
			(uint8_t)(1 + wait_reason_of(graph->tree, node, SCHED_UNKNOWN));
	reason = (enum wait_reason)(graph->reason_at[node] - 1);
	*ret = reason == WAIT_UNKNOWN ? wait_reason_of(graph->tree, 0, why) : reason;
	return NULL;
}

/* In which what goes to this machine is delivered before they return: data, room for more, the end
 * of a connection. */
static const enum syscall_call deliver[] = {
	CALL_accept,	 CALL_accept4,	CALL_close,	 CALL_connect,	      CALL_dup2,
	CALL_dup3,	 CALL_exit,	CALL_exit_group, CALL_io_uring_enter, CALL_preadv2,
	CALL_pwritev2,	 CALL_read,	CALL_readv,	 CALL_recvfrom,	      CALL_recvmmsg,
	CALL_recvmsg,	 CALL_sendfile, CALL_sendmmsg,	 CALL_sendmsg,	      CALL_sendto,
	CALL_setsockopt, CALL_shutdown, CALL_splice,	 CALL_write,	      CALL_writev,
};

/* Did who was interrupted send what the soft interrupt brought? */
static bool is_delivery(const struct why_graph *graph, const struct sched_off *off,
			enum wait_reason reason)
{
	const struct syscall_desc *call =
		off->call ? syscall_desc(graph->machine, false, off->call - 1u) : NULL;

	if (!call || !off->waker ||
	    (graph->stacks && reason != WAIT_NETWORK && reason != WAIT_POLL))
		return false;
	for (size_t i = 0; i < sizeof(deliver) / sizeof(deliver[0]); i++) {
		if (call->call == deliver[i])
			return true;
	}
	return false;
}

static enum why_wake wake_of(const struct why_graph *graph, const struct sched_off *off,
			     enum wait_reason reason)
{
	if (!off->woken)
		return WHY_WAKE_UNSEEN;
	switch (off->waking) {
	case EBT_V_sched_waking_kind_by_interrupt:
		return WHY_WAKE_INTERRUPT;
	case EBT_V_sched_waking_kind_in_soft_interrupt:
		return is_delivery(graph, off, reason) ? WHY_WAKE_TASK : WHY_WAKE_SOFT_INTERRUPT;
	default:
		/* The idle task wakes nobody of its own accord. */
		return off->waker ? WHY_WAKE_TASK : WHY_WAKE_INTERRUPT;
	}
}

static uint16_t cpu_of(uint32_t cpu)
{
	return cpu < WHY_NO_CPU ? (uint16_t)cpu : WHY_NO_CPU;
}

static bool opens(unsigned int flags)
{
	return (flags & (SCHED_OPEN_START | SCHED_CUT_START)) == SCHED_OPEN_START;
}

static bool stays_open(unsigned int flags)
{
	return (flags & (SCHED_OPEN_END | SCHED_CUT_END)) == SCHED_OPEN_END;
}

static struct ebt_error *take_off(void *arg, const struct sched_off *off, uint32_t node)
{
	struct why_graph *graph = arg;
	struct why_spell spell = {
		.stop = off->start,
		.runnable = off->runnable,
		.start = off->end,
		.end = off->end,
		.waker = off->woken && off->waker ? off->waker->id : WHY_NOBODY,
		.node = node,
		.cpu = cpu_of(off->cpu),
		.why = (uint8_t)off->why,
		.lasts = (off->flags & SCHED_OPEN_END) != 0,
		.open_start = opens(off->flags),
		.open_end = stays_open(off->flags),
		.doubtful = (off->flags & SCHED_DOUBTFUL) != 0,
	};
	struct why_thread *waker;
	enum wait_reason reason;
	struct ebt_error *err = reason_of(graph, node, off->why, &reason);

	if (!err && off->waker)
		err = get_thread(graph, off->waker, &waker);
	if (err)
		return err;
	spell.reason = (uint8_t)reason;
	spell.wake = (uint8_t)wake_of(graph, off, reason);
	return add_spell(graph, off->task, &spell);
}

static struct ebt_error *take_run(void *arg, const struct sched_run *run)
{
	struct why_graph *graph = arg;
	const struct why_spell alone = {
		.stop = run->start,
		.start = run->start,
		.end = run->end,
		.waker = WHY_NOBODY,
		.cpu = cpu_of(run->cpu),
		.why = SCHED_UNKNOWN,
		.reason = WAIT_UNKNOWN,
		.open_start = opens(run->flags),
		.open_end = stays_open(run->flags),
		.ran = true,
	};
	struct why_thread *thread;
	struct why_spell *last;
	struct ebt_error *err = get_thread(graph, run->task, &thread);

	if (err)
		return err;
	if (run->why == SCHED_DEAD)
		thread->ended = run->end;
	last = thread->n ? &thread->spells[thread->n - 1] : NULL;
	if (!last || last->start != run->start || last->end != last->start)
		return add_spell(graph, run->task, &alone);
	last->end = run->end;
	last->open_end = alone.open_end;
	last->ran = true;
	return NULL;
}

static struct ebt_error *take_fork(void *arg, const struct ebt_row *row)
{
	const struct ebt_task *parent = ebt_task_fork_parent(row);
	const struct ebt_task *child = ebt_task_fork_child(row);
	struct why_thread *thread;
	struct ebt_error *err;

	if (!child)
		return NULL;
	err = get_thread(arg, child, &thread);
	if (err)
		return err;
	thread->born = row->time;
	thread->parent = parent ? parent->id : WHY_NOBODY;
	thread->kernel = parent && parent->pid == KTHREADD;
	return NULL;
}

static struct ebt_error *take_process(void *arg, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_process_task(row);
	struct why_thread *thread;
	struct ebt_error *err;

	if (!task || !ebt_process_kernel(row))
		return NULL;
	err = get_thread(arg, task, &thread);
	if (!err)
		thread->kernel = true;
	return err;
}

static struct ebt_error *read_births(struct why_graph *graph)
{
	static const struct ebt_want forks = EBT_WANT(task_fork, parent, child);
	static const struct ebt_want processes = EBT_WANT(process, task, kernel);

	return trace_read_rows(graph->trace, &processes, 1, TRACE_UNFILTERED | TRACE_QUIET,
			       take_process, graph)
		       ?: trace_read_rows(graph->trace, &forks, 1, TRACE_UNFILTERED, take_fork,
					  graph);
}

static struct ebt_error *read_switches(struct why_graph *graph)
{
	const struct sched_feed feed = {
		.handler = { .run = take_run },
		.all = true,
		.offcpu = graph->offcpu,
		.arg = graph,
		.stacks = graph->stacks,
	};
	bool partial;

	sched_feed_bounds(graph->trace, &graph->from, &graph->to);
	return sched_feed_run(graph->trace, &feed, &partial);
}

static struct ebt_error *find_machine(struct why_graph *graph)
{
	const char *name;
	struct ebt_error *err = ebt_reader_meta(trace_reader(graph->trace), "host.machine", &name);

	graph->machine = !err && name ? syscall_machine(name) : NULL;
	return err;
}

static struct ebt_error *prepare_stacks(struct why_graph *graph)
{
	return calltree_create_for(graph->trace, CALLTREE_BY_COMM, &graph->tree) ?:
	       prepare_names(graph->trace, EBT_T_sample, 0) ?:
	       sched_prepare_names(graph->trace);
}

static struct ebt_error *read_all(struct why_graph *graph)
{
	const struct offcpu_options options = { .take = take_off,
						.arg = graph,
						.tree = graph->stacks ? graph->tree : NULL };

	return find_machine(graph) ?:
	       offcpu_create(trace_reader(graph->trace), &options, &graph->offcpu) ?:
	       read_births(graph) ?:
	       read_switches(graph) ?:
	       why_objects_create(graph->trace, graph->machine, graph->threads,
				  graph->stacks ? (uint32_t)graph->n_threads : 0,
				  &graph->objects);
}

struct ebt_error *why_graph_create(struct trace *trace, bool no_stacks, struct why_graph **ret)
{
	_cleanup_(why_graph_destroyp) struct why_graph *graph = calloc(1, sizeof(*graph));
	struct ebt_error *err;

	if (!graph)
		return &ebt_enomem;
	graph->trace = trace;
	graph->stacks = !no_stacks;
	err = (no_stacks ? calltree_create(NULL, NULL, &graph->tree) : prepare_stacks(graph))
		      ?: read_all(graph);
	if (!err)
		*ret = take_ptr(graph);
	return err;
}

void why_graph_destroy(struct why_graph *graph)
{
	if (!graph)
		return;
	for (size_t i = 0; i < graph->n_threads; i++)
		free(graph->threads[i].spells);
	free(graph->threads);
	free(graph->reason_at);
	why_objects_destroy(graph->objects);
	offcpu_destroy(graph->offcpu);
	calltree_destroy(graph->tree);
	free(graph);
}

void why_graph_bounds(const struct why_graph *graph, uint64_t *ret_from, uint64_t *ret_to)
{
	*ret_from = graph->from;
	*ret_to = graph->to;
}

const struct why_thread *why_graph_threads(const struct why_graph *graph, uint32_t *ret_n)
{
	*ret_n = (uint32_t)graph->n_threads;
	return graph->threads;
}

struct ebt_str why_thread_name(const struct why_graph *graph, const struct names *names,
			       uint32_t task)
{
	return task < graph->n_threads && graph->threads[task].task
		       ? names_task(names, graph->threads[task].task)
		       : (struct ebt_str){ "", 0 };
}

const struct why_objects *why_graph_objects(const struct why_graph *graph)
{
	return graph->objects;
}

struct calltree *why_graph_tree(const struct why_graph *graph)
{
	return graph->tree;
}

size_t why_thread_at(const struct why_thread *thread, uint64_t time)
{
	size_t low = 0, high = thread->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (thread->spells[middle].stop < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
