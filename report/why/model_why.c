/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the time of a critical path went to; see model_why.h. */
#include "report/why/model_why.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/map.h"
#include "report/marks/model_marks.h"

#define MERGE_AT 65536 /* causes; 4 MB */
/* More take longer than a first screen may: 0.3 us each. */
#define MANY_SWITCHES 1000000
/* More take too much memory: 64 bytes each, 13 GB. */
#define MOST_SWITCHES 200000000
#define SECOND	      UINT64_C(1000000000)

/* --- whose --- */

static struct ebt_error *recorder_pid(struct trace *trace, uint32_t *ret)
{
	const char *pid;
	struct ebt_error *err = ebt_reader_meta(trace_reader(trace), "recorder.pid", &pid);

	*ret = !err && pid ? (uint32_t)strtoul(pid, NULL, 10) : 0;
	return err;
}

struct command_search {
	uint32_t recorder;
	uint32_t task; /* WHY_NOBODY: not found yet */
};

/* The command is the recorder's child, and there when the recording begins. */
static struct ebt_error *take_process(void *arg, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_process_task(row);
	struct command_search *search = arg;

	if (!task || ebt_process_ppid(row) != search->recorder)
		return NULL;
	search->task = task->id;
	return &trace_enough;
}

static struct ebt_error *find_command(struct trace *trace, const char *target, uint32_t *ret)
{
	static const struct ebt_want want = EBT_WANT(process, task, ppid);
	struct command_search search = { .task = WHY_NOBODY };
	struct ebt_error *err = recorder_pid(trace, &search.recorder);

	if (!err && target && !strcmp(target, "command") && search.recorder)
		err = trace_read_rows(trace, &want, 1, TRACE_UNFILTERED | TRACE_QUIET, take_process,
				      &search);
	*ret = search.task;
	return err;
}

static uint64_t seen_ns(const struct why_thread *thread)
{
	return thread->spells[thread->n - 1].end - thread->spells[0].stop;
}

/* Of two threads: is the first one rather meant? First threads of processes are, and then those
 * that were there longer. */
static bool is_rather(const struct why_thread *a, const struct why_thread *b)
{
	const bool a_first = a->task->tid == a->task->pid, b_first = b->task->tid == b->task->pid;

	return a_first == b_first ? seen_ns(a) > seen_ns(b) : a_first;
}

static bool is_candidate(const struct why *why, const struct why_thread *thread)
{
	return thread->task && thread->n && trace_task_wanted(why->trace, thread->task);
}

/* Can it be that of somebody, as far as is known before the switches are read? */
static struct ebt_error *is_of_somebody(struct trace *trace, bool *ret)
{
	const char *target;
	struct ebt_error *err = ebt_reader_meta(trace_reader(trace), "target.kind", &target);

	*ret = !err && (trace_has_task_filter(trace) ||
			(target && (!strcmp(target, "command") || !strcmp(target, "pids"))));
	return err;
}

/* Whose path it is: that of the command that was recorded, or of whom the filters choose. */
static struct ebt_error *find_task(struct why *why, bool quiet)
{
	uint32_t n, command;
	const struct why_thread *threads = why_graph_threads(why->graph, &n);
	const char *target;
	struct ebt_error *err = ebt_reader_meta(trace_reader(why->trace), "target.kind", &target)
					?: find_command(why->trace, target, &command);

	why->task = WHY_NOBODY;
	if (err)
		return err;
	if (command < n && is_candidate(why, &threads[command])) {
		why->task = command;
		return NULL;
	}
	if (!trace_has_task_filter(why->trace) && (!target || strcmp(target, "pids") != 0))
		return quiet ? NULL
			     : trace_warn(why->trace,
					  "no command was recorded whose time could be "
					  "explained: choose a process with --pid, or a "
					  "thread with --tid");
	for (uint32_t i = 0; i < n; i++) {
		if (is_candidate(why, &threads[i]) &&
		    (why->task == WHY_NOBODY || is_rather(&threads[i], &threads[why->task])))
			why->task = i;
	}
	return NULL;
}

static struct ebt_error *find_path(struct why *why)
{
	uint32_t n;
	const struct why_thread *threads = why_graph_threads(why->graph, &n), *thread;
	uint64_t from, to;

	why_graph_bounds(why->graph, &from, &to);
	if (why->from > from)
		from = why->from;
	if (why->to < to)
		to = why->to;
	if (why->task < n) {
		thread = &threads[why->task];
		if (thread->born > from)
			from = thread->born;
		if (thread->ended && thread->ended < to)
			to = thread->ended;
	}
	return why_path_find(why->graph, why->task, from, to, &why->path);
}

const struct ebt_task *why_task(const struct why *why, uint32_t id)
{
	uint32_t n;
	const struct why_thread *threads = why_graph_threads(why->graph, &n);

	return id < n ? threads[id].task : NULL;
}

uint64_t why_run_ns(const struct why *why)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < why->parallel.n; i++)
		ret += i * why->parallel.ns[i];
	return ret;
}

/* --- causes --- */

static int compare_keys(const void *a, const void *b)
{
	const struct why_cause *x = a, *y = b;

	return ebt_compare(x->kind, y->kind) ?: ebt_compare(x->what, y->what) ?:
	       ebt_compare(x->task, y->task) ?: ebt_compare(x->other, y->other) ?:
	       ebt_compare(x->wake, y->wake) ?: ebt_compare(x->func, y->func) ?:
	       ebt_compare(x->object, y->object);
}

static int compare_ns(const void *a, const void *b)
{
	const struct why_cause *x = a, *y = b;

	return ebt_compare(y->ns, x->ns) ?: compare_keys(a, b);
}

/* Those that are alike become one. */
static void merge_causes(struct why *why)
{
	size_t n = 0;

	if (!why->n_causes)
		return;
	qsort(why->causes, why->n_causes, sizeof(*why->causes), compare_keys);
	for (size_t i = 0; i < why->n_causes; i++) {
		const struct why_cause *cause = &why->causes[i];
		struct why_cause *last = n ? &why->causes[n - 1] : NULL;

		if (!last || compare_keys(last, cause)) {
			why->causes[n++] = *cause;
			continue;
		}
		last->ns += cause->ns;
		last->count += cause->count;
		if (cause->node_ns > last->node_ns) {
			last->node = cause->node;
			last->node_ns = cause->node_ns;
		}
		last->max_ns = cause->max_ns > last->max_ns ? cause->max_ns : last->max_ns;
	}
	why->n_causes = n;
}

/* As there are many more segments than causes, they become one now and then. */
static struct ebt_error *add_cause(struct why *why, const struct why_cause *cause)
{
	struct ebt_error *err;

	if (why->n_causes >= why->merge_at) {
		merge_causes(why);
		why->merge_at = 2 * why->n_causes + MERGE_AT;
	}
	err = ebt_array_reserve(&why->causes, why->n_causes, &why->capacity);
	if (!err)
		why->causes[why->n_causes++] = *cause;
	return err;
}

/* Below where it was, for the tree; node 0: that is not known. */
static struct ebt_error *weigh(struct why *why, enum why_kind kind, uint32_t task, uint32_t node,
			       uint64_t ns)
{
	static const struct ebt_batch none = { .id = UINT64_MAX };
	static const struct {
		const char *name;
		enum calltree_kind kind;
	} leaves[] = {
		[WHY_CPU] = { "[on CPU]", CALLTREE_ON_CPU },
		[WHY_RUNQUEUE] = { "[run queue]", CALLTREE_QUEUED },
		[WHY_WAIT] = { "[wait]", CALLTREE_OFF_CPU },
		[WHY_UNKNOWN] = { "[unknown]", CALLTREE_OFF_CPU },
	};
	struct calltree *tree = why_graph_tree(why->graph);
	const struct calltree_stack stack = { .batch = &none, .task = why_task(why, task) };
	struct ebt_error *err = NULL;

	if (!why->weighs || !ns)
		return NULL;
	if (!node)
		err = calltree_place(tree, &stack, &node);
	return err ? err : calltree_add_leaf(tree, node, leaves[kind].name, leaves[kind].kind, ns);
}

static struct ebt_error *weigh_segment(struct why *why, const struct why_segment *segment,
				       uint64_t ns)
{
	const struct why_spell *spell = why_segment_spell(why->graph, segment);

	return weigh(why, (enum why_kind)segment->kind, segment->task, spell ? spell->node : 0, ns);
}

struct why_cause why_cause_of(const struct why_graph *graph, const struct why_segment *segment)
{
	const uint64_t ns = why_segment_ns(segment);
	const struct why_spell *spell = why_segment_spell(graph, segment);
	struct why_cause cause = { .task = segment->task,
				   .kind = segment->kind,
				   .what = segment->gap,
				   .other = WHY_NOBODY,
				   .func = WHY_NO_FUNC,
				   .ns = ns,
				   .count = 1,
				   .max_ns = ns };

	if (segment->kind == WHY_WAIT) {
		cause.what = spell->reason;
		cause.wake = spell->wake;
		cause.object = spell->object;
		/* Whom a soft interrupt interrupted is not who did it. */
		if (cause.wake == WHY_WAKE_TASK)
			cause.other = spell->waker;
	}
	if (spell && (segment->kind == WHY_WAIT || segment->kind == WHY_UNKNOWN))
		cause.node = calltree_caller_node(why_graph_tree(graph), spell->node);
	cause.node_ns = ns;
	cause.func = why_func(why_graph_tree(graph), cause.node);
	return cause;
}

static struct ebt_error *add_waits(struct why *why)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < why->path.n; i++) {
		const struct why_segment *segment = &why->path.segments[i];
		struct why_cause cause;

		if (segment->kind != WHY_WAIT && segment->kind != WHY_UNKNOWN)
			continue;
		cause = why_cause_of(why->graph, segment);
		err = add_cause(why, &cause) ?: weigh_segment(why, segment, cause.ns);
	}
	return err;
}

/* --- on a CPU: what samples say --- */

struct on_cpu {
	uint64_t ns, samples;
	uint64_t shared; /* samples whose share is given out */
};

struct sharing {
	struct why *why;
	struct on_cpu *threads; /* by task id */
	size_t n_threads;
	struct ebt_map at; /* by task and node */
};

/* The first segment that ends behind a time, from this one on: mostly one of the next. */
static size_t segment_near(const struct why_path *path, size_t from, uint64_t time)
{
	size_t step = 1, high;

	while (from + step < path->n && path->segments[from + step].from <= time) {
		from += step;
		step *= 2;
	}
	high = from + step < path->n ? from + step : path->n;
	while (from < high) {
		size_t middle = from + (high - from) / 2;

		if (path->segments[middle + 1].from <= time)
			from = middle + 1;
		else
			high = middle;
	}
	return from;
}

/* In which segment a moment is; NULL: in none. */
static const struct why_segment *segment_at(const struct why_path *path, uint64_t time)
{
	const size_t i = segment_near(path, 0, time);

	return i < path->n && path->segments[i].from <= time ? &path->segments[i] : NULL;
}

uint32_t why_func(const struct calltree *tree, uint32_t node)
{
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	const struct calltree_func *funcs = calltree_funcs(tree, &n);

	return node && funcs[nodes[node].func].kind != CALLTREE_ROOT ? nodes[node].func
								     : WHY_NO_FUNC;
}

static struct ebt_error *take_sample(void *arg, const struct ebt_row *row)
{
	struct sharing *sharing = arg;
	struct why *why = sharing->why;
	struct calltree *tree = why_graph_tree(why->graph);
	const struct calltree_stack stack = calltree_sample_stack(row);
	const struct why_segment *segment = segment_at(&why->path, row->time);
	uint32_t node, i;
	struct ebt_error *err;

	if (!stack.task || !segment || segment->kind != WHY_CPU ||
	    segment->task != stack.task->id || stack.task->id >= sharing->n_threads)
		return NULL;
	err = calltree_place(tree, &stack, &node);
	if (err)
		return err;
	err = ebt_map_element(&sharing->at, (uint64_t)stack.task->id << 32 | node, &why->places,
			      &why->n_places, &why->places_capacity, &i);
	if (err)
		return err;
	why->places[i].task = stack.task->id;
	why->places[i].node = node;
	why->places[i].samples++;
	sharing->threads[stack.task->id].samples++;
	why->samples++;
	return NULL;
}

static void sum_runs(struct sharing *sharing)
{
	const struct why_path *path = &sharing->why->path;

	for (size_t i = 0; i < path->n; i++) {
		const struct why_segment *segment = &path->segments[i];

		if (segment->kind == WHY_CPU)
			sharing->threads[segment->task].ns += why_segment_ns(segment);
	}
}

/* By samples, so that all shares of a thread together are its time. */
static struct ebt_error *add_places(struct sharing *sharing)
{
	const struct calltree *tree = why_graph_tree(sharing->why->graph);
	struct why_cause cause = { .kind = WHY_CPU, .other = WHY_NOBODY };
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < sharing->why->n_places; i++) {
		struct why_place *place = &sharing->why->places[i];
		struct on_cpu *thread = &sharing->threads[place->task];
		const unsigned __int128 ns = thread->ns;
		const uint64_t shared = thread->shared, then = shared + place->samples;

		cause.task = place->task;
		cause.func = why_func(tree, place->node);
		cause.ns = (uint64_t)(ns * then / thread->samples - ns * shared / thread->samples);
		cause.count = place->samples;
		cause.node = place->node;
		cause.node_ns = cause.ns;
		place->ns = cause.ns;
		thread->shared = then;
		err = add_cause(sharing->why, &cause)
			      ?: weigh(sharing->why, WHY_CPU, place->task, place->node, cause.ns);
	}
	return err;
}

/* Threads that no sample met. */
static struct ebt_error *add_unsampled(struct sharing *sharing)
{
	struct why_cause cause = { .kind = WHY_CPU, .other = WHY_NOBODY, .func = WHY_NO_FUNC };
	struct ebt_error *err = NULL;

	for (uint32_t i = 0; !err && i < sharing->n_threads; i++) {
		if (!sharing->threads[i].ns || sharing->threads[i].samples)
			continue;
		cause.task = i;
		cause.ns = sharing->threads[i].ns;
		err = add_cause(sharing->why, &cause)
			      ?: weigh(sharing->why, WHY_CPU, i, 0, cause.ns);
	}
	return err;
}

static struct ebt_error *share_out(struct why *why, bool no_stacks)
{
	static const struct ebt_want want = EBT_WANT(sample, task, kstack, ustack);
	struct sharing sharing = { .why = why };
	struct ebt_error *err;
	uint32_t n;

	why_graph_threads(why->graph, &n);
	sharing.n_threads = n;
	sharing.threads = calloc(n + 1, sizeof(*sharing.threads));
	if (!sharing.threads)
		return &ebt_enomem;
	sum_runs(&sharing);
	err = no_stacks ? NULL
			: trace_read_rows(why->trace, &want, 1, TRACE_ALL_TASKS | TRACE_ALL_CPUS,
					  take_sample, &sharing);
	if (!err)
		err = add_places(&sharing) ?: add_unsampled(&sharing);
	free(sharing.threads);
	ebt_map_deinit(&sharing.at);
	return err;
}

/* --- on the run queue: who had the CPU --- */

struct queues {
	const struct why *why;
	uint64_t *occupied; /* by segment, how much of it somebody had the CPU so far */
	why_queue_fn *fn;
	void *arg;
};

/* A thread ran; which segments waited for that CPU meanwhile? *from: the first that may have, of
 * this run and of those before. */
static struct ebt_error *hold_against(const struct queues *queues, uint32_t task,
				      const struct why_spell *spell, size_t *from)
{
	const struct why *why = queues->why;
	const struct why_path *path = &why->path;
	struct ebt_error *err = NULL;

	*from = segment_near(path, *from, spell->start);
	for (size_t i = *from; !err && i < path->n && path->segments[i].from < spell->end; i++) {
		const struct why_segment *segment = &path->segments[i];
		const uint64_t to = why_segment_to(segment), ns = why_segment_ns(segment);
		uint64_t since = segment->from > spell->start ? segment->from : spell->start;
		uint64_t until = to < spell->end ? to : spell->end;

		if (segment->kind != WHY_RUNQUEUE ||
		    why_segment_spell(why->graph, segment)->cpu != spell->cpu || since >= until ||
		    until - since > ns - queues->occupied[i])
			continue;
		queues->occupied[i] += until - since;
		err = queues->fn(queues->arg, segment, task, until - since);
	}
	return err;
}

/* Nobody who was recorded had it. */
static struct ebt_error *give_rest(const struct queues *queues)
{
	const struct why_path *path = &queues->why->path;
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < path->n; i++) {
		const struct why_segment *segment = &path->segments[i];
		const uint64_t ns = why_segment_ns(segment) - queues->occupied[i];

		if (segment->kind == WHY_RUNQUEUE && ns)
			err = queues->fn(queues->arg, segment, WHY_NOBODY, ns);
	}
	return err;
}

struct ebt_error *why_each_queue(const struct why *why, why_queue_fn *fn, void *arg)
{
	_cleanup_free_ uint64_t *occupied = calloc(why->path.n + 1, sizeof(*occupied));
	const struct queues queues = { why, occupied, fn, arg };
	struct ebt_error *err = NULL;
	uint32_t n;
	const struct why_thread *threads = why_graph_threads(why->graph, &n);

	if (!occupied)
		return &ebt_enomem;
	for (uint32_t i = 0; !err && i < n; i++) {
		size_t from = 0;

		for (size_t k = 0; !err && k < threads[i].n; k++)
			err = hold_against(&queues, i, &threads[i].spells[k], &from);
	}
	return err ? err : give_rest(&queues);
}

static struct ebt_error *add_behind(void *arg, const struct why_segment *segment, uint32_t other,
				    uint64_t ns)
{
	struct why *why = arg;
	const struct why_cause cause = { .task = segment->task,
					 .kind = WHY_RUNQUEUE,
					 .other = other,
					 .func = WHY_NO_FUNC,
					 .ns = ns,
					 .count = 1,
					 .max_ns = ns };

	return add_cause(why, &cause) ?: weigh_segment(why, segment, ns);
}

/* --- life --- */

/* The longest span of such a mark. */
static struct ebt_error *find_span(struct why *why, const char *name)
{
	const struct marks_options options = { .name = name };
	_cleanup_(marks_destroyp) struct marks *marks = NULL;
	struct ebt_error *err = marks_create(why->trace, &options, &marks);
	const struct mark *longest = NULL;

	for (size_t i = 0; !err && i < marks_n(marks); i++) {
		const struct mark *mark = marks_at(marks, i);

		if (mark->kind == MARK_SPAN && !mark->open && mark->task &&
		    (!longest || mark_duration(mark) > mark_duration(longest)))
			longest = mark;
	}
	if (err || !longest)
		return err ? err : why_no_span("--around", name);
	why->task = longest->task->id;
	why->from = longest->start;
	why->to = longest->end;
	return NULL;
}

struct ebt_error *why_no_span(const char *option, const char *name)
{
	return ebt_error_create(EBT_ERR_INVALID,
				"%s: no span of a mark called '%s', with begin and end, is in the "
				"trace: `ebreport marks` lists them",
				option, name);
}

/* Of the window, to whole chunks. */
static uint64_t switches(const struct trace *trace)
{
	uint64_t ret = 0;
	size_t n;
	const struct ebt_chunk_info *chunks = ebt_reader_chunks(trace_reader(trace), &n);

	for (size_t i = 0; i < n; i++) {
		if (chunks[i].table == EBT_T_sched_switch &&
		    chunks[i].time_max >= trace_from_ns(trace) &&
		    chunks[i].time_min < trace_to_ns(trace))
			ret += chunks[i].rows;
	}
	return ret;
}

struct ebt_error *why_check_size(const struct trace *trace)
{
	const uint64_t n = switches(trace);

	return n <= MOST_SWITCHES
		       ? NULL
		       : ebt_error_create(EBT_ERR_INVALID,
					  "%" PRIu64
					  " million switches are more than the %d million "
					  "that this is made for: choose a part of the time with "
					  "--from and --to",
					  n / 1000000, MOST_SWITCHES / 1000000);
}

/* Of the whole trace, or of the window and what ends waits behind it: as much again, and a second.
 */
static struct ebt_error *set_window(const struct why *why, const struct why_options *options)
{
	struct trace *trace = why->trace;
	const uint64_t end = trace_end_ns(trace) + 1;
	uint64_t from = trace_start_ns(trace), to = end;

	if (!options->whole && !options->around) {
		const uint64_t ns = why->to - why->from, behind = ns > SECOND ? ns : SECOND;

		if (trace_has_before(trace))
			from = why->from;
		if (trace_has_behind(trace) && behind < end - why->to)
			to = why->to + behind;
	}
	trace_look_at(trace, from, to);
	return why_check_size(trace);
}

struct ebt_error *why_create(struct trace *trace, const struct why_options *options,
			     struct why **ret)
{
	_cleanup_(why_destroyp) struct why *why = calloc(1, sizeof(*why));
	struct ebt_error *err;

	if (!why)
		return &ebt_enomem;
	why->trace = trace;
	why->task = WHY_NOBODY;
	why->from = options->whole ? 0 : trace_from_ns(trace);
	why->to = options->whole ? UINT64_MAX : trace_to_ns(trace);
	why->weighs = options->tree;
	err = options->around ? find_span(why, options->around) : NULL;
	if (err)
		return err;
	err = set_window(why, options) ?: why_graph_create(trace, options->no_stacks, &why->graph);
	if (!err && !options->around)
		err = find_task(why, options->quiet);
	if (err)
		return err;
	err =
	      find_path(why) ?:
	      add_waits(why) ?:
	      share_out(why, options->no_stacks) ?:
	      why_each_queue(why, add_behind, why) ?:
	      why_parallel_find(why->graph, &why->path, &why->parallel);
	if (!err && why->weighs)
		err = calltree_finish(why_graph_tree(why->graph));
	if (err)
		return err;
	merge_causes(why);
	if (why->n_causes)
		qsort(why->causes, why->n_causes, sizeof(*why->causes), compare_ns);
	*ret = take_ptr(why);
	return NULL;
}

struct ebt_error *why_create_quick(struct trace *trace, const struct options *options,
				   bool no_stacks, struct why **ret)
{
	const struct why_options quiet = { .quiet = true, .no_stacks = no_stacks };
	const uint64_t from = trace_from_ns(trace), to = trace_to_ns(trace), n = switches(trace);
	bool of_somebody;
	struct ebt_error *err = is_of_somebody(trace, &of_somebody);

	*ret = NULL;
	if (err || !of_somebody || options->from.set || options->to.set || options->interval_ns ||
	    !n || n > MANY_SWITCHES)
		return err;
	err = why_create(trace, &quiet, ret);
	trace_look_at(trace, from, to);
	if (err || why_task(*ret, (*ret)->task))
		return err;
	why_destroy(*ret);
	*ret = NULL;
	return NULL;
}

void why_destroy(struct why *why)
{
	if (!why)
		return;
	why_path_deinit(&why->path);
	why_graph_destroy(why->graph);
	why_parallel_deinit(&why->parallel);
	free(why->causes);
	free(why->places);
	free(why);
}
