/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `ebreport summary`: a recording in a few figures, for people and, as one object, for programs;
 * docs/summary.schema.json describes that.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/base/names.h"
#include "report/base/ndjson.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/syscalls/model_syscalls.h"
#include "report/syscalls/out_profile.h"
#include "report/syscalls/profile.h"
#include "report/system/model_summary.h"

#define TOP 10 /* of system calls and of threads */

struct summary_view {
	struct report *report;
	struct json *json;
	const struct names *names;
	const struct syscall_machine *machine;
	struct summary summary;
	struct syscall_model *syscalls;
	struct syscall_profile profile;
	const struct summary_process *parent; /* what was recorded; NULL: the whole system */
	double seconds;
};

/* --- finding out --- */

static struct ebt_error *meta(struct summary_view *v, const char *key, const char **ret)
{
	return ebt_reader_meta(trace_reader(v->report->trace), key, ret);
}

/* The command, or the first of the processes that were asked for: the one that is there longest. */
static const struct summary_process *find_parent(const struct summary_view *v, const char *kind)
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

static struct ebt_error *prepare(struct summary_view *v)
{
	struct trace *trace = v->report->trace;
	uint64_t from = trace_from_ns(trace), to = trace_to_ns(trace);
	const char *machine, *kind;
	struct ebt_error *err;

	to = to < trace_end_ns(trace) ? to : trace_end_ns(trace);
	v->seconds = to > from ? (double)(to - from) / 1e9 : 0;
	err = meta(v, "host.machine", &machine);
	if (!err)
		err = meta(v, "target.kind", &kind);
	if (!err)
		err = trace_names(trace, &v->names);
	if (!err)
		err = summary_read(trace, &v->summary);
	if (!err)
		err = syscall_model_create(trace, NULL, &v->syscalls);
	if (err)
		return err;
	v->parent = find_parent(v, kind);
	v->machine = machine ? syscall_machine(machine) : NULL;
	v->profile =
		syscall_profile_make(v->syscalls, v->machine, v->seconds,
				     v->seconds > 0 ? (double)v->summary.run_ns / v->seconds / 1e7
						    : 0);
	return NULL;
}

/* --- orders --- */

static int compare_calls(const void *a, const void *b)
{
	const struct syscall_stat *const *x = a, *const *y = b;

	if ((*x)->sum.time.count != (*y)->sum.time.count)
		return (*x)->sum.time.count > (*y)->sum.time.count ? -1 : 1;
	return (*x)->nr < (*y)->nr ? -1 : (*x)->nr > (*y)->nr;
}

static int compare_threads(const void *a, const void *b)
{
	const struct offcpu_thread *const *x = a, *const *y = b;

	if ((*x)->sum.total_ns != (*y)->sum.total_ns)
		return (*x)->sum.total_ns > (*y)->sum.total_ns ? -1 : 1;
	return (*x)->task->tid < (*y)->task->tid ? -1 : (*x)->task->tid > (*y)->task->tid;
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
		if (threads[i].task && threads[i].sum.count)
			sorted[found++] = &threads[i];
	}
	qsort(sorted, found, sizeof(*sorted), compare_threads);
	*ret = sorted;
	*ret_n = found;
	return NULL;
}

/* --- one object --- */

static void put_u64(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

static void put_f64(struct json *json, const char *key, double value)
{
	json_key(json, key);
	json_f64(json, value);
}

/* Percent of one CPU. */
static double cpu_usage(const struct summary_view *v, uint64_t run_ns)
{
	return v->seconds > 0 ? (double)run_ns / v->seconds / 1e7 : 0;
}

static void put_process(struct summary_view *v, const struct summary_process *process)
{
	struct json *json = v->json;
	struct ebt_str name = names_process(v->names, process->task);
	uint64_t start = process->task->start_ns;
	uint64_t to = process->end_ns ? process->end_ns : v->summary.to_ns;

	json_open_object(json);
	put_u64(json, "pid", process->task->pid);
	json_key(json, "command");
	json_str(json, name.data, name.len);
	put_f64(json, "cpu_usage", cpu_usage(v, process->run_ns));
	put_u64(json, "cpu_time_ns", process->run_ns);
	put_u64(json, "thread_count", process->threads);
	put_f64(json, "uptime_secs", to > start ? (double)(to - start) / 1e9 : 0);
	json_end(json);
}

static struct ebt_error *put_syscalls(struct summary_view *v)
{
	_cleanup_free_ const struct syscall_stat **calls = NULL;
	struct json *json = v->json;
	struct ebt_error *err;
	size_t n;

	err = sorted_calls(v, &calls, &n);
	if (err)
		return err;
	json_key(json, "syscalls");
	json_open_object(json);
	put_u64(json, "total", v->profile.total);
	json_key(json, "by_category");
	json_open_object(json);
	for (int i = 0; i < SYSCALL_N_CLASSES; i++)
		put_u64(json, syscall_class_name((enum syscall_class)i), v->profile.by_class[i]);
	json_end(json);
	json_key(json, "top_syscalls");
	json_open_array(json);
	for (size_t i = 0; i < n && i < TOP; i++) {
		_cleanup_text_ struct text name = TEXT_INIT;

		syscall_name_add(&name, v->machine, calls[i]->compat, calls[i]->nr);
		json_open_object(json);
		json_key(json, "name");
		json_cstr(json, text_get(&name));
		put_u64(json, "count", calls[i]->sum.time.count);
		json_end(json);
	}
	json_end(json);
	json_key(json, "analysis");
	json_open_object(json);
	put_f64(json, "syscall_rate_per_sec", syscall_profile_rate(&v->profile));
	put_f64(json, "io_intensity", syscall_profile_share(&v->profile, SYSCALL_FILE_IO));
	put_f64(json, "memory_intensity", syscall_profile_share(&v->profile, SYSCALL_MEMORY));
	put_f64(json, "cpu_intensity", syscall_profile_share(&v->profile, SYSCALL_PROCESS));
	put_f64(json, "network_intensity", syscall_profile_share(&v->profile, SYSCALL_NETWORK));
	json_end(json);
	json_end(json);
	return NULL;
}

static void put_thread_stats(struct summary_view *v, const struct offcpu_thread *thread)
{
	struct json *json = v->json;
	char key[32];

	snprintf(key, sizeof(key), "%" PRIu32 ":%" PRIu32, thread->task->pid, thread->task->tid);
	json_key(json, key);
	json_open_object(json);
	put_u64(json, "tid", thread->task->tid);
	put_u64(json, "total_time_ns", thread->sum.total_ns);
	put_u64(json, "count", thread->sum.count);
	put_u64(json, "avg_time_ns", thread->sum.total_ns / thread->sum.count);
	put_u64(json, "max_time_ns", thread->sum.max_ns);
	put_u64(json, "min_time_ns", thread->sum.min_ns);
	json_end(json);
}

static struct ebt_error *put_offcpu(struct summary_view *v)
{
	_cleanup_free_ const struct offcpu_thread **threads = NULL;
	const struct summary *s = &v->summary;
	struct json *json = v->json;
	struct ebt_error *err;
	size_t n;

	err = sorted_threads(v, &threads, &n);
	if (err)
		return err;
	json_key(json, "offcpu");
	json_open_object(json);
	put_u64(json, "total_time_ns", s->off_ns);
	put_u64(json, "total_events", s->off_count);
	put_u64(json, "avg_time_ns", s->off_count ? s->off_ns / s->off_count : 0);
	put_u64(json, "max_time_ns", s->off_max_ns);
	put_u64(json, "min_time_ns", s->off_min_ns);
	json_key(json, "thread_stats");
	json_open_object(json);
	for (size_t i = 0; i < n; i++)
		put_thread_stats(v, threads[i]);
	json_end(json);
	json_key(json, "top_blocking_threads");
	json_open_array(json);
	for (size_t i = 0; i < n && i < TOP; i++) {
		const struct offcpu_thread *thread = threads[i];

		json_open_object(json);
		put_u64(json, "pid", thread->task->pid);
		put_u64(json, "tid", thread->task->tid);
		put_f64(json, "time_ms", (double)thread->sum.total_ns / 1e6);
		put_f64(json, "percentage",
			s->off_ns ? 100.0 * (double)thread->sum.total_ns / (double)s->off_ns : 0);
		json_end(json);
	}
	json_end(json);
	json_end(json);
	return NULL;
}

static struct ebt_error *put_object(struct summary_view *v)
{
	struct trace *trace = v->report->trace;
	uint64_t created = ebt_reader_info(trace_reader(trace))->created_ns;
	uint64_t end = created + (v->summary.to_ns - trace_start_ns(trace));
	uint64_t threads = 0, processes = 0;
	struct json *json = v->json;
	struct ebt_error *err;

	json_key(json, "kind");
	json_cstr(json, "tree");
	put_u64(json, "ts_ms", end / 1000000);
	json_key(json, "parent");
	if (v->parent)
		put_process(v, v->parent);
	else
		json_put_null(json);
	json_key(json, "children");
	json_open_array(json);
	for (size_t i = 0; i < summary_n_processes(&v->summary); i++) {
		const struct summary_process *process = &v->summary.processes[i];

		if (!process->task)
			continue;
		processes++;
		threads += process->threads;
		if (process != v->parent)
			put_process(v, process);
	}
	json_end(json);
	json_key(json, "aggregated");
	json_open_object(json);
	put_f64(json, "cpu_usage", cpu_usage(v, v->summary.run_ns));
	put_u64(json, "cpu_time_ns", v->summary.run_ns);
	put_u64(json, "process_count", processes);
	put_u64(json, "thread_count", threads);
	put_f64(json, "uptime_secs", v->seconds);
	json_key(json, "ebpf");
	json_open_object(json);
	err = put_syscalls(v);
	if (!err)
		err = put_offcpu(v);
	json_end(json);
	json_end(json);
	return err;
}

/* Rows that were lost until the interval's end, and not told for one before it. */
static struct ebt_error *put_lost(struct summary_view *v)
{
	static const struct ebt_want want = { EBT_T_lost,
					      EBT_COL(lost, count) | EBT_COL(lost, table_id) };
	struct trace *trace = v->report->trace;
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	uint64_t to = trace_rows_to_ns(trace), total = 0;
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
	put_u64(v->json, "lost", total);
	json_key(v->json, "more");
	json_bool(v->json, trace_has_more(trace));
	return err;
}

/* --- for people --- */

static const struct out_column process_columns[] = {
	{ "pid", "PID", OUT_U64, 0 },
	{ "comm", "COMM", OUT_STRING, OUT_FLEX },
	{ "cpu_time_ns", "CPU TIME", OUT_DURATION, OUT_SORT },
	{ "cpu_usage", "% OF A CPU", OUT_PERCENT, 0 },
	{ "thread_count", "THREADS", OUT_U64, 0 },
};

static struct ebt_error *put_processes(struct summary_view *v)
{
	static const struct out_table table = {
		.key = "rows",
		.columns = process_columns,
		.n_columns = 5,
	};
	struct out *out = v->report->out;
	struct ebt_error *err = out_begin(out, &table);

	for (size_t i = 0; !err && i < summary_n_processes(&v->summary); i++) {
		const struct summary_process *process = &v->summary.processes[i];

		if (process->task)
			err = out_row(out, 0,
				      (struct out_value[]){
					      out_u64(process->task->pid),
					      out_str(names_process(v->names, process->task)),
					      out_u64(process->run_ns),
					      out_f64(cpu_usage(v, process->run_ns)),
					      out_u64(process->threads),
				      });
	}
	return err ? err : out_end(out);
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
		out_printf(out, "\n%" PRIu64 " system calls, %.0f a second.\n", v->profile.total,
			   syscall_profile_rate(&v->profile));
		err = out_categories(out, &v->profile);
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
		text_printf(&line, "/%" PRIu32 ", %" PRIu64 " times, longest ",
			    threads[i]->task->tid, threads[i]->sum.count);
		text_duration(&line, threads[i]->sum.max_ns);
		out_printf(out, "  %s\n", text_get(&line));
	}
	return text_error(&line);
}

/* --- a line for each interval --- */

/* Lines go on from one interval to the next. */
struct kept_lines {
	struct trace_state state;
	struct ndjson lines;
};

static void destroy_lines(struct trace_state *state)
{
	free(state);
}

static struct ebt_error *get_lines(struct report *report, struct ndjson **ret)
{
	struct kept_lines *kept = (struct kept_lines *)trace_kept(report->trace, destroy_lines);

	if (!kept) {
		kept = calloc(1, sizeof(*kept));
		if (!kept)
			return &ebt_enomem;
		kept->state.destroy = destroy_lines;
		ndjson_init(&kept->lines, out_file(report->out), 0);
		trace_keep(report->trace, &kept->state);
	}
	*ret = &kept->lines;
	return NULL;
}

static struct ebt_error *put_line(struct summary_view *v)
{
	struct trace *trace = v->report->trace;
	uint64_t to = trace_to_ns(trace);
	struct ndjson *lines;
	struct ebt_error *err = get_lines(v->report, &lines);

	if (err)
		return err;
	v->json = ndjson_begin(lines);
	put_u64(v->json, "from_ns", trace_from_ns(trace));
	put_u64(v->json, "to_ns", to < trace_end_ns(trace) ? to : trace_end_ns(trace));
	err = put_object(v);
	if (!err)
		err = put_lost(v);
	ndjson_end(lines);
	fflush(out_file(v->report->out));
	return err;
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
	struct ebt_error *err = check_format(report);

	if (err)
		return err;
	v.json = out_json(report->out);
	err = prepare(&v);
	if (!err)
		err = syscall_model_warn_none(report->trace);
	if (!err && options_flag(report->options, "ndjson"))
		err = put_line(&v);
	else if (!err)
		err = v.json ? put_object(&v) : put_text(&v);
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
	.summary = "processes, system calls and time off CPU in a few figures",
	.help = "CPU time of each process, system calls by category, and the threads that were off "
		"CPU\n"
		"longest. --json gives one object for programs, docs/summary.schema.json: what "
		"was\n"
		"recorded (parent, null for the whole system), its descendants (children), and all "
		"of\n"
		"them together (aggregated). Figures are of the whole window: with --interval, of "
		"each\n"
		"interval. --ndjson gives the objects of intervals as lines with sequence numbers "
		"(seq) and\n"
		"the rows that were lost in each (lost); more is false in the last.\n"
		"\n"
		"Record with `ebrec -e default,syscalls`.\n"
		"\n"
		"  ebreport summary t.ebt\n"
		"  ebreport summary --json t.ebt\n"
		"  ebreport summary --ndjson --interval 1s t.ebt\n",
	.options = summary_options,
};
