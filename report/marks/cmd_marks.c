/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport marks: what programs say that they do, and what probes see. */
#include <string.h>

#include "report/cli/command.h"
#include "report/marks/choice.h"
#include "report/marks/views.h"

static const char *const origins[] = { "ebmark", "sysprof", "tp", "uprobe", "usdt", NULL };

static void marks_query(const struct options *o, struct marks_options *ret)
{
	const char *origin = options_string(o, "origin"), *series = options_string(o, "series");

	*ret = (struct marks_options){
		.group = options_string(o, "group"),
		.name = series ? series : options_string(o, "name"),
		.min_ns = options_u64(o, "min-duration", 0),
		.messages = !options_flag(o, "summary"),
	};
	for (unsigned int i = 0; origin && i < MARK_OTHER; i++) {
		if (!strcmp(origin, mark_origin_name(i)))
			ret->origins = 1u << i;
	}
}

static struct ebt_error *check_options(const struct options *o)
{
	bool summary = options_flag(o, "summary");
	bool series = options_string(o, "series") != NULL;

	if (summary && series)
		return ebt_error_create(EBT_ERR_INVALID,
					"--summary and --series exclude each other");
	if (series && options_string(o, "name"))
		return ebt_error_create(EBT_ERR_INVALID,
					"--series names the marks: leave out --name");
	if (options_string(o, "by") && !summary)
		return ebt_error_create(EBT_ERR_INVALID, "--by goes with --summary");
	if (options_u64(o, "expect", 0) && !series)
		return ebt_error_create(EBT_ERR_INVALID, "--expect goes with --series NAME");
	return NULL;
}

static marks_view_fn *choose_view(const struct options *o)
{
	if (options_flag(o, "summary"))
		return marks_summary;
	return options_string(o, "series") ? marks_series : marks_table;
}

static struct ebt_error *cmd_marks(struct report *report)
{
	_cleanup_(marks_destroyp) struct marks *marks = NULL;
	struct marks_options query;
	marks_view_fn *view = choose_view(report->options);
	struct ebt_error *err = check_options(report->options);

	if (err)
		return err;
	marks_query(report->options, &query);
	err = marks_choose_view(report, &query, &view);
	if (err)
		return err;
	err = marks_create(report->trace, &query, &marks);
	if (err)
		return err;
	if (!marks_n(marks))
		err = marks_warn_none(report->trace);
	return err ? err : view(report, marks);
}

static const char *const summary_keys[] = { "name", "process", NULL };

static const struct option_def marks_options[] = {
	{ "group", OPTION_STRING, "GLOB", "only those of these groups", NULL },
	{ "name", OPTION_STRING, "GLOB", "only those of these names, or GROUP/NAME", NULL },
	{ "min-duration", OPTION_DURATION, "TIME", "only those that took so long", NULL },
	{ "origin", OPTION_CHOICE, "WHICH", "only ebmark, sysprof, tp, uprobe or usdt", origins },
	{ "summary", OPTION_FLAG, NULL, "by group and name: count, sum, median, percentiles",
	  NULL },
	{ "by", OPTION_CHOICE, "WHAT",
	  "with --summary: name (default), or process: of each process for itself", summary_keys },
	{ "by-process", OPTION_GONE, NULL, "--by process", NULL },
	{ "series", OPTION_STRING, "NAME",
	  "over time: how long these took, and from one to the next (a glob: NAME or "
	  "GROUP/NAME)",
	  NULL },
	{ "expect", OPTION_DURATION, "TIME",
	  "with --series: one should come so often; how late each is", NULL },
	MARKS_VIEW_OPTIONS,
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_marks = {
	.name = "marks",
	.fn = cmd_marks,
	.summary = "what programs say that they do, and what probes see",
	.help = "Marks of programs with ebmark.h (source `mark`) or Sysprof's protocol (`-e\n"
		"sysprof`), and hits of probes (`-e uprobe:…`, `-e usdt:…`, `-e tp:…`) with their\n"
		"arguments as the message. Begin and end belong together by thread, group and "
		"name,\n"
		"or by process and key. OPEN says what is not known: `no begin` lasts since the\n"
		"recording or the thread began, `no end` until one of them ended, `cut` until it "
		"was\n"
		"seen that it was left. --from, --to and --interval leave what overlaps them.\n"
		"\n"
		"--summary has exact figures, in whole ns, of spans whose begin and end are known\n"
		"(OPEN counts the others): MEDIAN is the middle one, or the mean of the two, P90 "
		"and\n"
		"P99 the smallest that so many percent do not exceed.\n"
		"\n"
		"--series shows for each mark GAP, from the beginning of the one before it, of "
		"the\n"
		"same process, group and name, to its own; then figures, drawings and histograms "
		"of\n"
		"both. With --expect 16.7ms, LATE is by how much GAP is more than that.\n"
		"\n" MARKS_VIEW_HELP "  ebreport marks t.ebt\n"
		"  ebreport marks --group gtk --sort duration --top 20 t.ebt\n"
		"  ebreport marks --name 'frame*' --min-duration 16ms t.ebt\n"
		"  ebreport marks --summary --sort p99 t.ebt\n"
		"  ebreport marks --series main/dispatch --expect 1ms t.ebt\n" MARKS_VIEW_EXAMPLES,
	.options = marks_options,
};
