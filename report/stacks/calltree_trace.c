/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An empty call tree with the names of a trace; see model_calltree.h. */
#include "report/base/names.h"
#include "report/stacks/model_calltree.h"

struct ebt_str calltree_process_name(const void *arg, const struct ebt_task *task)
{
	return names_process(arg, task);
}

struct ebt_str calltree_thread_name(const void *arg, const struct ebt_task *task)
{
	return names_task(arg, task);
}

struct ebt_error *calltree_create_for(struct trace *trace, enum calltree_roots roots,
				      struct calltree **ret)
{
	struct calltree_options options = {
		.roots = roots,
		.name = roots == CALLTREE_BY_THREAD ? calltree_thread_name : calltree_process_name,
	};
	const struct names *names;
	struct sym *sym;
	struct ebt_error *err;

	err = trace_names(trace, &names) ?: trace_sym(trace, &sym);
	if (err)
		return err;
	options.arg = names;
	return calltree_create(sym, &options, ret);
}
