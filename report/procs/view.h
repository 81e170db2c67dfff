/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of `ebreport procs` share: tables of processes and threads, bars, and details. */
#ifndef REPORT_PROCS_VIEW_H
#define REPORT_PROCS_VIEW_H

#include "report/base/names.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/procs/model_procs.h"
#include "report/procs/containers.h"

struct proc_view {
	struct report *report;
	struct out *out;
	struct trace *trace;
	const struct names *names;
	struct procs *procs;
	struct proc_containers containers;
	struct proc_shown {
		const struct proc *proc;
		unsigned int depth; /* in the tree */
	} * shown;		    /* in order */
	size_t n_shown;
};

/* Table `rows`: processes. tree: children below their parents. */
struct ebt_error *proc_view_table(const struct proc_view *v, bool tree);
/* Threads of those that are shown; key "rows" or "threads". */
struct ebt_error *proc_view_threads(const struct proc_view *v, const char *key);
/* --timeline: a line a process, over the window. */
struct ebt_error *proc_view_bars(const struct proc_view *v);
/* --pid: what each ran, its threads, what it had mapped, its mounts. */
struct ebt_error *proc_view_details(const struct proc_view *v);
/* For a page: the same of those that ran longest. */
struct ebt_error *proc_view_most(const struct proc_view *v);

/* Arguments, which end with a NUL each, with spaces between. */
void proc_view_arguments(struct text *text, struct ebt_str cmdline);
/* The same of a process; of one without any, [name]. */
void proc_view_command(struct text *text, const struct proc_view *v, const struct proc *p);
struct ebt_str proc_view_comm(const struct proc_view *v, const struct proc *p);

#endif
