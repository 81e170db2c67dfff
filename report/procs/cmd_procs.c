/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport procs: processes and threads, over time, as a tree, and one in detail. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/procs/view.h"

/* Deeper ones stand at this depth. */
#define MAX_DEPTH 60

/* What is shown, before it is in order. */
struct choice {
	uint32_t *shown; /* processes, in order */
	uint8_t *depths; /* of these */
	uint32_t *above; /* by process: the nearest one above that is shown, or PROC_NONE */
	uint32_t *child, *sibling; /* by process: the first child, the next sibling */
	bool *wanted;
	size_t n, hidden; /* hidden: kernel threads */
};

static void choice_deinit(struct choice *choice)
{
	free(choice->shown);
	free(choice->depths);
	free(choice->above);
	free(choice->child);
	free(choice->sibling);
	free(choice->wanted);
}

static struct ebt_error *choice_init(struct choice *choice, size_t n)
{
	choice->shown = calloc(n + 1, sizeof(*choice->shown));
	choice->depths = calloc(n + 1, sizeof(*choice->depths));
	choice->above = calloc(n + 1, sizeof(*choice->above));
	choice->child = calloc(n + 1, sizeof(*choice->child));
	choice->sibling = calloc(n + 1, sizeof(*choice->sibling));
	choice->wanted = calloc(n + 1, sizeof(*choice->wanted));
	if (choice->shown && choice->depths && choice->above && choice->child && choice->sibling &&
	    choice->wanted)
		return NULL;
	return &ebt_enomem;
}

/* Parents stand before their children: one pass from the end links them in order. */
static void link_children(struct choice *choice, const struct proc *all, size_t n)
{
	uint32_t *first = &choice->child[n]; /* of those without a parent */

	*first = PROC_NONE;
	for (size_t i = 0; i < n; i++) {
		const uint32_t up = all[i].parent;

		choice->child[i] = choice->sibling[i] = PROC_NONE;
		choice->above[i] = up == PROC_NONE || choice->wanted[up] ? up : choice->above[up];
	}
	for (size_t i = n; i-- > 0;) {
		const uint32_t up = choice->above[i];
		uint32_t *list = up == PROC_NONE ? first : &choice->child[up];

		if (!choice->wanted[i])
			continue;
		choice->sibling[i] = *list;
		*list = (uint32_t)i;
	}
}

/* Depth first. */
static void order_as_tree(struct choice *choice, const struct proc *all, size_t n)
{
	uint32_t i;
	unsigned int depth = 0;

	link_children(choice, all, n);
	i = choice->child[n];
	while (i != PROC_NONE) {
		choice->depths[choice->n] = (uint8_t)(depth < MAX_DEPTH ? depth : MAX_DEPTH);
		choice->shown[choice->n++] = i;
		if (choice->child[i] != PROC_NONE) {
			i = choice->child[i];
			depth++;
			continue;
		}
		while (choice->sibling[i] == PROC_NONE && choice->above[i] != PROC_NONE) {
			i = choice->above[i];
			depth--;
		}
		i = choice->sibling[i];
	}
}

static struct ebt_error *choose(struct report *report, const struct procs *procs,
				struct choice *choice)
{
	const bool all_kernel =
		options_flag(report->options, "all") || trace_has_task_filter(report->trace);
	size_t n;
	const struct proc *all = procs_all(procs, &n);
	struct ebt_error *err = choice_init(choice, n);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		choice->wanted[i] = procs_wanted(procs, report->trace, &all[i]);
		if (choice->wanted[i] && all[i].kernel && !all_kernel) {
			choice->wanted[i] = false;
			choice->hidden++;
		}
	}
	if (options_flag(report->options, "tree")) {
		order_as_tree(choice, all, n);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		if (choice->wanted[i])
			choice->shown[choice->n++] = (uint32_t)i;
	}
	return NULL;
}

static struct ebt_error *check_options(struct report *report)
{
	const struct options *o = report->options;

	if (options_flag(o, "threads") && (options_flag(o, "tree") || options_flag(o, "timeline")))
		return ebt_error_create(EBT_ERR_INVALID,
					"--threads does not go with --tree and --timeline");
	if (options_flag(o, "timeline") && out_format(report->out) != FORMAT_TABLE)
		return ebt_error_create(EBT_ERR_INVALID,
					"--timeline is text: use it without --json and --csv");
	if (options_flag(o, "tree") && o->sort)
		return ebt_error_create(EBT_ERR_INVALID,
					"--tree is in order of start: --sort does not apply");
	if (trace_has_cpu_filter(report->trace))
		return trace_warn(report->trace,
				  "processes are not of a CPU: --cpu does not apply");
	return NULL;
}

static struct ebt_error *put(const struct proc_view *v)
{
	const struct options *o = v->report->options;
	struct ebt_error *err;

	if (options_flag(o, "timeline"))
		return proc_view_bars(v);
	if (options_flag(o, "threads"))
		return proc_view_threads(v, "rows");
	err = proc_view_table(v, options_flag(o, "tree"));
	if (!err && o->pids.n && out_format(v->out) != FORMAT_CSV)
		err = proc_view_details(v);
	return err;
}

static struct ebt_error *run_procs(struct report *report)
{
	__attribute__((cleanup(choice_deinit))) struct choice choice = { 0 };
	_cleanup_(procs_destroyp) struct procs *procs = NULL;
	struct proc_containers containers = { 0 };
	struct proc_view v = {
		.report = report,
		.out = report->out,
		.trace = report->trace,
		.containers = &containers,
	};
	struct ebt_error *err = check_options(report);

	if (err)
		return err;
	err = trace_names(report->trace, &v.names);
	if (err)
		return err;
	err = procs_create(report->trace, &procs);
	if (err)
		return err;
	err = choose(report, procs, &choice);
	if (err)
		return err;
	err = proc_containers_collect(trace_reader(report->trace), &containers);
	if (err)
		return err;
	v.procs = procs;
	v.shown = choice.shown;
	v.depths = choice.depths;
	v.n_shown = choice.n;
	err = put(&v);
	if (!err && choice.hidden)
		out_printf(report->out, "%zu kernel threads (--all shows them).\n", choice.hidden);
	proc_containers_deinit(&containers);
	return err;
}

static const struct option_def procs_options[] = {
	{ "tree", OPTION_FLAG, NULL, "children below their parents", NULL },
	{ "timeline", OPTION_FLAG, NULL, "instead: a bar for the time in which each was there",
	  NULL },
	{ "threads", OPTION_FLAG, NULL, "instead: a row for each thread", NULL },
	{ "all", OPTION_FLAG, NULL, "kernel threads too", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_procs = {
	.name = "procs",
	.fn = run_procs,
	.summary = "processes: when each began and ended, what it ran and used; one in detail",
	.help = "A row for each process that was there, by time of its start; times are seconds\n"
		"after the start of the trace, and negative before. PPID: who started it. EXIT:\n"
		"its exit status, or the signal that ended it; exit_code in JSON and CSV is then\n"
		"128 and the signal, as shells have it. RUN, VOL, INVOL (context switches), "
		"faults\n"
		"and bytes are of all its threads since it began, recorded or not; for one that\n"
		"lives on, until the recording ended. PRIO, NICE, POLICY are of its first thread\n"
		"and the last that were seen. RSS: the most memory that it had resident.\n"
		"\n"
		"RUN is what /proc/PID/sched calls se.sum_exec_runtime, of all threads. Where\n"
		"source sched was off, the time since the last tick or switch of a thread that\n"
		"ended is not in it.\n"
		"\n"
		"--pid adds what the process ran, its threads, which executable memory it had "
		"when\n"
		"and the mounts that it saw.\n"
		"\n"
		"  ebreport procs --tree t.ebt\n"
		"  ebreport procs --pid 1234 t.ebt\n"
		"  ebreport procs --threads --sort run_ns --top 10 t.ebt\n",
	.options = procs_options,
};
