/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks by group and name: how many, and exact figures of how long they took. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/base/figures.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/marks/arrange.h"
#include "report/marks/views.h"
#include "format/base/array.h"

/* Marks of one group and name, of one process where they are shown by process. */
struct summary_group {
	uint32_t name;
	const struct ebt_task *task;
	uint64_t count, open;
	size_t first, n; /* durations that are known */
};

struct mark_summary {
	struct report *report;
	const struct marks *marks;
	const struct names *names; /* NULL: not by process */
	struct marks_groups by_key;
	struct summary_group *groups;
	size_t n, capacity;
	uint32_t *group_of;  /* of each mark */
	uint64_t *durations; /* those of a group together */
};

static void summary_deinit(struct mark_summary *s)
{
	marks_groups_deinit(&s->by_key);
	free(s->groups);
	free(s->group_of);
	free(s->durations);
}

static struct ebt_error *find_group(struct mark_summary *s, const struct mark *mark, uint32_t *ret)
{
	struct ebt_error *err = marks_groups_find(&s->by_key, s->names, mark, ret);

	if (err || *ret < s->n)
		return err;
	err = ebt_array_reserve(&s->groups, s->n, &s->capacity);
	if (!err)
		s->groups[s->n++] =
			(struct summary_group){ .name = mark->name, .task = mark->task };
	return err;
}

static bool has_duration(const struct mark *mark)
{
	return mark->kind == MARK_SPAN && !mark->open;
}

/* Counts first (in `first`), so that each group's durations get a place of their own in one array.
 */
static struct ebt_error *fill(struct mark_summary *s)
{
	const size_t n = marks_n(s->marks);
	size_t first = 0;

	s->group_of = calloc(n + 1, sizeof(*s->group_of));
	s->durations = calloc(n + 1, sizeof(*s->durations));
	if (!s->group_of || !s->durations)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++) {
		const struct mark *mark = marks_at(s->marks, i);
		struct ebt_error *err = find_group(s, mark, &s->group_of[i]);
		struct summary_group *group;

		if (err)
			return err;
		group = &s->groups[s->group_of[i]];
		group->count++;
		group->open += mark->open != 0;
		group->first += has_duration(mark);
	}
	for (size_t i = 0; i < s->n; i++) {
		size_t size = s->groups[i].first;

		s->groups[i].first = first;
		first += size;
	}
	for (size_t i = 0; i < n; i++) {
		const struct mark *mark = marks_at(s->marks, i);
		struct summary_group *group = &s->groups[s->group_of[i]];

		if (has_duration(mark))
			s->durations[group->first + group->n++] = mark_duration(mark);
	}
	return NULL;
}

/* The first column is of processes, and so are the last two. */
#define SUMMARY(X)                                                                 \
	X("process", "PROCESS", OUT_STRING, out_str(text_str(&process)),           \
	  OUT_TEXT_ONLY | OUT_FLEX | OUT_KEY)                                      \
	X("group", "GROUP", OUT_STRING, out_cstr(name->group), OUT_FLEX | OUT_KEY) \
	X("name", "NAME", OUT_STRING, out_cstr(name->name), OUT_FLEX | OUT_KEY)    \
	X("count", "COUNT", OUT_U64, out_u64(group->count))                        \
	X("sum_ns", "TOTAL", OUT_DURATION, out_u64_if(!blank, f.sum), OUT_SORT)    \
	X("min_ns", "MIN", OUT_DURATION, out_u64_if(f.n, f.min), OUT_OPTIONAL)     \
	X("mean_ns", "AVG", OUT_DURATION, out_u64_if(f.n, f.mean), OUT_OPTIONAL)   \
	X("median_ns", "P50", OUT_DURATION, out_u64_if(f.n, f.median))             \
	X("p90_ns", "P90", OUT_DURATION, out_u64_if(f.n, f.p90))                   \
	X("p99_ns", "P99", OUT_DURATION, out_u64_if(f.n, f.p99))                   \
	X("max_ns", "MAX", OUT_DURATION, out_u64_if(f.n, f.max), OUT_PEAK)         \
	X("open_count", "OPEN", OUT_U64, out_u64(group->open))                     \
	X("pid", NULL, OUT_U64, out_pid(group->task), OUT_DETAIL | OUT_KEY)        \
	X("comm", NULL, OUT_STRING, group->task ? out_str(comm) : out_null(), OUT_DETAIL | OUT_KEY)

static const struct out_column columns[] = { SUMMARY(OUT_COLUMN) };
#define N_COLUMNS	  (sizeof(columns) / sizeof(columns[0]))
#define N_PROCESS_COLUMNS 3

static size_t shown_columns(bool by_process)
{
	return by_process ? N_COLUMNS : N_COLUMNS - N_PROCESS_COLUMNS;
}

static struct ebt_error *put(const struct mark_summary *s, const struct summary_group *group)
{
	const struct figures f = figures_of(&s->durations[group->first], group->n);
	const struct mark_name *name = marks_name(s->marks, group->name);
	bool blank = !f.n && out_format(s->report->out) == FORMAT_TABLE;
	_cleanup_text_ struct text process = TEXT_INIT;
	struct ebt_str comm = { "", 0 };

	if (s->names && group->task) {
		comm = names_process(s->names, group->task);
		text_task(&process, comm, group->task->pid);
	}
	if (text_error(&process))
		return text_error(&process);
	return out_row_n(s->report->out, 0, OUT_VALUES(SUMMARY) + !s->names,
			 shown_columns(s->names != NULL));
}

struct ebt_error *marks_summary(struct report *report, const struct marks *marks)
{
	__attribute__((cleanup(summary_deinit))) struct mark_summary s = { .report = report,
									   .marks = marks };
	const char *by = options_string(report->options, "by");
	const bool by_process = by && !strcmp(by, "process");
	const struct out_table table = {
		.key = "rows",
		.columns = columns + !by_process,
		.n_columns = shown_columns(by_process),
	};
	struct ebt_error *err = NULL;

	if (by_process)
		err = trace_names(report->trace, &s.names);
	if (!err)
		err = fill(&s);
	return err ? err : out_rows(report->out, &table, s.n, i, put(&s, &s.groups[i]));
}
