/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time went; see model_overview.h. */
#include "report/system/model_overview.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "report/base/text.h"
#include "report/sched/feed.h"
#include "report/trace/prepare.h"
#include "report/trees/feed.h"

#define DEFAULT_FREQ 99 /* of ebrec, for a trace that does not say */

static struct ebt_error *spend(struct overview *o, const struct ebt_task *task, uint32_t place,
			       uint64_t from, uint64_t to)
{
	struct overview_spent *spent;
	struct ebt_error *err;
	uint32_t i;

	if (to <= from)
		return NULL;
	err = ebt_map_element(&o->spent_at, (uint64_t)place << 32 | task->id, &o->spent,
			      &o->n_spent, &o->spent_capacity, &i);
	if (err)
		return err;
	spent = &o->spent[i];
	spent->task = task;
	spent->process = names_process_key(o->names, task);
	spent->place = place;
	spent->ns += to - from;
	spent->count++;
	spent->max_ns = to - from > spent->max_ns ? to - from : spent->max_ns;
	return NULL;
}

/* The scheduler leaves no CPU idle while a thread there may run: who has to stop for an idle CPU
 * has used up the quota of its cgroup. */
static struct ebt_error *note_stop(struct overview *o, const struct sched_run *run)
{
	struct ebt_error *err =
		ebt_array_reserve_zeroed(&o->is_withheld, run->task->id, &o->n_is_withheld);

	if (!err)
		o->is_withheld[run->task->id] =
			run->row && run->why == SCHED_RUNNABLE && !ebt_sched_switch_next(run->row);
	return err;
}

static struct ebt_error *on_run(void *arg, const struct sched_run *run)
{
	struct ebt_error *err = note_stop(arg, run);

	return err ? err : spend(arg, run->task, OVERVIEW_CPU, run->start, run->end);
}

static void add_withheld(struct overview *o, const struct sched_off *off)
{
	if (off->task->id >= o->n_is_withheld || !o->is_withheld[off->task->id])
		return;
	o->withheld++;
	o->withheld_ns += off->end - off->start;
}

/* What is there when a command is recorded is the process that becomes it. */
static bool waits_for_recorder(const struct overview *o, const struct sched_off *off)
{
	return o->command && off->start <= o->from_ns && off->task->start_ns < o->from_ns &&
	       (off->flags & (SCHED_OPEN_START | SCHED_CUT_START)) == SCHED_OPEN_START;
}

static enum wait_reason reason_of(const struct overview *o, const struct sched_off *off,
				  uint32_t node)
{
	enum wait_reason reason = wait_reason_of(o->stops, node, off->why);

	return reason == WAIT_UNKNOWN && waits_for_recorder(o, off) ? WAIT_RECORDER : reason;
}

static struct ebt_error *on_off(void *arg, const struct sched_off *off, uint32_t node)
{
	struct overview *o = arg;
	uint64_t runnable = off->runnable ? off->runnable : off->end;
	struct ebt_error *err;

	if (off->why == SCHED_RUNNABLE)
		add_withheld(o, off);
	if (off->why == SCHED_RUNNABLE || off->why == SCHED_NEW)
		return spend(o, off->task, OVERVIEW_QUEUE, off->start, off->end);
	err = spend(o, off->task, OVERVIEW_WAIT + reason_of(o, off, node), off->start, runnable);
	return err ? err : spend(o, off->task, OVERVIEW_QUEUE, runnable, off->end);
}

static struct ebt_error *read_switches(struct overview *o)
{
	struct offcpu_options options = { .take = on_off, .arg = o };
	struct sched_feed feed = {
		.handler = { .run = on_run }, .arg = o, .stacks = true, .still = true
	};
	_cleanup_(offcpu_destroyp) struct offcpu *offcpu = NULL;
	const char *target;
	uint64_t from, to;
	struct ebt_error *err;

	sched_feed_bounds(o->trace, &from, &to);
	o->ns = to - from;
	o->from_ns = from;
	err = ebt_reader_meta(trace_reader(o->trace), "target.kind", &target)
		      ?: sched_is_known(o->trace, &o->switches);
	o->command = !err && target && !strcmp(target, "command");
	if (err || !o->switches)
		return err;
	err = calltree_create_for(o->trace, CALLTREE_NO_ROOTS, &o->stops);
	if (err)
		return err;
	options.tree = o->stops;
	err = offcpu_create(trace_reader(o->trace), &options, &offcpu)
		      ?: sched_prepare_names(o->trace);
	feed.offcpu = offcpu;
	return err ? err : sched_feed_run(o->trace, &feed, &o->partial);
}

/* --- sums --- */

/* The kernel's own threads wait for work. Of a whole system most threads sleep all the time and say
 * nothing of the window; who records some processes wants to know where they hang. */
static bool is_silent(const struct overview *o, const struct ebt_task *task)
{
	uint32_t i;

	if (!o->partial && !ebt_map_find(&o->spent_at, (uint64_t)OVERVIEW_CPU << 32 | task->id, &i))
		return true;
	return trace_leaves_out(o->trace, task);
}

static int compare_spent(const void *a, const void *b)
{
	const struct overview_spent *x = a, *y = b;

	return ebt_compare(x->place, y->place) ?:
	       ebt_compare(x->process, y->process) ?:
	       ebt_compare(x->task->id, y->task->id);
}

static void leave_silent_out(struct overview *o)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->n_spent; i++) {
		if (o->spent[i].place < OVERVIEW_WAIT || !is_silent(o, o->spent[i].task))
			o->spent[kept++] = o->spent[i];
	}
	o->n_spent = kept;
}

/* What a process spent at a place. */
struct process_sum {
	const struct ebt_task *task; /* the thread that spent most of it */
	struct ebt_str comm;
	uint64_t ns;
};

static int compare_processes(const void *a, const void *b)
{
	const struct process_sum *x = a, *y = b;

	return text_compare(x->comm, y->comm) ?: ebt_compare(y->ns, x->ns);
}

/* The processes of what was spent at one place. */
static size_t sum_processes(const struct overview *o, size_t begin, size_t end,
			    struct process_sum *processes)
{
	uint64_t thread_ns = 0;
	size_t n = 0;

	for (size_t i = begin; i < end; i++) {
		const struct overview_spent *s = &o->spent[i];

		if (i == begin || s[-1].process != s->process) {
			processes[n++] =
				(struct process_sum){ .task = s->task,
						      .comm = names_process(o->names, s->task) };
			thread_ns = s->ns;
		}
		if (s->ns > thread_ns) {
			thread_ns = s->ns;
			processes[n - 1].task = s->task;
		}
		processes[n - 1].ns += s->ns;
	}
	return n;
}

/* The program that most was spent by, in one process or in many that live shortly. */
static void find_most(struct process_sum *processes, size_t n, struct overview_place *place)
{
	uint64_t most_ns = 0, ns;
	size_t end;

	qsort(processes, n, sizeof(*processes), compare_processes);
	for (size_t i = 0; i < n; i = end) {
		ns = 0;
		for (end = i; end < n && !text_compare(processes[i].comm, processes[end].comm);
		     end++)
			ns += processes[end].ns;
		if (ns <= most_ns)
			continue;
		most_ns = ns;
		place->most = processes[i].task;
		place->most_ns = ns;
		place->most_processes = processes[i].ns > ns / 2 ? 1 : end - i;
	}
}

static void sum_place(struct overview *o, size_t begin, size_t end, struct process_sum *processes)
{
	const uint32_t at = o->spent[begin].place;
	struct overview_place *place = &o->places[at];

	for (size_t i = begin; i < end; i++) {
		const struct overview_spent *s = &o->spent[i];

		place->ns += s->ns;
		place->count += s->count;
		place->max_ns = s->max_ns > place->max_ns ? s->max_ns : place->max_ns;
	}
	o->threads += at == OVERVIEW_CPU ? end - begin : 0;
	find_most(processes, sum_processes(o, begin, end, processes), place);
}

static struct ebt_error *sum_places(struct overview *o)
{
	_cleanup_free_ struct process_sum *processes = calloc(o->n_spent + 1, sizeof(*processes));
	size_t end;

	if (!processes)
		return &ebt_enomem;
	leave_silent_out(o);
	if (o->n_spent)
		qsort(o->spent, o->n_spent, sizeof(*o->spent), compare_spent);
	for (size_t i = 0; i < o->n_spent; i = end) {
		for (end = i; end < o->n_spent && o->spent[end].place == o->spent[i].place; end++)
			;
		sum_place(o, i, end, processes);
	}
	return NULL;
}

/* --- functions --- */

/* All that the recorder did is one function, RECORDER_FRAME. */
static uint32_t recorder_or(const struct calltree *tree, uint32_t node)
{
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);

	while (nodes[node].recorder && nodes[nodes[node].parent].recorder)
		node = nodes[node].parent;
	return node;
}

static struct ebt_error *add_sample(void *arg, const struct ebt_row *row)
{
	struct overview *o = arg;
	const struct calltree_stack stack = calltree_sample_stack(row);
	bool clock = ebt_sample_event(row) == EBT_V_sample_event_cpu_clock;
	struct ebt_error *err;
	uint32_t node;

	if (!stack.task)
		return NULL; /* an idle CPU */
	err = calltree_place(o->calls, &stack, &node);
	if (err)
		return err;
	calltree_add(o->calls, recorder_or(o->calls, node),
		     clock ? ebt_sample_period(row) : o->cycles_ns);
	o->n_samples++;
	return NULL;
}

static int compare_functions(const void *a, const void *b)
{
	const struct overview_function *x = a, *y = b;

	return ebt_compare(y->self_ns, x->self_ns) ?: strcmp(x->name, y->name);
}

static int compare_nameless(const void *a, const void *b)
{
	const struct overview_function *x = a, *y = b;

	return ebt_compare(!!x->name[0], !!y->name[0]) ?: strcmp(x->object, y->object);
}

static void add_function(struct overview_function *to, const struct overview_function *function)
{
	to->self_ns += function->self_ns;
	to->samples += function->samples;
}

/* Addresses without a name tell nothing one by one: those of a file become one. */
static void join_nameless(struct overview *o)
{
	size_t kept = 0;

	qsort(o->functions, o->n_functions, sizeof(*o->functions), compare_nameless);
	for (size_t i = 0; i < o->n_functions; i++) {
		struct overview_function *f = &o->functions[i];
		struct overview_function *last = kept ? &o->functions[kept - 1] : NULL;

		o->nameless_ns += f->name[0] ? 0 : f->self_ns;
		if (last && !f->name[0] && !last->name[0] && !strcmp(f->object, last->object))
			add_function(last, f);
		else
			o->functions[kept++] = *f;
	}
	o->n_functions = kept;
}

static struct ebt_error *sum_functions(struct overview *o)
{
	uint32_t n_funcs;
	const struct calltree_func *funcs = calltree_funcs(o->calls, &n_funcs);
	_cleanup_free_ struct calltree_flat *flat = NULL;
	struct ebt_error *err;
	size_t n;

	err = calltree_flat(o->calls, &flat, &n);
	if (err)
		return err;
	o->functions = calloc(n + 1, sizeof(*o->functions));
	if (!o->functions)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++) {
		const struct calltree_func *func = &funcs[flat[i].func];
		bool named = func->kind != CALLTREE_UNRESOLVED;

		if (flat[i].self)
			o->functions[o->n_functions++] =
				(struct overview_function){ named ? func->name : "", func->object,
							    flat[i].self, flat[i].count };
	}
	join_nameless(o);
	qsort(o->functions, o->n_functions, sizeof(*o->functions), compare_functions);
	return NULL;
}

static struct ebt_error *read_samples(struct overview *o)
{
	const struct ebt_want want = EBT_WANT(sample, task, event, period, kstack, ustack);
	const char *event;
	uint64_t freq;
	struct ebt_error *err;

	o->samples = ebt_reader_has_rows(trace_reader(o->trace), EBT_T_sample);
	if (!o->samples)
		return NULL;
	err = tree_feed_sampling(o->trace, &event, &freq) ?:
	      calltree_create_for(o->trace, CALLTREE_NO_ROOTS, &o->calls) ?:
	      prepare_names(o->trace, EBT_T_sample, 0);
	if (err)
		return err;
	o->cycles_ns = 1000000000 / (freq ? freq : DEFAULT_FREQ);
	err = trace_read_rows(o->trace, &want, 1, 0, add_sample, o) ?: calltree_finish(o->calls);
	if (err)
		return err;
	o->sampled_ns = calltree_total(o->calls);
	return sum_functions(o);
}

/* --- all --- */

struct ebt_error *overview_read(struct trace *trace, struct overview *ret)
{
	struct ebt_error *err;

	ret->trace = trace;
	trace_no_inline(trace);
	err = trace_names(trace, &ret->names)	 ?:
	      trace_find_kernel_threads(trace) ?:
	      read_switches(ret)		 ?:
	      read_samples(ret)			 ?:
	      sum_places(ret);
	if (err)
		return err;
	if (!ret->switches)
		ret->places[OVERVIEW_CPU] =
			(struct overview_place){ .ns = ret->sampled_ns, .count = ret->n_samples };
	return NULL;
}

void overview_deinit(struct overview *o)
{
	calltree_destroy(o->stops);
	calltree_destroy(o->calls);
	ebt_map_deinit(&o->spent_at);
	free(o->spent);
	free(o->is_withheld);
	free(o->functions);
}
