/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport syscalls: system calls by call, by task, or one by one. */
#include <inttypes.h>
#include <stdlib.h>

#include "format/base/map.h"
#include "report/calls/calls.h"
#include "report/calls/names.h"
#include "report/group/group.h"
#include "report/out/histogram.h"
#include "report/sched/feed.h"
#include "report/syscalls/model_syscalls.h"
#include "report/syscalls/profile.h"
#include "report/syscalls/trace.h"

enum { OWN_CALL, OWN_ERROR };

/* How often a call returned an error. */
struct call_error {
	uint64_t call; /* syscall_key() */
	uint32_t errnum;
	uint64_t count;
};

struct syscalls_view {
	struct report *report;
	struct out *out;
	const struct syscall_machine *machine;
	struct grouping *groups;
	bool tasks; /* they are by task */
	struct call_error *errors;
	size_t n_errors, errors_capacity;
	struct ebt_map error_by_key;
};

static void view_deinit(struct syscalls_view *v)
{
	grouping_destroy(v->groups);
	free(v->errors);
	ebt_map_deinit(&v->error_by_key);
}

/* --- rows --- */

static struct ebt_error *count_error(struct syscalls_view *v, uint64_t call, uint32_t errnum)
{
	struct ebt_error *err;
	uint32_t i;

	err = ebt_map_element(&v->error_by_key, (uint64_t)errnum << 33 | call, &v->errors,
			      &v->n_errors, &v->errors_capacity, &i);
	if (err)
		return err;
	v->errors[i].call = call;
	v->errors[i].errnum = errnum;
	v->errors[i].count++;
	return NULL;
}

static struct ebt_error *count_row(void *arg, const struct ebt_row *row)
{
	struct syscalls_view *v = arg;
	int64_t result = ebt_syscall_ret(row);
	uint64_t call = syscall_key((uint32_t)ebt_syscall_nr(row),
				    ebt_syscall_abi(row) != EBT_V_syscall_abi_native);
	uint32_t errnum = syscall_failed(result) ? (uint32_t)-result : 0, i;
	const struct group_row group = {
		.task = v->tasks ? ebt_syscall_task(row) : NULL,
		.own = { [OWN_CALL] = call, [OWN_ERROR] = errnum },
	};
	struct ebt_error *err;

	err = grouping_find(v->groups, &group, &i);
	if (err)
		return err;
	err = syscall_sum_add(grouping_figures(v->groups, i), row, ebt_syscall_duration(row));
	return err || !errnum ? err : count_error(v, call, errnum);
}

static struct ebt_error *read_rows(struct syscalls_view *v)
{
	struct ebt_want want = EBT_WANT(syscall, nr, abi, duration, ret);

	v->tasks = grouping_has_tasks(v->groups);
	if (v->tasks)
		want.columns |= EBT_COL(syscall, task);
	return trace_read_rows(v->report->trace, &want, 1, 0, count_row, v);
}

/* --- keys --- */

static struct ebt_error *put_call(const struct grouping *g, uint64_t value,
				  struct group_cells *cells)
{
	const struct syscalls_view *v = grouping_arg(g);
	const struct syscall_desc *desc = syscall_desc(v->machine, value & 1, value >> 1);

	syscall_name_add(&cells->texts[0], v->machine, value & 1, (uint32_t)(value >> 1));
	text_printf(cells->label, "%s%s", text_get(&cells->texts[0]), value & 1 ? " [32]" : "");
	cells->values[1] = out_cstr(value & 1 ? "compat" : "native");
	cells->values[2] = out_cstr(
		syscall_class_name(desc ? (enum syscall_class)desc->class : SYSCALL_OTHER));
	return NULL;
}

static void add_errno(struct text *text, uint64_t errnum)
{
	const char *name = errno_name(errnum);

	if (name)
		text_cstr(text, name);
	else
		text_printf(text, "%" PRIu64, errnum);
}

static struct ebt_error *put_error(const struct grouping *g, uint64_t value,
				   struct group_cells *cells)
{
	(void)g;
	if (value)
		add_errno(&cells->texts[0], value);
	text_cstr(cells->label, value ? text_get(&cells->texts[0]) : "no error");
	return NULL;
}

static const struct out_column call_columns[] = {
	{ "name", "CALL", OUT_STRING, OUT_FLEX },
	{ "abi", NULL, OUT_STRING, OUT_DETAIL },
	{ "category", NULL, OUT_STRING, OUT_DETAIL },
};
static const struct out_column error_columns[] = { { "error", "ERROR", OUT_STRING, 0 } };

static const struct group_own own_keys[] = {
	[OWN_CALL] = { "call", "CALL", call_columns, 3, false, put_call },
	[OWN_ERROR] = { "error", "ERROR", error_columns, 1, true, put_error },
};

/* --- figures --- */

static struct ebt_error *merge(void *to, const void *from)
{
	return syscall_sum_merge(to, from);
}

static void deinit(void *figures)
{
	struct syscall_sum *sum = figures;

	histogram_deinit(&sum->time);
}

#define FIGURES(X)                                                                          \
	X("count", "COUNT", OUT_U64, out_u64(sum->time.count), OUT_ADDS)                    \
	X("errors", "ERRORS", OUT_U64, out_u64(sum->errors), OUT_ADDS)                      \
	X("total_ns", "TOTAL", OUT_DURATION, out_u64(sum->time.sum), OUT_SORT | OUT_ADDS)   \
	X("percent", "%", OUT_PERCENT,                                                      \
	  out_f64(all->time.sum ? (double)sum->time.sum * 100 / (double)all->time.sum : 0), \
	  OUT_SHARE, .of = "total_ns")                                                      \
	X("avg_ns", "AVG", OUT_DURATION, out_average(&sum->time), OUT_OPTIONAL | OUT_MEAN,  \
	  .of = "total_ns", .by = "count")                                                  \
	X("p50_ns", "P50", OUT_DURATION, out_percentile(&sum->time, 50), OUT_SPREAD,        \
	  .percent = 50)                                                                    \
	X("p99_ns", "P99", OUT_DURATION, out_percentile(&sum->time, 99), OUT_SPREAD,        \
	  .of = "p50_ns", .percent = 99)                                                    \
	X("max_ns", "MAX", OUT_DURATION, out_maximum(&sum->time), OUT_PEAK)                 \
	X("max_at_ns", "MAX-AT", OUT_TIME, out_u64(sum->max_at_ns), OUT_OPTIONAL | OUT_AT,  \
	  .of = "max_ns")                                                                   \
	X("min_ns", NULL, OUT_DURATION, out_u64(sum->time.min), OUT_DETAIL | OUT_LEAST)

static void put_figures(const struct grouping *g, const void *figures, struct out_value *values)
{
	const struct syscall_sum *sum = figures, *all = grouping_all(g);

	GROUP_PUT(values, FIGURES);
}

static const struct group_columns columns = GROUP_COLUMNS(FIGURES, put_figures);

static const struct group_table calls = {
	.keys = GROUP_TASK_KEYS,
	.own = own_keys,
	.n_own = 2,
	.by = "call",
	.detail = "call",
	.columns = &columns,
	.size = sizeof(struct syscall_sum),
	.merge = merge,
	.deinit = deinit,
};

/* --- tables --- */

#define ERRORS(X)                                                      \
	X("name", "CALL", OUT_STRING, out_cstr(text_get(&name)))       \
	X("errno", "ERROR", OUT_STRING, out_cstr(text_get(&error)))    \
	X("number", "NUMBER", OUT_U64, out_u64(e->errnum), OUT_DETAIL) \
	X("count", "COUNT", OUT_U64, out_u64(e->count), OUT_SORT)

static struct ebt_error *put_call_error(const struct syscalls_view *v, const struct call_error *e)
{
	_cleanup_text_ struct text name = TEXT_INIT, error = TEXT_INIT;

	syscall_name_add(&name, v->machine, e->call & 1, (uint32_t)(e->call >> 1));
	add_errno(&error, e->errnum);
	return out_row(v->out, 0, OUT_VALUES(ERRORS));
}

static struct ebt_error *put_errors(struct syscalls_view *v)
{
	const struct out_table table = OUT_TABLE_OF("errnos", ERRORS, .flags = OUT_FIXED);

	out_printf(v->out, "\n");
	return out_rows(v->out, &table, v->n_errors, i, put_call_error(v, &v->errors[i]));
}

/* Categories count all calls: they need a model of their own. */
static struct ebt_error *put_profile(struct syscalls_view *v, bool classify)
{
	struct trace *trace = v->report->trace;
	_cleanup_(syscall_model_destroyp) struct syscall_model *model = NULL;
	struct syscall_profile profile;
	double cpu = -1;
	struct ebt_error *err;

	err = syscall_model_create(trace, NULL, &model);
	if (!err && classify)
		err = sched_cpu_percent(trace, &cpu);
	if (err)
		return err;
	profile =
		syscall_profile_make(model, v->machine, (double)trace_window_ns(trace) / 1e9, cpu);
	err = syscall_profile_put_classes(v->out, &profile);
	if (!err && classify)
		syscall_profile_put_verdict(v->out, &profile);
	return err;
}

static struct ebt_error *check_options(const struct options *o)
{
	const bool as_strace = options_flag(o, "strace");
	const char *why = NULL;

	if (!as_strace && !options_flag(o, "trace"))
		return NULL;
	if (as_strace && (o->format != FORMAT_TABLE || options_flag(o, "trace")))
		why = "is a form of its own: --trace, --json and --csv do not apply";
	else if (options_string(o, "by"))
		why = "is a line a call: --by does not apply";
	else if (o->sort)
		why = "is in order of time: --sort does not apply";
	else if (o->interval_ns)
		why = "is in order of time: --interval does not apply";
	else if (options_flag(o, "categories") || options_flag(o, "classify"))
		why = "has no categories: they are sums";
	else if (options_flag(o, "errors"))
		why = "shows errors anyway";
	return why ? ebt_error_create(EBT_ERR_INVALID, "--%strace %s", as_strace ? "s" : "", why)
		   : NULL;
}

static struct ebt_error *cmd_syscalls(struct report *report)
{
	__attribute__((cleanup(view_deinit))) struct syscalls_view v = { .report = report,
									 .out = report->out };
	const struct options *o = report->options;
	bool classify = options_flag(o, "classify");
	struct ebt_error *err;

	err = check_options(o) ?:
	      calls_machine(report->trace, &v.machine) ?:
	      syscall_model_warn_none(report->trace);
	if (err)
		return err;
	if (options_flag(o, "trace") || options_flag(o, "strace"))
		return syscall_trace(report, v.machine, options_flag(o, "strace"));
	err = grouping_create(report, &calls, &v, NULL, &v.groups) ?:
	      read_rows(&v) ?:
	      grouping_put(v.groups);
	if (!err && options_flag(o, "errors"))
		err = put_errors(&v);
	if (!err && (classify || options_flag(o, "categories")))
		err = put_profile(&v, classify);
	return err;
}

static const struct option_def syscalls_options[] = {
	GROUP_BY_OPTION("call", "call", "error"),
	{ "by-process", OPTION_GONE, NULL, "--by process", NULL },
	{ "by-thread", OPTION_GONE, NULL, "--by thread", NULL },
	{ "errors", OPTION_FLAG, NULL, "which errors they returned, too", NULL },
	{ "categories", OPTION_FLAG, NULL, "also: how many were about files, memory, …", NULL },
	{ "classify", OPTION_FLAG, NULL, "categories, and a verdict with its thresholds", NULL },
	{ "trace", OPTION_FLAG, NULL, "every call, a line each, as strace prints them", NULL },
	{ "strace", OPTION_FLAG, NULL, "the same for tools that read files of strace", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_syscalls = {
	.name = "syscalls",
	.fn = cmd_syscalls,
	.flags = COMMAND_NO_NAMES,
	.summary = "counts, errors, latency, by process or by call; a trace like strace's",
	.elsewhere = "strace trace",
	.help = "Record with `ebrec -e syscalls`. Times are from entry to return; percentiles are\n"
		"within 1 %, MAX is exact and MAX-AT says when it returned, in seconds. A call "
		"that\n"
		"had not returned when recording ended is not in the file (exit_group never "
		"does).\n"
		"Below each row of --by are its calls; --top does not count them. With `call` "
		"among\n"
		"the keys, as in --by process,call, rows are flat.\n"
		"\n"
		"--categories has ten: file_io (also of descriptors of other kinds), memory, "
		"process,\n"
		"network (calls of sockets only), time, ipc (also poll, select and epoll), "
		"security,\n"
		"signal, system, other. --classify adds io_bound, cpu_bound … by thresholds, which "
		"it\n"
		"prints.\n"
		"\n"
		"--trace prints in order of entry, time in seconds since the start of the trace.\n"
		"Flags, operations, signals and errors are names, as strace prints them, for the\n"
		"machine that was recorded; bits without a name are numbers. Paths, addresses of\n"
		"sockets and the files of descriptors are there; of -e syscalls:raw, and for\n"
		"structs, addresses in memory stand for them, and so many bytes for a\n"
		"buffer. Up to 262144 calls are held back for the order: a call during which\n"
		"more than so many others returned stands later than its time says, and a warning\n"
		"tells how many do. --strace has the form of `strace -f -ttt -T -yy -o FILE`, "
		"which\n"
		"Perfetto and others read: calls of several threads stand whole, one after "
		"another.\n"
		"\n"
		"  ebreport syscalls t.ebt\n"
		"  ebreport syscalls --by process --top 5 t.ebt\n"
		"  ebreport syscalls --by container,call t.ebt\n"
		"  ebreport syscalls --errors --sort errors --comm 'nginx*' t.ebt\n"
		"  ebrec -e syscalls -- git status; ebreport syscalls --trace\n"
		"  ebreport syscalls --trace --pid 1234 --from 2s --to 3s t.ebt\n",
	.options = syscalls_options,
};
