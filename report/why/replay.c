/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The execution graph run again; see replay.h. */
#include "report/why/replay.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/map.h"
#include "report/why/objects.h"
#include "report/why/samples.h"

/* What a thread that is woken waits for, beside a CPU that is free: more of it was contention. */
#define LATENCY_NS 100000

/* A thread ends the wait of another one. */
struct hand_off {
	uint32_t waker, wakee;
	uint32_t spell;	 /* of the wakee: the wait */
	uint32_t within; /* of the waker: when it ran */
	uint64_t time;	 /* as recorded */
	uint64_t now;	 /* in the replay; 0: not yet */
};

struct replayed {
	size_t first; /* of its hand-offs, the next one */
	uint64_t stopped;
	uint32_t next; /* spell */
	bool waits;    /* for a hand-off */
	/* Threads of its process, and children of that, that had ended before it did: it may have
	 * found that they had, which no row tells. */
	uint32_t before, not_ended;
	uint32_t ends_for; /* who may wait so for its own end; WHY_NOBODY */
	uint64_t ready;	   /* to end, but for these; 0: not yet */
	double factor;	   /* of all that it does on CPUs */
};

/* A thread that wants a CPU. */
struct ready {
	uint64_t time;
	uint32_t task, spell;
	bool preempted; /* by one that is ready at that time, too */
};

struct why_replay {
	const struct why *why;
	const struct names *names;
	const struct why_thread *threads;
	uint32_t n_threads, cpus;
	struct replayed *actors;
	struct why_samples *samples; /* by task id */
	struct hand_off *hand_offs;  /* by waker and time */
	size_t n_hand_offs, capacity;
	struct ebt_map by_spell; /* of the wakee */

	double *by_node; /* what functions are multiplied with */
	double by_reason[WAIT_N_REASONS];
	double *by_object; /* NULL: no object is changed */
	struct ready *heap;
	size_t n_heap, heap_capacity;
	uint64_t *free_at; /* by CPU */
	uint64_t begun, ended;
};

/* --- preparing --- */

/* Who set a thread going, and when: who ended a wait, or forked it. False: nobody did. */
static bool who_set_going(const struct why_thread *thread, size_t i, struct hand_off *ret)
{
	const struct why_spell *spell = &thread->spells[i];

	if (spell->wake == WHY_WAKE_TASK) {
		ret->waker = spell->waker;
		ret->time = spell->runnable;
		return true;
	}
	if (i || !thread->born || thread->born > spell->start)
		return false;
	ret->waker = thread->parent;
	ret->time = thread->born;
	return true;
}

static struct ebt_error *add_hand_off(struct why_replay *replay, uint32_t task, size_t i)
{
	struct hand_off hand_off = { .wakee = task, .spell = (uint32_t)i };
	const struct why_thread *waker;
	struct ebt_error *err;
	size_t at;

	if (!who_set_going(&replay->threads[task], i, &hand_off) ||
	    hand_off.waker >= replay->n_threads || hand_off.waker == task)
		return NULL;
	waker = &replay->threads[hand_off.waker];
	at = why_thread_at(waker, hand_off.time);
	if (!at || waker->spells[at - 1].start >= hand_off.time ||
	    waker->spells[at - 1].end < hand_off.time)
		return NULL;
	hand_off.within = (uint32_t)at - 1;
	err = ebt_array_reserve(&replay->hand_offs, replay->n_hand_offs, &replay->capacity);
	if (!err)
		replay->hand_offs[replay->n_hand_offs++] = hand_off;
	return err;
}

static int compare_hand_offs(const void *a, const void *b)
{
	const struct hand_off *x = a, *y = b;

	return ebt_compare(x->waker, y->waker) ?: ebt_compare(x->time, y->time) ?:
	       ebt_compare(x->wakee, y->wakee);
}

static uint64_t spell_key(uint32_t task, uint32_t spell)
{
	return (uint64_t)task << 32 | spell;
}

static struct ebt_error *find_hand_offs(struct why_replay *replay)
{
	struct ebt_error *err = NULL;

	for (uint32_t i = 0; !err && i < replay->n_threads; i++) {
		for (size_t k = 0; !err && k < replay->threads[i].n; k++)
			err = add_hand_off(replay, i, k);
	}
	if (replay->n_hand_offs)
		qsort(replay->hand_offs, replay->n_hand_offs, sizeof(*replay->hand_offs),
		      compare_hand_offs);
	for (size_t i = 0; !err && i < replay->n_hand_offs; i++)
		err = ebt_map_insert(&replay->by_spell,
				     spell_key(replay->hand_offs[i].wakee,
					       replay->hand_offs[i].spell),
				     (uint32_t)i);
	return err;
}

/* Numbers above this are no CPUs. */
#define MAX_CPUS 8192

/* How many CPUs have 1 % of what was run and more: a command may be bound to some after it began.
 */
static struct ebt_error *count_cpus(const struct why_replay *replay, uint32_t *ret)
{
	_cleanup_free_ uint64_t *ns = calloc(MAX_CPUS, sizeof(*ns));
	uint64_t all = 0;
	uint32_t n = 0;

	if (!ns)
		return &ebt_enomem;
	for (uint32_t i = 0; i < replay->n_threads; i++) {
		for (size_t k = 0; k < replay->threads[i].n; k++) {
			const struct why_spell *spell = &replay->threads[i].spells[k];

			if (spell->cpu < MAX_CPUS)
				ns[spell->cpu] += spell->end - spell->start;
			all += spell->end - spell->start;
		}
	}
	for (uint32_t i = 0; i < MAX_CPUS; i++)
		n += ns[i] && ns[i] >= all / 100;
	*ret = n ? n : 1;
	return NULL;
}

/* Who may wait for the end of this thread before it ends: the first thread of its process, and of a
 * first thread that of the process that forked it. WHY_NOBODY: nobody's. */
static uint32_t waited_by(const struct why_replay *replay, const uint32_t *first_of, uint32_t task)
{
	const struct why_thread *thread = &replay->threads[task];
	uint32_t by = WHY_NOBODY;

	if (thread->task->tid != thread->task->pid)
		by = first_of[task];
	else if (thread->parent < replay->n_threads)
		by = first_of[thread->parent];
	if (by == WHY_NOBODY || by == task || !replay->threads[by].n)
		return WHY_NOBODY;
	return thread->ended <= replay->threads[by].spells[replay->threads[by].n - 1].end
		       ? by
		       : WHY_NOBODY;
}

/* first_of: by task id, the first thread of its process. */
static struct ebt_error *find_firsts(const struct why_replay *replay, uint32_t *first_of)
{
	_cleanup_(ebt_map_deinit) struct ebt_map by_process = { 0 };
	struct ebt_error *err = NULL;

	for (uint32_t i = 0; !err && i < replay->n_threads; i++) {
		const struct ebt_task *task = replay->threads[i].task;

		if (task && task->tid == task->pid)
			err = ebt_map_insert(&by_process, names_process_key(replay->names, task),
					     i);
	}
	for (uint32_t i = 0; !err && i < replay->n_threads; i++) {
		const struct ebt_task *task = replay->threads[i].task;

		if (!task || !ebt_map_find(&by_process, names_process_key(replay->names, task),
					   &first_of[i]))
			first_of[i] = WHY_NOBODY;
	}
	return err;
}

static struct ebt_error *find_ends(struct why_replay *replay)
{
	_cleanup_free_ uint32_t *first_of = calloc(replay->n_threads + 1, sizeof(*first_of));
	struct ebt_error *err = first_of ? find_firsts(replay, first_of) : &ebt_enomem;

	for (uint32_t i = 0; !err && i < replay->n_threads; i++) {
		const struct why_thread *thread = &replay->threads[i];

		replay->actors[i].ends_for = WHY_NOBODY;
		if (!thread->task || !thread->n || !thread->ended)
			continue;
		replay->actors[i].ends_for = waited_by(replay, first_of, i);
		if (replay->actors[i].ends_for != WHY_NOBODY)
			replay->actors[replay->actors[i].ends_for].before++;
	}
	return err;
}

uint32_t why_replay_cpus(const struct why_replay *replay)
{
	return replay->cpus;
}

struct ebt_error *why_replay_create(const struct why *why, const struct names *names,
				    struct why_replay **ret)
{
	_cleanup_(why_replay_destroyp) struct why_replay *replay = calloc(1, sizeof(*replay));
	struct ebt_error *err;

	if (!replay)
		return &ebt_enomem;
	replay->why = why;
	replay->names = names;
	replay->threads = why_graph_threads(why->graph, &replay->n_threads);
	replay->actors = calloc(replay->n_threads + 1, sizeof(*replay->actors));
	if (!replay->actors)
		return &ebt_enomem;
	err = why_samples_read(why->trace, why->graph, &replay->samples)
		      ?: count_cpus(replay, &replay->cpus)
		      ?: find_hand_offs(replay)
		      ?: find_ends(replay);
	if (!err)
		*ret = take_ptr(replay);
	return err;
}

void why_replay_destroy(struct why_replay *replay)
{
	if (!replay)
		return;
	why_samples_free(replay->samples, replay->n_threads);
	free(replay->actors);
	free(replay->hand_offs);
	ebt_map_deinit(&replay->by_spell);
	free(replay->by_node);
	free(replay->by_object);
	free(replay->heap);
	free(replay->free_at);
	free(replay);
}

/* --- changes --- */

/* Multiplies what is below such a function. */
static struct ebt_error *change_functions(struct why_replay *replay,
					  const struct why_change *change)
{
	uint32_t n, n_funcs;
	const struct calltree *tree = why_graph_tree(replay->why->graph);
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	const struct calltree_func *funcs = calltree_funcs(tree, &n_funcs);
	_cleanup_free_ bool *below = calloc(n + 1, sizeof(*below));

	if (!below)
		return &ebt_enomem;
	for (uint32_t i = 1; i < n; i++) {
		const struct calltree_func *func = &funcs[nodes[i].func];

		below[i] = below[nodes[i].parent] ||
			   (func->kind != CALLTREE_ROOT && !fnmatch(change->name, func->name, 0));
		if (below[i])
			replay->by_node[i] *= change->factor;
	}
	return NULL;
}

static bool is_of(const struct why_replay *replay, uint32_t task, const char *glob)
{
	struct ebt_str name = names_process(replay->names, replay->threads[task].task);
	char text[64];

	snprintf(text, sizeof(text), "%.*s", (int)name.len, name.data);
	return !fnmatch(glob, text, 0);
}

static void change_processes(struct why_replay *replay, const struct why_change *change)
{
	for (uint32_t i = 0; i < replay->n_threads; i++) {
		if (replay->threads[i].task && is_of(replay, i, change->name))
			replay->actors[i].factor *= change->factor;
	}
}

static bool is_called(struct ebt_str name, const char *glob)
{
	char *text = strndup(name.data, name.len);
	const bool ret = text && name.len && !fnmatch(glob, text, 0);

	free(text);
	return ret;
}

static struct ebt_error *change_objects(struct why_replay *replay, const struct why_change *change)
{
	const struct why_objects *objects = why_graph_objects(replay->why->graph);
	const uint32_t n = why_objects_n(objects);

	if (!replay->by_object) {
		replay->by_object = malloc((n + 1) * sizeof(*replay->by_object));
		if (!replay->by_object)
			return &ebt_enomem;
		for (uint32_t i = 0; i < n; i++)
			replay->by_object[i] = 1;
	}
	for (uint32_t i = WHY_NO_OBJECT + 1; i < n; i++) {
		if (is_called(why_object_name(objects, i), change->name) ||
		    is_called(why_object_device(objects, i), change->name))
			replay->by_object[i] *= change->factor;
	}
	return NULL;
}

static void change_waits(struct why_replay *replay, const struct why_change *change)
{
	for (int i = 0; i < WAIT_N_REASONS; i++) {
		if (!strcmp(wait_reason_name((enum wait_reason)i), change->name))
			replay->by_reason[i] *= change->factor;
	}
}

/* *ret_cpus: how many there are then. */
static struct ebt_error *apply(struct why_replay *replay, const struct why_change *changes,
			       size_t n, uint32_t *ret_cpus)
{
	struct ebt_error *err = NULL;
	uint32_t n_nodes;

	calltree_nodes(why_graph_tree(replay->why->graph), &n_nodes);
	free(replay->by_node);
	free(replay->by_object);
	replay->by_object = NULL;
	replay->by_node = malloc((n_nodes + 1) * sizeof(*replay->by_node));
	if (!replay->by_node)
		return &ebt_enomem;
	for (uint32_t i = 0; i < n_nodes; i++)
		replay->by_node[i] = 1;
	for (int i = 0; i < WAIT_N_REASONS; i++)
		replay->by_reason[i] = 1;
	for (uint32_t i = 0; i < replay->n_threads; i++)
		replay->actors[i].factor = 1;
	*ret_cpus = replay->cpus;
	for (size_t i = 0; !err && i < n; i++) {
		switch (changes[i].of) {
		case WHY_OF_FUNCTION:
			err = change_functions(replay, &changes[i]);
			break;
		case WHY_OF_PROCESS:
			change_processes(replay, &changes[i]);
			break;
		case WHY_OF_WAIT:
			change_waits(replay, &changes[i]);
			break;
		case WHY_OF_OBJECT:
			err = change_objects(replay, &changes[i]);
			break;
		case WHY_OF_CPUS:
			*ret_cpus = changes[i].cpus;
		}
	}
	return err;
}

/* --- durations --- */

/* Each sample stands for the time that is nearer to it than to another of its thread. */
static uint64_t cell_end(const struct why_samples *samples, size_t i)
{
	return i + 1 < samples->n ? samples->list[i].time +
					    (samples->list[i + 1].time - samples->list[i].time) / 2
				  : UINT64_MAX;
}

static size_t cell_at(const struct why_samples *samples, uint64_t time)
{
	const size_t i = why_samples_from(samples, time);

	return i && cell_end(samples, i - 1) > time ? i - 1 : i;
}

/* On a CPU from `from` to `to`. */
static uint64_t takes(const struct why_replay *replay, uint32_t task, uint64_t from, uint64_t to)
{
	const struct why_samples *samples = &replay->samples[task];
	const double factor = replay->actors[task].factor;
	double sum = 0;

	if (from >= to)
		return 0;
	if (!samples->n)
		return (uint64_t)((double)(to - from) * factor);
	for (size_t i = cell_at(samples, from); from < to; i++) {
		uint64_t end = cell_end(samples, i);

		end = end < to ? end : to;
		if (end > from)
			sum += (double)(end - from) * replay->by_node[samples->list[i].node];
		from = end > from ? end : from;
	}
	return (uint64_t)(sum * factor);
}

/* --- the replay --- */

static bool is_before(const struct ready *a, const struct ready *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return a->preempted != b->preempted ? b->preempted : a->task < b->task;
}

static struct ebt_error *push(struct why_replay *replay, uint64_t time, uint32_t task,
			      uint32_t spell)
{
	const struct ready ready = { time, task, spell,
				     replay->threads[task].spells[spell].why == SCHED_RUNNABLE };
	struct ebt_error *err =
		ebt_array_reserve(&replay->heap, replay->n_heap, &replay->heap_capacity);
	size_t i = replay->n_heap;

	if (err)
		return err;
	replay->n_heap++;
	for (; i && is_before(&ready, &replay->heap[(i - 1) / 2]); i = (i - 1) / 2)
		replay->heap[i] = replay->heap[(i - 1) / 2];
	replay->heap[i] = ready;
	return NULL;
}

static struct ready pop(struct why_replay *replay)
{
	const struct ready first = replay->heap[0], last = replay->heap[--replay->n_heap];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < replay->n_heap; i = child) {
		if (child + 1 < replay->n_heap &&
		    is_before(&replay->heap[child + 1], &replay->heap[child]))
			child++;
		if (!is_before(&replay->heap[child], &last))
			break;
		replay->heap[i] = replay->heap[child];
	}
	if (replay->n_heap)
		replay->heap[i] = last;
	return first;
}

/* A thread has done all that it did, and ends when those have ended that it may have waited for:
 * likely the last thing it did. */
static void end(struct why_replay *replay, uint32_t task, uint64_t time)
{
	while (task != WHY_NOBODY) {
		struct replayed *actor = &replay->actors[task];

		if (time > actor->ready)
			actor->ready = time;
		if (actor->not_ended)
			return;
		time = actor->ready;
		if (task == replay->why->task)
			replay->ended = time;
		task = actor->ends_for;
		if (task == WHY_NOBODY || --replay->actors[task].not_ended ||
		    !replay->actors[task].ready)
			return;
	}
}

/* How long a wait took that no thread ended, and how long it takes now. */
static uint64_t waited(const struct why_spell *spell)
{
	uint64_t until = spell->runnable ? spell->runnable : spell->start;

	return spell->why == SCHED_RUNNABLE || until <= spell->stop ? 0 : until - spell->stop;
}

static double object_factor(const struct why_replay *replay, const struct why_spell *spell)
{
	return replay->by_object ? replay->by_object[spell->object] : 1;
}

static uint64_t waits(const struct why_replay *replay, const struct why_spell *spell)
{
	return (uint64_t)((double)waited(spell) * replay->by_reason[spell->reason] *
			  object_factor(replay, spell));
}

/* What a wait that another thread ends is multiplied with. */
static double handed_factor(const struct why_replay *replay, const struct why_spell *spell)
{
	const bool is_lock = spell->reason == WAIT_LOCK || spell->reason == WAIT_FILE_LOCK;

	return object_factor(replay, spell) * (is_lock ? replay->by_reason[spell->reason] : 1);
}

/* A thread has waited since `stopped` for what is handed to it now. */
static uint64_t handed_at(const struct why_replay *replay, const struct why_spell *spell,
			  uint64_t stopped, uint64_t now)
{
	if (now <= stopped)
		return stopped;
	return stopped + (uint64_t)((double)(now - stopped) * handed_factor(replay, spell));
}

/* A thread stops at this time, or is not there before. */
static struct ebt_error *go_on(struct why_replay *replay, uint32_t task, uint64_t time)
{
	const struct why_thread *thread = &replay->threads[task];
	struct replayed *actor = &replay->actors[task];
	const uint32_t i = actor->next;
	const struct why_spell *spell;
	uint32_t hand_off;

	if (i >= thread->n) {
		end(replay, task, time);
		return NULL;
	}
	spell = &thread->spells[i];
	if (i && spell->stop > thread->spells[i - 1].end)
		time += spell->stop - thread->spells[i - 1].end;
	if (ebt_map_find(&replay->by_spell, spell_key(task, i), &hand_off)) {
		const uint64_t now = replay->hand_offs[hand_off].now;

		actor->stopped = time;
		actor->waits = !now && handed_factor(replay, spell) > 0;
		return actor->waits ? NULL
				    : push(replay, handed_at(replay, spell, time, now), task, i);
	}
	if (spell->lasts)
		return NULL;
	/* By whom it was forked, is not known. */
	if (!i && time < spell->stop)
		time = spell->stop;
	return push(replay, time + waits(replay, spell), task, i);
}

static struct ebt_error *wake(struct why_replay *replay, struct hand_off *hand_off, uint64_t now)
{
	struct replayed *actor = &replay->actors[hand_off->wakee];

	hand_off->now = now;
	if (hand_off->wakee == replay->why->task && !hand_off->spell)
		replay->begun = now;
	if (!actor->waits || actor->next != hand_off->spell)
		return NULL;
	actor->waits = false;
	return push(replay,
		    handed_at(replay, &replay->threads[hand_off->wakee].spells[hand_off->spell],
			      actor->stopped, now),
		    hand_off->wakee, hand_off->spell);
}

static uint64_t *first_free(const struct why_replay *replay, uint32_t cpus)
{
	uint64_t *ret = replay->free_at;

	for (uint32_t i = 1; i < cpus; i++) {
		if (replay->free_at[i] < *ret)
			ret = &replay->free_at[i];
	}
	return ret;
}

/* It gets a CPU, and wakes whom it woke then. */
static struct ebt_error *run(struct why_replay *replay, const struct ready *ready, uint32_t cpus)
{
	const struct why_spell *spell = &replay->threads[ready->task].spells[ready->spell];
	struct replayed *actor = &replay->actors[ready->task];
	uint64_t *free_at = first_free(replay, cpus), start = *free_at, latency = 0;
	struct ebt_error *err = NULL;

	if (spell->runnable && spell->why != SCHED_RUNNABLE)
		latency = spell->start - spell->runnable;
	latency = latency < LATENCY_NS ? latency : LATENCY_NS;
	if (start < ready->time + latency)
		start = ready->time + latency;
	*free_at = start + takes(replay, ready->task, spell->start, spell->end);
	for (; !err && actor->first < replay->n_hand_offs; actor->first++) {
		struct hand_off *hand_off = &replay->hand_offs[actor->first];

		if (hand_off->waker != ready->task || hand_off->within != ready->spell)
			break;
		err = wake(replay, hand_off,
			   start + takes(replay, ready->task, spell->start, hand_off->time));
	}
	if (ready->task == replay->why->task)
		replay->ended = *free_at;
	actor->next = ready->spell + 1;
	return err ? err : go_on(replay, ready->task, *free_at);
}

/* Who was there at the beginning. */
static struct ebt_error *begin(struct why_replay *replay)
{
	struct ebt_error *err = NULL;

	for (uint32_t i = 0; i < replay->n_threads; i++) {
		replay->actors[i].next = 0;
		replay->actors[i].first = SIZE_MAX;
		replay->actors[i].waits = false;
		replay->actors[i].not_ended = replay->actors[i].before;
		replay->actors[i].ready = 0;
	}
	for (size_t i = replay->n_hand_offs; i--;) {
		replay->hand_offs[i].now = 0;
		replay->actors[replay->hand_offs[i].waker].first = i;
	}
	for (uint32_t i = 0; !err && i < replay->n_threads; i++) {
		const struct why_thread *thread = &replay->threads[i];

		/* Who is forked is not there before, and waits for that. */
		if (thread->n)
			err = go_on(replay, i,
				    thread->born || thread->spells->why == SCHED_NEW
					    ? 0
					    : thread->spells->stop);
	}
	return err;
}

struct ebt_error *why_replay_run(struct why_replay *replay, const struct why_change *changes,
				 size_t n, uint64_t *ret_ns)
{
	struct ebt_error *err;
	uint32_t cpus;

	*ret_ns = 0;
	replay->n_heap = 0;
	replay->begun = replay->why->path.from;
	replay->ended = replay->begun;
	err = apply(replay, changes, n, &cpus);
	if (err)
		return err;
	free(replay->free_at);
	replay->free_at = calloc(cpus + 1, sizeof(*replay->free_at));
	if (!replay->free_at)
		return &ebt_enomem;
	err = begin(replay);
	while (!err && replay->n_heap) {
		const struct ready ready = pop(replay);

		err = run(replay, &ready, cpus);
	}
	if (!err && replay->ended > replay->begun)
		*ret_ns = replay->ended - replay->begun;
	return err;
}

/* --- what there is --- */

static uint64_t changed(const struct why_replay *replay, uint32_t task, uint32_t i)
{
	const struct why_spell *spell = &replay->threads[task].spells[i];
	uint64_t ns = spell->end - spell->start - takes(replay, task, spell->start, spell->end);
	uint32_t hand_off;

	if (ebt_map_find(&replay->by_spell, spell_key(task, i), &hand_off))
		return ns + waited(spell) - handed_at(replay, spell, 0, waited(spell));
	return ns + waited(spell) - waits(replay, spell);
}

struct ebt_error *why_replay_concerns(struct why_replay *replay, const struct why_change *change,
				      uint64_t *ret_ns)
{
	struct why_change none = *change;
	uint64_t ns = 0;
	uint32_t cpus;
	struct ebt_error *err;

	none.factor = 0;
	err = apply(replay, &none, 1, &cpus);
	for (uint32_t i = 0; !err && i < replay->n_threads; i++) {
		for (size_t k = 0; k < replay->threads[i].n; k++)
			ns += changed(replay, i, (uint32_t)k);
	}
	*ret_ns = ns;
	return err;
}
