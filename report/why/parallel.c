/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many threads were on CPUs at once; see parallel.h. */
#include "report/why/parallel.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"

/* The next time that a thread comes to a CPU or leaves it. */
struct edge {
	uint64_t time;
	uint32_t thread, spell;
	bool leaves;
};

struct run_sweep {
	const struct why_thread *threads;
	const struct why_path *path;
	struct why_parallel *ret;
	struct edge *heap; /* the earliest first */
	size_t n;
	uint64_t time;
	size_t running;
	size_t segment; /* of the path, at `time` */
};

static bool is_before(const struct edge *a, const struct edge *b)
{
	/* Who leaves makes room for who comes. */
	return a->time != b->time ? a->time < b->time : a->leaves && !b->leaves;
}

static void sink(struct run_sweep *sweep, size_t i)
{
	const struct edge edge = sweep->heap[i];
	size_t child;

	for (; (child = 2 * i + 1) < sweep->n; i = child) {
		if (child + 1 < sweep->n && is_before(&sweep->heap[child + 1], &sweep->heap[child]))
			child++;
		if (!is_before(&sweep->heap[child], &edge))
			break;
		sweep->heap[i] = sweep->heap[child];
	}
	sweep->heap[i] = edge;
}

/* The thread's next run from this spell on; false: there is none. */
static bool next_run(const struct run_sweep *sweep, struct edge *edge)
{
	const struct why_thread *thread = &sweep->threads[edge->thread];

	for (; edge->spell < thread->n; edge->spell++) {
		const struct why_spell *spell = &thread->spells[edge->spell];

		if (spell->end > spell->start && spell->end > sweep->path->from) {
			edge->time = spell->start;
			edge->leaves = false;
			return spell->start < sweep->path->to;
		}
	}
	return false;
}

/* The only thread that runs is on the path, or it is another one, which nobody waits for. */
static void count_alone(struct run_sweep *sweep, uint64_t until)
{
	const struct why_path *path = sweep->path;

	for (uint64_t from = sweep->time; from < until && sweep->segment < path->n;) {
		const struct why_segment *segment = &path->segments[sweep->segment];
		const uint64_t end = why_segment_to(segment), to = end < until ? end : until;

		if (end <= from) {
			sweep->segment++;
			continue;
		}
		if (segment->kind == WHY_CPU)
			sweep->ret->alone_ns[segment->task] += to - from;
		from = to;
	}
}

/* So many run until then. */
static struct ebt_error *go_on(struct run_sweep *sweep, uint64_t until)
{
	struct why_parallel *ret = sweep->ret;
	struct ebt_error *err;

	if (until > sweep->path->to)
		until = sweep->path->to;
	if (until <= sweep->time)
		return NULL;
	err = ebt_array_reserve_zeroed(&ret->ns, sweep->running, &ret->n);
	if (err)
		return err;
	ret->ns[sweep->running] += until - sweep->time;
	if (sweep->running == 1)
		count_alone(sweep, until);
	sweep->time = until;
	return NULL;
}

static void take_edge(struct run_sweep *sweep)
{
	struct edge *edge = &sweep->heap[0];

	if (!edge->leaves) {
		sweep->running++;
		edge->leaves = true;
		edge->time = sweep->threads[edge->thread].spells[edge->spell].end;
	} else {
		sweep->running--;
		edge->spell++;
		if (!next_run(sweep, edge))
			*edge = sweep->heap[--sweep->n];
	}
	sink(sweep, 0);
}

struct ebt_error *why_parallel_find(const struct why_graph *graph, const struct why_path *path,
				    struct why_parallel *ret)
{
	uint32_t n;
	const struct why_thread *threads = why_graph_threads(graph, &n);
	_cleanup_free_ struct edge *heap = calloc(n + 1, sizeof(*heap));
	struct run_sweep sweep = { threads, path, ret, heap, .time = path->from };
	struct ebt_error *err = NULL;

	*ret = (struct why_parallel){ .alone_ns = calloc(n + 1, sizeof(*ret->alone_ns)),
				      .n_threads = n };
	if (!heap || !ret->alone_ns)
		return &ebt_enomem;
	for (uint32_t i = 0; i < n; i++) {
		heap[sweep.n] = (struct edge){ .thread = i };
		sweep.n += next_run(&sweep, &heap[sweep.n]);
	}
	for (size_t i = sweep.n / 2; i--;)
		sink(&sweep, i);
	while (!err && sweep.n && sweep.time < path->to) {
		err = go_on(&sweep, heap[0].time);
		take_edge(&sweep);
	}
	return err ? err : go_on(&sweep, path->to);
}

void why_parallel_deinit(struct why_parallel *parallel)
{
	free(parallel->ns);
	free(parallel->alone_ns);
	*parallel = (struct why_parallel){ 0 };
}
