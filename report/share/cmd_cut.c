/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport cut`: a trace of a part of another: of some time, of some processes. */
#include <inttypes.h>
#include <stdlib.h>

#include "format/base/cleanup.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/share/copying.h"
#include "report/share/part.h"
#include "report/trace/cut_lists.h"
#include "report/trace/trace.h"

DEFINE_CLEANUP(struct part *, part_destroy);

struct cut_copy {
	struct report *report;
	struct part *part;
	struct text *pids; /* "" where it is of all */
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

/* Of a part of the processes: which reports are to take for all that were recorded. A part of a
 * part has no others than that. */
static struct ebt_error *list_pids(struct report *report, struct text *ret)
{
	const struct option_u32s *pids = &report->options->pids;
	struct option_u32s had = { 0 };
	struct ebt_error *err = cut_list_read(trace_reader(report->trace), CUT_PIDS, &had);

	for (size_t i = 0; i < pids->n && !err; i++) {
		if (!had.n || option_u32s_has(&had, pids->v[i]))
			text_printf(ret, "%s%" PRIu32, ret->len ? "," : "", pids->v[i]);
	}
	free(had.v);
	if (!err && pids->n && !ret->len)
		return ebt_error_create(EBT_ERR_INVALID,
					"none of these processes is in this part of a trace");
	return err ?: text_error(ret);
}

/* Reports say of what is not in the part whether it was recorded. */
static struct ebt_error *put_tables(struct report *report, struct ebt_stream *stream)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	const struct ebt_table *tables;
	size_t n;

	tables = ebt_reader_tables(trace_reader(report->trace), &n);
	for (size_t i = 0; i < n; i++) {
		if (trace_has_rows(report->trace, tables[i].id))
			text_printf(&text, "%s%" PRIu16, text.len ? "," : "", tables[i].id);
	}
	return text_error(&text) ?: copying_meta(report, stream, CUT_TABLES, text_get(&text));
}

/* Reports say which share of the whole was lost. */
static struct ebt_error *put_rows(struct report *report, struct ebt_stream *stream)
{
	_cleanup_free_ struct trace_loss *losses = NULL;
	_cleanup_text_ struct text text = TEXT_INIT;
	size_t n;
	struct ebt_error *err = trace_losses(report->trace, LOSSES_OF_ALL, &losses, &n);

	if (err || !n)
		return err;
	for (size_t i = 0; i < n; i++)
		text_printf(&text, "%s%" PRIu16 ":%" PRIu64, i ? "," : "", losses[i].table->id,
			    losses[i].rows);
	return text_error(&text) ?: copying_meta(report, stream, CUT_ROWS, text_get(&text));
}

static struct ebt_error *append(void *arg, struct ebt_stream *stream)
{
	const struct cut_copy *copy = arg;
	struct report *report = copy->report;
	struct ebt_error *err = copying_meta(report, stream, "cut.version", EBT_VERSION);

	if (!err && copy->pids->len)
		err = copying_meta(report, stream, CUT_PIDS, text_get(copy->pids));
	return err ?:
	       put_tables(report, stream) ?:
	       put_rows(report, stream) ?:
	       copying_note_damage(trace_reader(report->trace), stream);
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
	_cleanup_text_ struct text pids = TEXT_INIT;
	struct cut_copy copy = { .report = report, .pids = &pids };
	struct ebt_copy_options options = {
		.arg = &copy,
		.action = choose,
		.edit = edit_chunk,
		.append = append,
	};
	struct ebt_window window;
	struct ebt_error *err = check_options(report->options) ?: list_pids(report, &pids)
					?: find_window(report, &window) ?: part_create(report->trace, &window, &part);

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
		 COMMAND_COPY | COMMAND_NO_NAMES,
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
