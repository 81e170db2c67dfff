/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When each thread was sampled; see samples.h. */
#include "report/why/samples.h"

#include <stdlib.h>

#include "format/base/array.h"

struct samples_reading {
	struct calltree *tree;
	struct why_samples *by_task;
	uint32_t n;
};

static struct ebt_error *take_sample(void *arg, const struct ebt_row *row)
{
	const struct samples_reading *r = arg;
	const struct calltree_stack stack = calltree_sample_stack(row);
	struct why_sample sample = { .time = row->time };
	struct why_samples *samples;
	struct ebt_error *err;

	if (!stack.task || stack.task->id >= r->n)
		return NULL;
	samples = &r->by_task[stack.task->id];
	err = calltree_place(r->tree, &stack, &sample.node)
		      ?: ebt_array_reserve(&samples->list, samples->n, &samples->capacity);
	if (!err)
		samples->list[samples->n++] = sample;
	return err;
}

struct ebt_error *why_samples_read(struct trace *trace, const struct why_graph *graph,
				   struct why_samples **ret)
{
	static const struct ebt_want want = EBT_WANT(sample, task, kstack, ustack);
	struct samples_reading r = { .tree = why_graph_tree(graph) };
	struct ebt_error *err;

	why_graph_threads(graph, &r.n);
	r.by_task = calloc(r.n + 1, sizeof(*r.by_task));
	if (!r.by_task)
		return &ebt_enomem;
	err = trace_read_rows(trace, &want, 1, TRACE_ALL_TASKS | TRACE_ALL_CPUS, take_sample, &r);
	if (err)
		why_samples_free(r.by_task, r.n);
	else
		*ret = r.by_task;
	return err;
}

void why_samples_free(struct why_samples *samples, uint32_t n)
{
	for (uint32_t i = 0; samples && i < n; i++)
		free(samples[i].list);
	free(samples);
}

size_t why_samples_from(const struct why_samples *samples, uint64_t time)
{
	size_t low = 0, high = samples->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (samples->list[middle].time < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
