/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport offcpu`: where threads waited, for how long, and who woke them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "report/base/names.h"
#include "report/group/group.h"
#include "report/sched/feed.h"
#include "report/sched/model_offcpu.h"
#include "report/sched/wait_files.h"

/* Own keys. */
#define BY_STATE  0
#define BY_WAKER  1
#define BY_FILE	  2
#define WAKER_KEY (1u << (GROUP_OWN + BY_WAKER))

/* Values of the second, besides addresses of tasks. */
#define NOBODY	  0
#define INTERRUPT 1

struct offcpu_figures {
	struct offcpu_sum sum;
	enum sched_why why; /* by stack: of all; else of the last */
	bool ran;	    /* a thread of them was seen on a CPU */
};

/* With --interval, so that a sleep through several has the stack with which it began. */
struct offcpu_kept {
	struct trace_state state;
	struct offcpu *offcpu;
	struct calltree *tree; /* NULL: without stacks */

	/* Of one window. */
	struct trace *trace;
	const struct names *names;
	struct grouping *g;
	struct wait_files *files; /* NULL: not by file */
	struct offcpu_wakers wakers;
	bool *ran; /* by task: its group knows that it ran */
	size_t n_ran;
	struct text waker; /* of the row that is written */
};

/* --- reading --- */

static bool is_of_tasks(const struct grouping *g)
{
	return !(grouping_keys(g) & ~GROUP_TASK_KEYS);
}

static struct ebt_error *on_run(void *arg, const struct sched_run *run)
{
	const struct group_row row = { .task = run->task };
	struct offcpu_kept *k = arg;
	struct offcpu_figures *figures;
	struct ebt_error *err;
	uint32_t id = run->task->id, group;

	if (id < k->n_ran && k->ran[id])
		return NULL;
	err = ebt_array_reserve_zeroed(&k->ran, id, &k->n_ran);
	if (err)
		return err;
	k->ran[id] = true;
	if (!is_of_tasks(k->g) || grouping_leaves_out(k->g, run->task))
		return NULL;
	err = grouping_find(k->g, &row, &group);
	if (err)
		return err;
	figures = grouping_figures(k->g, group);
	figures->ran = true;
	return NULL;
}

struct interval {
	struct offcpu_kept *kept;
	const struct sched_off *off;
};

static struct ebt_error *add_off(void *arg, void *figures, uint32_t id)
{
	const struct interval *i = arg;
	struct offcpu_figures *f = figures;

	f->why = i->off->why;
	offcpu_sum_add(&f->sum, i->off);
	return offcpu_wakers_add(&i->kept->wakers, id, i->off, &f->sum);
}

static struct ebt_error *take_of_file(void *arg, const struct sched_off *off, uint32_t node,
				      uint32_t file)
{
	struct interval interval = { arg, off };
	struct group_row row = { .task = off->task,
				 .node = node,
				 .own = { off->why, NOBODY, file } };

	if (off->woken)
		row.own[BY_WAKER] = off->waker ? (uintptr_t)off->waker : INTERRUPT;
	return grouping_add(interval.kept->g, &row, add_off, &interval);
}

static struct ebt_error *take(void *arg, const struct sched_off *off, uint32_t node)
{
	const struct offcpu_kept *k = arg;

	return k->files ? wait_files_off(k->files, off, node) : take_of_file(arg, off, node, 0);
}

/* --- keys --- */

static const struct names *names_of(const struct grouping *g)
{
	const struct offcpu_kept *k = grouping_arg(g);

	return k->names;
}

static void add_waker(struct text *text, const struct names *names, const struct ebt_task *waker)
{
	if (waker)
		text_thread(text, names_task(names, waker), waker->tid);
	else
		text_cstr(text, "[interrupt]");
}

static struct ebt_error *put_state(const struct grouping *g, uint64_t value,
				   struct group_cells *cells)
{
	(void)g;
	text_cstr(&cells->texts[0], sched_why_name((enum sched_why)value));
	text_cstr(cells->label, sched_why_name((enum sched_why)value));
	return NULL;
}

static struct ebt_error *put_waker(const struct grouping *g, uint64_t value,
				   struct group_cells *cells)
{
	const struct ebt_task *waker = NULL;

	if (value == NOBODY) {
		text_cstr(&cells->texts[0], "(nobody)");
	} else {
		if (value != INTERRUPT)
			waker = (const struct ebt_task *)(uintptr_t)value;
		add_waker(&cells->texts[0], names_of(g), waker);
	}
	text_add(cells->label, text_get(&cells->texts[0]), cells->texts[0].len);
	return NULL;
}

static struct ebt_error *put_file(const struct grouping *g, uint64_t value,
				  struct group_cells *cells)
{
	const struct offcpu_kept *k = grouping_arg(g);
	const struct ebt_str name = wait_files_name(k->files, (uint32_t)value);

	text_add(&cells->texts[0], name.data, name.len);
	text_add(cells->label, name.data, name.len);
	return NULL;
}

static const struct out_column state_column[] = { { "state", "STATE", OUT_STRING, 0 } };
static const struct out_column waker_column[] = { { "waker", "WAKER", OUT_STRING, OUT_FLEX } };

static const struct out_column file_column[] = { { "path", "FILE", OUT_STRING, OUT_FLEX } };

static const struct group_own own_keys[] = {
	[BY_STATE] = { "state", "STATE", state_column, 1, true, put_state },
	[BY_WAKER] = { "waker", "WAKER", waker_column, 1, false, put_waker },
	[BY_FILE] = { "file", "FILE", file_column, 1, true, put_file },
};

/* --- figures --- */

static struct out_value waker_name(const struct grouping *g, const struct offcpu_sum *sum)
{
	struct offcpu_kept *k = grouping_arg(g);

	if (!sum->woken)
		return out_null();
	text_clear(&k->waker);
	add_waker(&k->waker, k->names, sum->waker);
	return out_str(text_str(&k->waker));
}

#define FIGURES(X)                                                                         \
	X("total_ns", "OFF-CPU", OUT_DURATION, out_u64(sum->total_ns), OUT_SORT)           \
	X("count", "COUNT", OUT_U64, out_u64(sum->count))                                  \
	X("max_ns", "MAX", OUT_DURATION, out_u64(sum->max_ns))                             \
	X("max_at_ns", "MAX-AT", OUT_TIME, out_u64(sum->max_at), 0, 130)                   \
	X("sleep_ns", "SLEEP", OUT_DURATION, out_u64(sum->why_ns[SCHED_SLEEP]))            \
	X("disk_ns", "DISK", OUT_DURATION, out_u64(sum->why_ns[SCHED_DISK]), 0, 92)        \
	X("preempted_ns", "PREEMPTED", OUT_DURATION, out_u64(sum->why_ns[SCHED_RUNNABLE])) \
	X("other_ns", "OTHER", OUT_DURATION,                                               \
	  out_u64(sum->total_ns - sum->why_ns[SCHED_SLEEP] - sum->why_ns[SCHED_DISK] -     \
		  sum->why_ns[SCHED_RUNNABLE]),                                            \
	  0, 140)                                                                          \
	X("wait_ns", "RUNQUEUE", OUT_DURATION, out_u64(sum->wait_ns), 0, 82)               \
	X("open_count", "OPEN", OUT_U64, out_u64(sum->open), 0, 112)                       \
	X("doubtful", "?", OUT_U64, out_u64(sum->doubtful), OUT_DETAIL)

#define FIGURES_AND_WAKER(X)                                                                   \
	FIGURES(X)                                                                             \
	X("waker", "WAKER", OUT_STRING, waker_name(g, sum), OUT_FLEX, 106)                     \
	X("waker_ns", "WOKE", OUT_DURATION, out_u64_if(sum->woken, sum->waker_ns), OUT_DETAIL) \
	X("waker_count", "WOKE-COUNT", OUT_U64, out_u64_if(sum->woken, sum->waker_count),      \
	  OUT_DETAIL)

static void put_figures(const struct grouping *g, const void *figures, struct out_value *values)
{
	const struct offcpu_sum *sum = &((const struct offcpu_figures *)figures)->sum;

	GROUP_PUT(values, FIGURES_AND_WAKER);
}

#define STACK_FIGURES(X)                                               \
	X("total_ns", "OFF-CPU", OUT_DURATION, out_u64(sum->total_ns)) \
	X("count", "COUNT", OUT_U64, out_u64(sum->count))              \
	X("max_ns", "MAX", OUT_DURATION, out_u64(sum->max_ns))         \
	X("max_at_ns", "MAX-AT", OUT_TIME, out_u64(sum->max_at))       \
	X("wait_ns", "RUNQUEUE", OUT_DURATION, out_u64(sum->wait_ns))  \
	X("open_count", "OPEN", OUT_U64, out_u64(sum->open))           \
	X("waker", "WAKER", OUT_STRING, waker_name(g, sum))            \
	X("waker_ns", "WOKE", OUT_DURATION, out_u64_if(sum->woken, sum->waker_ns))

static void put_stack(const struct grouping *g, const void *figures, struct out_value *values)
{
	const struct offcpu_sum *sum = &((const struct offcpu_figures *)figures)->sum;

	GROUP_PUT(values, STACK_FIGURES);
}

/* By whom it was ended, unless that is a key. */
static const struct group_columns columns = GROUP_COLUMNS(FIGURES_AND_WAKER, put_figures);
static const struct group_columns columns_by_waker = GROUP_COLUMNS(FIGURES, put_figures);
static const struct group_columns stack_columns = GROUP_COLUMNS(STACK_FIGURES, put_stack);

static uint64_t total_ns(const void *figures)
{
	const struct offcpu_figures *f = figures;

	return f->sum.total_ns;
}

/* In its state, and then on a run queue: long queues make little of a disk look like much. */
static void add_state(struct text *text, const struct offcpu_figures *f)
{
	text_printf(text, ", %s", sched_why_name(f->why));
	if (f->why != SCHED_RUNNABLE && f->why != SCHED_NEW) {
		text_addc(text, ' ');
		text_duration(text, f->sum.total_ns - f->sum.wait_ns);
	}
	text_cstr(text, ", on run queue ");
	text_duration(text, f->sum.wait_ns);
}

static void headline(const struct grouping *g, const void *figures, uint64_t all, struct text *text)
{
	const struct offcpu_figures *f = figures;
	const struct offcpu_sum *sum = &f->sum;
	_cleanup_text_ struct text waker = TEXT_INIT;

	text_duration(text, sum->total_ns);
	text_printf(text, " (%.1f %%), %" PRIu64 " time%s, longest ",
		    all ? 100.0 * (double)sum->total_ns / (double)all : 0.0, sum->count,
		    text_plural(sum->count, "", "s"));
	text_duration(text, sum->max_ns);
	add_state(text, f);
	if (sum->woken) {
		add_waker(&waker, names_of(g), sum->waker);
		text_cstr(text, ", woken by ");
		text_terminal(text, (struct ebt_str){ text_get(&waker), waker.len });
	}
	if (sum->open)
		text_printf(text, ", %" PRIu64 " open", sum->open);
}

/* Blocked throughout: of a whole system, those would be the first rows. */
static bool is_silent(const struct grouping *g, const struct offcpu_figures *f)
{
	return f->sum.count && !f->ran && is_of_tasks(g) &&
	       !options_flag(grouping_report(g)->options, "all");
}

static bool hidden(const struct grouping *g, const void *figures)
{
	const struct offcpu_figures *f = figures;

	return !f->sum.count || is_silent(g, f);
}

static const struct group_table table = {
	.of_tasks = true,
	.keys = GROUP_TASK_KEYS | 1u << GROUP_STACK,
	.own = own_keys,
	.n_own = sizeof(own_keys) / sizeof(own_keys[0]),
	.by = "thread",
	.columns = &columns,
	.size = sizeof(struct offcpu_figures),
	.hidden = hidden,
	.stack_tables =
		(const uint16_t[]){ EBT_T_sched_switch, EBT_T_offcpu_stack, EBT_T_thread_stack, 0 },
	.stack_by = "stack,state",
	.stack_columns = &stack_columns,
	.weight = total_ns,
	.headline = headline,
};

/* --- the command --- */

static void choose_state(const struct options *o, struct offcpu_options *ret)
{
	const char *state = options_string(o, "state");

	for (int why = 0; state && why < SCHED_N_WHYS; why++) {
		if (strcmp(state, sched_why_name((enum sched_why)why)) == 0) {
			ret->only = true;
			ret->why = (enum sched_why)why;
		}
	}
}

static void forget_window(struct offcpu_kept *kept)
{
	offcpu_wakers_deinit(&kept->wakers);
	wait_files_destroy(kept->files);
	kept->files = NULL;
	free(kept->ran);
	kept->ran = NULL;
	kept->n_ran = 0;
}

static void kept_destroy(struct trace_state *state)
{
	struct offcpu_kept *kept = (struct offcpu_kept *)state;

	offcpu_destroy(kept->offcpu);
	calltree_destroy(kept->tree);
	forget_window(kept);
	text_deinit(&kept->waker);
	free(kept);
}

static struct ebt_error *get_kept(struct report *report, struct offcpu_kept **ret)
{
	struct offcpu_kept *kept = (struct offcpu_kept *)trace_kept(report->trace, kept_destroy);

	if (!kept) {
		kept = calloc(1, sizeof(*kept));
		if (!kept)
			return &ebt_enomem;
		kept->state.destroy = kept_destroy;
		trace_keep(report->trace, &kept->state);
	}
	kept->trace = report->trace;
	forget_window(kept);
	*ret = kept;
	return trace_names(report->trace, &kept->names);
}

/* Of the first window. */
static struct ebt_error *create_offcpu(struct offcpu_kept *k, const struct options *o)
{
	struct offcpu_options options = {
		.min_ns = options_u64(o, "min", 0),
		.take = take,
		.arg = k,
	};

	k->tree = grouping_take_tree(k->g);
	options.tree = k->tree;
	choose_state(o, &options);
	return offcpu_create(trace_reader(k->trace), &options, &k->offcpu);
}

static void print_silent(const struct grouping *g)
{
	bool threads = grouping_keys(g) == 1u << GROUP_THREAD;
	uint64_t n = 0;

	for (uint32_t i = 0; i < grouping_n(g); i++)
		n += is_silent(g, grouping_figures(g, i));
	if (n)
		out_printf(grouping_report(g)->out,
			   "%" PRIu64 " %s never ran (--all shows them).\n", n,
			   threads ? "threads" : "groups");
}

static struct ebt_error *run_offcpu(struct report *report)
{
	_cleanup_(grouping_destroyp) struct grouping *g = NULL;
	struct offcpu_kept *kept;
	struct ebt_error *err = get_kept(report, &kept);
	bool partial;

	if (!err)
		err = grouping_create(report, &table, kept, kept->tree, &g);
	if (err)
		return err;
	kept->g = g;
	if (grouping_keys(g) & WAKER_KEY)
		grouping_set_columns(g, &columns_by_waker);
	if (grouping_has(g, GROUP_OWN + BY_FILE))
		err = wait_files_create(kept->trace, take_of_file, kept, &kept->files);
	if (!err && !kept->offcpu)
		err = create_offcpu(kept, report->options);
	if (!err)
		err = sched_feed_run(kept->trace,
				     &(struct sched_feed){ .handler = { .run = on_run },
							   .offcpu = kept->offcpu,
							   .arg = kept,
							   .stacks = kept->tree != NULL },
				     &partial);
	if (!err && kept->files)
		err = wait_files_finish(kept->files);
	if (!err)
		err = grouping_put(g);
	if (!err && grouping_has_rows(g))
		print_silent(g);
	return err;
}

static const char *const states[] = { "runnable", "sleep", "disk",    "idle",
				      "stopped",  "new",   "unknown", NULL };

static const struct option_def offcpu_options[] = {
	GROUP_BY_OPTION("thread", "state", "waker", "file", "stack"),
	{ "stacks", OPTION_FLAG, NULL, "by stack and state instead of by thread (JSON: both)" },
	{ "flame", OPTION_STRING, "FILE", "also: a flame graph of these stacks" },
	{ "min", OPTION_DURATION, "TIME", "leave shorter intervals out" },
	{ "state", OPTION_CHOICE, "STATE", "only time off CPU in this state", states },
	{ "all", OPTION_FLAG, NULL, "also threads that never ran" },
	{ 0 },
};

const struct command command_offcpu = {
	.name = "offcpu",
	.fn = run_offcpu,
	.summary = "time off CPU by thread and by stack, and who ended it",
	.elsewhere = "offcputime waits",
	.help = "A row for each thread: time from where it stopped until it ran again. SLEEP,\n"
		"DISK, PREEMPTED (--state runnable), OTHER: by the state in which it stopped, "
		"with\n"
		"RUNQUEUE, the time in which it was runnable again and only waited for a CPU. "
		"OPEN:\n"
		"intervals that began before or last beyond the recording. WAKER: who ended most "
		"of\n"
		"it; [interrupt]: a timer or a device. Of a soft interrupt it is who ran there. "
		"A\n"
		"narrow terminal gets fewer columns.\n"
		"\n"
		"--by file (of ebrec -e default,syscalls): the file, pipe or socket of the "
		"system\n"
		"call in which it waited, or [the call] where it had none, or that is not known.\n"
		"(no system call): in a page fault, as a rule.\n"
		"\n"
		"  ebreport offcpu --stacks --min 1ms --top 5 t.ebt\n"
		"  ebreport offcpu --state disk --sort max_ns t.ebt\n"
		"  ebreport offcpu --by container,state t.ebt\n"
		"  ebreport offcpu --by waker --comm worker t.ebt\n"
		"  ebreport offcpu --by file,process --top 20 t.ebt\n"
		"  ebreport flame --event offcpu -o off.svg t.ebt\n",
	.options = offcpu_options,
};
