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

/* Texts of one row that people read. */
struct counter_cells {
	struct text list[5];
};

static void cells_deinit(struct counter_cells *cells)
{
	for (size_t i = 0; i < 5; i++)
		text_deinit(&cells->list[i]);
}

static struct out_value cell(struct text *text, bool known, const struct counter *c, double value,
			     bool rate)
{
	if (!known)
		return out_null();
	counter_value(text, c, value, rate);
	return out_cstr(text_get(text));
}

#define FOR_PEOPLE (OUT_TEXT_ONLY | OUT_RIGHT)

/* Figures for people behind those for programs: --sort takes the first column of a name. */
#define COUNTERS(X)                                                                               \
	X("name", "NAME", OUT_STRING, out_cstr(c->name), OUT_FLEX | OUT_KEY)                      \
	X("category", NULL, OUT_STRING, out_cstr(c->category), OUT_DETAIL | OUT_KEY)              \
	X("instance", NULL, OUT_STRING, out_cstr(c->instance), OUT_DETAIL | OUT_KEY)              \
	X("unit", NULL, OUT_STRING, out_cstr(c->unit), OUT_DETAIL | OUT_KEY)                      \
	X("kind", NULL, OUT_STRING, out_cstr(grows ? "cumulative" : "gauge"),                     \
	  OUT_DETAIL | OUT_KEY)                                                                   \
	X("pid", NULL, OUT_U64, out_pid(c->owner), OUT_DETAIL | OUT_KEY)                          \
	X("comm", NULL, OUT_STRING,                                                               \
	  c->owner ? out_str(names_process(v->names, c->owner)) : out_null(),                     \
	  OUT_DETAIL | OUT_KEY)                                                                   \
	X("min", NULL, OUT_NUMBER, out_f64_if(known, c->min), OUT_DETAIL | OUT_LEAST)             \
	X("mean", NULL, OUT_NUMBER, out_f64_if(known, mean), OUT_DETAIL)                          \
	X("max", NULL, OUT_NUMBER, out_f64_if(known, c->max), OUT_DETAIL | OUT_PEAK)              \
	X("last", NULL, OUT_NUMBER, out_f64(c->last), OUT_DETAIL | OUT_LAST)                      \
	X("delta", NULL, OUT_NUMBER, out_f64_if(grows, c->delta), OUT_DETAIL | OUT_ADDS)          \
	X("series", NULL, OUT_SERIES,                                                             \
	  ((struct out_value){ .points = { c->n_points, c->points } }), OUT_DETAIL)               \
	X("unit_text", "UNIT", OUT_STRING, out_cstr(c->unit), OUT_TEXT_ONLY | OUT_KEY)            \
	X("min_text", "MIN", OUT_STRING, cell(&t.list[0], known, c, c->min, grows), FOR_PEOPLE)   \
	X("mean_text", "AVG", OUT_STRING, cell(&t.list[1], known, c, mean, grows), FOR_PEOPLE)    \
	X("max_text", "MAX", OUT_STRING, cell(&t.list[2], known, c, c->max, grows), FOR_PEOPLE)   \
	X("last_text", "LAST", OUT_STRING, cell(&t.list[3], true, c, c->last, false), FOR_PEOPLE) \
	X("delta_text", "DELTA", OUT_STRING, cell(&t.list[4], grows, c, c->delta, false),         \
	  FOR_PEOPLE)

static struct ebt_error *put_row(struct counters_view *v, const struct counter *c)
{
	__attribute__((cleanup(cells_deinit))) struct counter_cells t = { 0 };
	double mean = c->ns ? c->sum / (double)c->ns : c->last;
	bool grows = c->cumulative, known = c->any && (c->ns || !grows);

	return out_row(v->report->out, 0, OUT_VALUES(COUNTERS));
}

static struct ebt_error *put_table(struct counters_view *v, const struct counter *const *counters,
				   size_t n)
{
	const struct out_table table = OUT_TABLE_OF("rows", COUNTERS, .flags = OUT_KEEP_ORDER);

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

static void put_hidden(struct out *out, size_t n)
{
	_cleanup_text_ struct text line = TEXT_INIT;

	text_printf(&line, "%zu %s of single CPUs, or that %s zero, %s not shown: --all-counters",
		    n, text_plural(n, "counter", "counters"), text_plural(n, "was", "were"),
		    text_plural(n, "is", "are"));
	out_printf(out, "\n");
	out_fill(out, "", 2, text_get(&line));
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
		put_hidden(report->out, n - n_shown);
	return err;
}

static const struct option_def counters_options[] = {
	{ "name", OPTION_STRING, "GLOB", "only those, as 'disk.*', 'cpu.3.user' or '*_bytes'" },
	{ "all-counters", OPTION_FLAG, NULL, "those of single CPUs, and that were zero, too" },
	{ "plot", OPTION_FLAG, NULL, "draw them over time" },
	{ 0 },
};

static const char help[] =
	"Source `counter`, which is on by default, reads them once a second and at both\n"
	"ends. MIN, AVG and MAX are of what happens in a second, for numbers that only grow\n"
	"(DELTA says by how much); of times, as those of CPUs and of pressure, in percent of\n"
	"one CPU. For others they are of the values. Numbers of programs with ebmark.h or\n"
	"Sysprof's protocol are called GROUP.COMM-PID.NAME.\n"
	"\n"
	"--json has a series of [time_ns, value] for each, of single CPUs too. --plot draws\n"
	"four counters or fewer some lines high, more of them a line each; rates from zero\n"
	"up, others from the lowest value to the highest.\n"
	"\n"
	"  ebreport counters t.ebt\n"
	"  ebreport counters --name 'cpu.*.user' --sort max t.ebt\n"
	"  ebreport counters --plot --name 'disk.vda.*' t.ebt\n"
	"  ebreport counters --interval 10s --name 'net.*_bytes' t.ebt\n";

const struct command command_counters = {
	.name = "counters",
	.fn = cmd_counters,
	.flags = COMMAND_NO_NAMES,
	.summary = "CPU time, memory, disks, networks, pressure, sensors, programs' own over time",
	.elsewhere = "vmstat metrics",
	.help = help,
	.options = counters_options,
};
