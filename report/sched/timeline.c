/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who ran on each CPU in slices of time, and lanes of text that show it; see timeline.h. */
#include "report/sched/timeline.h"

#include <inttypes.h>
#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "report/base/names.h"
#include "report/base/text.h"

/* Lanes below this number are drawn; nobody looks at more. */
#define MAX_CPUS 1024u

/* Tasks that are told apart within one slice; when more run, the one with least is forgotten. */
#define CANDIDATES    16

#define DEFAULT_WIDTH 100 /* where there is no terminal */
#define LABEL	      8	  /* columns: "cpu 1023" */

struct timeline_slice {
	const struct ebt_task *task; /* that ran longest; NULL: none that is wanted */
	uint64_t task_ns;
	uint64_t busy_ns; /* of all tasks */
	bool other;	  /* the longest was a task that is not wanted */
};

struct slice_candidate {
	const struct ebt_task *task; /* NULL: those that are not wanted */
	uint64_t ns;
};

struct lane {
	struct timeline_slice *slices;
	uint32_t at; /* the slice that candidates are of */
	uint32_t n;
	struct slice_candidate candidates[CANDIDATES];
};

struct cpu_timeline {
	uint64_t from, to;
	uint32_t n_slices;
	size_t n_cpus;
	struct lane **lanes; /* by CPU; NULL: nothing known */
};

struct ebt_error *timeline_create(uint64_t from_ns, uint64_t to_ns, unsigned int width,
				  struct cpu_timeline **ret)
{
	struct cpu_timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline)
		return &ebt_enomem;
	timeline->from = from_ns;
	timeline->to = to_ns;
	width = width ? width : DEFAULT_WIDTH;
	timeline->n_slices = width > LABEL + 20 ? width - LABEL - 1 : 20;
	*ret = timeline;
	return NULL;
}

void timeline_destroy(struct cpu_timeline *timeline)
{
	if (!timeline)
		return;
	for (uint32_t i = 0; i < timeline->n_cpus; i++) {
		if (timeline->lanes[i])
			free(timeline->lanes[i]->slices);
		free(timeline->lanes[i]);
	}
	free(timeline->lanes);
	free(timeline);
}

/* Where slice i begins, relative to the beginning of all. */
static uint64_t slice_start(const struct cpu_timeline *timeline, uint32_t i)
{
	unsigned __int128 span = timeline->to - timeline->from;

	return (uint64_t)(span * i / timeline->n_slices);
}

static struct ebt_error *get_lane(struct cpu_timeline *timeline, uint32_t cpu, struct lane **ret)
{
	struct ebt_error *err;
	struct lane *lane;

	err = ebt_array_reserve_zeroed(&timeline->lanes, cpu, &timeline->n_cpus);
	if (err)
		return err;
	if (!timeline->lanes[cpu]) {
		lane = calloc(1, sizeof(*lane));
		if (!lane)
			return &ebt_enomem;
		lane->slices = calloc(timeline->n_slices, sizeof(*lane->slices));
		if (!lane->slices) {
			free(lane);
			return &ebt_enomem;
		}
		timeline->lanes[cpu] = lane;
	}
	*ret = timeline->lanes[cpu];
	return NULL;
}

static void close_slice(struct lane *lane)
{
	struct timeline_slice *slice = &lane->slices[lane->at];

	for (uint32_t i = 0; i < lane->n; i++) {
		const struct slice_candidate *c = &lane->candidates[i];

		if (c->ns <= slice->task_ns)
			continue;
		slice->task_ns = c->ns;
		slice->task = c->task;
		slice->other = !c->task;
	}
	lane->n = 0;
}

static void add_to_slice(struct lane *lane, uint32_t at, const struct ebt_task *task, uint64_t ns)
{
	struct slice_candidate *least = NULL;

	if (at != lane->at) {
		close_slice(lane);
		lane->at = at;
	}
	lane->slices[at].busy_ns += ns;
	for (uint32_t i = 0; i < lane->n; i++) {
		struct slice_candidate *c = &lane->candidates[i];

		if (task && c->task ? c->task->id == task->id : c->task == task) {
			c->ns += ns;
			return;
		}
		if (!least || c->ns < least->ns)
			least = c;
	}
	if (lane->n < CANDIDATES)
		lane->candidates[lane->n++] = (struct slice_candidate){ task, ns };
	else if (ns > least->ns)
		*least = (struct slice_candidate){ task, ns };
}

struct ebt_error *timeline_run(struct cpu_timeline *timeline, const struct sched_run *run,
			       bool wanted)
{
	uint64_t start = run->start > timeline->from ? run->start - timeline->from : 0;
	uint64_t span = timeline->to - timeline->from;
	uint64_t end = run->end > timeline->from ? run->end - timeline->from : 0;
	struct lane *lane;
	struct ebt_error *err;

	if (run->cpu >= MAX_CPUS)
		return NULL;
	err = get_lane(timeline, run->cpu, &lane);
	if (err)
		return err;
	end = end < span ? end : span;
	while (start < end) {
		uint32_t at = (uint32_t)((unsigned __int128)start * timeline->n_slices / span);
		uint64_t next = slice_start(timeline, at + 1);

		/* The first nanosecond that is in the next slice, whichever way it was rounded. */
		if (next <= start)
			next = start + 1;
		next = next < end ? next : end;
		add_to_slice(lane, at, wanted ? run->task : NULL, next - start);
		start = next;
	}
	return NULL;
}

/* --- text --- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
#define N_LETTERS (sizeof(letters) - 1)

/* A task in the lanes. */
struct actor {
	const struct ebt_task *task;
	uint64_t ns;
	char letter;
};

struct cast {
	struct actor *actors; /* heaviest first */
	uint32_t *by_task;    /* by task id: 1 + index before sorting */
	uint32_t n, n_by_task;
	size_t capacity;
};

static int compare_ns(const void *a, const void *b)
{
	const struct actor *x = a, *y = b;

	return ebt_compare(y->ns, x->ns) ?: ebt_compare(x->task->tid, y->task->tid);
}

static struct ebt_error *add_actor(struct cast *cast, const struct timeline_slice *slice)
{
	const struct ebt_task *task = slice->task;

	if (!cast->by_task[task->id]) {
		struct ebt_error *err = ebt_array_reserve(&cast->actors, cast->n, &cast->capacity);

		if (err)
			return err;
		cast->actors[cast->n] = (struct actor){ .task = task, .letter = '*' };
		cast->by_task[task->id] = ++cast->n;
	}
	cast->actors[cast->by_task[task->id] - 1].ns += slice->task_ns;
	return NULL;
}

/* Who is in the lanes, and the letter of each: the heaviest get one of their own. */
static struct ebt_error *choose_letters(const struct cpu_timeline *timeline, struct cast *cast)
{
	for (uint32_t cpu = 0; cpu < timeline->n_cpus; cpu++) {
		const struct lane *lane = timeline->lanes[cpu];

		for (uint32_t i = 0; lane && i < timeline->n_slices; i++) {
			const struct timeline_slice *slice = &lane->slices[i];
			struct ebt_error *err = slice->task ? add_actor(cast, slice) : NULL;

			if (err)
				return err;
		}
	}
	if (cast->n)
		qsort(cast->actors, cast->n, sizeof(*cast->actors), compare_ns);
	for (uint32_t i = 0; i < cast->n; i++) {
		if (i < N_LETTERS)
			cast->actors[i].letter = letters[i];
		cast->by_task[cast->actors[i].task->id] = i + 1;
	}
	return NULL;
}

static char slice_letter(const struct cast *cast, const struct timeline_slice *slice, uint64_t ns)
{
	if (!slice->busy_ns)
		return '.';
	if (slice->busy_ns < ns / 2)
		return '-';
	if (slice->other)
		return '+';
	return slice->task ? cast->actors[cast->by_task[slice->task->id] - 1].letter : '-';
}

static void put_axis(struct out *out, struct trace *trace, const struct cpu_timeline *timeline)
{
	uint64_t offset = trace_from_ns(trace) - trace_start_ns(trace);
	uint32_t used = 0;

	out_printf(out, "%*s", LABEL + 1, "");
	for (uint32_t i = 0; i + 12 <= timeline->n_slices; i += 20) {
		_cleanup_text_ struct text label = TEXT_INIT;

		text_cstr(&label, "|");
		text_duration(&label, offset + slice_start(timeline, i));
		out_printf(out, "%*s%s", (int)(i - used), "", text_get(&label));
		used = i + (uint32_t)text_columns(text_get(&label), label.len);
	}
	out_printf(out, "\n");
}

static void put_lane(struct out *out, const struct cpu_timeline *timeline, const struct cast *cast,
		     uint32_t cpu)
{
	const struct lane *lane = timeline->lanes[cpu];
	_cleanup_text_ struct text text = TEXT_INIT;

	if (!lane)
		return;
	for (uint32_t i = 0; i < timeline->n_slices; i++)
		text_addc(&text,
			  slice_letter(cast, &lane->slices[i],
				       slice_start(timeline, i + 1) - slice_start(timeline, i)));
	out_printf(out, "cpu %4" PRIu32 " %s\n", cpu, text_get(&text));
}

static void put_legend(struct out *out, const struct names *names, const struct cast *cast,
		       bool partial)
{
	out_printf(out, "\n.  %s\n-  less than half busy\n+  filtered out\n",
		   partial ? "idle, or busy with processes that were not recorded" : "idle");
	if (cast->n > N_LETTERS)
		out_printf(out, "*  %s%zu %s\n", text_plural(cast->n - N_LETTERS, "", "one of "),
			   cast->n - N_LETTERS,
			   text_plural(cast->n - N_LETTERS, "other", "others"));
	for (uint32_t i = 0; i < cast->n && i < N_LETTERS; i++) {
		const struct actor *actor = &cast->actors[i];
		_cleanup_text_ struct text text = TEXT_INIT;

		text_terminal(&text, text_comm(names_task(names, actor->task)));
		text_printf(&text, " %" PRIu32 "/%" PRIu32, actor->task->pid, actor->task->tid);
		out_printf(out, "%c  %s\n", actor->letter, text_get(&text));
	}
}

struct ebt_error *timeline_put(struct cpu_timeline *timeline, struct out *out, struct trace *trace,
			       bool partial)
{
	struct cast cast = { .n_by_task = ebt_reader_n_tasks(trace_reader(trace)) };
	const struct names *names;
	struct ebt_error *err = trace_names(trace, &names);

	if (err)
		return err;
	for (uint32_t i = 0; i < timeline->n_cpus; i++) {
		if (timeline->lanes[i])
			close_slice(timeline->lanes[i]);
	}
	cast.by_task = calloc(cast.n_by_task + 1, sizeof(*cast.by_task));
	err = cast.by_task ? choose_letters(timeline, &cast) : &ebt_enomem;
	if (!err) {
		put_axis(out, trace, timeline);
		for (uint32_t cpu = 0; cpu < timeline->n_cpus; cpu++)
			put_lane(out, timeline, &cast, cpu);
		put_legend(out, names, &cast, partial);
	}
	free(cast.by_task);
	free(cast.actors);
	return err;
}
