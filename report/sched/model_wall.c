/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wall-clock time of threads; see model_wall.h. */
#include "report/sched/model_wall.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "report/sched/feed.h"
#include "report/sched/model_offcpu.h"
#include "report/sched/wait_reason.h"
#include "report/stacks/model_calltree.h"
#include "report/trace/prepare.h"
#include "format/base/array.h"

/* What a thread spent at a place of the tree. */
struct spent {
	uint32_t task, node;
	uint64_t samples;
	uint64_t ns[WALL_N_KINDS];
};

/* Of a thread, besides its figures. */
struct aside {
	uint64_t born;		      /* 0: not in the recording */
	uint64_t shared;	      /* samples whose share of the time is given out */
	const struct ebt_task *alive; /* at the end of the window before this one */
};

struct wall {
	struct trace *trace;
	struct wall_options options;
	struct calltree *tree;
	struct offcpu *offcpu;

	struct wall_thread *threads; /* by task id */
	struct aside *aside;	     /* by task id */
	size_t n_threads, n_aside;   /* n_aside is never less */

	struct spent *spent;
	size_t n_spent, spent_capacity;
	struct ebt_map spent_at; /* by task and node */

	uint8_t *reason_at; /* by node: 0 not known yet, else 1 + the reason */
	size_t n_reason_at;
	uint32_t n_places; /* nodes of the tree before the leaves */
	uint64_t to;	   /* end of the window */
	bool was_read, known;
};

static const struct {
	const char *name, *leaf;
	enum calltree_kind kind;
} kinds[WALL_N_KINDS] = {
	[WALL_CPU] = { "cpu", "[on CPU]", CALLTREE_ON_CPU },
	[WALL_RUNQUEUE] = { "runqueue", "[run queue]", CALLTREE_QUEUED },
	[WALL_PREEMPTED] = { "preempted", "[preempted]", CALLTREE_QUEUED },
	[WALL_SLEEP] = { "sleep", "[sleep]", CALLTREE_OFF_CPU },
	[WALL_LOCK] = { "lock", "[lock]", CALLTREE_OFF_CPU },
	[WALL_DISK] = { "disk", "[disk]", CALLTREE_OFF_CPU },
	[WALL_OTHER] = { "other", "[other]", CALLTREE_OFF_CPU },
};

const char *wall_kind_name(enum wall_kind kind)
{
	return kinds[kind].name;
}

uint64_t wall_runqueue_ns(const struct wall_thread *thread)
{
	return thread->ns[WALL_RUNQUEUE] + thread->ns[WALL_PREEMPTED];
}

uint64_t wall_off_ns(const struct wall_thread *thread)
{
	return thread->ns[WALL_SLEEP] + thread->ns[WALL_LOCK] + thread->ns[WALL_DISK] +
	       thread->ns[WALL_OTHER];
}

uint64_t wall_lifetime_ns(const struct wall_thread *thread)
{
	return thread->to > thread->from ? thread->to - thread->from : 0;
}

double wall_coverage(const struct wall_thread *thread)
{
	uint64_t known = thread->ns[WALL_CPU] + wall_runqueue_ns(thread) + wall_off_ns(thread);
	uint64_t lifetime = wall_lifetime_ns(thread);

	return lifetime ? 100.0 * (double)known / (double)lifetime : 100.0;
}

/* --- places for figures --- */

static struct ebt_error *get_thread(struct wall *wall, const struct ebt_task *task,
				    struct wall_thread **ret)
{
	uint64_t from = trace_from_ns(wall->trace);
	struct ebt_error *err;

	err = ebt_array_reserve_zeroed(&wall->threads, task->id, &wall->n_threads)
		      ?: ebt_array_reserve_zeroed(&wall->aside, task->id, &wall->n_aside);
	if (err)
		return err;
	*ret = &wall->threads[task->id];
	if (!(*ret)->task) {
		uint64_t born = wall->aside[task->id].born;

		/* The kernel's start time is that of the clone, which goes on for a while. */
		born = born ? born : task->start_ns;
		(*ret)->task = task;
		(*ret)->from = born > from ? born : from;
		(*ret)->to = wall->to;
	}
	return NULL;
}

static uint32_t top_of(const struct calltree *tree, uint32_t node)
{
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);

	while (nodes[node].parent)
		node = nodes[node].parent;
	return node;
}

static struct ebt_error *get_spent(struct wall *wall, const struct ebt_task *task, uint32_t node,
				   struct spent **ret)
{
	const size_t n = wall->n_spent;
	uint32_t i;
	struct ebt_error *err;

	err = ebt_map_element(&wall->spent_at, (uint64_t)task->id << 32 | node, &wall->spent,
			      &wall->n_spent, &wall->spent_capacity, &i);
	if (err)
		return err;
	*ret = &wall->spent[i];
	if (wall->n_spent > n) {
		(*ret)->task = task->id;
		(*ret)->node = node;
		wall->threads[task->id].top = top_of(wall->tree, node);
	}
	return NULL;
}

/* --- what a task waited for --- */

static struct ebt_error *reason_of(struct wall *wall, uint32_t node, enum sched_why why,
				   enum wait_reason *ret)
{
	struct ebt_error *err;

	err = ebt_array_reserve_zeroed(&wall->reason_at, node, &wall->n_reason_at);
	if (err)
		return err;
	if (!wall->reason_at[node])
		wall->reason_at[node] = (uint8_t)(1 + wait_reason_of(wall->tree, node, why));
	*ret = (enum wait_reason)(wall->reason_at[node] - 1);
	return NULL;
}

static enum wall_kind kind_of(enum sched_why why, bool lock)
{
	switch (why) {
	case SCHED_SLEEP:
		return lock ? WALL_LOCK : WALL_SLEEP;
	case SCHED_DISK:
		return lock ? WALL_LOCK : WALL_DISK;
	case SCHED_IDLE:
		return WALL_SLEEP;
	case SCHED_NEW:
		return WALL_RUNQUEUE;
	case SCHED_RUNNABLE:
		return WALL_PREEMPTED;
	default:
		return WALL_OTHER;
	}
}

/* --- reading --- */

/* What of it counts. */
static uint64_t within(const struct wall *wall, const struct ebt_task *task, uint64_t from,
		       uint64_t to)
{
	return wall->options.within ? span_set_ns(wall->options.within, task, from, to) : to - from;
}

static bool is_within(const struct wall *wall, const struct ebt_task *task, uint64_t from,
		      uint64_t to)
{
	return !wall->options.within || span_set_touches(wall->options.within, task, from, to);
}

static struct ebt_error *tell(const struct wall *wall, const struct ebt_task *task,
			      const struct wall_interval *interval)
{
	if (!wall->options.interval || interval->from == interval->to)
		return NULL;
	return wall->options.interval(wall->options.arg, task, interval);
}

/* An interval of the model of time off CPU, and its place. */
static struct ebt_error *take_off(void *arg, const struct sched_off *off, uint32_t node)
{
	struct wall *wall = arg;
	struct wall_interval asleep = { .from = off->start, .to = off->end, .node = node };
	struct wall_interval queued = { WALL_RUNQUEUE, off->end, off->end, node };
	struct wall_thread *thread;
	struct spent *spent;
	uint64_t ns;
	enum wait_reason reason;
	struct ebt_error *err;

	if (!is_within(wall, off->task, off->start, off->end))
		return NULL;
	err = get_thread(wall, off->task, &thread) ?:
	      reason_of(wall, node, off->why, &reason) ?:
	      get_spent(wall, off->task, node, &spent);
	if (err)
		return err;
	asleep.kind = kind_of(off->why, reason == WAIT_LOCK);
	if (asleep.kind != WALL_PREEMPTED && asleep.kind != WALL_RUNQUEUE && off->runnable)
		asleep.to = queued.from = off->runnable;
	ns = within(wall, off->task, queued.from, queued.to);
	thread->ns[WALL_RUNQUEUE] += ns;
	spent->ns[WALL_RUNQUEUE] += ns;
	ns = within(wall, off->task, asleep.from, asleep.to);
	thread->ns[asleep.kind] += ns;
	if (asleep.kind == WALL_SLEEP && reason == WAIT_THREAD)
		thread->join_ns += ns;
	spent->ns[asleep.kind] += ns;
	thread->open += (off->flags & (SCHED_OPEN_START | SCHED_OPEN_END)) != 0;
	err = tell(wall, off->task, &asleep);
	return err ? err : tell(wall, off->task, &queued);
}

static struct ebt_error *count_run(struct wall *wall, const struct sched_run *run)
{
	const struct wall_interval interval = { WALL_CPU, run->start, run->end, 0 };
	struct wall_thread *thread;
	struct ebt_error *err = get_thread(wall, run->task, &thread);

	if (err)
		return err;
	thread->ns[WALL_CPU] += within(wall, run->task, run->start, run->end);
	thread->open += (run->flags & (SCHED_OPEN_START | SCHED_OPEN_END)) != 0;
	return tell(wall, run->task, &interval);
}

static struct ebt_error *on_run(void *arg, const struct sched_run *run)
{
	struct wall *wall = arg;
	struct ebt_error *err = NULL;

	if (is_within(wall, run->task, run->start, run->end))
		err = count_run(wall, run);
	if (!err && run->why == SCHED_DEAD && run->row && run->task->id < wall->n_threads)
		wall->threads[run->task->id].to = run->end;
	return err;
}

/* A thread of which no switch tells. */
static struct ebt_error *add_silent(struct wall *wall, const struct ebt_task *task)
{
	struct wall_thread *thread;

	if (wall->known || !task || !sched_feed_wanted(wall->trace, task, UINT32_MAX))
		return NULL;
	return get_thread(wall, task, &thread);
}

static struct ebt_error *on_fork(struct wall *wall, const struct ebt_row *row)
{
	const struct ebt_task *child = ebt_task_fork_child(row);
	struct ebt_error *err;

	if (!child)
		return NULL;
	err = ebt_array_reserve_zeroed(&wall->aside, child->id, &wall->n_aside);
	if (err)
		return err;
	wall->aside[child->id].born = row->time;
	return add_silent(wall, child);
}

static struct ebt_error *on_exit_row(struct wall *wall, const struct ebt_task *task, uint64_t time)
{
	if (!wall->known && task && task->id < wall->n_threads && wall->threads[task->id].task)
		wall->threads[task->id].to = time;
	return NULL;
}

static struct ebt_error *on_row(void *arg, const struct ebt_row *row)
{
	switch (row->batch->table->id) {
	case EBT_T_task_fork:
		return on_fork(arg, row);
	case EBT_T_thread:
		return add_silent(arg, ebt_thread_task(row));
	case EBT_T_task_exit:
		return on_exit_row(arg, ebt_task_exit_task(row), row->time);
	default:
		return NULL;
	}
}

static struct ebt_error *on_alive(void *arg, const struct ebt_task *task)
{
	struct wall_thread *thread;

	return get_thread(arg, task, &thread);
}

/* The kernel tells nothing of a thread that does nothing in a window, and yet the thread is
 * there. */
static struct ebt_error *go_on(struct wall *wall)
{
	struct wall_thread *thread;
	struct ebt_error *err = NULL;

	for (uint32_t i = 0; !err && i < wall->n_threads; i++) {
		if (wall->aside[i].alive)
			err = get_thread(wall, wall->aside[i].alive, &thread);
	}
	return err;
}

static struct ebt_error *read_switches(struct wall *wall)
{
	const struct sched_feed feed = {
		.handler = { .run = on_run },
		.offcpu = wall->offcpu,
		.row = on_row,
		.alive = on_alive,
		.arg = wall,
		.stacks = true,
	};
	uint64_t from;
	bool partial;
	struct ebt_error *err;

	sched_feed_bounds(wall->trace, &from, &wall->to);
	err = go_on(wall);
	return err ? err : sched_feed_run(wall->trace, &feed, &partial);
}

static struct ebt_error *add_sample(void *arg, const struct ebt_row *row)
{
	struct wall *wall = arg;
	const struct calltree_stack stack = calltree_sample_stack(row);
	struct spent *spent;
	struct ebt_error *err;
	uint32_t node;

	if (!stack.task)
		return NULL;
	err = add_silent(wall, stack.task);
	/* Time that no switch tells of cannot be shared out. */
	if (err || stack.task->id >= wall->n_threads || !wall->threads[stack.task->id].task)
		return err;
	if (!is_within(wall, stack.task, row->time, row->time))
		return NULL;
	err = calltree_place(wall->tree, &stack, &node)
		      ?: get_spent(wall, stack.task, node, &spent);
	if (err)
		return err;
	spent->samples++;
	wall->threads[stack.task->id].samples++;
	if (wall->options.sample)
		err = wall->options.sample(wall->options.arg, stack.task, row->time, node);
	return err;
}

static struct ebt_error *read_samples(struct wall *wall)
{
	const struct ebt_want want = EBT_WANT(sample, task, kstack, ustack);

	return trace_read_rows(wall->trace, &want, 1, 0, add_sample, wall);
}

/* --- sharing out, and the tree --- */

/* A thread that no sample met was somewhere. */
static struct ebt_error *place_unsampled(struct wall *wall)
{
	static const struct ebt_batch none = { .id = UINT64_MAX };
	struct ebt_error *err = NULL;

	for (uint32_t i = 0; !err && i < wall->n_threads; i++) {
		struct wall_thread *thread = &wall->threads[i];
		const struct calltree_stack stack = { .batch = &none, .task = thread->task };
		struct spent *spent;
		uint32_t node;

		if (!thread->task || thread->samples || !thread->ns[WALL_CPU])
			continue;
		err = calltree_place(wall->tree, &stack, &node)
			      ?: get_spent(wall, thread->task, node, &spent);
		if (!err)
			spent->ns[WALL_CPU] = thread->ns[WALL_CPU];
	}
	return err;
}

/* By samples, so that all shares of a thread together are its time, to the nanosecond. */
static void share_out(struct wall *wall)
{
	for (size_t i = 0; i < wall->n_spent; i++) {
		struct spent *spent = &wall->spent[i];
		const struct wall_thread *thread = &wall->threads[spent->task];
		uint64_t *shared = &wall->aside[spent->task].shared;
		unsigned __int128 ns = thread->ns[WALL_CPU];

		if (!spent->samples)
			continue;
		spent->ns[WALL_CPU] = (uint64_t)(ns * (*shared + spent->samples) / thread->samples -
						 ns * *shared / thread->samples);
		*shared += spent->samples;
	}
}

static void find_idle(struct wall *wall)
{
	for (uint32_t i = 0; i < wall->n_threads; i++) {
		struct wall_thread *thread = &wall->threads[i];
		uint64_t lifetime = wall_lifetime_ns(thread);

		/* Which leaves less than 1 % for all else. Time that nobody knows is no sleep, and
		 * who waits for the end of a thread waits for no work. */
		thread->idle = thread->task && lifetime &&
			       thread->ns[WALL_SLEEP] > lifetime - lifetime / 100 + thread->join_ns;
	}
}

/* ret[node]: is the function on the way from the root? NULL: nobody asks. */
static struct ebt_error *find_under(const struct wall *wall, bool **ret)
{
	uint32_t n, n_funcs;
	const struct calltree_node *nodes = calltree_nodes(wall->tree, &n);
	const struct calltree_func *funcs = calltree_funcs(wall->tree, &n_funcs);
	bool *under;

	*ret = NULL;
	if (!wall->options.under)
		return NULL;
	under = calloc(n, sizeof(*under));
	if (!under)
		return &ebt_enomem;
	for (uint32_t i = 1; i < n; i++)
		under[i] = under[nodes[i].parent] ||
			   !fnmatch(wall->options.under, funcs[nodes[i].func].name, 0);
	*ret = under;
	return NULL;
}

/* Does what was spent go into the tree? under: by node, or NULL. */
static bool is_wanted(const struct wall *wall, const struct spent *spent, const bool *under)
{
	const struct wall_options *o = &wall->options;
	uint32_t n;

	if (under && !under[spent->node])
		return false;
	if (o->no_recorder && calltree_nodes(wall->tree, &n)[spent->node].recorder)
		return false;
	return !(o->hide_idle && wall->threads[spent->task].idle) &&
	       !trace_leaves_out(wall->trace, wall->threads[spent->task].task);
}

static struct ebt_error *add_leaves(struct wall *wall)
{
	unsigned int only = wall->options.only ? wall->options.only : ~0u;
	_cleanup_free_ bool *under = NULL;
	struct ebt_error *err = find_under(wall, &under);

	calltree_nodes(wall->tree, &wall->n_places);
	for (size_t i = 0; !err && i < wall->n_spent; i++) {
		const struct spent *spent = &wall->spent[i];

		if (!is_wanted(wall, spent, under))
			continue;
		for (int kind = 0; !err && kind < WALL_N_KINDS; kind++) {
			if (spent->ns[kind] && only & 1u << kind)
				err = calltree_add_leaf(wall->tree, spent->node, kinds[kind].leaf,
							kinds[kind].kind, spent->ns[kind]);
		}
	}
	return err ? err : calltree_finish(wall->tree);
}

/* --- making and reading --- */

struct ebt_error *wall_create(struct trace *trace, const struct wall_options *options,
			      struct wall **ret)
{
	_cleanup_(wall_destroyp) struct wall *wall = calloc(1, sizeof(*wall));
	struct offcpu_options offcpu = { .take = take_off, .arg = wall };
	struct ebt_error *err;

	if (!wall)
		return &ebt_enomem;
	wall->trace = trace;
	wall->options = *options;
	err = calltree_create_for(trace, options->roots, &wall->tree);
	if (err)
		return err;
	offcpu.tree = wall->tree;
	err = offcpu_create(trace_reader(trace), &offcpu, &wall->offcpu) ?:
	      sched_is_known(trace, &wall->known) ?:
	      prepare_names(trace, EBT_T_sample, 0) ?:
	      sched_prepare_names(trace);
	if (!err)
		*ret = take_ptr(wall);
	return err;
}

/* Sets figures to zero. When a thread was born, and whether it is still there, stays known. */
static void clear(struct wall *wall)
{
	for (uint32_t i = 0; i < wall->n_threads; i++) {
		const struct wall_thread *thread = &wall->threads[i];

		wall->aside[i].alive = thread->to == wall->to ? thread->task : NULL;
		wall->threads[i] = (struct wall_thread){ 0 };
		wall->aside[i].shared = 0;
	}
	wall->n_spent = 0;
	ebt_map_deinit(&wall->spent_at);
	wall->spent_at = (struct ebt_map){ 0 };
}

struct ebt_error *wall_read(struct wall *wall)
{
	struct ebt_error *err;

	if (wall->was_read)
		clear(wall);
	wall->was_read = true;
	err = read_switches(wall) ?: read_samples(wall) ?: place_unsampled(wall);
	if (err)
		return err;
	share_out(wall);
	find_idle(wall);
	return wall->options.figures_only ? NULL : add_leaves(wall);
}

void wall_destroy(struct wall *wall)
{
	if (!wall)
		return;
	offcpu_destroy(wall->offcpu);
	calltree_destroy(wall->tree);
	ebt_map_deinit(&wall->spent_at);
	free(wall->threads);
	free(wall->aside);
	free(wall->spent);
	free(wall->reason_at);
	free(wall);
}

bool wall_is_known(const struct wall *wall)
{
	return wall->known;
}

const struct wall_thread *wall_threads(const struct wall *wall, uint32_t *ret_n)
{
	*ret_n = (uint32_t)wall->n_threads;
	return wall->threads;
}

const struct calltree *wall_tree(const struct wall *wall)
{
	return wall->tree;
}

bool wall_is_leaf(const struct wall *wall, uint32_t node, enum wall_kind *ret)
{
	uint32_t n, n_funcs;
	const struct calltree_node *nodes = calltree_nodes(wall->tree, &n);
	const struct calltree_func *funcs = calltree_funcs(wall->tree, &n_funcs);

	if (node < wall->n_places)
		return false;
	for (int kind = 0; kind < WALL_N_KINDS; kind++) {
		if (strcmp(funcs[nodes[node].func].name, kinds[kind].leaf) == 0) {
			*ret = (enum wall_kind)kind;
			return true;
		}
	}
	return false;
}
