/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport counters: numbers of the machine and of programs, as a table or drawn. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/names.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/marks/counter_plot.h"
#include "report/marks/model_counters.h"

/* Figures for people behind those for programs: --sort takes the first column of a name. */
enum {
	COL_NAME,
	COL_CATEGORY,
	COL_INSTANCE,
	COL_UNIT,
	COL_KIND,
	COL_PID,
	COL_COMM,
	COL_MIN,
	COL_MEAN,
	COL_MAX,
	COL_LAST,
	COL_DELTA,
	COL_SERIES,
	COL_UNIT_TEXT,
	COL_MIN_TEXT,
	COL_MEAN_TEXT,
	COL_MAX_TEXT,
	COL_LAST_TEXT,
	COL_DELTA_TEXT,
	N_COLUMNS,
};

#define FOR_PEOPLE (OUT_TEXT_ONLY | OUT_RIGHT)

static const struct out_column columns[N_COLUMNS] = {
	[COL_NAME] = { "name", "NAME", OUT_STRING, OUT_FLEX },
	[COL_CATEGORY] = { "category", NULL, OUT_STRING, OUT_DETAIL },
	[COL_INSTANCE] = { "instance", NULL, OUT_STRING, OUT_DETAIL },
	[COL_UNIT] = { "unit", NULL, OUT_STRING, OUT_DETAIL },
	[COL_KIND] = { "kind", NULL, OUT_STRING, OUT_DETAIL },
	[COL_PID] = { "pid", NULL, OUT_U64, OUT_DETAIL },
	[COL_COMM] = { "comm", NULL, OUT_STRING, OUT_DETAIL },
	[COL_MIN] = { "min", NULL, OUT_NUMBER, OUT_DETAIL },
	[COL_MEAN] = { "mean", NULL, OUT_NUMBER, OUT_DETAIL },
	[COL_MAX] = { "max", NULL, OUT_NUMBER, OUT_DETAIL },
	[COL_LAST] = { "last", NULL, OUT_NUMBER, OUT_DETAIL },
	[COL_DELTA] = { "delta", NULL, OUT_NUMBER, OUT_DETAIL },
	[COL_SERIES] = { "series", NULL, OUT_SERIES, OUT_DETAIL },
	[COL_UNIT_TEXT] = { "unit_text", "UNIT", OUT_STRING, OUT_TEXT_ONLY },
	[COL_MIN_TEXT] = { "min_text", "MIN", OUT_STRING, FOR_PEOPLE },
	[COL_MEAN_TEXT] = { "mean_text", "MEAN", OUT_STRING, FOR_PEOPLE },
	[COL_MAX_TEXT] = { "max_text", "MAX", OUT_STRING, FOR_PEOPLE },
	[COL_LAST_TEXT] = { "last_text", "LAST", OUT_STRING, FOR_PEOPLE },
	[COL_DELTA_TEXT] = { "delta_text", "DELTA", OUT_STRING, FOR_PEOPLE },
};

struct counters_view {
	struct report *report;
	const struct names *names;
	const char *glob;
	bool all;
};

static bool is_wanted(void *arg, const struct counter *counter)
{
	const struct counters_view *v = arg;

	return !v->glob || !fnmatch(v->glob, counter->name, 0);
}

/* People look at a machine before they look at each of its CPUs; and at what is not zero. */
static bool is_shown(const struct counters_view *v, const struct counter *c)
{
	if (v->all || v->glob || c->owner || out_format(v->report->out) != FORMAT_TABLE)
		return true;
	if (!strcmp(c->category, "cpu") && isdigit((unsigned char)*c->instance))
		return false;
	return c->cumulative ? c->delta != 0 : c->last != 0 || c->max > 0 || c->min < 0;
}

/* Strings of one row that people read. */
struct counter_cells {
	struct text unit, value[5];
};

static void cells_deinit(struct counter_cells *cells)
{
	text_deinit(&cells->unit);
	for (size_t i = 0; i < 5; i++)
		text_deinit(&cells->value[i]);
}

static struct out_value cell(struct text *text, const struct counter *c, double value, bool rate)
{
	counter_value(text, c, value, rate);
	return out_cstr(text_get(text));
}

static struct ebt_error *put_row(struct counters_view *v, const struct counter *c)
{
	__attribute__((cleanup(cells_deinit))) struct counter_cells t = { 0 };
	double mean = c->ns ? c->sum / (double)c->ns : c->last;
	struct out_value values[N_COLUMNS] = { [0 ... N_COLUMNS - 1] = { .null = true } };

	values[COL_NAME] = out_cstr(c->name);
	values[COL_CATEGORY] = out_cstr(c->category);
	values[COL_INSTANCE] = out_cstr(c->instance);
	values[COL_UNIT] = out_cstr(c->unit);
	values[COL_KIND] = out_cstr(c->cumulative ? "cumulative" : "gauge");
	if (c->owner) {
		values[COL_PID] = out_u64(c->owner->pid);
		values[COL_COMM] = out_str(names_process(v->names, c->owner));
	}
	text_cstr(&t.unit, c->unit);
	values[COL_UNIT_TEXT] = out_cstr(text_get(&t.unit));
	if (c->any && (c->ns || !c->cumulative)) {
		values[COL_MIN] = out_f64(c->min);
		values[COL_MEAN] = out_f64(mean);
		values[COL_MAX] = out_f64(c->max);
		values[COL_MIN_TEXT] = cell(&t.value[0], c, c->min, c->cumulative);
		values[COL_MEAN_TEXT] = cell(&t.value[1], c, mean, c->cumulative);
		values[COL_MAX_TEXT] = cell(&t.value[2], c, c->max, c->cumulative);
	}
	values[COL_LAST] = out_f64(c->last);
	values[COL_LAST_TEXT] = cell(&t.value[3], c, c->last, false);
	if (c->cumulative) {
		values[COL_DELTA] = out_f64(c->delta);
		values[COL_DELTA_TEXT] = cell(&t.value[4], c, c->delta, false);
	}
	values[COL_SERIES].null = false;
	values[COL_SERIES].points = (struct out_points){ c->n_points, c->points };
	return out_row(v->report->out, 0, values);
}

static struct ebt_error *put_table(struct counters_view *v, const struct counter *const *counters,
				   size_t n)
{
	static const struct out_table table = OUT_TABLE("rows", columns, .flags = OUT_KEEP_ORDER);

	return out_rows(v->report->out, &table, n, i, put_row(v, counters[i]));
}

static struct ebt_error *warn_none(struct trace *trace)
{
	const struct ebt_reader *reader = trace_reader(trace);

	if (ebt_reader_has_rows(reader, EBT_T_counter) ||
	    ebt_reader_has_rows(reader, EBT_T_mark_counter))
		return trace_warn(trace, "no counters that pass the filters");
	return trace_warn(trace,
			  "the trace has no counters: the system has some (ebrec -e counter, "
			  "which is on by default), and so have programs with ebmark.h "
			  "(-e mark) or Sysprof's protocol (-e sysprof)");
}

static struct ebt_error *cmd_counters(struct report *report)
{
	const bool plot = options_flag(report->options, "plot");
	struct counters_view v = {
		.report = report,
		.glob = options_string(report->options, "name"),
		.all = options_flag(report->options, "all-counters"),
	};
	const struct counters_query query = {
		.wanted = is_wanted,
		.arg = &v,
		.points = plot || out_format(report->out) == FORMAT_JSON,
	};
	_cleanup_(counters_model_destroyp) struct counters_model *model = NULL;
	_cleanup_free_ const struct counter **shown = NULL;
	const struct counter *const *all;
	uint64_t from, to;
	size_t n, n_shown = 0;
	struct ebt_error *err;

	if (plot && out_format(report->out) != FORMAT_TABLE)
		return ebt_error_create(EBT_ERR_INVALID, "--plot is for people: --json has the "
							 "series, --csv the figures");
	err = trace_names(report->trace, &v.names);
	if (err)
		return err;
	err = counters_model_create(report->trace, &query, &model);
	if (err)
		return err;
	all = counters_model_all(model, &n);
	if (!n)
		err = warn_none(report->trace);
	if (err)
		return err;
	shown = calloc(n + 1, sizeof(*shown));
	if (!shown)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++) {
		if (is_shown(&v, all[i]))
			shown[n_shown++] = all[i];
	}
	counters_model_span(model, &from, &to);
	err = plot ? counter_plot(report->out, report->trace, from, to, shown, n_shown)
		   : put_table(&v, shown, n_shown);
	if (!err && n_shown < n)
		out_printf(report->out,
			   "\n%zu counters of single CPUs, or that were zero, are not shown: "
			   "--all-counters\n",
			   n - n_shown);
	return err;
}

static const struct option_def counters_options[] = {
	{ "name", OPTION_STRING, "GLOB", "only those, as 'disk.*', 'cpu.3.user' or '*_bytes'",
	  NULL },
	{ "all-counters", OPTION_FLAG, NULL, "those of single CPUs, and that were zero, too",
	  NULL },
	{ "plot", OPTION_FLAG, NULL, "draw them over time", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_counters = {
	.name = "counters",
	.fn = cmd_counters,
	.summary = "CPU time, memory, disks, networks, pressure, sensors, programs' own over time",
	.help = "Source `counter`, which is on by default, reads them once a second and at both\n"
		"ends. MIN, MEAN and MAX are of what happens in a second, for numbers that only "
		"grow\n"
		"(DELTA says by how much); of times, as those of CPUs and of pressure, in percent "
		"of\n"
		"one CPU. For others they are of the values. Numbers of programs with ebmark.h or\n"
		"Sysprof's protocol are called GROUP.COMM-PID.NAME.\n"
		"\n"
		"--json has a series of [time_ns, value] for each, of single CPUs too. --plot "
		"draws\n"
		"four counters or fewer some lines high, more of them a line each; rates from "
		"zero\n"
		"up, others from the lowest value to the highest.\n"
		"\n"
		"  ebreport counters t.ebt\n"
		"  ebreport counters --name 'cpu.*.user' --sort max t.ebt\n"
		"  ebreport counters --plot --name 'disk.vda.*' t.ebt\n"
		"  ebreport counters --interval 10s --name 'net.*_bytes' t.ebt\n",
	.options = counters_options,
};
