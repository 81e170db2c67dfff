/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport syscalls: system calls by call, by process or thread, or one by one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/sched/cpu_time.h"
#include "report/syscalls/model_syscalls.h"
#include "report/syscalls/names.h"
#include "report/syscalls/out_profile.h"
#include "report/syscalls/trace.h"

struct syscalls_view {
	struct report *report;
	struct out *out;
	const struct syscall_machine *machine;
	const struct names *names;
	enum syscall_grouping grouping;
	struct syscall_model *model;
	uint64_t total_ns; /* of all calls */
};

/* Label, then the figures that a call and a process share. */
enum {
	COL_LABEL,
	COL_PID,
	COL_TID,
	COL_COMM,
	COL_NAME,
	COL_ABI,
	COL_CATEGORY,
	COL_COUNT,
	COL_ERRORS,
	COL_TOTAL,
	COL_PERCENT,
	COL_AVG,
	COL_P50,
	COL_P99,
	COL_MAX,
	COL_MAX_AT,
	COL_MIN,
	N_COLUMNS,
};

static const struct out_column columns[N_COLUMNS] = {
	[COL_LABEL] = { "call", "CALL", OUT_STRING, OUT_TEXT_ONLY | OUT_INDENT | OUT_FLEX },
	[COL_PID] = { "pid", NULL, OUT_U64, OUT_DETAIL | OUT_PARENT },
	[COL_TID] = { "tid", NULL, OUT_U64, OUT_DETAIL | OUT_PARENT },
	[COL_COMM] = { "comm", NULL, OUT_STRING, OUT_DETAIL | OUT_PARENT },
	[COL_NAME] = { "name", NULL, OUT_STRING, OUT_DETAIL },
	[COL_ABI] = { "abi", NULL, OUT_STRING, OUT_DETAIL },
	[COL_CATEGORY] = { "category", NULL, OUT_STRING, OUT_DETAIL },
	[COL_COUNT] = { "count", "COUNT", OUT_U64, 0 },
	[COL_ERRORS] = { "errors", "ERRORS", OUT_U64, 0 },
	[COL_TOTAL] = { "total_ns", "TOTAL", OUT_DURATION, OUT_SORT },
	[COL_PERCENT] = { "percent", "%", OUT_PERCENT, 0 },
	[COL_AVG] = { "avg_ns", "AVG", OUT_DURATION, OUT_OPTIONAL },
	[COL_P50] = { "p50_ns", "P50", OUT_DURATION, 0 },
	[COL_P99] = { "p99_ns", "P99", OUT_DURATION, 0 },
	[COL_MAX] = { "max_ns", "MAX", OUT_DURATION, 0 },
	[COL_MAX_AT] = { "max_at_ns", "MAX AT", OUT_TIME, OUT_OPTIONAL },
	[COL_MIN] = { "min_ns", NULL, OUT_DURATION, OUT_DETAIL },
};

static void add_name(const struct syscalls_view *v, struct text *text, bool compat, uint32_t nr)
{
	const struct syscall_desc *desc = syscall_desc(v->machine, compat, nr);

	if (desc)
		text_cstr(text, desc->name);
	else
		text_printf(text, "syscall_%" PRIu32, nr);
}

static void set_figures(const struct syscalls_view *v, const struct syscall_stat *stat,
			struct out_value *values)
{
	const struct histogram *h = &stat->time;

	values[COL_COUNT] = out_u64(h->count);
	values[COL_ERRORS] = out_u64(stat->errors);
	values[COL_TOTAL] = out_u64(h->sum);
	values[COL_PERCENT] = out_f64(v->total_ns ? (double)h->sum * 100 / (double)v->total_ns : 0);
	values[COL_AVG] = out_u64(histogram_avg(h));
	values[COL_P50] = out_u64(histogram_percentile(h, 50));
	values[COL_P99] = out_u64(histogram_percentile(h, 99));
	values[COL_MAX] = out_u64(h->max);
	values[COL_MAX_AT] = out_u64(stat->max_at_ns);
	values[COL_MIN] = out_u64(h->min);
}

static void clear_values(struct out_value *values)
{
	for (size_t i = 0; i < N_COLUMNS; i++)
		values[i] = out_null();
}

static struct ebt_error *put_call(struct syscalls_view *v, const struct syscall_stat *stat,
				  unsigned int depth)
{
	const struct syscall_desc *desc = syscall_desc(v->machine, stat->compat, stat->nr);
	_cleanup_text_ struct text name = TEXT_INIT, label = TEXT_INIT;
	struct out_value values[N_COLUMNS];

	clear_values(values);
	add_name(v, &name, stat->compat, stat->nr);
	text_printf(&label, "%s%s", text_get(&name), stat->compat ? " [32]" : "");
	if (text_error(&label))
		return text_error(&label);
	values[COL_LABEL] = out_cstr(text_get(&label));
	values[COL_NAME] = out_cstr(text_get(&name));
	values[COL_ABI] = out_cstr(stat->compat ? "compat" : "native");
	values[COL_CATEGORY] = out_cstr(
		syscall_class_name(desc ? (enum syscall_class)desc->class : SYSCALL_OTHER));
	set_figures(v, stat, values);
	return out_row(v->out, depth, values);
}

static struct ebt_error *put_group(struct syscalls_view *v, const struct syscall_group *group)
{
	const struct ebt_task *task = group->task;
	_cleanup_text_ struct text label = TEXT_INIT;
	struct out_value values[N_COLUMNS];
	struct ebt_str comm;

	clear_values(values);
	if (task) {
		comm = v->grouping == SYSCALLS_BY_PROCESS ? names_process(v->names, task)
							  : names_task(v->names, task);
		text_task(&label, comm, v->grouping == SYSCALLS_BY_PROCESS ? task->pid : task->tid);
		values[COL_COMM] = out_str(comm);
		values[COL_PID] = out_u64(task->pid);
		if (v->grouping == SYSCALLS_BY_THREAD)
			values[COL_TID] = out_u64(task->tid);
	} else {
		text_cstr(&label, "(not known)");
	}
	if (text_error(&label))
		return text_error(&label);
	values[COL_LABEL] = out_str((struct ebt_str){ text_get(&label), label.len });
	set_figures(v, &group->all, values);
	return out_row(v->out, 0, values);
}

static int compare_groups(const void *a, const void *b)
{
	const struct syscall_stat *const *x = a, *const *y = b;

	return ((*x)->group > (*y)->group) - ((*x)->group < (*y)->group);
}

/* Each process or thread with its calls below it. */
static struct ebt_error *put_groups(struct syscalls_view *v)
{
	size_t n_groups, n_stats, at = 0;
	const struct syscall_group *groups = syscall_model_groups(v->model, &n_groups);
	const struct syscall_stat *stats = syscall_model_stats(v->model, &n_stats);
	_cleanup_free_ const struct syscall_stat **sorted = calloc(n_stats + 1, sizeof(*sorted));
	struct ebt_error *err = NULL;

	if (!sorted)
		return &ebt_enomem;
	for (size_t i = 0; i < n_stats; i++)
		sorted[i] = &stats[i];
	qsort(sorted, n_stats, sizeof(sorted[0]), compare_groups);
	for (size_t g = 0; !err && g < n_groups; g++) {
		err = put_group(v, &groups[g]);
		for (; !err && at < n_stats && sorted[at]->group == g; at++)
			err = put_call(v, sorted[at], 1);
	}
	return err;
}

static struct ebt_error *put_calls(struct syscalls_view *v)
{
	struct ebt_error *err = NULL;
	size_t n;
	const struct syscall_stat *stats = syscall_model_stats(v->model, &n);

	for (size_t i = 0; !err && i < n; i++)
		err = put_call(v, &stats[i], 0);
	return err;
}

static struct ebt_error *put_errnos(struct syscalls_view *v)
{
	static const struct out_column errno_columns[] = {
		{ "name", "CALL", OUT_STRING, 0 },
		{ "errno", "ERROR", OUT_STRING, 0 },
		{ "number", "NUMBER", OUT_U64, OUT_DETAIL },
		{ "count", "COUNT", OUT_U64, OUT_SORT },
	};
	static const struct out_table table = {
		.key = "errnos",
		.columns = errno_columns,
		.n_columns = 4,
		.flags = OUT_FIXED,
	};
	size_t n;
	const struct syscall_errno *errnos = syscall_model_errnos(v->model, &n);
	struct ebt_error *err;

	out_printf(v->out, "\n");
	err = out_begin(v->out, &table);
	for (size_t i = 0; !err && i < n; i++) {
		_cleanup_text_ struct text name = TEXT_INIT, number = TEXT_INIT;
		const char *error = errno_name(errnos[i].errnum);

		add_name(v, &name, errnos[i].compat, errnos[i].nr);
		text_printf(&number, "%" PRIu32, errnos[i].errnum);
		err = out_row(v->out, 0,
			      (struct out_value[]){ out_cstr(text_get(&name)),
						    out_cstr(error ? error : text_get(&number)),
						    out_u64(errnos[i].errnum),
						    out_u64(errnos[i].count) });
	}
	return err ? err : out_end(v->out);
}

/* Categories count all calls: they need a model of their own where this one is by process. */
static struct ebt_error *put_profile(struct syscalls_view *v, bool classify)
{
	struct trace *trace = v->report->trace;
	_cleanup_(syscall_model_destroyp) struct syscall_model *model = NULL;
	struct syscall_profile profile;
	uint64_t from, to;
	double cpu = -1;
	struct ebt_error *err;

	err = syscall_model_create(trace, SYSCALLS_BY_CALL, NULL, &model);
	if (!err && classify)
		err = cpu_time_percent(trace, &cpu);
	if (err)
		return err;
	from = trace_from_ns(trace);
	to = trace_to_ns(trace) < trace_end_ns(trace) ? trace_to_ns(trace) : trace_end_ns(trace);
	profile = syscall_profile_make(model, v->machine, to > from ? (double)(to - from) / 1e9 : 0,
				       cpu);
	err = out_categories(v->out, &profile);
	if (!err && classify)
		out_classification(v->out, &profile);
	return err;
}

static struct ebt_error *put_tables(struct syscalls_view *v)
{
	const struct options *o = v->report->options;
	bool classify = options_flag(o, "classify");
	struct out_table table = {
		.key = "rows",
		.columns = columns,
		.n_columns = N_COLUMNS,
		.children = v->grouping == SYSCALLS_BY_CALL ? NULL : "calls",
	};
	const struct syscall_group *groups;
	struct ebt_error *err;
	size_t n;

	groups = syscall_model_groups(v->model, &n);
	for (size_t i = 0; i < n; i++)
		v->total_ns += groups[i].all.time.sum;
	err = out_begin(v->out, &table);
	if (!err)
		err = v->grouping == SYSCALLS_BY_CALL ? put_calls(v) : put_groups(v);
	if (!err)
		err = out_end(v->out);
	if (!err && options_flag(v->report->options, "errors"))
		err = put_errnos(v);
	if (!err && (classify || options_flag(o, "categories")))
		err = put_profile(v, classify);
	return err;
}

/* Names go by the machine that was recorded. */
static struct ebt_error *find_machine(struct report *report, const struct syscall_machine **ret)
{
	const char *name = NULL;
	struct ebt_error *err;

	err = ebt_reader_meta(trace_reader(report->trace), "host.machine", &name);
	if (err)
		return err;
	*ret = name ? syscall_machine(name) : NULL;
	if (name && !*ret)
		return trace_warn(report->trace,
				  "system calls of machine '%s' are not known here: numbers stand "
				  "for names",
				  name);
	if (!name)
		return trace_warn(report->trace, "the trace does not say which machine it is of: "
						 "numbers of system calls stand for names");
	return NULL;
}

static struct ebt_error *check_options(const struct options *o)
{
	bool trace = options_flag(o, "trace");

	if (options_flag(o, "by-process") + options_flag(o, "by-thread") + trace > 1)
		return ebt_error_create(EBT_ERR_INVALID, "--by-process, --by-thread and --trace "
							 "exclude each other");
	if (trace && o->sort)
		return ebt_error_create(EBT_ERR_INVALID,
					"--trace is in order of time: --sort does not apply");
	if (trace && o->interval_ns)
		return ebt_error_create(EBT_ERR_INVALID,
					"--trace is in order of time: --interval does not apply");
	if (trace && (options_flag(o, "categories") || options_flag(o, "classify")))
		return ebt_error_create(EBT_ERR_INVALID,
					"--trace has no categories: they are sums");
	if (trace && options_flag(o, "errors"))
		return ebt_error_create(EBT_ERR_INVALID, "--trace shows errors anyway");
	return NULL;
}

static struct ebt_error *cmd_syscalls(struct report *report)
{
	_cleanup_(syscall_model_destroyp) struct syscall_model *model = NULL;
	struct syscalls_view v = { .report = report, .out = report->out };
	struct ebt_error *err;

	err = check_options(report->options);
	if (!err)
		err = find_machine(report, &v.machine);
	if (!err)
		err = syscall_model_warn_none(report->trace);
	if (err)
		return err;
	if (options_flag(report->options, "trace"))
		return syscall_trace(report, v.machine);
	if (options_flag(report->options, "by-process"))
		v.grouping = SYSCALLS_BY_PROCESS;
	else if (options_flag(report->options, "by-thread"))
		v.grouping = SYSCALLS_BY_THREAD;
	if (v.grouping != SYSCALLS_BY_CALL)
		err = trace_names(report->trace, &v.names);
	if (!err)
		err = syscall_model_create(report->trace, v.grouping, NULL, &model);
	if (err)
		return err;
	v.model = model;
	return put_tables(&v);
}

static const struct option_def syscalls_options[] = {
	{ "by-process", OPTION_FLAG, NULL, "processes, and the calls of each", NULL },
	{ "by-thread", OPTION_FLAG, NULL, "threads, and the calls of each", NULL },
	{ "errors", OPTION_FLAG, NULL, "which errors they returned, too", NULL },
	{ "categories", OPTION_FLAG, NULL, "also: how many were about files, memory, …", NULL },
	{ "classify", OPTION_FLAG, NULL, "categories, and a verdict with its thresholds", NULL },
	{ "trace", OPTION_FLAG, NULL, "every call, a line each, as strace prints them", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_syscalls = {
	.name = "syscalls",
	.fn = cmd_syscalls,
	.summary = "counts, errors, latency, by process or by call; a trace like strace's",
	.help = "Record with `ebrec -e syscalls`. Times are from entry to return; percentiles are\n"
		"within 1 %, MAX is exact and MAX AT says when it returned, in seconds. A call "
		"that\n"
		"had not returned when recording ended is not in the file (exit_group never "
		"does).\n"
		"--top counts processes or threads, not their calls.\n"
		"\n"
		"--categories has ten: file_io (also of descriptors of other kinds), memory, "
		"process,\n"
		"network (calls of sockets only), time, ipc (also poll, select and epoll), "
		"security,\n"
		"signal, system, other. --classify adds io_bound, cpu_bound … by thresholds, which "
		"it\n"
		"prints.\n"
		"\n"
		"--trace prints in order of entry, time in seconds since the start of the trace,\n"
		"arguments as numbers. Up to 262144 calls are held back for that: a call during "
		"which\n"
		"more than so many others returned stands later than its time says, and a warning\n"
		"tells how many do.\n"
		"\n"
		"  ebreport syscalls t.ebt\n"
		"  ebreport syscalls --by-process --top 5 t.ebt\n"
		"  ebreport syscalls --errors --sort errors --comm 'nginx*' t.ebt\n"
		"  ebreport syscalls --trace --pid 1234 --from 2s --to 3s t.ebt\n",
	.options = syscalls_options,
};
