/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lanes of text; see out_timeline.h. */
#include "report/sched/out_timeline.h"

#include <inttypes.h>
#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "report/base/names.h"
#include "report/base/text.h"

#define LABEL 8 /* columns: "cpu 1023" */

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

uint32_t out_timeline_slices(unsigned int width)
{
	return width > LABEL + 20 ? width - LABEL - 1 : 20;
}

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
static struct ebt_error *choose_letters(const struct cpu_timeline *timeline, uint32_t slices,
					struct cast *cast)
{
	for (uint32_t cpu = 0; cpu < timeline_n_cpus(timeline); cpu++) {
		const struct timeline_slice *lane = timeline_cpu(timeline, cpu);

		for (uint32_t i = 0; lane && i < slices; i++) {
			struct ebt_error *err = lane[i].task ? add_actor(cast, &lane[i]) : NULL;

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

static void put_axis(struct out *out, struct trace *trace, const struct cpu_timeline *timeline,
		     uint32_t slices)
{
	uint64_t offset = trace_from_ns(trace) - trace_start_ns(trace);
	uint32_t used = 0;

	out_printf(out, "%*s", LABEL + 1, "");
	for (uint32_t i = 0; i + 12 <= slices; i += 20) {
		_cleanup_text_ struct text label = TEXT_INIT;

		text_cstr(&label, "|");
		text_duration(&label, offset + timeline_slice_start(timeline, i));
		out_printf(out, "%*s%s", (int)(i - used), "", text_get(&label));
		used = i + (uint32_t)text_columns(text_get(&label), label.len);
	}
	out_printf(out, "\n");
}

static void put_lane(struct out *out, const struct cpu_timeline *timeline, const struct cast *cast,
		     uint32_t cpu, uint32_t slices)
{
	const struct timeline_slice *lane = timeline_cpu(timeline, cpu);
	_cleanup_text_ struct text text = TEXT_INIT;

	if (!lane)
		return;
	for (uint32_t i = 0; i < slices; i++)
		text_addc(&text, slice_letter(cast, &lane[i],
					      timeline_slice_start(timeline, i + 1) -
						      timeline_slice_start(timeline, i)));
	out_printf(out, "cpu %4" PRIu32 " %s\n", cpu, text_get(&text));
}

static void put_legend(struct out *out, const struct names *names, const struct cast *cast,
		       bool partial)
{
	out_printf(out, "\n.  %s\n-  less than half busy\n+  filtered out\n",
		   partial ? "idle, or busy with processes that were not recorded" : "idle");
	if (cast->n > N_LETTERS)
		out_printf(out, "*  one of %zu others\n", cast->n - N_LETTERS);
	for (uint32_t i = 0; i < cast->n && i < N_LETTERS; i++) {
		const struct actor *actor = &cast->actors[i];
		_cleanup_text_ struct text text = TEXT_INIT;

		text_terminal(&text, text_comm(names_task(names, actor->task)));
		text_printf(&text, " %" PRIu32 "/%" PRIu32, actor->task->pid, actor->task->tid);
		out_printf(out, "%c  %s\n", actor->letter, text_get(&text));
	}
}

struct ebt_error *out_timeline(struct out *out, struct trace *trace,
			       const struct cpu_timeline *timeline, bool partial)
{
	uint32_t slices = timeline_n_slices(timeline);
	struct cast cast = { .n_by_task = ebt_reader_n_tasks(trace_reader(trace)) };
	const struct names *names;
	struct ebt_error *err = trace_names(trace, &names);

	if (err)
		return err;
	cast.by_task = calloc(cast.n_by_task + 1, sizeof(*cast.by_task));
	err = cast.by_task ? choose_letters(timeline, slices, &cast) : &ebt_enomem;
	if (!err) {
		put_axis(out, trace, timeline, slices);
		for (uint32_t cpu = 0; cpu < timeline_n_cpus(timeline); cpu++)
			put_lane(out, timeline, &cast, cpu, slices);
		put_legend(out, names, &cast, partial);
	}
	free(cast.by_task);
	free(cast.actors);
	return err;
}
