/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An empty call tree with the names of a trace. */
#ifndef REPORT_STACKS_CALLTREE_TRACE_H
#define REPORT_STACKS_CALLTREE_TRACE_H

#include "report/stacks/model_calltree.h"
#include "report/trace/trace.h"

/* As calltree_options.name and .thread_name; arg is a struct names. */
struct ebt_str calltree_process_name(const void *arg, const struct ebt_task *task);
struct ebt_str calltree_thread_name(const void *arg, const struct ebt_task *task);

/* Stacks begin with the name of their process or, by thread, of their thread. */
struct ebt_error *calltree_create_for(struct trace *trace, enum calltree_roots roots,
				      struct calltree **ret);

#endif
