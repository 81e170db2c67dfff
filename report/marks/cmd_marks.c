/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport marks: what programs say that they do, and what probes see. */
#include <string.h>

#include "report/cli/command.h"
#include "report/marks/views.h"

const char *const marks_scopes[] = { "thread", "process", "system", NULL };
static const char *const origins[] = { "ebmark", "sysprof", "tp", "uprobe", "usdt", NULL };

static void marks_query(const struct options *o, struct marks_options *ret)
{
	const char *origin = options_string(o, "origin");
	const char *name = options_string(o, "series") ?: options_string(o, "around");

	*ret = (struct marks_options){
		.group = options_string(o, "group"),
		.name = name ?: options_string(o, "name"),
		.min_ns = options_u64(o, "min-duration", 0),
		.messages = !options_flag(o, "summary"),
	};
	for (unsigned int i = 0; origin && i < MARK_OTHER; i++) {
		if (!strcmp(origin, mark_origin_name(i)))
			ret->origins = 1u << i;
	}
}

/* One view, and with it only what it knows. */
static struct ebt_error *check_options(const struct report *report)
{
	const struct options *o = report->options;
	bool summary = options_flag(o, "summary"), series = options_string(o, "series") != NULL;
	bool around = options_string(o, "around") != NULL, name = options_string(o, "name");
	bool flame = options_flag(o, "flame"), folded = options_flag(o, "folded");
	bool chart = options_flag(o, "chart"), picture = chart || flame;
	int views = options_flag(o, "waterfall") + chart + around;
	int forms = flame + folded + (options_u64(o, "slowest", 0) != 0);
	const struct {
		bool wrong;
		const char *message;
	} rules[] = {
		{ summary && series, "--summary and --series exclude each other" },
		{ series && name, "--series names the marks: leave out --name" },
		{ options_string(o, "by") && !summary, "--by goes with --summary" },
		{ options_u64(o, "expect", 0) && !series, "--expect goes with --series NAME" },
		{ views > 1, "--waterfall, --chart and --around exclude each other" },
		{ forms > around || (!around && options_string(o, "around-scope")),
		  "--around-scope, --slowest, --flame and --folded go with --around NAME, and of "
		  "the last three one at a time" },
		{ around && name, "--around names the marks: leave out --name" },
		{ (picture || folded) && o->format != FORMAT_TABLE,
		  "--chart, --flame and --folded have a form of their own: use them without "
		  "--json and --csv" },
		{ picture && out_is_terminal(report->out),
		  "a picture does not go to a terminal: name a file with -o FILE" },
		{ o->interval_ns && views,
		  "--interval is for tables of marks: --waterfall, --chart and --around are of a "
		  "whole window" },
		{ views && (summary || series),
		  "--summary, --series, --waterfall, --chart and --around exclude each other" },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (rules[i].wrong)
			return ebt_error_create(EBT_ERR_INVALID, "%s", rules[i].message);
	}
	return NULL;
}

static marks_view_fn *choose_view(const struct options *o)
{
	if (options_flag(o, "summary"))
		return marks_summary;
	if (options_flag(o, "waterfall"))
		return marks_waterfall;
	if (options_flag(o, "chart"))
		return marks_chart;
	if (options_string(o, "around"))
		return marks_around;
	return options_string(o, "series") ? marks_series : marks_table;
}

static struct ebt_error *cmd_marks(struct report *report)
{
	_cleanup_(marks_destroyp) struct marks *marks = NULL;
	struct marks_options query;
	struct ebt_error *err = check_options(report);

	if (err)
		return err;
	marks_query(report->options, &query);
	err = marks_create(report->trace, &query, &marks);
	if (err)
		return err;
	if (!marks_n(marks))
		err = marks_warn_none(report->trace);
	return err ? err : choose_view(report->options)(report, marks);
}

static const char *const summary_keys[] = { "name", "process", NULL };

static const struct option_def marks_options[] = {
	{ "group", OPTION_STRING, "GLOB", "only those of these groups" },
	{ "name", OPTION_STRING, "GLOB", "only those of these names, or GROUP/NAME" },
	{ "min-duration", OPTION_DURATION, "TIME", "only those that took so long" },
	{ "origin", OPTION_CHOICE, "WHICH", "only ebmark, sysprof, tp, uprobe or usdt", origins },
	{ "summary", OPTION_FLAG, NULL, "by group and name: count, sum, median, percentiles" },
	{ "by", OPTION_CHOICE, "WHAT",
	  "with --summary: name (default), or process: of each process for itself", summary_keys },
	{ "by-process", OPTION_GONE, NULL, "--by process" },
	{ "series", OPTION_STRING, "NAME",
	  "over time: how long these took, and from one to the next (a glob: NAME or "
	  "GROUP/NAME)" },
	{ "expect", OPTION_DURATION, "TIME",
	  "with --series: one should come so often; how late each is" },
	{ "waterfall", OPTION_FLAG, NULL, "over time: a line each, nested, with a bar" },
	{ "chart", OPTION_FLAG, NULL, "a picture (SVG, with -o FILE): a lane per group and name" },
	{ "around", OPTION_STRING, "NAME",
	  "what ran, waited and was called during these (a glob: NAME or GROUP/NAME)" },
	{ "around-scope", OPTION_CHOICE, "WHOSE",
	  "with --around, of: the thread of a mark (default), its process, or the system",
	  marks_scopes },
	{ "slowest", OPTION_U64, "N", "with --around: a row for each of the N longest" },
	{ "flame", OPTION_FLAG, NULL,
	  "with --around: a flame graph (SVG): on CPU red, off CPU blue" },
	{ "folded", OPTION_FLAG, NULL, "with --around: folded stacks, ending in _[c] or _[o]" },
	{ 0 },
};

static const char help[] =
	"Marks of programs with ebmark.h (source `mark`) or Sysprof's protocol (`-e\n"
	"sysprof`), and hits of probes (`-e uprobe:…`, `-e usdt:…`, `-e tp:…`) with their\n"
	"arguments as the message. Begin and end belong together by thread, group and name,\n"
	"or by process and key. OPEN says what is not known: `no begin` lasts since the\n"
	"recording or the thread began, `no end` until one of them ended, `cut` until it was\n"
	"seen that it was left. --from, --to and --interval leave what overlaps them.\n"
	"\n"
	"--summary has exact figures, in whole ns, of spans whose begin and end are known\n"
	"(OPEN counts the others): P50 is the middle one, or the mean of the two, P90 and\n"
	"P99 the smallest that so many percent do not exceed.\n"
	"\n"
	"--series shows for each mark GAP, from the beginning of the one before it, of the\n"
	"same process, group and name, to its own; then figures, drawings and histograms of\n"
	"both. With --expect 16.7ms, LATE is by how much GAP is more than that.\n"
	"\n"
	"--waterfall is a line for each, below what it is in, with a bar over time; --top N: the\n"
	"N longest. --chart draws them, a lane for each group and name; where many are too short\n"
	"for the picture they share a box.\n"
	"\n"
	"--around NAME shows what happened during these spans: where the time of their threads\n"
	"went (the states add up to it; what overlaps counts once), system calls, page faults,\n"
	"disk requests, and functions. A call counts with the part of it that is in a span, a\n"
	"request likewise. --slowest N: why each of the N longest took so long. --around-scope\n"
	"process: all threads of the process meanwhile, which is the default where marks came by\n"
	"Sysprof's protocol, as that does not name threads. Calls, faults\n"
	"and requests have to be recorded: -e sample,sched,offcpu,mark,syscalls,fault,block.\n"
	"\n"
	"  ebreport marks t.ebt\n"
	"  ebreport marks --group gtk --sort duration --top 20 t.ebt\n"
	"  ebreport marks --name 'frame*' --min-duration 16ms t.ebt\n"
	"  ebreport marks --summary --sort p99 t.ebt\n"
	"  ebreport marks --series main/dispatch --expect 1ms t.ebt\n"
	"  ebreport marks --waterfall --group gtk --from 2s --to 2.1s t.ebt\n"
	"  ebreport marks --chart -o marks.svg t.ebt\n"
	"  ebreport marks --around frame --min-duration 16ms t.ebt\n"
	"  ebreport marks --around 'gtk/frame*' --slowest 10 t.ebt\n"
	"  ebreport marks --around load --flame -o load.svg t.ebt\n";

const struct command command_marks = {
	.name = "marks",
	.fn = cmd_marks,
	.summary = "what programs say that they do, and what probes see",
	.help = help,
	.options = marks_options,
	.page_options = (const char *const[]){ "summary", NULL },
};
