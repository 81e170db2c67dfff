/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `ebreport summary`: a recording in a few figures, for people and for programs.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/syscalls/model_syscalls.h"
#include "report/syscalls/profile.h"
#include "report/system/model_summary.h"
#include "report/why/model_why.h"

#define TOP 10 /* of system calls and of threads */

struct summary_view {
	struct report *report;
	const struct names *names;
	const struct syscall_machine *machine;
	struct summary summary;
	struct syscall_model *syscalls;
	struct syscall_profile profile;
	const struct summary_process *target; /* what was recorded; NULL: the whole system */
	double seconds;
};

/* --- finding out --- */

/* The command, or the first of the processes that were asked for: the one that is there longest. */
static const struct summary_process *find_target(const struct summary_view *v, const char *kind)
{
	const struct summary_process *oldest = NULL;

	if (!kind || !strcmp(kind, "all") || !strcmp(kind, "cgroup"))
		return NULL;
	for (size_t i = 0; i < summary_n_processes(&v->summary); i++) {
		const struct summary_process *process = &v->summary.processes[i];

		if (process->task && (!oldest || process->task->start_ns < oldest->task->start_ns))
			oldest = process;
	}
	return oldest;
}

/* Percent of one CPU. */
static double cpu_percent(const struct summary_view *v, uint64_t run_ns)
{
	return v->seconds > 0 ? (double)run_ns / v->seconds / 1e7 : 0;
}

static struct ebt_error *prepare(struct summary_view *v)
{
	struct trace *trace = v->report->trace;
	const char *machine, *kind;
	struct ebt_error *err;

	v->seconds = (double)trace_window_ns(trace) / 1e9;
	err = ebt_reader_meta(trace_reader(trace), "host.machine", &machine) ?:
	      ebt_reader_meta(trace_reader(trace), "target.kind", &kind) ?:
	      trace_names(trace, &v->names) ?:
	      trace_find_kernel_threads(trace) ?:
	      summary_read(trace, &v->summary) ?:
	      syscall_model_create(trace, NULL, &v->syscalls);
	if (err)
		return err;
	v->target = find_target(v, kind);
	v->machine = machine ? syscall_machine(machine) : NULL;
	v->profile =
		syscall_profile_make(v->syscalls, v->machine, v->seconds,
				     v->summary.known ? cpu_percent(v, v->summary.run_ns) : -1);
	return NULL;
}

/* --- orders --- */

static int compare_calls(const void *a, const void *b)
{
	const struct syscall_stat *const *x = a, *const *y = b;
	int order = ebt_compare((*y)->sum.time.count, (*x)->sum.time.count);

	return order ?: ebt_compare((*x)->nr, (*y)->nr);
}

static int compare_threads(const void *a, const void *b)
{
	const struct offcpu_thread *const *x = a, *const *y = b;
	int order = ebt_compare((*y)->sum.total_ns, (*x)->sum.total_ns);

	return order ?: ebt_compare((*x)->task->tid, (*y)->task->tid);
}

static struct ebt_error *sorted_calls(const struct summary_view *v,
				      const struct syscall_stat ***ret, size_t *ret_n)
{
	const struct syscall_stat *stats = syscall_model_stats(v->syscalls, ret_n);
	const struct syscall_stat **sorted = calloc(*ret_n + 1, sizeof(*sorted));

	if (!sorted)
		return &ebt_enomem;
	for (size_t i = 0; i < *ret_n; i++)
		sorted[i] = &stats[i];
	qsort(sorted, *ret_n, sizeof(*sorted), compare_calls);
	*ret = sorted;
	return NULL;
}

/* Threads that were off CPU. */
static struct ebt_error *sorted_threads(const struct summary_view *v,
					const struct offcpu_thread ***ret, size_t *ret_n)
{
	uint32_t n;
	const struct offcpu_thread *threads = offcpu_threads(v->summary.offcpu, &n);
	const struct offcpu_thread **sorted = calloc((size_t)n + 1, sizeof(*sorted));
	size_t found = 0;

	if (!sorted)
		return &ebt_enomem;
	for (uint32_t i = 0; i < n; i++) {
		if (threads[i].task && threads[i].sum.count &&
		    !trace_leaves_out(v->report->trace, threads[i].task))
			sorted[found++] = &threads[i];
	}
	qsort(sorted, found, sizeof(*sorted), compare_threads);
	*ret = sorted;
	*ret_n = found;
	return NULL;
}

/* --- the processes --- */

static uint64_t lifetime(const struct summary_view *v, const struct summary_process *process)
{
	uint64_t from = process->task->start_ns;
	uint64_t to = process->end_ns ? process->end_ns : v->summary.to_ns;

	return to > from ? to - from : 0;
}

#define PROCESSES(X)                                                                       \
	X("pid", "PID", OUT_U64, out_u64(p->task->pid))                                    \
	X("comm", "COMM", OUT_STRING, out_str(names_process(v->names, p->task)), OUT_FLEX) \
	X("run_ns", "RUN", OUT_DURATION, out_u64(p->run_ns), OUT_SORT)                     \
	X("cpu_percent", "CPU-%", OUT_PERCENT, out_f64(cpu_percent(v, p->run_ns)))         \
	X("thread_count", "THREADS", OUT_U64, out_u64(p->threads))                         \
	X("lifetime_ns", "LIFE", OUT_DURATION, out_u64(lifetime(v, p)), OUT_DETAIL)        \
	X("target", "TARGET", OUT_BOOL, out_u64(p == v->target), OUT_DETAIL)

static struct ebt_error *put_process(const struct summary_view *v, const struct summary_process *p)
{
	if (!p->task || trace_leaves_out(v->report->trace, p->task))
		return NULL;
	return out_row(v->report->out, 0, OUT_VALUES(PROCESSES));
}

static struct ebt_error *put_processes(struct summary_view *v)
{
	const struct out_table table = OUT_TABLE_OF("rows", PROCESSES);

	return out_rows(v->report->out, &table, summary_n_processes(&v->summary), i,
			put_process(v, &v->summary.processes[i]));
}

/* --- for programs --- */

#define TOTALS(X)                                                                               \
	X("end_realtime_ns", NULL, OUT_ID, out_u64(start + (s->to_ns - trace_start_ns(trace)))) \
	X("duration_ns", NULL, OUT_DURATION, out_u64((uint64_t)(v->seconds * 1e9 + 0.5)))       \
	X("run_ns", NULL, OUT_DURATION, out_u64_if(s->known, s->run_ns))                        \
	X("cpu_percent", NULL, OUT_PERCENT, out_f64_if(s->known, cpu_percent(v, s->run_ns)))    \
	X("process_count", NULL, OUT_U64, out_u64_if(s->known, processes))                      \
	X("thread_count", NULL, OUT_U64, out_u64_if(s->known, threads))                         \
	X("syscall_count", NULL, OUT_U64, out_u64(v->profile.total))                            \
	X("syscalls_per_s", NULL, OUT_FLOAT, out_f64(syscall_profile_rate(&v->profile)))        \
	X("off_cpu_count", NULL, OUT_U64, out_u64_if(s->known, s->off_count))                   \
	X("off_cpu_ns", NULL, OUT_DURATION, out_u64_if(s->known, s->off_ns))                    \
	X("off_cpu_avg_ns", NULL, OUT_DURATION,                                                 \
	  out_u64_if(s->known, s->off_count ? s->off_ns / s->off_count : 0))                    \
	X("off_cpu_min_ns", NULL, OUT_DURATION, out_u64_if(s->known, s->off_min_ns))            \
	X("off_cpu_max_ns", NULL, OUT_DURATION, out_u64_if(s->known, s->off_max_ns))

static struct ebt_error *put_totals(struct summary_view *v)
{
	const struct out_table table = OUT_TABLE_OF("totals", TOTALS, .flags = OUT_FIXED);
	const struct summary *s = &v->summary;
	struct trace *trace = v->report->trace;
	struct out *out = v->report->out;
	uint64_t start = ebt_reader_info(trace_reader(trace))->start_realtime_ns;
	uint64_t threads = 0, processes = 0;

	for (size_t i = 0; i < summary_n_processes(s); i++) {
		processes += s->processes[i].task != NULL;
		threads += s->processes[i].task ? s->processes[i].threads : 0;
	}
	return out_rows(out, &table, 1, i, out_row(out, 0, OUT_VALUES(TOTALS)));
}

#define CALLS(X)                                               \
	X("name", NULL, OUT_STRING, out_cstr(text_get(&name))) \
	X("count", NULL, OUT_U64, out_u64(call->sum.time.count))

static struct ebt_error *put_call(const struct summary_view *v, const struct syscall_stat *call)
{
	_cleanup_text_ struct text name = TEXT_INIT;

	syscall_name_add(&name, v->machine, call->compat, call->nr);
	return out_row(v->report->out, 0, OUT_VALUES(CALLS));
}

/* The most frequent ones. */
static struct ebt_error *put_syscalls(struct summary_view *v)
{
	const struct out_table table =
		OUT_TABLE_OF("syscalls", CALLS, .flags = OUT_FIXED | OUT_KEEP_ORDER);
	_cleanup_free_ const struct syscall_stat **calls = NULL;
	struct ebt_error *err;
	size_t n;

	err = sorted_calls(v, &calls, &n);
	return err ?: out_rows(v->report->out, &table, n < TOP ? n : TOP, i, put_call(v, calls[i]));
}

#define THREADS(X)                                                           \
	X("pid", NULL, OUT_U64, out_u64(t->task->pid))                       \
	X("tid", NULL, OUT_U64, out_u64(t->task->tid))                       \
	X("comm", NULL, OUT_STRING, out_str(names_task(v->names, t->task)))  \
	X("count", NULL, OUT_U64, out_u64(sum->count))                       \
	X("total_ns", NULL, OUT_DURATION, out_u64(sum->total_ns))            \
	X("percent", NULL, OUT_PERCENT,                                      \
	  out_f64(all ? 100.0 * (double)sum->total_ns / (double)all : 0))    \
	X("avg_ns", NULL, OUT_DURATION, out_u64(sum->total_ns / sum->count)) \
	X("min_ns", NULL, OUT_DURATION, out_u64(sum->min_ns))                \
	X("max_ns", NULL, OUT_DURATION, out_u64(sum->max_ns))

static struct ebt_error *put_thread(const struct summary_view *v, const struct offcpu_thread *t)
{
	const struct offcpu_sum *sum = &t->sum;
	uint64_t all = v->summary.off_ns;

	return out_row(v->report->out, 0, OUT_VALUES(THREADS));
}

/* All that were off CPU. */
static struct ebt_error *put_threads(struct summary_view *v)
{
	const struct out_table table =
		OUT_TABLE_OF("threads", THREADS, .flags = OUT_FIXED | OUT_KEEP_ORDER);
	_cleanup_free_ const struct offcpu_thread **threads = NULL;
	struct ebt_error *err;
	size_t n;

	err = sorted_threads(v, &threads, &n);
	return err ?: out_rows(v->report->out, &table, n, i, put_thread(v, threads[i]));
}

static const char *const kinds[] = {
	[WHY_CPU] = "cpu",
	[WHY_RUNQUEUE] = "runqueue",
	[WHY_WAIT] = "wait",
	[WHY_UNKNOWN] = "unknown",
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* What the time of the command that was recorded went to, by kind; *ret_wall 0: that is not known.
 */
static struct ebt_error *sum_critical_path(const struct summary_view *v, uint64_t ret[N_KINDS],
					   uint64_t *ret_wall)
{
	_cleanup_(why_destroyp) struct why *why = NULL;
	struct ebt_error *err = why_create_quick(v->report->trace, v->report->options, true, &why);

	memset(ret, 0, N_KINDS * sizeof(*ret));
	*ret_wall = 0;
	if (err || !why)
		return err;
	for (size_t i = 0; i < why->n_causes; i++)
		ret[why->causes[i].kind] += why->causes[i].ns;
	*ret_wall = why->path.to - why->path.from;
	return NULL;
}

#define KINDS(X)                                             \
	X("kind", NULL, OUT_STRING, out_cstr(kinds[i]))      \
	X("duration_ns", NULL, OUT_DURATION, out_u64(ns[i])) \
	X("percent", NULL, OUT_PERCENT, out_f64(100.0 * (double)ns[i] / (double)wall_ns))

static struct ebt_error *put_critical_path(const struct summary_view *v)
{
	const struct out_table table =
		OUT_TABLE_OF("critical_path", KINDS, .flags = OUT_FIXED | OUT_KEEP_ORDER);
	uint64_t ns[N_KINDS], wall_ns;
	struct ebt_error *err = sum_critical_path(v, ns, &wall_ns);

	return err ? err
		   : out_rows(v->report->out, &table, wall_ns ? N_KINDS : 0, i,
			      out_row(v->report->out, 0, OUT_VALUES(KINDS)));
}

static struct ebt_error *put_json(struct summary_view *v)
{
	return put_processes(v) ?:
	       put_totals(v) ?:
	       syscall_profile_put_classes(v->report->out, &v->profile) ?:
	       put_syscalls(v) ?:
	       put_threads(v) ?:
	       put_critical_path(v);
}

/* Rows that were lost until the interval's end, and not told for one before it. The recorder tells
 * the last ones once it has ended. */
static struct ebt_error *put_lost(struct trace *trace, struct json *json)
{
	static const struct ebt_want want = EBT_WANT(lost, count, table_id);
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	const bool later = trace_has_more(trace) || trace_has_behind(trace);
	uint64_t to = later ? trace_rows_to_ns(trace) : UINT64_MAX, total = 0;
	bool first = trace_from_ns(trace) == trace_whole_from_ns(trace);
	struct ebt_error *err;
	struct ebt_row row;

	err = trace_cursor_create(trace, &want, 1, TRACE_UNFILTERED | TRACE_QUIET, &cursor);
	while (!err) {
		err = trace_next(cursor, &row);
		if (err || !row.batch)
			break;
		if ((first || row.time >= trace_from_ns(trace)) && row.time < to &&
		    __builtin_add_overflow(total, ebt_lost_count(&row), &total))
			total = UINT64_MAX;
	}
	json_put(json, "lost_rows", u64, total);
	json_put(json, "more", bool, trace_has_more(trace));
	return err;
}

static struct ebt_error *put_line(struct summary_view *v)
{
	struct json *json = out_line_begin(v->report->out);
	struct ebt_error *err = put_json(v) ?: put_lost(v->report->trace, json);

	out_line_end(v->report->out);
	return err;
}

/* --- for people --- */

static struct ebt_error *say_critical_path(const struct summary_view *v)
{
	uint64_t ns[N_KINDS], wall_ns;
	struct ebt_error *err = sum_critical_path(v, ns, &wall_ns);
	const double all = (double)wall_ns / 100;
	_cleanup_text_ struct text line = TEXT_INIT;

	if (err || !wall_ns)
		return err;
	text_duration(&line, wall_ns);
	text_printf(&line,
		    ": %.1f %% on CPUs, %.1f %% waiting for a CPU, %.1f %% for other things, "
		    "%.1f %% not known",
		    (double)ns[WHY_CPU] / all, (double)ns[WHY_RUNQUEUE] / all,
		    (double)ns[WHY_WAIT] / all, (double)ns[WHY_UNKNOWN] / all);
	out_printf(v->report->out, "\nCritical path of the command (ebreport why):\n");
	out_fill(v->report->out, "  ", 2, text_get(&line));
	return text_error(&line);
}

static struct ebt_error *put_text(struct summary_view *v)
{
	struct out *out = v->report->out;
	_cleanup_free_ const struct offcpu_thread **threads = NULL;
	_cleanup_text_ struct text line = TEXT_INIT;
	struct ebt_error *err = put_processes(v);
	size_t n;

	if (err || out_format(out) == FORMAT_CSV)
		return err;
	if (v->profile.total) {
		out_printf(out, "\n%" PRIu64 " system %s, %.0f a second.\n", v->profile.total,
			   text_plural(v->profile.total, "call", "calls"),
			   syscall_profile_rate(&v->profile));
		err = syscall_profile_put_classes(out, &v->profile);
	}
	if (!err)
		err = sorted_threads(v, &threads, &n);
	if (err)
		return err;
	if (n)
		out_printf(out, "\nLongest off CPU:\n");
	for (size_t i = 0; i < n && i < TOP; i++) {
		text_clear(&line);
		text_duration(&line, threads[i]->sum.total_ns);
		text_cstr(&line, "  ");
		text_terminal(&line, text_comm(names_task(v->names, threads[i]->task)));
		text_printf(&line, "/%" PRIu32 ", %" PRIu64 " %s, longest ", threads[i]->task->tid,
			    threads[i]->sum.count,
			    text_plural(threads[i]->sum.count, "time", "times"));
		text_duration(&line, threads[i]->sum.max_ns);
		out_printf(out, "  %s\n", text_get(&line));
	}
	return text_error(&line) ?: say_critical_path(v);
}

/* --- the command --- */

static struct ebt_error *check_format(const struct report *report)
{
	if (!options_flag(report->options, "ndjson") || out_format(report->out) == FORMAT_TABLE)
		return NULL;
	return ebt_error_create(EBT_ERR_INVALID, "--ndjson, --json and --csv exclude each other");
}

static struct ebt_error *run_summary(struct report *report)
{
	struct summary_view v = { .report = report };
	struct ebt_error *err = check_format(report) ?:
				prepare(&v) ?:
				syscall_model_warn_none(report->trace);

	if (!err && options_flag(report->options, "ndjson"))
		err = put_line(&v);
	else if (!err)
		err = out_format(report->out) == FORMAT_JSON ? put_json(&v) : put_text(&v);
	summary_deinit(&v.summary);
	syscall_model_destroy(v.syscalls);
	return err;
}

static const struct option_def summary_options[] = {
	{ "ndjson", OPTION_FLAG, NULL,
	  "the object of --json as a line, with --interval one for each interval", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_summary = {
	.name = "summary",
	.fn = run_summary,
	.flags = COMMAND_NO_NAMES | COMMAND_NOT_IN_PAGE,
	.summary = "processes, system calls and time off CPU in a few figures",
	.elsewhere = "stat stats",
	.help = "CPU time of each process, system calls by category, and the threads that were off "
		"CPU\n"
		"longest. In JSON, `target` is true of the process that was recorded, and "
		"`totals`,\n"
		"`categories`, `syscalls` and `threads` have all of them together. Figures are of "
		"the whole\n"
		"window: with --interval, of each interval. --ndjson gives the objects of "
		"intervals "
		"as lines\n"
		"with sequence numbers (seq) and the rows that were lost in each (lost_rows); more "
		"is false\n"
		"in the last.\n"
		"\n"
		"Record with `ebrec -e default,syscalls`.\n"
		"\n"
		"  ebreport summary t.ebt\n"
		"  ebreport summary --json t.ebt\n"
		"  ebreport summary --ndjson --interval 1s t.ebt\n",
	.options = summary_options,
};
