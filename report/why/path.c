/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The critical path; see path.h. */
#include "report/why/path.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/map.h"

/* Threads that wake each other at one time lead nowhere. */
#define MAX_TURNS 64
/* Who waits for who waits for … : of more the innermost ones are not told. */
#define MAX_WAITERS 64
#define N_LAST	    64
#define MAX_NEAR    8

/* Who waits for the thread of the kernel that the path is at. */
struct waiter {
	uint32_t task; /* WHY_NOBODY: it is at none */
	const struct why_spell *spell;
};

/* Somebody waits for what the path is at, since `stop`. */
struct meanwhile {
	uint64_t stop;
	struct why_waiter who; /* without a parent */
	bool for_kernel;       /* for a thread of the kernel, or for whom that waits */
};

struct walk {
	const struct why_thread *threads;
	uint32_t n_threads;
	struct why_path *path;
	uint32_t task; /* where the path is */
	uint64_t time;
	struct waiter waiter;
	unsigned int turns; /* to other threads, since the time has changed */
	/* Where threads were found last, by their ids: the path comes back to the same few, a
	 * little earlier. */
	struct {
		uint32_t task;
		size_t at;
	} last[N_LAST];
	struct meanwhile waiting[MAX_WAITERS]; /* the outermost first */
	unsigned int n_waiting;
	struct ebt_map by_waiter;
};

/* --- who waits meanwhile --- */

static bool same_waiter(const struct why_waiter *a, const struct why_waiter *b)
{
	return a->parent == b->parent && a->task == b->task && a->object == b->object &&
	       a->reason == b->reason;
}

/* Its number; of one that is not there yet it is a new one. */
static struct ebt_error *find_waiter(struct walk *walk, const struct why_waiter *waiter,
				     uint32_t *ret)
{
	struct why_path *path = walk->path;
	const uint64_t key =
		ebt_hash_u64(ebt_hash_u64((uint64_t)waiter->reason << 32 | waiter->parent,
					  waiter->task),
			     waiter->object);
	struct ebt_error *err;

	*ret = ebt_map_search(&walk->by_waiter, key, i, same_waiter(&path->waiters[i], waiter));
	if (*ret != EBT_MAP_NONE)
		return NULL;
	*ret = (uint32_t)path->n_waiters;
	err = ebt_array_reserve(&path->waiters, path->n_waiters, &path->waiters_capacity)
		      ?: ebt_map_insert(&walk->by_waiter, key, *ret);
	if (!err)
		path->waiters[path->n_waiters++] = *waiter;
	return err;
}

/* All who wait now. */
static struct ebt_error *find_waiters(struct walk *walk, uint32_t *ret)
{
	struct ebt_error *err = NULL;

	*ret = 0;
	for (unsigned int i = 0; !err && i < walk->n_waiting; i++) {
		struct why_waiter waiter = walk->waiting[i].who;

		waiter.parent = *ret;
		err = find_waiter(walk, &waiter, ret);
	}
	return err;
}

/* Those who began to wait just now do not wait before. for_kernel: and none waits for threads of
 * the kernel any more. */
static void end_waiting(struct walk *walk, bool for_kernel)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < walk->n_waiting; i++) {
		if (walk->waiting[i].stop < walk->time &&
		    !(for_kernel && walk->waiting[i].for_kernel))
			walk->waiting[n++] = walk->waiting[i];
	}
	walk->n_waiting = n;
}

static void begin_waiting(struct walk *walk, uint32_t task, const struct why_spell *spell)
{
	/* Who is forked waits for nobody. */
	if (spell->why == SCHED_NEW || walk->n_waiting == MAX_WAITERS)
		return;
	walk->waiting[walk->n_waiting++] = (struct meanwhile){
		.stop = spell->stop,
		.who = { .task = task, .object = spell->object, .reason = spell->reason },
		.for_kernel = walk->waiter.task != WHY_NOBODY,
	};
}

/* When the last of them began to; 0: nobody waits. */
static uint64_t waiting_since(const struct walk *walk)
{
	uint64_t ret = 0;

	for (unsigned int i = 0; i < walk->n_waiting; i++)
		ret = walk->waiting[i].stop > ret ? walk->waiting[i].stop : ret;
	return ret;
}

/* The path goes back to `from` by this segment. */
static struct ebt_error *go_back(struct walk *walk, uint64_t from, enum why_kind kind,
				 enum why_gap gap, const struct why_spell *spell)
{
	struct why_path *path = walk->path;
	struct why_segment segment = {
		.task = walk->task,
		.spell = spell ? (uint32_t)(spell - walk->threads[walk->task].spells) + 1 : 0,
		.kind = (uint8_t)kind,
		.gap = (uint8_t)gap,
	};
	struct ebt_error *err;

	if (walk->waiter.task != WHY_NOBODY && from < walk->waiter.spell->stop)
		from = walk->waiter.spell->stop;
	if (from < waiting_since(walk))
		from = waiting_since(walk);
	segment.from = from < path->from ? path->from : from;
	if (segment.from >= walk->time)
		return NULL;
	err = segment.from < path->to ? find_waiters(walk, &segment.waiter) : NULL;
	walk->time = segment.from;
	walk->turns = 0;
	end_waiting(walk, false);
	if (err || segment.from >= path->to)
		return err;
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
	end_waiting(walk, true);
}

/* As why_thread_at(). */
static size_t find_at(struct walk *walk, uint32_t task)
{
	const struct why_thread *thread = &walk->threads[task];
	size_t at = walk->last[task % N_LAST].at, ret = 0;

	if (walk->last[task % N_LAST].task != task || at > thread->n ||
	    (at < thread->n && thread->spells[at].stop < walk->time))
		at = 0;
	for (size_t i = 0; i < MAX_NEAR && at > i && !ret; i++)
		ret = thread->spells[at - 1 - i].stop < walk->time ? at - i : 0;
	if (!ret)
		ret = why_thread_at(thread, walk->time);
	walk->last[task % N_LAST].task = task;
	walk->last[task % N_LAST].at = ret;
	return ret;
}

/* Did it run just before, as far as rows tell? */
static bool may_have_run(struct walk *walk, uint32_t task)
{
	size_t i = find_at(walk, task);

	return i && walk->threads[task].spells[i - 1].start < walk->time;
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

/* A thread of the kernel did what a program asked for, and the path is that program's. */
static void go_on_with_user(struct walk *walk)
{
	walk->waiter.task = WHY_NOBODY;
	for (unsigned int i = 0; i < walk->n_waiting; i++)
		walk->waiting[i].for_kernel = false;
}

/* A wait that ended just now. */
static struct ebt_error *through_wait(struct walk *walk, const struct why_spell *spell)
{
	const uint32_t waker = spell->waker;
	const struct why_thread *by;
	uint32_t by_whom;

	if (spell->wake != WHY_WAKE_TASK || waker >= walk->n_threads || waker == walk->task ||
	    !may_have_run(walk, waker))
		return walk->waiter.task == WHY_NOBODY ? wait_itself(walk, spell)
						       : wait_as_waiter(walk);
	by = &walk->threads[waker];
	if (!by->kernel)
		go_on_with_user(walk);
	else if (walk->waiter.task == WHY_NOBODY)
		walk->waiter = (struct waiter){ walk->task, spell };
	by_whom = walk->task;
	if (!turn_to(walk, waker))
		return wait_itself(walk, spell);
	begin_waiting(walk, by_whom, spell);
	return NULL;
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
	i = find_at(walk, walk->task);
	return i ? through_spell(walk, &thread->spells[i - 1]) : through_birth(walk, thread);
}

/* In the order of time, and with the end behind it. */
static struct ebt_error *finish(struct why_path *path)
{
	struct ebt_error *err = ebt_array_reserve(&path->segments, path->n, &path->capacity);

	if (err)
		return err;
	for (size_t i = 0; i < path->n / 2; i++) {
		struct why_segment first = path->segments[i];

		path->segments[i] = path->segments[path->n - 1 - i];
		path->segments[path->n - 1 - i] = first;
	}
	path->segments[path->n] = (struct why_segment){ .from = path->to };
	return NULL;
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
	struct ebt_error *err;
	uint32_t nobody;

	*ret = (struct why_path){ .from = from < to ? from : to, .to = to };
	walk.threads = why_graph_threads(graph, &walk.n_threads);
	if (task >= walk.n_threads || !walk.threads[task].n)
		ret->from = ret->to;
	else
		walk.time = end_of_wait(&walk.threads[task], to);
	err = find_waiter(&walk, &(struct why_waiter){ .task = WHY_NOBODY }, &nobody);
	while (!err && walk.time > ret->from)
		err = step(&walk);
	ebt_map_deinit(&walk.by_waiter);
	if (!err)
		err = finish(ret);
	if (err)
		why_path_deinit(ret);
	return err;
}

const struct why_spell *why_segment_spell(const struct why_graph *graph,
					  const struct why_segment *segment)
{
	uint32_t n;

	return segment->spell
		       ? &why_graph_threads(graph, &n)[segment->task].spells[segment->spell - 1]
		       : NULL;
}

void why_path_deinit(struct why_path *path)
{
	free(path->segments);
	free(path->waiters);
	*path = (struct why_path){ 0 };
}
