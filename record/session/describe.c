/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of `meta` and `source`; see describe.h. */
#include "record/session/describe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "record/base/clocks.h"
#include "record/base/rows.h"
#include "record/unwind/python.h"
#include "record/unwind/unwinder.h"

/* Names of the sources that were asked for. The caller frees it; NULL: no memory. */
static char *source_list(uint64_t sources)
{
	char *list = NULL;
	size_t size;
	FILE *f = open_memstream(&list, &size);

	if (!f)
		return NULL;
	for (size_t i = 0, n = 0; i < ebrec_n_sources; i++) {
		if (sources & (UINT64_C(1) << i))
			fprintf(f, "%s%s", n++ ? "," : "", ebrec_sources[i]->name);
	}
	if (!fclose(f))
		return list;
	free(list);
	return NULL;
}

static struct ebt_error *describe_pids(struct ebt_stream *stream,
				       const struct record_options *options)
{
	_cleanup_free_ char *list = NULL;
	size_t size;
	FILE *f = open_memstream(&list, &size);

	if (!f)
		return &ebt_enomem;
	for (size_t i = 0; i < options->n_pids; i++)
		fprintf(f, "%s%d", i ? "," : "", (int)options->pids[i]);
	if (fclose(f))
		return &ebt_enomem;
	return add_meta(stream, "target.pids", list);
}

static struct ebt_error *describe_target(struct ebt_stream *stream,
					 const struct record_options *options)
{
	static const char *const names[] = {
		[TARGET_NONE] = "none",	    [TARGET_COMMAND] = "command", [TARGET_PIDS] = "pids",
		[TARGET_CGROUP] = "cgroup", [TARGET_ALL] = "all",
	};
	struct ebt_error *err = add_meta(stream, "target.kind", names[options->target]);

	if (!err && options->command)
		err = add_meta(stream, "target.command", options->command[0]);
	if (!err && options->user)
		err = add_meta(stream, "target.user", options->user);
	if (err)
		return err;
	switch (options->target) {
	case TARGET_PIDS:
		return describe_pids(stream, options);
	case TARGET_CGROUP:
		return add_meta(stream, "target.cgroup", options->cgroup);
	case TARGET_NONE:
	case TARGET_COMMAND:
	case TARGET_ALL:
		break;
	}
	return NULL;
}

struct ebt_error *describe_options(struct ebt_stream *stream, const struct record_options *options,
				   const struct kernel *kernel, const char *command_line)
{
	_cleanup_free_ char *sources = source_list(options->sources);
	const struct meta_row program[] = {
		{ "ebrec.version", EBT_VERSION },
		{ "ebrec.command_line", command_line },
		{ "recorder.pid", NULL, (uint64_t)getpid() },
		{ NULL },
	};
	const struct meta_row rows[] = {
		{ "options.events", sources },
		{ "options.call_graph", call_graph_names[options->call_graph] },
		{ "options.min_block_ns", NULL, options->min_block },
		{ "options.duration_ns", NULL, options->duration },
		{ "sample.freq", NULL, options->frequency },
		{ "sample.event", kernel->cycles ? "cycles" : "cpu-clock" },
		{ NULL },
	};

	if (!sources)
		return &ebt_enomem;
	return add_meta_rows(stream, program) ?:
	       describe_target(stream, options) ?:
	       add_meta_rows(stream, rows);
}

struct ebt_error *describe_sources(struct ebt_stream *stream, const struct capture *capture)
{
	const struct source_args *given = &capture->context.options->source_args;
	_cleanup_(ebt_record_deinit) struct ebt_record rec = EBT_RECORD_INIT;
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < ebrec_n_sources && !err; i++) {
		const struct source_state *state = &capture->states[i];
		struct ebt_wire_source *row = ebt_record_begin(&rec, EBT_T_source, clocks_now());
		_cleanup_free_ char *args = source_args_join(given, i);

		if (!args)
			return &ebt_enomem;
		row->status = state->status;
		ebt_record_str(&rec, offsetof(struct ebt_wire_source, name),
			       ebrec_sources[i]->name);
		ebt_record_str(&rec, offsetof(struct ebt_wire_source, detail), state->detail);
		ebt_record_str(&rec, offsetof(struct ebt_wire_source, args), args);
		err = ebt_record_add(&rec, stream);
	}
	return err;
}

static struct ebt_error *describe_tables(struct ebt_stream *stream, const struct unwinder *unwinder)
{
	struct unwind_tables_stats stats;

	unwind_tables_stats(unwinder->tables, &stats);
	return add_meta_rows(stream, (const struct meta_row[]){
					     { "stacks.tables", NULL, stats.tables },
					     { "stacks.tables_evicted", NULL, stats.evicted },
					     { "stacks.tables_without_room", NULL, stats.full },
					     { "stacks.mappings_without_room", NULL,
					       unwind_spaces_full(unwinder->spaces) },
					     { NULL } });
}

static struct ebt_error *describe_python(struct ebt_stream *stream, const struct ebrec_bpf *skel)
{
	struct python_stats stats;
	struct ebt_error *err = python_stats(skel, &stats);

	if (err || !stats.builds)
		return err;
	return add_meta_rows(stream,
			     (const struct meta_row[]){
				     { "python.stacks", NULL, stats.stacks },
				     { "python.stacks_without_thread", NULL, stats.no_thread },
				     { "python.stacks_partial", NULL, stats.unplaced },
				     { "python.names_refused", NULL, stats.refused },
				     { NULL } });
}

struct ebt_error *describe_stacks(struct ebt_stream *stream, const struct capture *capture,
				  struct deferred *deferred)
{
	const struct unwinder *unwinder = capture->unwinder;
	struct deferred_stats stats;

	if (unwinder) {
		struct ebt_error *err = describe_tables(stream, unwinder)
						?: describe_python(stream, unwinder->skel);

		if (err)
			return err;
	}
	if (!deferred)
		return NULL;
	deferred_stats(deferred, &stats);
	return add_meta_rows(stream, (const struct meta_row[]){
					     { "stacks.dumps_finished", NULL, stats.whole },
					     { "stacks.dumps_not_finished", NULL,
					       stats.taken - stats.whole + stats.refused },
					     { "stacks.dumps_not_taken", NULL,
					       capture_refused_dumps(capture) },
					     { NULL } });
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

struct ebt_error *describe_recorder(struct ebt_stream *stream)
{
	struct rusage used;

	if (getrusage(RUSAGE_SELF, &used))
		return ebt_error_errno(errno, "cannot read what the recorder used");
	return add_meta_rows(stream,
			     (const struct meta_row[]){
				     { "recorder.user_ns", NULL, timeval_ns(used.ru_utime) },
				     { "recorder.system_ns", NULL, timeval_ns(used.ru_stime) },
				     { NULL } });
}

struct ebt_error *describe_end(struct ebt_stream *stream, const char *reason, int exit_status)
{
	const struct meta_row rows[] = {
		{ "end.reason", reason },
		{ exit_status < 0 ? NULL : "end.exit_status", NULL, (uint64_t)exit_status },
		{ NULL },
	};

	return add_meta_rows(stream, rows);
}
