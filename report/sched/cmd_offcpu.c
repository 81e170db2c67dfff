/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport offcpu`: where threads waited, for how long, and who woke them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/narrow.h"
#include "report/sched/feed.h"
#include "report/sched/model_offcpu.h"
#include "report/stacks/calltree_trace.h"
#include "report/stacks/out_stacks.h"
#include "report/trace/prepare.h"

#define DEFAULT_STACKS 20 /* printed without --top */

/* With --interval, so that a sleep through several has the stack with which it began. */
struct offcpu_kept {
	struct trace_state state;
	struct offcpu *offcpu;
	struct calltree *tree; /* NULL: without stacks */
};

struct offcpu_command {
	struct report *report;
	const struct names *names;
	struct offcpu *offcpu;
	struct calltree *tree; /* NULL: without stacks */
	bool only;
	enum sched_why why;
};

/* --- reading --- */

static struct ebt_error *on_run(void *arg, const struct sched_run *run)
{
	struct offcpu_command *c = arg;

	if (!sched_feed_wanted(c->report->trace, run->task, run->cpu))
		return NULL;
	return offcpu_run(c->offcpu, run);
}

static struct ebt_error *on_off(void *arg, const struct sched_off *off)
{
	struct offcpu_command *c = arg;

	if (!sched_feed_wanted(c->report->trace, off->task, off->cpu))
		return NULL;
	return offcpu_off(c->offcpu, off);
}

static struct ebt_error *on_row(void *arg, const struct ebt_row *row)
{
	struct offcpu_command *c = arg;

	if (row->batch->table->id != EBT_T_offcpu_stack)
		return NULL;
	return offcpu_stack_row(c->offcpu, row);
}

static struct ebt_error *create_offcpu(struct offcpu_command *c, struct calltree *tree,
				       struct offcpu **ret)
{
	const struct offcpu_options options = {
		.min_ns = options_u64(c->report->options, "min", 0),
		.only = c->only,
		.why = c->why,
		.tree = tree,
	};

	return offcpu_create(trace_reader(c->report->trace), &options, ret);
}

static struct ebt_error *read_trace(struct offcpu_command *c)
{
	static const struct ebt_want want = { EBT_T_offcpu_stack, ~UINT64_C(0) };
	const struct sched_feed feed = {
		.handler = { .run = on_run, .off = on_off },
		.row = on_row,
		.arg = c,
		.wants = &want,
		.n_wants = c->tree ? 1 : 0,
		.stacks = c->tree != NULL,
	};
	bool partial;
	struct ebt_error *err = sched_feed_run(c->report->trace, &feed, &partial);

	return err ? err : offcpu_finish(c->offcpu);
}

/* --- what a waker is called --- */

static void add_waker(struct text *text, const struct names *names, const struct offcpu_sum *sum)
{
	if (!sum->woken)
		return;
	if (sum->waker)
		text_thread(text, names_task(names, sum->waker), sum->waker->tid);
	else
		text_cstr(text, "[interrupt]");
}

/* --- by thread --- */

static const struct out_column thread_columns[] = {
	{ "tid", "TID", OUT_U64, 0 },
	{ "pid", "PID", OUT_U64, 0 },
	{ "comm", "COMM", OUT_STRING, OUT_FLEX },
	{ "total_ns", "OFF-CPU", OUT_DURATION, OUT_SORT },
	{ "count", "COUNT", OUT_U64, 0 },
	{ "max_ns", "MAX", OUT_DURATION, 0 },
	{ "max_at_ns", "MAX-AT", OUT_TIME, 0 },
	{ "sleep_ns", "SLEEP", OUT_DURATION, 0 },
	{ "disk_ns", "DISK", OUT_DURATION, 0 },
	{ "preempted_ns", "PREEMPTED", OUT_DURATION, 0 },
	{ "other_ns", "OTHER", OUT_DURATION, 0 },
	{ "wait_ns", "RUNQUEUE", OUT_DURATION, 0 },
	{ "open_count", "OPEN", OUT_U64, 0 },
	{ "waker", "WAKER", OUT_STRING, OUT_FLEX },
	{ "waker_ns", "WOKE", OUT_DURATION, OUT_DETAIL },
	{ "waker_count", "WOKE-N", OUT_U64, OUT_DETAIL },
	{ "doubtful", "?", OUT_U64, OUT_DETAIL },
};
#define N_THREAD_COLUMNS (sizeof(thread_columns) / sizeof(thread_columns[0]))

static const struct narrow thread_narrow[] = {
	{ "other_ns", 140 }, { "max_at_ns", 130 }, { "pid", 120 },    { "open_count", 112 },
	{ "waker", 106 },    { "disk_ns", 92 },	   { "wait_ns", 82 }, { NULL, 0 },
};

static struct ebt_error *put_thread(struct out *out, const struct offcpu_thread *thread,
				    const struct names *names)
{
	const struct offcpu_sum *sum = &thread->sum;
	_cleanup_text_ struct text waker = TEXT_INIT;
	uint64_t other = sum->total_ns - sum->why_ns[SCHED_SLEEP] - sum->why_ns[SCHED_DISK] -
			 sum->why_ns[SCHED_RUNNABLE];

	add_waker(&waker, names, sum);
	return out_row(out, 0,
		       (struct out_value[]){
			       out_u64(thread->task->tid),
			       out_u64(thread->task->pid),
			       out_str(names_task(names, thread->task)),
			       out_u64(sum->total_ns),
			       out_u64(sum->count),
			       out_u64(sum->max_ns),
			       out_u64(sum->max_at),
			       out_u64(sum->why_ns[SCHED_SLEEP]),
			       out_u64(sum->why_ns[SCHED_DISK]),
			       out_u64(sum->why_ns[SCHED_RUNNABLE]),
			       out_u64(other),
			       out_u64(sum->wait_ns),
			       out_u64(sum->open),
			       sum->woken ? out_str((struct ebt_str){ text_get(&waker), waker.len })
					  : out_null(),
			       sum->woken ? out_u64(sum->waker_ns) : out_null(),
			       sum->woken ? out_u64(sum->waker_count) : out_null(),
			       out_u64(sum->doubtful),
		       });
}

static struct ebt_error *put_threads(struct offcpu_command *c, bool all)
{
	struct out *out = c->report->out;
	struct out_column columns[N_THREAD_COLUMNS];
	const struct out_table table = { "rows", NULL, columns, N_THREAD_COLUMNS, NULL, 0 };
	uint64_t silent = 0;
	uint32_t n;
	const struct offcpu_thread *threads = offcpu_threads(c->offcpu, &n);
	struct ebt_error *err;

	memcpy(columns, thread_columns, sizeof(columns));
	narrow_columns(out, thread_narrow, columns, N_THREAD_COLUMNS);
	err = out_begin(out, &table);
	for (uint32_t i = 0; !err && i < n; i++) {
		if (!threads[i].task || !threads[i].sum.count)
			continue;
		/* Blocked throughout: of a whole system, those would be the first rows. */
		if (!threads[i].ran && !all)
			silent++;
		else
			err = put_thread(out, &threads[i], c->names);
	}
	if (!err)
		err = out_end(out);
	if (!err && silent)
		out_printf(out, "%" PRIu64 " threads never ran (--all shows them).\n", silent);
	return err;
}

/* --- by stack --- */

static int compare_stacks(const void *a, const void *b)
{
	const struct offcpu_stack *x = a, *y = b;

	if (x->sum.total_ns != y->sum.total_ns)
		return x->sum.total_ns > y->sum.total_ns ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->why < y->why ? -1 : x->why > y->why;
}

/* A copy, the heaviest first. */
static struct ebt_error *sorted_stacks(const struct offcpu *offcpu, struct offcpu_stack **ret,
				       uint32_t *ret_n)
{
	const struct offcpu_stack *stacks = offcpu_stacks(offcpu, ret_n);
	struct offcpu_stack *sorted = calloc(*ret_n + 1, sizeof(*sorted));

	if (!sorted)
		return &ebt_enomem;
	if (*ret_n) {
		memcpy(sorted, stacks, *ret_n * sizeof(*sorted));
		qsort(sorted, *ret_n, sizeof(*sorted), compare_stacks);
	}
	*ret = sorted;
	return NULL;
}

static const struct out_column stack_columns[] = {
	{ "total_ns", "OFF-CPU", OUT_DURATION, 0 }, { "count", "COUNT", OUT_U64, 0 },
	{ "max_ns", "MAX", OUT_DURATION, 0 },	    { "max_at_ns", "MAX-AT", OUT_TIME, 0 },
	{ "wait_ns", "RUNQUEUE", OUT_DURATION, 0 }, { "state", "STATE", OUT_STRING, 0 },
	{ "open_count", "OPEN", OUT_U64, 0 },	    { "waker", "WAKER", OUT_STRING, 0 },
	{ "waker_ns", "WOKE", OUT_DURATION, 0 },    { "stack", "STACK", OUT_STRING, 0 },
};
#define N_STACK_COLUMNS (sizeof(stack_columns) / sizeof(stack_columns[0]))

static struct ebt_error *put_stack_row(struct offcpu_command *c, const struct offcpu_stack *stack)
{
	const struct offcpu_sum *sum = &stack->sum;
	_cleanup_text_ struct text waker = TEXT_INIT, path = TEXT_INIT;

	add_waker(&waker, c->names, sum);
	stack_joined(&path, c->tree, stack->node);
	return out_row(c->report->out, 0,
		       (struct out_value[]){
			       out_u64(sum->total_ns),
			       out_u64(sum->count),
			       out_u64(sum->max_ns),
			       out_u64(sum->max_at),
			       out_u64(sum->wait_ns),
			       out_cstr(sched_why_name(stack->why)),
			       out_u64(sum->open),
			       sum->woken ? out_cstr(text_get(&waker)) : out_null(),
			       sum->woken ? out_u64(sum->waker_ns) : out_null(),
			       out_cstr(text_get(&path)),
		       });
}

static void print_stack(struct offcpu_command *c, const struct offcpu_stack *stack, uint64_t all)
{
	const struct offcpu_sum *sum = &stack->sum;
	_cleanup_text_ struct text line = TEXT_INIT, waker = TEXT_INIT;

	text_duration(&line, sum->total_ns);
	text_printf(&line, " (%.1f %%), %" PRIu64 " times, longest ",
		    all ? 100.0 * (double)sum->total_ns / (double)all : 0.0, sum->count);
	text_duration(&line, sum->max_ns);
	text_printf(&line, ", %s, on run queue ", sched_why_name(stack->why));
	text_duration(&line, sum->wait_ns);
	if (sum->woken) {
		add_waker(&waker, c->names, sum);
		text_cstr(&line, ", woken by ");
		text_terminal(&line, (struct ebt_str){ text_get(&waker), waker.len });
	}
	if (sum->open)
		text_printf(&line, ", %" PRIu64 " open", sum->open);
	out_printf(c->report->out, "%s\n", text_get(&line));
	out_stack_frames(c->report->out, c->tree, stack->node);
}

static struct ebt_error *put_stacks(struct offcpu_command *c)
{
	struct out *out = c->report->out;
	bool csv = out_format(out) == FORMAT_CSV;
	const struct out_table table = {
		csv ? "rows" : "stacks", NULL, stack_columns,
		N_STACK_COLUMNS,	 NULL, OUT_FIXED | OUT_KEEP_ORDER,
	};
	_cleanup_free_ struct offcpu_stack *stacks = NULL;
	uint64_t top = c->report->options->top, all = 0;
	uint32_t n;
	struct ebt_error *err = sorted_stacks(c->offcpu, &stacks, &n);

	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++)
		all += stacks[i].sum.total_ns;
	if (out_format(out) == FORMAT_TABLE) {
		top = top ? top : DEFAULT_STACKS;
		for (uint32_t i = 0; i < n && i < top; i++)
			print_stack(c, &stacks[i], all);
		if (n > top)
			out_printf(out, "%" PRIu64 " more stacks (--top shows them).\n", n - top);
		return NULL;
	}
	err = out_begin(out, &table);
	for (uint32_t i = 0; !err && i < n && (!top || i < top); i++)
		err = put_stack_row(c, &stacks[i]);
	return err ? err : out_end(out);
}

/* --- the command --- */

static const char *const states[] = { "runnable", "sleep", "disk",    "idle",
				      "stopped",  "new",   "unknown", NULL };

static void choose_state(struct offcpu_command *c)
{
	const char *state = options_string(c->report->options, "state");

	for (int why = 0; state && why < SCHED_N_WHYS; why++) {
		if (strcmp(state, sched_why_name((enum sched_why)why)) == 0) {
			c->only = true;
			c->why = (enum sched_why)why;
		}
	}
}

static void kept_destroy(struct trace_state *state)
{
	struct offcpu_kept *kept = (struct offcpu_kept *)state;

	offcpu_destroy(kept->offcpu);
	calltree_destroy(kept->tree);
	free(kept);
}

static struct ebt_error *create_kept(struct offcpu_command *c, struct offcpu_kept **ret)
{
	struct report *report = c->report;
	bool stacks = options_flag(report->options, "stacks");
	struct offcpu_kept *kept = calloc(1, sizeof(*kept));
	struct ebt_error *err = NULL;

	if (!kept)
		return &ebt_enomem;
	kept->state.destroy = kept_destroy;
	trace_keep(report->trace, &kept->state);
	if (stacks)
		err = calltree_create_for(report->trace, CALLTREE_BY_COMM, &kept->tree);
	if (!err && stacks)
		err = prepare_names(report->trace, EBT_T_offcpu_stack, 0);
	if (!err)
		err = create_offcpu(c, kept->tree, &kept->offcpu);
	if (!err)
		*ret = kept;
	return err;
}

static struct ebt_error *run_offcpu(struct report *report)
{
	struct offcpu_command c = { .report = report };
	struct offcpu_kept *kept = (struct offcpu_kept *)trace_kept(report->trace, kept_destroy);
	bool stacks = options_flag(report->options, "stacks");
	struct ebt_error *err = trace_names(report->trace, &c.names);

	choose_state(&c);
	if (!err && kept)
		offcpu_next_window(kept->offcpu);
	else if (!err)
		err = create_kept(&c, &kept);
	if (err)
		return err;
	c.tree = kept->tree;
	c.offcpu = kept->offcpu;
	err = read_trace(&c);
	if (!err && (!stacks || out_format(report->out) == FORMAT_JSON))
		err = put_threads(&c, options_flag(report->options, "all"));
	if (!err && stacks)
		err = put_stacks(&c);
	return err;
}

static const struct option_def offcpu_options[] = {
	{ "stacks", OPTION_FLAG, NULL, "by stack and state instead of by thread (JSON: both)",
	  NULL },
	{ "min", OPTION_DURATION, "TIME", "leave shorter intervals out", NULL },
	{ "state", OPTION_CHOICE, "STATE", "only time off CPU in this state", states },
	{ "all", OPTION_FLAG, NULL, "also threads that never ran", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_offcpu = {
	.name = "offcpu",
	.fn = run_offcpu,
	.summary = "time off CPU by thread and by stack, and who ended it",
	.help = "A row for each thread: time from where it stopped until it ran again. SLEEP,\n"
		"DISK, PREEMPTED, OTHER: by the state in which it stopped. RUNQUEUE: of all that,\n"
		"the time in which it was runnable and only waited for a CPU. OPEN: intervals "
		"that\n"
		"began before or last beyond the recording. WAKER: who ended most of it;\n"
		"[interrupt]: a timer or a device. Of a soft interrupt it is who ran there. A "
		"narrow\n"
		"terminal gets fewer columns.\n"
		"\n"
		"  ebreport offcpu --stacks --min 1ms --top 5 t.ebt\n"
		"  ebreport offcpu --state disk --sort max_ns t.ebt\n"
		"  ebreport flame --event offcpu -o off.svg t.ebt\n",
	.options = offcpu_options,
};
