/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport cut`: a trace of a part of another: of some time, of some processes. */
#include <inttypes.h>

#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/share/copying.h"
#include "report/share/part.h"
#include "report/trace/trace.h"

DEFINE_CLEANUP(struct part *, part_destroy);

struct cut_copy {
	struct report *report;
	struct part *part;
};

static enum ebt_copy_action choose(void *arg, const struct ebt_chunk_info *chunk,
				   const struct ebt_table *table)
{
	const struct cut_copy *copy = arg;

	return part_action(copy->part, chunk, table);
}

static struct ebt_error *edit_chunk(void *arg, struct ebt_edit *edit, bool *ret_changed)
{
	const struct cut_copy *copy = arg;

	return part_edit(copy->part, edit, ret_changed);
}

/* Of a part of the processes: which reports are to take for all that were recorded. */
static struct ebt_error *put_pids(struct report *report, struct ebt_stream *stream)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	const struct option_u32s *pids = &report->options->pids;
	struct ebt_error *err;

	for (size_t i = 0; i < pids->n; i++)
		text_printf(&text, "%s%" PRIu32, i ? "," : "", pids->v[i]);
	err = text_error(&text);
	return err ? err : copying_meta(report, stream, "cut.pids", text_get(&text));
}

static struct ebt_error *append(void *arg, struct ebt_stream *stream)
{
	const struct cut_copy *copy = arg;
	struct report *report = copy->report;
	struct ebt_error *err = copying_meta(report, stream, "cut.version", EBT_VERSION);

	if (!err && report->options->pids.n)
		err = put_pids(report, stream);
	return err ? err : copying_note_damage(report, trace_reader(report->trace), stream);
}

static struct ebt_error *check_options(const struct options *o)
{
	if (!o->from.set && !o->to.set && !o->pids.n)
		return ebt_error_create(EBT_ERR_INVALID,
					"which part? --from TIME, --to TIME, --pid PID");
	return NULL;
}

/* A part of a part is no longer than that. */
static struct ebt_error *find_window(struct report *report, struct ebt_window *ret)
{
	const struct ebt_window *whole = &ebt_reader_info(trace_reader(report->trace))->window;
	uint64_t end = trace_end_ns(report->trace);
	struct ebt_window window = {
		.from = report->options->from.set ? trace_from_ns(report->trace) : whole->from,
		.to = trace_to_ns(report->trace),
	};

	if (window.from > end || window.to <= trace_start_ns(report->trace))
		return ebt_error_create(EBT_ERR_INVALID, "nothing was recorded in this time");
	if (window.to > end && (!ebt_window_is_set(whole) || whole->to == UINT64_MAX))
		window.to = UINT64_MAX;
	*ret = window;
	return NULL;
}

static struct ebt_error *run_cut(struct report *report)
{
	_cleanup_(part_destroyp) struct part *part = NULL;
	struct cut_copy copy = { .report = report };
	struct ebt_copy_options options = {
		.arg = &copy,
		.action = choose,
		.edit = edit_chunk,
		.append = append,
	};
	struct ebt_window window;
	struct ebt_error *err = check_options(report->options) ?: find_window(report, &window)
					?: part_create(report->trace, &window, &part);

	if (err)
		return err;
	copy.part = part;
	if (window.from || window.to != UINT64_MAX)
		options.window = window;
	return copying_run(report, &options);
}

const struct command command_cut = {
	.name = "cut",
	.fn = run_cut,
	.flags = COMMAND_NO_TERMINAL | COMMAND_NO_TABLES | COMMAND_NO_THREADS | COMMAND_PRIVATE |
		 COMMAND_COPY,
	.summary = "copy of a part of a trace",
	.help = "  ebreport cut --from 10s --to 12s t.ebt -o slow.ebt\n"
		"  ebreport cut --pid 4711 t.ebt -o server.ebt\n"
		"\n"
		"Every report of the copy is that of the whole trace with the same --from, --to "
		"and "
		"--pid;\n"
		"times count from the beginning of the part. What explains its rows goes along: "
		"who "
		"was\n"
		"which process, what was mapped where, what each thread was doing when the part "
		"begins.\n",
};
