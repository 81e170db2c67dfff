/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks by group, by how long they took, and over time; see arrange.h. */
#include "report/marks/arrange.h"

#include <stdlib.h>

#include "format/base/cleanup.h"
#include "format/base/compare.h"

void marks_groups_deinit(struct marks_groups *groups)
{
	ebt_map_deinit(&groups->processes);
	ebt_map_deinit(&groups->by_key);
}

struct ebt_error *marks_groups_find(struct marks_groups *groups, const struct names *names,
				    const struct mark *mark, uint32_t *ret)
{
	struct ebt_error *err = NULL;
	uint32_t process = UINT32_MAX;

	if (names && mark->task)
		err = ebt_map_add(&groups->processes, names_process_key(names, mark->task),
				  (uint32_t)groups->processes.n, &process);
	if (err)
		return err;
	return ebt_map_add(&groups->by_key, (uint64_t)process << 32 | mark->name,
			   (uint32_t)groups->by_key.n, ret);
}

static int compare(const void *a, const void *b, void *arg)
{
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const uint64_t x = mark_duration(marks_at(arg, i)), y = mark_duration(marks_at(arg, k));

	return ebt_compare(y, x) ?: ebt_compare(i, k);
}

struct ebt_error *marks_longest(const struct marks *marks, bool spans, uint32_t **ret,
				size_t *ret_n)
{
	_cleanup_free_ uint32_t *order = calloc(marks_n(marks) + 1, sizeof(*order));
	size_t n = 0;

	if (!order)
		return &ebt_enomem;
	for (uint32_t i = 0; i < marks_n(marks); i++) {
		if (!spans || marks_at(marks, i)->kind == MARK_SPAN)
			order[n++] = i;
	}
	qsort_r(order, n, sizeof(*order), compare, (void *)marks);
	*ret = take_ptr(order);
	*ret_n = n;
	return NULL;
}

void marks_extent(const struct trace *trace, const struct marks *marks, uint64_t *ret_from,
		  uint64_t *ret_to)
{
	uint64_t from = UINT64_MAX, to = 0;

	for (size_t i = 0; i < marks_n(marks); i++) {
		const struct mark *mark = marks_at(marks, i);

		from = mark->start < from ? mark->start : from;
		to = mark->end > to ? mark->end : to;
	}
	if (from < trace_from_ns(trace))
		from = trace_from_ns(trace);
	if (to > trace_to_ns(trace))
		to = trace_to_ns(trace);
	if (!marks_n(marks)) {
		from = trace_from_ns(trace);
		to = trace_to_ns(trace);
	}
	if (from >= to) {
		from = from < UINT64_MAX ? from : UINT64_MAX - 1;
		to = from + 1;
	}
	*ret_from = from;
	*ret_to = to;
}
