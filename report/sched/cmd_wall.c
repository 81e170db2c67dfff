/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport wall`: where the time of threads went, on and off CPU together. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/sched/model_wall.h"
#include "report/sched/wall_files.h"
#include "report/stacks/doubts.h"
#include "report/stacks/out_svg.h"

#define MAX_NAMED 20 /* threads that a sentence names */

#define THREADS(X)                                                                                \
	X("tid", "TID", OUT_U64, out_u64(thread->task->tid), OUT_KEY)                             \
	X("pid", "PID", OUT_U64, out_u64(thread->task->pid), OUT_KEY, 128)                        \
	X("comm", "COMM", OUT_STRING, out_str(names_task(names, thread->task)),                   \
	  OUT_FLEX | OUT_KEY)                                                                     \
	X("on_cpu_ns", "ON-CPU", OUT_DURATION, out_u64_if(known, thread->ns[WALL_CPU]),           \
	  OUT_SORT | OUT_ADDS)                                                                    \
	X("runqueue_ns", "RUNQUEUE", OUT_DURATION, out_u64_if(known, wall_runqueue_ns(thread)))   \
	X("off_cpu_ns", "OFF-CPU", OUT_DURATION, out_u64_if(known, wall_off_ns(thread)))          \
	X("sleep_ns", "SLEEP", OUT_DURATION, out_u64_if(known, thread->ns[WALL_SLEEP]), OUT_ADDS, \
	  98)                                                                                     \
	X("lock_ns", "LOCK", OUT_DURATION, out_u64_if(known, thread->ns[WALL_LOCK]), OUT_ADDS,    \
	  108)                                                                                    \
	X("disk_ns", "DISK", OUT_DURATION, out_u64_if(known, thread->ns[WALL_DISK]), OUT_ADDS,    \
	  118)                                                                                    \
	X("other_ns", "OTHER", OUT_DURATION, out_u64_if(known, thread->ns[WALL_OTHER]), 0, 150)   \
	X("preempted_ns", "PREEMPTED", OUT_DURATION,                                              \
	  out_u64_if(known, thread->ns[WALL_PREEMPTED]), OUT_ADDS, 140)                           \
	X("lifetime_ns", "LIFE", OUT_DURATION, out_u64(wall_lifetime_ns(thread)), OUT_ADDS)       \
	X("coverage_percent", "COVER-%", OUT_PERCENT, out_f64_if(covers, wall_coverage(thread)))  \
	X("samples", "SAMPLES", OUT_U64, out_u64(thread->samples), OUT_ADDS, 160)                 \
	X("open_count", "OPEN", OUT_U64, out_u64_if(known, thread->open), OUT_DETAIL)             \
	X("idle", "IDLE", OUT_BOOL, out_u64_if(known, thread->idle), OUT_DETAIL)

static struct ebt_error *put_thread(struct out *out, const struct wall_thread *thread,
				    const struct names *names, bool known, bool covers)
{
	return out_row(out, 0, OUT_VALUES(THREADS));
}

/* Threads of one kind, by name, as the end of a sentence. */
struct wall_listed {
	struct text text;
	uint64_t n;
};

static void list_thread(struct wall_listed *list, const struct wall_thread *thread,
			const struct names *names)
{
	if (list->n++ >= MAX_NAMED)
		return;
	text_cstr(&list->text, list->n > 1 ? ", " : "");
	text_terminal(&list->text, text_comm(names_task(names, thread->task)));
	text_printf(&list->text, "/%" PRIu32, thread->task->tid);
}

static struct ebt_error *put_list(struct out *out, struct wall_listed *list, const char *sentence)
{
	_cleanup_text_ struct text line = TEXT_INIT;

	if (list->n > MAX_NAMED)
		text_printf(&list->text, " and %" PRIu64 " more", list->n - MAX_NAMED);
	text_printf(&line, "%s: %s.", sentence, text_get(&list->text));
	if (list->n)
		out_fill(out, "", 2, text_get(&line));
	return text_error(&line);
}

static struct ebt_error *put_table(struct report *report, const struct wall *wall,
				   const struct names *names, bool hide_idle)
{
	struct out *out = report->out;
	const struct out_table table = OUT_TABLE_OF("rows", THREADS);
	const bool known = wall_is_known(wall);
	/* Of the time under another name, or on another CPU, there is nothing. */
	const bool covers =
		known && !trace_has_cpu_filter(report->trace) && !report->options->comms.n;
	struct wall_listed hidden = { 0 }, uncovered = { 0 };
	uint32_t n;
	const struct wall_thread *threads = wall_threads(wall, &n);
	struct ebt_error *err;

	err = out_begin(out, &table);
	for (uint32_t i = 0; !err && i < n; i++) {
		const struct wall_thread *thread = &threads[i];

		if (!thread->task || trace_leaves_out(report->trace, thread->task))
			continue;
		if (hide_idle && thread->idle) {
			list_thread(&hidden, thread, names);
			continue;
		}
		if (covers && (wall_coverage(thread) < 99 || wall_coverage(thread) > 101))
			list_thread(&uncovered, thread, names);
		err = put_thread(out, thread, names, known, covers);
	}
	if (!err)
		err = out_end(out);
	if (!err)
		err = put_list(out, &hidden,
			       "Hidden as idle: asleep for more than 99 % of their lives, with "
			       "less than 1 % on a CPU, waiting for one or for anything else");
	if (!err)
		err = put_list(out, &uncovered,
			       "More than 1 % of their lives is in no interval (or in two): "
			       "switches were lost, or the kernel did not tell");
	text_deinit(&hidden.text);
	text_deinit(&uncovered.text);
	return err;
}

/* --- the command --- */

/* "sleep,lock": a bit for each kind. */
static struct ebt_error *parse_kinds(const char *text, unsigned int *ret)
{
	unsigned int only = 0;

	while (text && *text) {
		size_t len;
		const char *name = cli_take_piece(&text, &len);
		int kind = 0;

		while (kind < WALL_N_KINDS &&
		       (strlen(wall_kind_name((enum wall_kind)kind)) != len ||
			strncmp(wall_kind_name((enum wall_kind)kind), name, len) != 0))
			kind++;
		if (kind == WALL_N_KINDS)
			return ebt_error_create(EBT_ERR_INVALID,
						"--state: '%.*s' is not one of cpu, runqueue, "
						"preempted, sleep, lock, disk, other",
						(int)len, name);
		only |= 1u << kind;
	}
	*ret = only;
	return NULL;
}

static struct ebt_error *check_options(const struct options *o, const char *folder)
{
	static const char *const of_stacks[] = { "under", "state", "by", "no-recorder" };
	bool flame = options_flag(o, "flame"), folded = options_flag(o, "folded");

	if (o->interval_ns && (flame || folded || folder))
		return ebt_error_create(EBT_ERR_INVALID,
					"--interval is for the table: --flame, --folded and "
					"--per-thread are of a whole window");

	if (flame + folded + !!folder > 1)
		return ebt_error_create(EBT_ERR_INVALID,
					"--flame, --folded and --per-thread exclude each other");
	if ((flame || folded) && o->format != FORMAT_TABLE)
		return ebt_error_create(EBT_ERR_INVALID,
					"--flame and --folded have a form of their own: use them "
					"without --json and --csv");
	for (size_t i = 0; i < sizeof(of_stacks) / sizeof(of_stacks[0]); i++) {
		if (options_flag(o, of_stacks[i]) && !flame && !folded && !folder)
			return ebt_error_create(EBT_ERR_INVALID,
						"--%s is for stacks: use it with --flame, --folded "
						"or --per-thread",
						of_stacks[i]);
	}
	return NULL;
}

/* What was chosen may be nothing. */
static struct ebt_error *warn_nothing(struct trace *trace, const struct wall *wall)
{
	return calltree_total(wall_tree(wall)) || !wall_is_known(wall)
		       ? NULL
		       : trace_warn(trace, "there are no stacks that pass --under, --state and the "
					   "filters");
}

/* Of the stacks that are shown. */
static struct ebt_error *tell_doubts(struct trace *trace, const struct wall *wall, bool hide_idle)
{
	uint32_t n;
	const struct wall_thread *threads = wall_threads(wall, &n);
	uint64_t samples = 0;
	struct ebt_error *err;

	for (uint32_t i = 0; i < n; i++) {
		if (!(hide_idle && threads[i].idle) && !trace_leaves_out(trace, threads[i].task))
			samples += threads[i].samples;
	}
	err = warn_few_samples(trace, samples);
	return err ? err : warn_nameless(trace, wall_tree(wall));
}

static enum calltree_roots roots_of(const struct options *o, const char *folder)
{
	const char *by = options_string(o, "by");

	if (folder || (by && !strcmp(by, "thread")))
		return CALLTREE_BY_THREAD;
	return by && !strcmp(by, "process") ? CALLTREE_BY_PROCESS : CALLTREE_BY_COMM;
}

/* What goes on from one window to the next. */
struct wall_kept {
	struct trace_state state;
	struct wall *wall;
};

static void kept_destroy(struct trace_state *state)
{
	struct wall_kept *kept = (struct wall_kept *)state;

	wall_destroy(kept->wall);
	free(kept);
}

/* The model of the windows before this one, or a new one. */
static struct ebt_error *find_wall(struct trace *trace, const struct wall_options *options,
				   struct wall **ret)
{
	struct wall_kept *kept = (struct wall_kept *)trace_kept(trace, kept_destroy);
	struct ebt_error *err = NULL;

	if (!kept) {
		kept = calloc(1, sizeof(*kept));
		if (!kept)
			return &ebt_enomem;
		kept->state.destroy = kept_destroy;
		trace_keep(trace, &kept->state);
		err = wall_create(trace, options, &kept->wall);
	}
	*ret = kept->wall;
	return err ? err : wall_read(*ret);
}

static struct ebt_error *run_wall(struct report *report)
{
	const struct options *o = report->options;
	const char *folder = options_string(o, "per-thread");
	struct wall_options options = {
		.roots = roots_of(o, folder),
		.under = options_string(o, "under"),
		.hide_idle = options_flag(o, "hide-idle"),
		.no_recorder = options_flag(o, "no-recorder"),
		.figures_only = o->interval_ns > 0,
	};
	struct wall *wall;
	const struct names *names;
	struct ebt_error *err;

	err = parse_kinds(options_string(o, "state"), &options.only) ?: check_options(o, folder);
	if (err)
		return err;
	err = trace_names(report->trace, &names) ?:
	      trace_find_kernel_threads(report->trace) ?:
	      find_wall(report->trace, &options, &wall);
	if (err)
		return err;
	if (folder || options_flag(o, "flame") || options_flag(o, "folded"))
		err = warn_nothing(report->trace, wall)
			      ?: tell_doubts(report->trace, wall, options.hide_idle);
	if (err)
		return err;
	if (options_flag(o, "flame"))
		return svg_write_tree(out_file(report->out), report->trace, wall_tree(wall),
				      "Wall-clock time");
	if (options_flag(o, "folded"))
		return wall_write_folded(out_file(report->out), wall, 0);
	err = put_table(report, wall, names, options.hide_idle);
	if (!err && folder)
		err = wall_write_files(report, wall, names, folder, o->force);
	return err;
}

static const char *const by[] = { "comm", "process", "thread", NULL };

static const struct option_def wall_options[] = {
	{ "flame", OPTION_FLAG, NULL, "a flame graph (SVG): on CPU red, off CPU blue" },
	{ "folded", OPTION_FLAG, NULL, "folded stacks: the innermost frame ends in _[c] or _[o]" },
	{ "per-thread", OPTION_STRING, "DIR", "also: flame graph, folded stacks, figures of each" },
	{ "by", OPTION_CHOICE, "WHAT", "first frame: comm (default), process or thread", by },
	{ "under", OPTION_STRING, "FUNC", "stacks through this function only (a glob)" },
	{ "state", OPTION_STRING, "LIST",
	  "stacks of these: cpu, runqueue, preempted, sleep, lock, disk, other" },
	{ "hide-idle", OPTION_FLAG, NULL, "without threads that only wait for work" },
	{ "no-recorder", OPTION_FLAG, NULL,
	  "stacks without what the recorder did itself, below [ebrec]" },
	{ 0 },
};

static const char help[] =
	"A row for each thread: ON-CPU + RUNQUEUE + OFF-CPU is its life in the recording, in\n"
	"nanoseconds. RUNQUEUE: it could have run and had no CPU; of that, PREEMPTED: it was\n"
	"stopped for another. OFF-CPU is SLEEP, LOCK, DISK and OTHER (stopped, or not known why).\n"
	"DISK is state D, sleep that no signal ends: for a disk as a rule, for a child in vfork.\n"
	"LOCK: asleep in a futex, or for a lock of the kernel, as that of the memory map. Waits\n"
	"on a condition variable and for the end of a thread (pthread_join) are SLEEP. Functions\n"
	"in the stack tell it: without stacks LOCK counts as SLEEP or DISK. COVER-%: how much of\n"
	"its life the intervals tell.\n"
	"\n"
	"Time comes from switches (-e sched,offcpu) and is exact; where a thread was on a CPU\n"
	"comes from samples, which share its time out. Intervals that began before the recording\n"
	"or lasted beyond it count as far as they are in it.\n"
	"\n"
	"--hide-idle leaves out threads that sleep for more than 99 % of their lives, and names\n"
	"them; who waits for a thread to end stays. --state, --under and --no-recorder choose\n"
	"stacks, for --flame, --folded and --per-thread.\n"
	"\n"
	"  ebreport wall t.ebt\n"
	"  ebreport wall --flame --hide-idle -o wall.svg t.ebt\n"
	"  ebreport wall --folded --by thread --state lock t.ebt\n"
	"  ebreport wall --per-thread threads/ t.ebt\n";

const struct command command_wall = {
	.name = "wall",
	.fn = run_wall,
	.summary = "on-CPU and off-CPU time of the same threads together",
	.help = help,
	.options = wall_options,
};
