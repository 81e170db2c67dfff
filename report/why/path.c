/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The critical path; see path.h. */
#include "report/why/path.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"

/* Threads that wake each other at one time lead nowhere. */
#define MAX_TURNS 64

/* Who waits for the thread of the kernel that the path is at. */
struct waiter {
	uint32_t task; /* WHY_NOBODY: it is at none */
	const struct why_spell *spell;
};

struct walk {
	const struct why_thread *threads;
	uint32_t n_threads;
	struct why_path *path;
	uint32_t task; /* where the path is */
	uint64_t time;
	struct waiter waiter;
	unsigned int turns; /* to other threads, since the time has changed */
};

/* The path goes back to `from` by this segment. */
static struct ebt_error *go_back(struct walk *walk, uint64_t from, enum why_kind kind,
				 enum why_gap gap, const struct why_spell *spell)
{
	struct why_path *path = walk->path;
	struct why_segment segment = {
		.to = walk->time,
		.task = walk->task,
		.kind = (uint8_t)kind,
		.gap = (uint8_t)gap,
		.spell = spell,
	};
	struct ebt_error *err;

	if (walk->waiter.task != WHY_NOBODY && from < walk->waiter.spell->stop)
		from = walk->waiter.spell->stop;
	segment.from = from < path->from ? path->from : from;
	if (segment.from >= segment.to)
		return NULL;
	walk->time = segment.from;
	walk->turns = 0;
	if (segment.from >= path->to)
		return NULL;
	if (segment.to > path->to)
		segment.to = path->to;
	err = ebt_array_reserve(&path->segments, path->n, &path->capacity);
	if (!err)
		path->segments[path->n++] = segment;
	return err;
}

/* On to another thread at the same time. False: it is not in the trace then. */
static bool turn_to(struct walk *walk, uint32_t task)
{
	if (task >= walk->n_threads || !walk->threads[task].task || walk->turns >= MAX_TURNS)
		return false;
	walk->task = task;
	walk->turns++;
	return true;
}

static void return_to_waiter(struct walk *walk)
{
	walk->task = walk->waiter.task;
	walk->waiter.task = WHY_NOBODY;
}

/* Did it run just before, as far as rows tell? */
static bool may_have_run(const struct why_thread *thread, uint64_t time)
{
	size_t i = why_thread_at(thread, time);

	return i && thread->spells[i - 1].start < time;
}

static enum why_gap gap_of(const struct why_spell *spell)
{
	return spell->wake == WHY_WAKE_UNSEEN && !spell->lasts ? WHY_GAP_WAKING : WHY_GAP_NONE;
}

/* The wait is the thread's own: what ended it is no thread of the trace. */
static struct ebt_error *wait_itself(struct walk *walk, const struct why_spell *spell)
{
	enum why_gap gap = gap_of(spell);

	return go_back(walk, spell->stop, gap ? WHY_UNKNOWN : WHY_WAIT, gap, spell);
}

/* What the waiter waited for is what the thread of the kernel did not begin before. */
static struct ebt_error *wait_as_waiter(struct walk *walk)
{
	const struct why_spell *spell = walk->waiter.spell;

	return_to_waiter(walk);
	return go_back(walk, spell->stop, WHY_WAIT, WHY_GAP_NONE, spell);
}

/* A wait that ended just now. */
static struct ebt_error *through_wait(struct walk *walk, const struct why_spell *spell)
{
	const uint32_t waker = spell->waker;
	const struct why_thread *by;

	if (spell->wake != WHY_WAKE_TASK || waker >= walk->n_threads || waker == walk->task ||
	    !may_have_run(&walk->threads[waker], walk->time))
		return walk->waiter.task == WHY_NOBODY ? wait_itself(walk, spell)
						       : wait_as_waiter(walk);
	by = &walk->threads[waker];
	if (!by->kernel)
		walk->waiter.task = WHY_NOBODY;
	else if (walk->waiter.task == WHY_NOBODY)
		walk->waiter = (struct waiter){ walk->task, spell };
	return turn_to(walk, waker) ? NULL : wait_itself(walk, spell);
}

/* Before its first spell. */
static struct ebt_error *through_birth(struct walk *walk, const struct why_thread *thread)
{
	if (thread->parent != WHY_NOBODY && thread->born && thread->born <= walk->time) {
		struct ebt_error *err =
			go_back(walk, thread->born, WHY_UNKNOWN, WHY_GAP_LOST, NULL);

		if (err || walk->time <= walk->path->from)
			return err;
		if (turn_to(walk, thread->parent))
			return NULL;
	}
	return go_back(walk, walk->path->from, WHY_UNKNOWN, WHY_GAP_BEFORE, NULL);
}

static struct ebt_error *through_spell(struct walk *walk, const struct why_spell *spell)
{
	if (walk->time > spell->end)
		return go_back(walk, spell->end, WHY_UNKNOWN, WHY_GAP_LOST, NULL);
	if (walk->time > spell->start)
		return go_back(walk, spell->start, WHY_CPU, WHY_GAP_NONE, spell);
	if (spell->why == SCHED_RUNNABLE)
		return go_back(walk, spell->stop, WHY_RUNQUEUE, WHY_GAP_NONE, spell);
	if (spell->runnable && walk->time > spell->runnable)
		return go_back(walk, spell->runnable, WHY_RUNQUEUE, WHY_GAP_NONE, spell);
	return through_wait(walk, spell);
}

static struct ebt_error *step(struct walk *walk)
{
	const struct why_thread *thread = &walk->threads[walk->task];
	size_t i;

	if (walk->waiter.task != WHY_NOBODY && walk->time <= walk->waiter.spell->stop) {
		return_to_waiter(walk);
		return NULL;
	}
	i = why_thread_at(thread, walk->time);
	return i ? through_spell(walk, &thread->spells[i - 1]) : through_birth(walk, thread);
}

static void reverse(struct why_path *path)
{
	for (size_t i = 0; i < path->n / 2; i++) {
		struct why_segment first = path->segments[i];

		path->segments[i] = path->segments[path->n - 1 - i];
		path->segments[path->n - 1 - i] = first;
	}
}

/* Of the wait that the thread is in at this time, if it is in one. */
static uint64_t end_of_wait(const struct why_thread *thread, uint64_t time)
{
	const size_t i = why_thread_at(thread, time);
	const struct why_spell *spell = i ? &thread->spells[i - 1] : NULL;

	return spell && spell->why != SCHED_RUNNABLE && spell->runnable > time ? spell->runnable
									       : time;
}

struct ebt_error *why_path_find(const struct why_graph *graph, uint32_t task, uint64_t from,
				uint64_t to, struct why_path *ret)
{
	struct walk walk = { .path = ret, .task = task, .time = to, .waiter = { WHY_NOBODY } };
	struct ebt_error *err = NULL;

	*ret = (struct why_path){ .from = from < to ? from : to, .to = to };
	walk.threads = why_graph_threads(graph, &walk.n_threads);
	if (task < walk.n_threads)
		walk.time = end_of_wait(&walk.threads[task], to);
	while (!err && walk.time > ret->from)
		err = step(&walk);
	if (err)
		why_path_deinit(ret);
	else
		reverse(ret);
	return err;
}

void why_path_deinit(struct why_path *path)
{
	free(path->segments);
	*path = (struct why_path){ 0 };
}
