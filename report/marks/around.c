/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ran, waited and was called during marks: tables, folded stacks and a flame graph. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/calls/names.h"
#include "report/marks/model_around.h"
#include "report/marks/views.h"
#include "report/out/histogram.h"
#include "report/sched/wall_files.h"
#include "report/stacks/doubts.h"
#include "report/stacks/out_svg.h"

#define MIN_PERCENT  1.0 /* functions below it are noise, on a terminal */
#define MAX_WARNINGS 6

struct around_view {
	struct report *report;
	struct out *out;
	const struct marks *marks;
	const struct around *around;
	const struct around_sum *sum;
	const struct syscall_machine *machine;
	enum span_scope scope;
	uint64_t whole_ns; /* of which the shares are */
};

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static uint64_t runqueue_of(const uint64_t ns[WALL_N_KINDS])
{
	return ns[WALL_RUNQUEUE] + ns[WALL_PREEMPTED];
}

static uint64_t off_of(const uint64_t ns[WALL_N_KINDS])
{
	return ns[WALL_SLEEP] + ns[WALL_LOCK] + ns[WALL_DISK] + ns[WALL_OTHER];
}

/* Sysprof's protocol does not say which thread a mark is of. */
static enum span_scope choose_scope(const struct options *o, const struct marks *marks)
{
	const char *scope = options_string(o, "around-scope");

	for (int i = 0; scope && marks_scopes[i]; i++) {
		if (strcmp(scope, marks_scopes[i]) == 0)
			return (enum span_scope)i;
	}
	for (size_t i = 0; i < marks_n(marks); i++) {
		if (marks_at(marks, i)->origin == MARK_SYSPROF)
			return SPAN_OF_PROCESS;
	}
	return SPAN_OF_THREAD;
}

/* --- all together --- */

static void put_members(const struct around_view *v, struct json *json)
{
	const struct around_sum *sum = v->sum;
	const struct {
		const char *key;
		uint64_t value;
	} members[] = {
		{ "count", sum->marks },
		{ "sum_ns", sum->sum_ns },
		{ "mean_ns", sum->marks ? sum->sum_ns / sum->marks : 0 },
		{ "max_ns", sum->max_ns },
		{ "covered_ns", sum->covered_ns },
		{ "instants", sum->instants },
		{ "unowned", sum->unowned },
		{ "thread_count", sum->threads },
		{ "threads_ns", sum->threads_ns },
		{ "samples", sum->samples },
	};

	json_newline(json);
	json_key(json, "marks");
	json_open_object(json);
	json_put(json, "name", cstr, options_string(v->report->options, "around"));
	json_put(json, "scope", cstr, marks_scopes[v->scope]);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		json_put(json, members[i].key, u64, members[i].value);
	}
	json_end(json);
}

static void put_head(const struct around_view *v)
{
	const struct around_sum *sum = v->sum;
	const char *name = options_string(v->report->options, "around");
	_cleanup_text_ struct text line = TEXT_INIT, what = TEXT_INIT;

	if (out_json(v->out)) {
		put_members(v, out_json(v->out));
		return;
	}
	text_printf(&line, "%" PRIu64 " %s '", sum->marks,
		    text_plural(sum->marks, "mark", "marks"));
	text_terminal(&line, ebt_str_of(name));
	text_cstr(&line, "', together ");
	text_duration(&line, sum->sum_ns);
	text_cstr(&line, ", mean ");
	text_duration(&line, sum->marks ? sum->sum_ns / sum->marks : 0);
	text_cstr(&line, ", longest ");
	text_duration(&line, sum->max_ns);
	if (sum->covered_ns != sum->sum_ns) {
		text_cstr(&line, ", covering ");
		text_duration(&line, sum->covered_ns);
		text_cstr(&line, " (some overlap, or go beyond the window)");
	}
	if (sum->unowned)
		text_printf(&line, "; of %" PRIu64 " it is not known whose %s", sum->unowned,
			    text_plural(sum->unowned, "it is", "they are"));
	if (v->scope == SPAN_OF_THREAD)
		text_cstr(&what, "What their threads did meanwhile");
	else
		text_printf(&what, "What %" PRIu64 " %s of %s did meanwhile", sum->threads,
			    text_plural(sum->threads, "thread", "threads"),
			    v->scope == SPAN_OF_PROCESS ? "their processes" : "the system");
	text_printf(&what, ", with %" PRIu64 " %s:", sum->samples,
		    text_plural(sum->samples, "sample", "samples"));
	text_addc(&line, '.');
	out_fill(v->out, "", 2, text_get(&line));
	out_fill(v->out, "", 2, text_get(&what));
	out_printf(v->out, "\n");
}

#define STATES(X)                                                         \
	X("state", NULL, OUT_STRING, out_cstr(key), OUT_DETAIL)           \
	X("what", "THREADS", OUT_STRING, out_cstr(what), OUT_TEXT_ONLY)   \
	X("total_ns", "TOTAL", OUT_DURATION, out_u64(ns))                 \
	X("percent", "%", OUT_PERCENT, out_f64(percent(ns, v->whole_ns))) \
	X("mean_ns", "AVG", OUT_DURATION, out_u64(marks ? ns / marks : 0))

static struct ebt_error *put_time_row(const struct around_view *v, const char *what,
				      const char *key, uint64_t ns)
{
	const uint64_t marks = v->sum->marks;

	return out_row(v->out, 0, OUT_VALUES(STATES));
}

static struct ebt_error *put_time(const struct around_view *v)
{
	const struct out_table table =
		OUT_TABLE_OF("states", STATES, .flags = OUT_FIXED | OUT_KEEP_ORDER);
	static const char *const whats[WALL_N_KINDS] = {
		[WALL_CPU] = "on a CPU",	  [WALL_RUNQUEUE] = "woken, no CPU yet",
		[WALL_PREEMPTED] = "preempted",	  [WALL_SLEEP] = "asleep",
		[WALL_LOCK] = "asleep on a lock", [WALL_DISK] = "uninterruptible: disk",
		[WALL_OTHER] = "off CPU, other",
	};
	const uint64_t *ns = v->sum->ns, known = ns[WALL_CPU] + runqueue_of(ns) + off_of(ns);
	struct ebt_error *err = out_begin(v->out, &table);

	for (int kind = 0; !err && kind < WALL_N_KINDS; kind++) {
		if (ns[kind] || out_format(v->out) != FORMAT_TABLE)
			err = put_time_row(v, whats[kind], wall_kind_name((enum wall_kind)kind),
					   ns[kind]);
	}
	if (err)
		return err;
	if (known < v->whole_ns || out_format(v->out) != FORMAT_TABLE)
		err = put_time_row(v, "not known", "unknown",
				   known < v->whole_ns ? v->whole_ns - known : 0);
	return err ? err : out_end(v->out);
}

static void add_call(const struct around_view *v, struct text *text, bool compat, uint32_t nr)
{
	syscall_name_add(text, v->machine, compat, nr);
	text_cstr(text, compat ? " [32]" : "");
}

#define CALLS(X)                                                                     \
	X("call", "CALL", OUT_STRING, out_cstr(text_get(&name)))                     \
	X("count", "COUNT", OUT_U64, out_u64(sum->time.count))                       \
	X("errors", "ERRORS", OUT_U64, out_u64(sum->errors))                         \
	X("total_ns", "TOTAL", OUT_DURATION, out_u64(sum->time.sum), OUT_SORT)       \
	X("percent", "%", OUT_PERCENT, out_f64(percent(sum->time.sum, v->whole_ns))) \
	X("avg_ns", "AVG", OUT_DURATION, out_average(&sum->time))                    \
	X("p99_ns", "P99", OUT_DURATION, out_percentile(&sum->time, 99))             \
	X("max_ns", "MAX", OUT_DURATION, out_u64(sum->time.max))

static struct ebt_error *put_call(const struct around_view *v, const struct syscall_stat *stat)
{
	const struct syscall_sum *sum = &stat->sum;
	_cleanup_text_ struct text name = TEXT_INIT;

	add_call(v, &name, stat->compat, stat->nr);
	return text_error(&name) ? text_error(&name) : out_row(v->out, 0, OUT_VALUES(CALLS));
}

static struct ebt_error *put_calls(const struct around_view *v)
{
	const struct out_table table =
		OUT_TABLE_OF("syscalls", CALLS, .title = "", .flags = OUT_FIXED);
	size_t n;
	const struct syscall_stat *stats = syscall_model_stats(v->around->syscalls, &n);

	if (!n && out_format(v->out) == FORMAT_TABLE)
		return NULL;
	return out_rows(v->out, &table, n, i, put_call(v, &stats[i]));
}

#define EVENTS(X)                                                   \
	X("event", "EVENT", OUT_STRING, out_cstr(names[i]))         \
	X("count", "COUNT", OUT_U64, out_u64(events[i].count))      \
	X("total_ns", "TOTAL", OUT_DURATION, out_u64(events[i].ns)) \
	X("bytes", "BYTES", OUT_BYTES, out_u64_if(i == AROUND_BLOCK_IO, events[i].bytes))

static struct ebt_error *put_events(const struct around_view *v)
{
	const struct out_table table =
		OUT_TABLE_OF("events", EVENTS, .title = "", .flags = OUT_FIXED | OUT_KEEP_ORDER);
	static const char *const names[AROUND_N_EVENTS] = { "minor fault", "major fault",
							    "block I/O" };
	const struct around_events *events = v->around->events;
	uint64_t all = 0;

	for (int i = 0; i < AROUND_N_EVENTS; i++)
		all += events[i].count;
	if (!all && out_format(v->out) == FORMAT_TABLE)
		return NULL;
	return out_rows(v->out, &table, AROUND_N_EVENTS, i, out_row(v->out, 0, OUT_VALUES(EVENTS)));
}

/* --- functions --- */

/* Time of a function itself, by func: on a CPU, and off it. */
struct own {
	uint64_t on, off;
};

static struct ebt_error *find_own(const struct around_view *v, struct own **ret)
{
	const struct wall *wall = v->around->wall;
	uint32_t n_nodes, n_funcs;
	const struct calltree_node *nodes = calltree_nodes(wall_tree(wall), &n_nodes);
	struct own *own;

	calltree_funcs(wall_tree(wall), &n_funcs);
	own = calloc((size_t)n_funcs + 1, sizeof(*own));
	if (!own)
		return &ebt_enomem;
	for (uint32_t i = 1; i < n_nodes; i++) {
		struct own *of = &own[nodes[nodes[i].parent].func];
		enum wall_kind kind;

		if (wall_is_leaf(wall, i, &kind))
			*(kind == WALL_CPU ? &of->on : &of->off) += nodes[i].self;
	}
	*ret = own;
	return NULL;
}

static bool is_function(const struct calltree_func *func)
{
	return func->kind != CALLTREE_ON_CPU && func->kind != CALLTREE_QUEUED &&
	       func->kind != CALLTREE_OFF_CPU;
}

#define FUNCTIONS(X)                                                          \
	X("total_ns", "TOTAL", OUT_DURATION, out_u64(total), OUT_SORT)        \
	X("percent", "%", OUT_PERCENT, out_f64(percent(total, v->whole_ns)))  \
	X("on_cpu_ns", "SELF-ON", OUT_DURATION, out_u64(own->on))             \
	X("off_cpu_ns", "SELF-OFF", OUT_DURATION, out_u64(own->off))          \
	X("function", "FUNCTION", OUT_STRING, out_cstr(func->name), OUT_NAME) \
	X("object", "OBJECT", OUT_STRING, out_cstr(object), OUT_FLEX)         \
	X("kind", NULL, OUT_STRING, out_cstr(calltree_kind_name(func->kind)), OUT_DETAIL)

static struct ebt_error *put_function(const struct around_view *v, const struct calltree_func *func,
				      const struct own *own, uint64_t total)
{
	const char *slash = strrchr(func->object, '/'), *object = func->object;

	if (slash && out_format(v->out) == FORMAT_TABLE)
		object = slash + 1;
	return out_row(v->out, 0, OUT_VALUES(FUNCTIONS));
}

static struct ebt_error *put_functions(const struct around_view *v)
{
	const struct out_table table = OUT_TABLE_OF("rows", FUNCTIONS, .title = "");
	const struct calltree *tree = wall_tree(v->around->wall);
	uint32_t n_funcs;
	const struct calltree_func *funcs = calltree_funcs(tree, &n_funcs);
	_cleanup_free_ struct calltree_flat *flat = NULL;
	_cleanup_free_ struct own *own = NULL;
	size_t n, hidden = 0;
	struct ebt_error *err = calltree_flat(tree, &flat, &n);

	if (!err && !n && out_format(v->out) == FORMAT_TABLE)
		return out_leave_out(v->out, &table);
	if (err)
		return err;
	err = find_own(v, &own);
	if (!err)
		err = out_begin(v->out, &table);
	for (size_t i = 0; !err && i < n; i++) {
		const struct calltree_func *func = &funcs[flat[i].func];

		if (!is_function(func))
			continue;
		if (out_format(v->out) == FORMAT_TABLE &&
		    percent(flat[i].total, v->whole_ns) < MIN_PERCENT)
			hidden++;
		else
			err = put_function(v, func, &own[flat[i].func], flat[i].total);
	}
	if (!err)
		err = out_end(v->out);
	if (!err && hidden)
		out_printf(v->out, "%zu %s below %.0f %% %s not shown.\n", hidden,
			   text_plural(hidden, "function", "functions"), MIN_PERCENT,
			   text_plural(hidden, "is", "are"));
	return err;
}

/* --- the longest, one by one --- */

#define SLOWEST(X)                                                                         \
	X("time_ns", "START", OUT_TIME, out_u64(mark->start))                              \
	X("duration_ns", "DURATION", OUT_DURATION, out_u64(mark_duration(mark)), OUT_SORT) \
	X("pid", NULL, OUT_U64, out_pid(mark->task), OUT_DETAIL)                           \
	X("tid", "TID", OUT_U64, out_tid(mark->task))                                      \
	X("comm", NULL, OUT_STRING,                                                        \
	  mark->task ? out_str(names_task(names, mark->task)) : out_null(), OUT_DETAIL)    \
	X("group", NULL, OUT_STRING, out_cstr(name->group), OUT_DETAIL)                    \
	X("name", "NAME", OUT_STRING, out_cstr(name->name), OUT_FLEX)                      \
	X("on_cpu_ns", "ON-CPU", OUT_DURATION, out_u64(slow->ns[WALL_CPU]))                \
	X("runqueue_ns", "RUNQUEUE", OUT_DURATION, out_u64(runqueue_of(slow->ns)))         \
	X("off_cpu_ns", "OFF-CPU", OUT_DURATION, out_u64(off_of(slow->ns)))                \
	X("sleep_ns", NULL, OUT_DURATION, out_u64(slow->ns[WALL_SLEEP]), OUT_DETAIL)       \
	X("lock_ns", NULL, OUT_DURATION, out_u64(slow->ns[WALL_LOCK]), OUT_DETAIL)         \
	X("disk_ns", NULL, OUT_DURATION, out_u64(slow->ns[WALL_DISK]), OUT_DETAIL)         \
	X("samples", NULL, OUT_U64, out_u64(slow->samples), OUT_DETAIL)                    \
	X("function", "RAN-MOST", OUT_STRING, out_cstr_if(slow->function), OUT_FLEX)       \
	X("function_samples", NULL, OUT_U64, out_u64(slow->function_samples), OUT_DETAIL)  \
	X("blocked_in", "WAITED-IN", OUT_STRING, out_cstr_if(slow->blocked_in), OUT_FLEX)  \
	X("blocked_ns", NULL, OUT_DURATION, out_u64(slow->blocked_ns), OUT_DETAIL)         \
	X("syscall_count", "CALLS", OUT_U64, out_u64(slow->calls))                         \
	X("syscalls_ns", NULL, OUT_DURATION, out_u64(slow->calls_ns), OUT_DETAIL)          \
	X("syscall", "TOP-CALL", OUT_STRING,                                               \
	  slow->top_ns ? out_cstr(text_get(&call)) : out_null(), OUT_FLEX)                 \
	X("syscall_ns", NULL, OUT_DURATION, out_u64(slow->top_ns), OUT_DETAIL)             \
	X("message", NULL, OUT_STRING, out_str(marks_message(v->marks, mark)), OUT_DETAIL)

static struct ebt_error *put_slow(const struct around_view *v, const struct around_slow *slow,
				  const struct names *names)
{
	const struct mark *mark = marks_at(v->marks, slow->mark);
	const struct mark_name *name = marks_name(v->marks, mark->name);
	_cleanup_text_ struct text call = TEXT_INIT;

	if (slow->top_ns)
		add_call(v, &call, slow->top_compat, slow->top_nr);
	return text_error(&call) ? text_error(&call) : out_row(v->out, 0, OUT_VALUES(SLOWEST));
}

static struct ebt_error *put_slowest(const struct around_view *v)
{
	const struct out_table table = OUT_TABLE_OF("rows", SLOWEST, .title = "");
	const struct names *names;
	struct ebt_error *err = trace_names(v->report->trace, &names);

	if (err)
		return err;
	if (!v->around->n_slowest && out_format(v->out) == FORMAT_TABLE)
		return out_leave_out(v->out, &table);
	return out_rows(v->out, &table, v->around->n_slowest, i,
			put_slow(v, &v->around->slowest[i], names));
}

/* --- the view --- */

static struct ebt_error *put_flame(const struct around_view *v)
{
	struct trace *trace = v->report->trace;
	const char *lines[1], *name = options_string(v->report->options, "around");
	struct svg_flame flame = { .tree = wall_tree(v->around->wall),
				   .lines = lines,
				   .n_lines = 1 };
	_cleanup_text_ struct text title = TEXT_INIT, line = TEXT_INIT;
	struct ebt_error *err = trace_warnings(trace, &flame.warnings, &flame.n_warnings);

	if (err)
		return err;
	if (flame.n_warnings > MAX_WARNINGS)
		flame.n_warnings = MAX_WARNINGS;
	text_printf(&title, "Wall-clock time during '%s'", name);
	text_printf(&line, "%" PRIu64 " %s, together ", v->sum->marks,
		    text_plural(v->sum->marks, "mark", "marks"));
	text_duration(&line, v->sum->sum_ns);
	text_printf(&line, ", of each its %s", marks_scopes[v->scope]);
	lines[0] = text_get(&line);
	flame.title = text_get(&title);
	err = svg_write_flame(out_file(v->out), &flame);
	return err || !text_error(&title) ? err : text_error(&title);
}

static struct ebt_error *put_tables(const struct around_view *v)
{
	struct ebt_error *err;

	if (v->sum->marks || out_format(v->out) != FORMAT_TABLE) {
		put_head(v);
		err = put_time(v) ?: put_calls(v) ?: put_events(v);
		if (err)
			return err;
	}
	return options_u64(v->report->options, "slowest", 0) ? put_slowest(v) : put_functions(v);
}

static struct ebt_error *find_machine(struct trace *trace, const struct syscall_machine **ret)
{
	const char *machine;
	struct ebt_error *err = ebt_reader_meta(trace_reader(trace), "host.machine", &machine);

	if (!err)
		*ret = machine ? syscall_machine(machine) : NULL;
	return err;
}

struct ebt_error *marks_around(struct report *report, const struct marks *marks)
{
	const struct options *o = report->options;
	struct around_view v = { .report = report, .out = report->out, .marks = marks };
	const uint64_t slowest = options_u64(o, "slowest", 0);
	struct around_options options = {
		.slowest = slowest < AROUND_MAX_SLOWEST ? (uint32_t)slowest : AROUND_MAX_SLOWEST,
		.figures_only = slowest > 0,
	};
	_cleanup_(around_destroyp) struct around *around = NULL;
	struct ebt_error *err;

	options.scope = v.scope = choose_scope(o, marks);
	err = around_create(report->trace, marks, &options, &around);
	if (err)
		return err;
	err = find_machine(report->trace, &v.machine);
	if (err)
		return err;
	v.around = around;
	v.sum = &around->sum;
	if (!v.sum->marks && v.sum->instants)
		err = trace_warn(report->trace,
				 "these marks are instants: --around is about spans");
	if (err)
		return err;
	err = warn_few_samples(report->trace, v.sum->samples)
		      ?: warn_nameless(report->trace, wall_tree(around->wall));
	if (err)
		return err;
	v.whole_ns = v.scope == SPAN_OF_THREAD ? v.sum->covered_ns : v.sum->threads_ns;
	if (options_flag(o, "folded"))
		return wall_write_folded(out_file(report->out), around->wall, 0);
	return options_flag(o, "flame") ? put_flame(&v) : put_tables(&v);
}
