/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport info` without --all: what nearly everybody asks, in a dozen lines. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/compare.h"
#include "report/base/text.h"
#include "report/out/out.h"
#include "report/system/info.h"

#define MOST_TABLES 5
#define LABEL	    12 /* columns */

/* "Label       text" with the text escaped and no wider than the terminal, where there is any. */
static void put(const struct info_view *v, const char *label, const struct text *text)
{
	_cleanup_text_ struct text safe = TEXT_INIT;
	unsigned int width = out_width(v->out);
	size_t fit;

	text_terminal(&safe, text_str(text));
	fit = width > LABEL ? text_fit(text_get(&safe), safe.len, width - LABEL) : safe.len;
	if (fit < safe.len)
		fit = text_fit(text_get(&safe), safe.len, width - LABEL - 1);
	if (text->len)
		out_printf(v->out, "%-*s%.*s%s\n", LABEL, label, (int)fit, text_get(&safe),
			   fit < safe.len ? "…" : "");
}

static void add_meta(struct text *text, const struct info_view *v, const char *before,
		     const char *key, const char *behind)
{
	const char *value = info_meta(&v->info, key);

	if (value && *value)
		text_printf(text, "%s%s%s", text->len ? before : "", value, behind);
}

static void put_file(const struct info_view *v)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	uint64_t missing = trace_missing_chunks(v->report->trace);

	text_printf(&text, "%s, ", v->report->options->file);
	text_bytes(&text, v->file->size);
	text_printf(&text, ", format %u.%u, ", v->file->major, v->file->minor);
	text_cstr(&text, !v->file->complete ? "no end: cut off, or its recorder was killed"
			 : v->file->indexed ? "complete"
					    : "complete, but its index is damaged");
	if (missing)
		text_printf(&text, "; %" PRIu64 " %s missing", missing,
			    text_plural(missing, "chunk is", "chunks are"));
	put(v, "File", &text);
}

static void put_time(const struct info_view *v)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct trace *trace = v->report->trace;
	struct info_used used;
	char began[64];

	info_format_realtime(v->file->start_realtime_ns, began, sizeof(began));
	text_printf(&text, "%s, ", began);
	text_duration(&text, trace_end_ns(trace) - trace_start_ns(trace));
	text_printf(&text, ", %" PRIu64 " event%s", v->info.events,
		    text_plural(v->info.events, "", "s"));
	add_meta(&text, v, ", by ebrec ", "ebrec.version", "");
	if (info_recorder_used(&v->info, &used)) {
		text_cstr(&text, " (CPU ");
		text_duration(&text, used.user_ns + used.system_ns);
		text_cstr(&text, ")");
	}
	put(v, "Recorded", &text);
}

/* Of a file of several machines. Each has a clock of its own. */
static void put_machine(const struct info_view *v)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	if (!v->file->n_hosts)
		return;
	text_printf(&text, "%" PRIu32 " of %zu, began ", v->file->host, v->file->n_hosts);
	text_duration(&text, v->file->later_ns);
	text_cstr(&text, " after the first by their clocks; how far those are apart is not known");
	put(v, "Machine", &text);
}

static void put_metas(const struct info_view *v)
{
	_cleanup_text_ struct text command = TEXT_INIT, host = TEXT_INIT, end = TEXT_INIT;

	add_meta(&command, v, "", "ebrec.command_line", "");
	put(v, "Command", &command);
	add_meta(&host, v, "", "host.name", "");
	add_meta(&host, v, ": ", "host.os", "");
	add_meta(&host, v, ", Linux ", "host.release", "");
	add_meta(&host, v, ", ", "host.machine", "");
	add_meta(&host, v, ", ", "host.cpus", " CPUs");
	add_meta(&host, v, ", ", "host.cpu_model", "");
	put(v, "Host", &host);
	add_meta(&end, v, "", "end.reason", "");
	add_meta(&end, v, ", status ", "end.exit_status", "");
	put(v, "End", &end);
}

/* Names of the sources that are in this state, or in any other than `on`. */
static void add_sources(struct text *text, const struct info_view *v, const char *status)
{
	bool first = true;

	for (size_t i = 0; i < v->info.n_sources; i++) {
		const struct info_source *source = &v->info.sources[i];

		if (!source->status || strcmp(source->status, status))
			continue;
		text_printf(text, "%s%s",
			    !first	? ", "
			    : text->len ? "; "
					: "",
			    first ? status : "");
		text_printf(text, "%s%s", first ? ": " : "", source->name);
		first = false;
	}
}

static void put_sources(const struct info_view *v)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	add_sources(&text, v, "on");
	add_sources(&text, v, "partial");
	add_sources(&text, v, "unavailable");
	put(v, "Sources", &text);
}

static int compare_rows(const void *a, const void *b)
{
	const struct info_table *const *x = a, *const *y = b;

	return ebt_compare((*y)->rows, (*x)->rows) ?: ebt_compare((*x)->table->id, (*y)->table->id);
}

static struct ebt_error *put_rows(const struct info_view *v)
{
	_cleanup_free_ const struct info_table **sorted =
		calloc(v->info.n_tables + 1, sizeof(*sorted));
	_cleanup_text_ struct text text = TEXT_INIT;
	uint64_t rows = 0;
	size_t n = 0;

	if (!sorted)
		return &ebt_enomem;
	for (size_t i = 0; i < v->info.n_tables; i++) {
		const struct info_table *t = &v->info.tables[i];

		rows += t->rows;
		if (t->table->class == EBT_CLASS_EVENT && t->rows)
			sorted[n++] = t;
	}
	qsort(sorted, n, sizeof(*sorted), compare_rows);
	text_printf(&text, "%" PRIu64 " in %zu %s", rows, v->info.n_tables,
		    text_plural(v->info.n_tables, "table", "tables"));
	for (size_t i = 0; i < n && i < MOST_TABLES; i++)
		text_printf(&text, "%s%s %" PRIu64, i ? ", " : ": ", sorted[i]->table->name,
			    sorted[i]->rows);
	put(v, "Rows", &text);
	return text_error(&text);
}

static void put_processes(const struct info_view *v)
{
	const struct info_table *forks = info_table(&v->info, EBT_T_task_fork);
	const uint64_t n_forks = forks ? forks->rows : 0;
	_cleanup_text_ struct text text = TEXT_INIT;

	info_add_described(&v->info, &text);
	text_printf(&text, ", %" PRIu64 " %s", n_forks, text_plural(n_forks, "fork", "forks"));
	if (v->containers.n)
		text_printf(&text, ", %zu container%s", v->containers.n,
			    text_plural(v->containers.n, "", "s"));
	put(v, "Processes", &text);
}

/* What is too little for a warning. */
static void add_remarks(struct text *text, const struct info_view *v)
{
	const char *const *remarks;
	size_t n;

	remarks = trace_remarks(v->report->trace, &n);
	for (size_t i = 0; i < n; i++)
		text_printf(text, "; %s", remarks[i]);
}

/* Processes that are not described whole have been seen: they stand under Processes. */
static void put_lost(const struct info_view *v)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	bool processes = false, others = false;

	for (size_t i = 0; i < v->info.n_tables; i++) {
		const struct info_table *t = &v->info.tables[i];
		double all = (double)t->lost + (double)t->rows;

		processes |= t->lost && t->table->id == EBT_T_process;
		if (t->lost && t->table->id != EBT_T_process)
			text_printf(&text, "%s%" PRIu64 " of %s (%.2f %%)", text.len ? ", " : "",
				    t->lost, t->table->name, (double)t->lost * 100 / all);
	}
	for (size_t i = 0; i < v->info.n_losses; i++)
		others |= v->info.losses[i].table_id != EBT_T_process;
	if (!text.len)
		text_cstr(&text, others	     ? "rows of unknown number: see --all"
				 : processes ? "no events, as far as the file knows"
					     : "nothing, as far as the file knows");
	add_remarks(&text, v);
	put(v, "Lost", &text);
}

static void put_frames(const struct info_view *v)
{
	const struct info_table *samples = info_table(&v->info, EBT_T_sample);
	const struct info_frames *f = &v->frames;
	uint64_t bad = 0, user = f->user - f->stops[EBT_STOP_EXEC];
	_cleanup_text_ struct text text = TEXT_INIT;
	double all;

	for (int r = SYM_OK + 1; r < SYM_N_REASONS; r++)
		bad += f->unresolved[r];
	all = (double)bad + (double)f->resolved;
	if (!v->have_frames && info_stack_bytes(&v->info))
		text_cstr(&text, "not counted: --frames does it");
	else if (all > 0)
		text_printf(&text, "%" PRIu64 " in %" PRIu64 " %s, %.2f %% have a name",
			    bad + f->resolved, f->stacks, text_plural(f->stacks, "stack", "stacks"),
			    (double)f->resolved * 100 / all);
	if (user && f->stops[EBT_STOP_UNKNOWN] != f->user)
		text_printf(&text, "; %.2f %% of user stacks reach the root",
			    (double)f->stops[EBT_STOP_ROOT] * 100 / (double)user);
	if (f->recorder && samples && samples->rows)
		text_printf(&text, "; %.1f %% of samples are below [ebrec]",
			    (double)f->recorder * 100 / (double)samples->rows);
	put(v, "Frames", &text);
}

struct ebt_error *info_put_short(const struct info_view *v)
{
	struct ebt_error *err;

	put_file(v);
	put_time(v);
	put_machine(v);
	put_metas(v);
	put_sources(v);
	put_processes(v);
	err = put_rows(v);
	put_lost(v);
	put_frames(v);
	if (!err)
		out_printf(v->out, "%-*s%s\n", LABEL, "More", "ebreport info --all");
	return err;
}
