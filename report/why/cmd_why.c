/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport why`: the path that the time of a command or a thread took. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/compare.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/stacks/doubts.h"
#include "report/stacks/out_svg.h"
#include "report/why/model_why.h"
#include "report/why/objects.h"
#include "report/why/requests_table.h"
#include "report/why/what_if.h"
#include "report/why/who_waits.h"
#include "report/why/words.h"

#define MAX_LINES 6 /* that say it in words */

struct why_view {
	struct report *report;
	const struct names *names;
	const struct why *why;
	uint64_t wall_ns;
};

static double percent(const struct why_view *v, uint64_t ns)
{
	return v->wall_ns ? 100.0 * (double)ns / (double)v->wall_ns : 0;
}

static struct out_value out_name(const struct why_view *v, const struct ebt_task *task)
{
	return task ? out_str(names_task(v->names, task)) : out_null();
}

static const struct calltree_func *func_at(const struct why_view *v, uint32_t func)
{
	static const struct calltree_func none = { "", "", CALLTREE_ROOT, 0 };
	uint32_t n;
	const struct calltree_func *funcs = calltree_funcs(why_graph_tree(v->why->graph), &n);

	return func < n ? &funcs[func] : &none;
}

/* What it waited for; of what ran, where its code is. */
static struct out_value object_of(const struct why_view *v, const struct why_cause *cause)
{
	const struct ebt_str name =
		why_object_name(why_graph_objects(v->why->graph), cause->object);

	if (cause->kind == WHY_WAIT)
		return out_str_if(name);
	return out_cstr_if(func_at(v, cause->func)->object);
}

/* "file.c:12-18", that were seen where most of it was. */
static struct out_value lines_of(const struct why_view *v, const struct why_cause *cause,
				 struct text *text)
{
	const struct options *o = v->report->options;
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(why_graph_tree(v->why->graph), &n);
	const char *file = cause->node ? nodes[cause->node].file : NULL;
	const char *slash = file ? strrchr(file, '/') : NULL;

	text_clear(text);
	if (!file)
		return out_null();
	text_cstr(text, slash && o->format == FORMAT_TABLE && !o->wide ? slash + 1 : file);
	text_printf(text, ":%" PRIu32, nodes[cause->node].line_first);
	if (nodes[cause->node].line_last != nodes[cause->node].line_first)
		text_printf(text, "-%" PRIu32, nodes[cause->node].line_last);
	return out_str(text_str(text));
}

static struct out_value device_of(const struct why_view *v, const struct why_cause *cause)
{
	return out_str_if(why_object_device(why_graph_objects(v->why->graph), cause->object));
}

/* Who had the CPU, or ended the wait, or why that is not known. */
static struct out_value by_text(const struct why_view *v, const struct why_cause *cause,
				struct text *text)
{
	const struct ebt_task *task = why_task(v->why, cause->other);

	text_clear(text);
	if (cause->kind == WHY_UNKNOWN) {
		text_cstr(text, why_gap_text((enum why_gap)cause->what));
	} else if (task) {
		text_add(text, names_task(v->names, task).data, names_task(v->names, task).len);
		text_printf(text, " (%" PRIu32 ")", task->tid);
	} else if (cause->kind == WHY_WAIT && cause->wake == WHY_WAKE_INTERRUPT) {
		text_cstr(text, "(interrupt)");
	} else if (cause->kind == WHY_WAIT && cause->wake == WHY_WAKE_SOFT_INTERRUPT) {
		text_cstr(text, "(soft interrupt)");
	} else if (cause->kind == WHY_WAIT && cause->wake == WHY_WAKE_UNSEEN) {
		text_cstr(text, "(nobody yet)");
	}
	return out_str_if(text_str(text));
}

/* --- tables --- */

#define CAUSES(X)                                                                          \
	X("kind", "KIND", OUT_STRING, out_cstr(why_kind_name(cause->kind, cause->what)))   \
	X("duration_ns", "DURATION", OUT_DURATION, out_u64(cause->ns), OUT_SORT)           \
	X("percent", "%", OUT_PERCENT, out_f64(percent(v, cause->ns)))                     \
	X("count", "COUNT", OUT_U64, out_u64(cause->count), 0, 110)                        \
	X("max_ns", "MAX", OUT_DURATION, out_u64_if(cause->max_ns, cause->max_ns), 0, 120) \
	X("tid", "TID", OUT_U64, out_tid(task))                                            \
	X("pid", "PID", OUT_U64, out_pid(task), 0, 130)                                    \
	X("comm", "COMM", OUT_STRING, out_name(v, task), OUT_FLEX)                         \
	X("function", "FUNCTION", OUT_STRING, out_cstr_if(func->name), OUT_FLEX)           \
	X("object", "OBJECT", OUT_STRING, object_of(v, cause), OUT_FLEX, 100)              \
	X("lines", "LINES", OUT_STRING, lines_of(v, cause, lines), OUT_FLEX, 130)          \
	X("device", "DEVICE", OUT_STRING, device_of(v, cause), OUT_DETAIL)                 \
	X("by", "BY", OUT_STRING, by_text(v, cause, by), OUT_FLEX, 110)

static struct ebt_error *put_cause(const struct why_view *v, const struct why_cause *cause,
				   struct text *by, struct text *lines)
{
	const struct ebt_task *task = why_task(v->why, cause->task);
	const struct calltree_func *func = func_at(v, cause->func);

	return out_row(v->report->out, 0, OUT_VALUES(CAUSES));
}

static struct ebt_error *put_causes(const struct why_view *v)
{
	const struct out_table table = OUT_TABLE_OF("rows", CAUSES, .top = 20);
	_cleanup_text_ struct text by = TEXT_INIT, places = TEXT_INIT;
	struct why_line lines[MAX_LINES];
	size_t n = MAX_LINES;
	struct ebt_error *err = why_lines(v->why, v->names, lines, &n);

	for (size_t i = 0; i < n; i++) {
		_cleanup_text_ struct text head = TEXT_INIT;

		text_printf(&head, "%5.1f %%  ", percent(v, lines[i].ns));
		out_fill(v->report->out, text_get(&head), 10, text_get(&lines[i].text));
	}
	why_lines_deinit(lines, n);
	if (err)
		return err;
	if (v->why->n_causes)
		out_printf(v->report->out, "\n");
	return out_rows(v->report->out, &table, v->why->n_causes, i,
			put_cause(v, &v->why->causes[i], &by, &places));
}

#define SEGMENTS(X)                                                                      \
	X("time_ns", "START", OUT_TIME, out_u64(segment->from))                          \
	X("duration_ns", "DURATION", OUT_DURATION, out_u64(why_segment_ns(segment)))     \
	X("kind", "KIND", OUT_STRING, out_cstr(why_kind_name(cause->kind, cause->what))) \
	X("tid", "TID", OUT_U64, out_tid(task))                                          \
	X("pid", "PID", OUT_U64, out_pid(task), 0, 130)                                  \
	X("comm", "COMM", OUT_STRING, out_name(v, task), OUT_FLEX)                       \
	X("cpu", "CPU", OUT_U64, out_u64_if(cpu != WHY_NO_CPU, cpu), 0, 120)             \
	X("function", "FUNCTION", OUT_STRING, out_cstr_if(func->name), OUT_FLEX)         \
	X("object", "OBJECT", OUT_STRING, object_of(v, cause), OUT_FLEX, 140)            \
	X("lines", "LINES", OUT_STRING, lines_of(v, cause, lines), OUT_FLEX, 150)        \
	X("device", "DEVICE", OUT_STRING, device_of(v, cause), OUT_DETAIL)               \
	X("by", "BY", OUT_STRING, by_text(v, cause, by), OUT_FLEX, 100)

static struct ebt_error *put_segment(const struct why_view *v, const struct why_segment *segment,
				     struct text *by, struct text *lines)
{
	const struct why_cause of = why_cause_of(v->why->graph, segment), *cause = &of;
	const struct ebt_task *task = why_task(v->why, segment->task);
	const struct calltree_func *func = func_at(v, cause->func);
	const bool waits = segment->kind == WHY_WAIT || segment->kind == WHY_UNKNOWN;
	const struct why_spell *spell = why_segment_spell(v->why->graph, segment);
	const uint16_t cpu = spell && !waits ? spell->cpu : WHY_NO_CPU;

	return out_row(v->report->out, 0, OUT_VALUES(SEGMENTS));
}

static struct ebt_error *put_path(const struct why_view *v)
{
	const struct out_table table = OUT_TABLE_OF("rows", SEGMENTS, .flags = OUT_KEEP_ORDER);
	_cleanup_text_ struct text by = TEXT_INIT, lines = TEXT_INIT;

	return out_rows(v->report->out, &table, v->why->path.n, i,
			put_segment(v, &v->why->path.segments[i], &by, &lines));
}

/* Whose time it is, and how many threads ran meanwhile. */
static void put_json_head(const struct why_view *v, struct json *json)
{
	const struct why_parallel *parallel = &v->why->parallel;
	const struct ebt_task *task = why_task(v->why, v->why->task);

	json_put(json, "wall_ns", u64, v->wall_ns);
	json_put(json, "threads_run_ns", u64, why_run_ns(v->why));
	if (task)
		json_put(json, "wall_tid", u64, task->tid);
	json_newline(json);
	json_put(json, "parallelism", open_object);
	for (size_t i = 0; i < parallel->n; i++) {
		char threads[24];

		snprintf(threads, sizeof(threads), "%zu", i);
		if (parallel->ns[i])
			json_put(json, threads, u64, parallel->ns[i]);
	}
	json_end(json);
}

/* --- the command --- */

static bool is_what_if(const struct options *o)
{
	return options_string(o, "what-if") || options_flag(o, "opportunities");
}

static struct ebt_error *check_options(struct trace *trace, const struct options *o)
{
	const bool flame = options_flag(o, "flame");

	const bool request = options_string(o, "request") != NULL;

	if (flame + options_flag(o, "path") + options_flag(o, "tree") + is_what_if(o) + request > 1)
		return ebt_error_create(EBT_ERR_INVALID,
					"--path, --tree, --flame, --request, and --what-if with "
					"--opportunities exclude each other");
	if (options_string(o, "around") && (is_what_if(o) || request))
		return ebt_error_create(EBT_ERR_INVALID,
					"--around is not for --request, --what-if and "
					"--opportunities");
	if (flame && o->format != FORMAT_TABLE)
		return ebt_error_create(EBT_ERR_INVALID, "--flame has a form of its own: use it "
							 "without --json and --csv");
	if (is_what_if(o) && (o->from.set || o->to.set))
		return trace_warn(trace, "--what-if and --opportunities are of the whole time: "
					 "--from and --to are passed over");
	return NULL;
}

static struct ebt_error *run_why(struct report *report)
{
	const struct options *o = report->options;
	_cleanup_(why_destroyp) struct why *why = NULL;
	struct why_view v = { .report = report };
	const struct why_options options = {
		.whole = is_what_if(o),
		.tree = options_flag(o, "flame"),
		.around = options_string(o, "around"),
	};
	struct ebt_error *err;

	err = check_options(report->trace, o) ?: trace_names(report->trace, &v.names);
	if (err)
		return err;
	if (options_string(o, "request"))
		return why_put_requests(report, v.names, options_string(o, "request"));
	err = why_create(report->trace, &options, &why);
	if (err)
		return err;
	v.why = why;
	v.wall_ns = why->path.to - why->path.from;
	err = warn_few_samples(report->trace, why->samples);
	if (err)
		return err;
	if (options_flag(o, "flame"))
		return svg_write_tree(out_file(report->out), report->trace,
				      why_graph_tree(why->graph), "Critical path");
	if (out_json(report->out))
		put_json_head(&v, out_json(report->out));
	else
		err = why_say_whole(report->out, why, v.names);
	if (err)
		return err;
	if (is_what_if(o))
		return why_put_what_if(report, why, v.names);
	if (options_flag(o, "tree"))
		return why_put_tree(report, why, v.names);
	return options_flag(o, "path") ? put_path(&v) : put_causes(&v);
}

static const struct option_def why_options[] = {
	{ "around", OPTION_STRING, "MARK", "of the longest span of such marks (glob)" },
	{ "request", OPTION_STRING, "MARK",
	  "what slow spans of such marks do that fast ones do not" },
	{ "path", OPTION_FLAG, NULL, "the path itself: what was done, one thing after the other" },
	{ "tree", OPTION_FLAG, NULL, "who waited for whom meanwhile" },
	{ "flame", OPTION_FLAG, NULL, "the path's time as a flame graph (SVG)" },
	{ "what-if", OPTION_STRING, "NAME=FACTOR,…",
	  "how long it would take if that took so much less or more; cpus=N" },
	{ "opportunities", OPTION_FLAG, NULL, "which change would bring most" },
	{ 0 },
};

static const char help[] =
	"Why the command took as long as it did: its critical path. From the end back, a wait is\n"
	"what the thread did that ended it: who waits for a child has the child's time, and who\n"
	"waits for a disk the disk's. Each nanosecond is in one row, and what is not on the path\n"
	"would make nothing faster. --pid and --tid choose another process (its first thread) or\n"
	"thread, --from and --to a part of the time, --around the longest span of a mark.\n"
	"\n"
	"KIND is cpu (it ran; FUNCTION by samples), runqueue (it waited for a CPU; BY is who had\n"
	"it), what it waited for (disk, network, timer, lock …; BY is who or what ended that), or\n"
	"unknown. FUNCTION of a wait is who called for it, OBJECT the file, device, lock or peer,\n"
	"as far as it was recorded (-e syscalls, block, lock, net).\n"
	"\n"
	"--tree shows who waited for whom: WAITED is for what, and DURATION the time of the path\n"
	"meanwhile. A thread without it was on the path before anybody waited for it.\n"
	"\n"
	"--request compares spans of a mark: what the slowest tenth does that the faster half "
	"does\n"
	"not, as means of one span.\n"
	"\n"
	"--what-if replays what was recorded with something faster or slower: NAME is a process,\n"
	"a function with what it calls, a file, device, lock or peer (globs), or a kind of wait\n"
	"(disk, timer, network …); its time is multiplied with FACTOR, and 0 is gone. cpus=N is\n"
	"another number of CPUs. Threads do the same, and hand on to the same others. REPLAYED is\n"
	"what the replay makes of the recording without a change: how good it is. UNCERTAIN-% is\n"
	"what may come out otherwise. --opportunities tries programs, functions, waits and "
	"devices\n"
	"at half of their time, and twice the CPUs.\n"
	"\n"
	"  ebreport why t.ebt\n"
	"  ebreport why --tree t.ebt\n"
	"  ebreport why --path t.ebt\n"
	"  ebreport why --flame -o why.svg t.ebt\n"
	"  ebreport why --tid 4711 --from 2s --to 3s t.ebt\n"
	"  ebreport why --request request t.ebt\n"
	"  ebreport why --what-if disk=0.5,cpus=8 t.ebt\n"
	"  ebreport why --opportunities t.ebt\n";

const struct command command_why = {
	.name = "why",
	.fn = run_why,
	.flags = COMMAND_NO_INTERVALS | COMMAND_NO_CPUS | COMMAND_NOT_IN_PAGE,
	.summary = "why it took so long: the critical path, and what is on it",
	.help = help,
	.options = why_options,
};
