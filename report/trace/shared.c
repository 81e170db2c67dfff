/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is made when it is first asked for: symbols, names and programs. Traces beside each other
 * share it. */
#include <assert.h>

#include "report/base/names.h"
#include "report/cli/command.h"
#include "report/trace/prepare.h"
#include "report/trace/private.h"
#include "report/trace/programs.h"

/* What a server may take to give a sign of life: a second less than what people bear. */
#define DEBUGINFOD_TIMEOUT_NS UINT64_C(4000000000)

struct ebt_error *trace_sym(struct trace *trace, struct sym **ret)
{
	const struct options *o = trace->options;
	const struct sym_options options = {
		.disabled = o->no_symbols,
		.no_inline = o->no_inline || trace->no_inline,
		.no_bundle = trace->no_bundle,
		.own_names = trace->own_names,
		.cache = !o->no_symbol_cache,
		.debug_dirs = o->debug_dirs.v,
		.sysroot = o->sysroot,
		.roots = o->roots.v,
		.servers = o->debuginfod ? &trace->servers : NULL,
	};
	struct ebt_error *err;

	assert(!(o->command->flags & COMMAND_NO_NAMES));
	if (trace->beside)
		return trace_sym(trace->beside, ret);
	trace->servers.urls = o->debuginfod_urls;
	trace->servers.timeout_ns =
		o->debuginfod_timeout_ns ? o->debuginfod_timeout_ns : DEBUGINFOD_TIMEOUT_NS;
	if (!trace->sym) {
		err = sym_create(trace->reader, &options, &trace->sym);
		if (err)
			return err;
		if (o->debuginfod)
			err = prefetch_files(trace, trace->sym);
		if (err)
			return err;
	}
	*ret = trace->sym;
	return NULL;
}

void trace_watch(struct trace *trace, trace_watch_fn *watch, void *arg)
{
	trace->servers.watch = watch;
	trace->servers.arg = arg;
}

void trace_no_inline(struct trace *trace)
{
	trace->no_inline = true;
}

void trace_no_bundle(struct trace *trace)
{
	trace->no_bundle = true;
}

void trace_own_names(struct trace *trace)
{
	trace->own_names = true;
}

struct ebt_error *trace_programs(struct trace *trace, const struct programs **ret)
{
	const struct names *names;
	struct ebt_error *err;

	if (trace->beside)
		return trace_programs(trace->beside, ret);
	if (!trace->programs) {
		err = trace_names(trace, &names)
			      ?: programs_create(trace->reader, names, &trace->programs);
		if (err)
			return err;
	}
	*ret = trace->programs;
	return NULL;
}

struct ebt_error *trace_names(struct trace *trace, const struct names **ret)
{
	struct ebt_error *err;

	if (trace->beside)
		return trace_names(trace->beside, ret);
	if (!trace->names) {
		err = names_create(trace->reader, &trace->names);
		if (err)
			return err;
	}
	*ret = trace->names;
	return NULL;
}
