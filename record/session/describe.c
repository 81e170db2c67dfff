/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of `meta` and `source`; see describe.h. */
#include "record/session/describe.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "record/base/clocks.h"
#include "record/unwind/python.h"
#include "record/unwind/unwinder.h"

static struct ebt_error *add_meta(struct ebt_stream *stream, const char *key, const char *value)
{
	struct ebt_record rec = EBT_RECORD_INIT;
	struct ebt_error *err;

	ebt_record_begin(&rec, EBT_T_meta, clocks_now());
	ebt_record_str(&rec, offsetof(struct ebt_wire_meta, key), key);
	ebt_record_str(&rec, offsetof(struct ebt_wire_meta, value), value);
	err = ebt_record_add(&rec, stream);
	ebt_record_deinit(&rec);
	return err;
}

static struct ebt_error *add_number(struct ebt_stream *stream, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return add_meta(stream, key, text);
}

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

	if (!err && options->target == TARGET_COMMAND)
		err = add_meta(stream, "target.command", options->command[0]);
	if (!err && options->user)
		err = add_meta(stream, "target.user", options->user);
	if (!err && options->target == TARGET_CGROUP)
		err = add_meta(stream, "target.cgroup", options->cgroup);
	if (!err && options->target == TARGET_PIDS)
		err = describe_pids(stream, options);
	return err;
}

struct ebt_error *describe_options(struct ebt_stream *stream, const struct record_options *options,
				   const struct kernel *kernel, const char *command_line)
{
	_cleanup_free_ char *sources = source_list(options->sources);
	struct ebt_error *err;

	if (!sources)
		return &ebt_enomem;
	err = add_meta(stream, "ebrec.version", EBT_VERSION);
	if (!err)
		err = add_meta(stream, "ebrec.command_line", command_line);
	if (!err)
		err = describe_target(stream, options);
	if (!err)
		err = add_meta(stream, "options.events", sources);
	if (!err)
		err = add_meta(stream, "options.call_graph", call_graph_names[options->call_graph]);
	if (!err)
		err = add_number(stream, "options.min_block_ns", options->min_block);
	if (!err)
		err = add_number(stream, "options.duration_ns", options->duration);
	if (!err)
		err = add_number(stream, "sample.freq", options->frequency);
	if (!err)
		err = add_meta(stream, "sample.event", kernel->cycles ? "cycles" : "cpu-clock");
	return err;
}

struct ebt_error *describe_sources(struct ebt_stream *stream, const struct capture *capture)
{
	const struct source_args *given = &capture_context(capture)->options->source_args;
	_cleanup_(ebt_record_deinit) struct ebt_record rec = EBT_RECORD_INIT;
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < ebrec_n_sources && !err; i++) {
		const struct source_state *state = capture_source(capture, i);
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

static struct ebt_error *describe_tables(struct ebt_stream *stream,
					 const struct unwind_tables *tables)
{
	struct unwind_tables_stats stats;
	struct ebt_error *err;

	unwind_tables_stats(tables, &stats);
	err = add_number(stream, "stacks.tables", stats.tables);
	if (!err)
		err = add_number(stream, "stacks.tables_evicted", stats.evicted);
	return err ? err : add_number(stream, "stacks.tables_without_room", stats.full);
}

static struct ebt_error *describe_python(struct ebt_stream *stream, const struct ebrec_bpf *skel)
{
	struct python_stats stats;
	struct ebt_error *err = python_stats(skel, &stats);

	if (err || !stats.builds)
		return err;
	err = add_number(stream, "python.stacks", stats.stacks);
	if (!err)
		err = add_number(stream, "python.stacks_without_thread", stats.no_thread);
	if (!err)
		err = add_number(stream, "python.stacks_partial", stats.unplaced);
	return err ? err : add_number(stream, "python.names_refused", stats.refused);
}

struct ebt_error *describe_stacks(struct ebt_stream *stream, const struct capture *capture,
				  struct deferred *deferred)
{
	const struct unwinder *unwinder = capture_unwinder(capture);
	struct deferred_stats stats;
	struct ebt_error *err = NULL;

	if (unwinder)
		err = describe_tables(stream, unwinder->tables);
	if (!err && unwinder)
		err = add_number(stream, "stacks.mappings_without_room",
				 unwind_spaces_full(unwinder->spaces));
	if (!err && unwinder)
		err = describe_python(stream, unwinder->skel);
	if (err || !deferred)
		return err;
	deferred_stats(deferred, &stats);
	err = add_number(stream, "stacks.dumps_finished", stats.whole);
	if (!err)
		err = add_number(stream, "stacks.dumps_not_finished",
				 stats.taken - stats.whole + stats.refused);
	return err ? err
		   : add_number(stream, "stacks.dumps_not_taken", capture_refused_dumps(capture));
}

struct ebt_error *describe_end(struct ebt_stream *stream, const char *reason, int exit_status)
{
	struct ebt_error *err = add_meta(stream, "end.reason", reason);

	if (err || exit_status < 0)
		return err;
	return add_number(stream, "end.exit_status", (uint64_t)exit_status);
}
