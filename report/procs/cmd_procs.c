/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport procs: processes and threads, over time, as a tree, and one in detail. */
#include <stdlib.h>

#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/procs/execs.h"
#include "report/procs/view.h"

/* Deeper ones stand at this depth. */
#define MAX_DEPTH 60

/* A process, before those that are shown are in order. */
struct choice {
	uint32_t above;		 /* the nearest one above that is shown, or PROC_NONE */
	uint32_t child, sibling; /* the first child, the next sibling */
	bool wanted;
};

/* Parents stand before their children: one pass from the end links them in order. */
static void link_children(struct choice *choices, const struct proc *all, size_t n)
{
	choices[n].child = PROC_NONE; /* of those without a parent */
	for (size_t i = 0; i < n; i++) {
		const uint32_t up = all[i].parent;

		choices[i].child = choices[i].sibling = PROC_NONE;
		choices[i].above = up == PROC_NONE || choices[up].wanted ? up : choices[up].above;
	}
	for (size_t i = n; i-- > 0;) {
		struct choice *up = &choices[choices[i].above == PROC_NONE ? n : choices[i].above];

		if (!choices[i].wanted)
			continue;
		choices[i].sibling = up->child;
		up->child = (uint32_t)i;
	}
}

/* Depth first. */
static void order_as_tree(struct proc_view *v, struct choice *choices, const struct proc *all,
			  size_t n)
{
	unsigned int depth = 0;
	uint32_t i;

	link_children(choices, all, n);
	i = choices[n].child;
	while (i != PROC_NONE) {
		v->shown[v->n_shown++] = (struct proc_shown){
			&all[i],
			depth < MAX_DEPTH ? depth : MAX_DEPTH,
		};
		if (choices[i].child != PROC_NONE) {
			i = choices[i].child;
			depth++;
			continue;
		}
		while (choices[i].sibling == PROC_NONE && choices[i].above != PROC_NONE) {
			i = choices[i].above;
			depth--;
		}
		i = choices[i].sibling;
	}
}

static struct ebt_error *choose(struct proc_view *v)
{
	const struct options *o = v->report->options;
	size_t n;
	const struct proc *all = procs_all(v->procs, &n);
	_cleanup_free_ struct choice *choices = calloc(n + 1, sizeof(*choices));

	v->shown = calloc(n + 1, sizeof(*v->shown));
	if (!choices || !v->shown)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++) {
		choices[i].wanted = procs_wanted(v->procs, v->trace, &all[i]);
		choices[i].wanted &= !trace_leaves_out(v->trace, all[i].task);
	}
	if (options_flag(o, "tree"))
		order_as_tree(v, choices, all, n);
	for (size_t i = 0; i < n && !options_flag(o, "tree"); i++) {
		if (choices[i].wanted)
			v->shown[v->n_shown++].proc = &all[i];
	}
	return NULL;
}

static struct ebt_error *check_options(struct report *report)
{
	const struct options *o = report->options;

	if (options_flag(o, "exec") &&
	    (options_flag(o, "tree") || options_flag(o, "timeline") || options_flag(o, "threads")))
		return ebt_error_create(EBT_ERR_INVALID,
					"--exec does not go with --tree, --timeline and --threads");
	if (options_flag(o, "exec") && o->sort)
		return ebt_error_create(EBT_ERR_INVALID,
					"--exec is in order of time: --sort does not apply");
	if (options_flag(o, "threads") && (options_flag(o, "tree") || options_flag(o, "timeline")))
		return ebt_error_create(EBT_ERR_INVALID,
					"--threads does not go with --tree and --timeline");
	if (options_flag(o, "timeline") && out_format(report->out) != FORMAT_TABLE)
		return ebt_error_create(EBT_ERR_INVALID,
					"--timeline is text: use it without --json and --csv");
	if (options_flag(o, "tree") && o->sort)
		return ebt_error_create(EBT_ERR_INVALID,
					"--tree is in order of start: --sort does not apply");
	return NULL;
}

static struct ebt_error *put(const struct proc_view *v)
{
	const struct options *o = v->report->options;
	struct ebt_error *err;

	if (options_flag(o, "timeline"))
		return proc_view_bars(v);
	if (options_flag(o, "exec"))
		return proc_view_execs(v);
	if (options_flag(o, "threads"))
		return proc_view_threads(v, "rows");
	err = proc_view_table(v, options_flag(o, "tree"));
	if (err)
		return err;
	if (out_is_captured(v->out))
		return o->interval_ns ? NULL : proc_view_most(v);
	return trace_has_pid_filter(v->report->trace) && out_format(v->out) != FORMAT_CSV
		       ? proc_view_details(v)
		       : NULL;
}

static void view_deinit(struct proc_view *v)
{
	free(v->shown);
	procs_destroy(v->procs);
	proc_containers_deinit(&v->containers);
}

static struct ebt_error *run_procs(struct report *report)
{
	__attribute__((cleanup(view_deinit))) struct proc_view v = {
		.report = report,
		.out = report->out,
		.trace = report->trace,
	};
	struct ebt_error *err;

	err = check_options(report) ?: trace_names(report->trace, &v.names);
	if (!err && !options_flag(report->options, "all"))
		err = trace_find_kernel_threads(report->trace);
	return err ?: procs_create(report->trace, 0, &v.procs) ?:
		      choose(&v) ?:
		      proc_containers_collect(trace_reader(report->trace), &v.containers) ?:
		      put(&v);
}

static const struct option_def procs_options[] = {
	{ "tree", OPTION_FLAG, NULL, "children below their parents", NULL },
	{ "timeline", OPTION_FLAG, NULL, "instead: a bar for the time in which each was there",
	  NULL },
	{ "threads", OPTION_FLAG, NULL, "instead: a row for each thread", NULL },
	{ "exec", OPTION_FLAG, NULL, "instead: what was run, where and by whom, line by line",
	  NULL },
	{ "all", OPTION_FLAG, NULL, "as --kernel-threads", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_procs = {
	.name = "procs",
	.fn = run_procs,
	.flags = COMMAND_NO_NAMES | COMMAND_NO_CPUS,
	.summary = "processes: when each began and ended, what it ran and used; one in detail",
	.elsewhere = "process processes ps pstree tree execsnoop",
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
		"--exec: each program that was run, in order of time, and who started its "
		"process.\n"
		"Of ebrec -e syscalls also the working directory, and what could not be "
		"run,\n"
		"as the names that a shell or execvp() looks for along PATH.\n"
		"\n"
		"  ebreport procs --tree t.ebt\n"
		"  ebreport procs --pid 1234 t.ebt\n"
		"  ebreport procs --exec t.ebt\n"
		"  ebreport procs --threads --sort run_ns --top 10 t.ebt\n",
	.options = procs_options,
};
