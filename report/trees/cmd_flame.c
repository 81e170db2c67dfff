/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport flame`: an interactive flame graph. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/base/cleanup.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/stacks/out_svg.h"
#include "report/trees/feed.h"
#include "report/trees/from_sql.h"

#define MAX_WARNINGS 6

static struct ebt_error *meta(struct trace *trace, const char *key, const char *otherwise,
			      const char **ret)
{
	const char *value;
	struct ebt_error *err = ebt_reader_meta(trace_reader(trace), key, &value);

	if (!err)
		*ret = value ? value : otherwise;
	return err;
}

static struct ebt_error *make_title(struct trace *trace, const struct tree_feed *feed,
				    struct text *title)
{
	const char *command;
	struct ebt_error *err = meta(trace, "ebrec.command_line", "", &command);

	if (err)
		return err;
	if (feed->table)
		text_printf(title, "%s of %s", feed->weight ? feed->weight : "Rows", feed->table);
	else
		text_cstr(title, feed->offcpu ? "Time off CPU" : "Time on CPU");
	if (command[0])
		text_printf(title, ": %s", command);
	return text_error(title);
}

static struct ebt_error *describe_host(struct trace *trace, struct text *line)
{
	const struct ebt_reader_info *info = ebt_reader_info(trace_reader(trace));
	time_t began = (time_t)(info->start_realtime_ns / 1000000000);
	const char *name, *release, *machine;
	struct tm tm;
	char when[40];
	struct ebt_error *err;

	err = meta(trace, "host.name", "unknown host", &name) ?:
	      meta(trace, "host.release", "", &release) ?:
	      meta(trace, "host.machine", "", &machine);
	if (err)
		return err;
	text_printf(line, "%s, Linux %s %s", name, release, machine);
	if (gmtime_r(&began, &tm) && strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm))
		text_printf(line, ", %s", when);
	return text_error(line);
}

static struct ebt_error *count_lost(struct trace *trace, uint64_t *ret)
{
	_cleanup_free_ struct trace_loss *losses = NULL;
	uint64_t lost = 0;
	size_t n;
	struct ebt_error *err = trace_losses(trace, LOSSES_OF_READ, &losses, &n);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		lost += losses[i].lost;
	*ret = lost;
	return NULL;
}

static struct ebt_error *describe_stacks(struct trace *trace, const struct tree_feed *feed,
					 struct text *line)
{
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(feed->tree, &n);
	const char *event;
	uint64_t freq, lost;
	struct ebt_error *err;

	err = tree_feed_sampling(trace, &event, &freq) ?: count_lost(trace, &lost);
	if (err)
		return err;
	text_amount(line, nodes[0].total, feed->unit);
	text_cstr(line, " in ");
	text_duration(line, trace_window_ns(trace));
	if (feed->table) {
		text_printf(line, ", %" PRIu64 " %s of %s", feed->stacks,
			    text_plural(feed->stacks, "row", "rows"), feed->table);
	} else if (feed->offcpu) {
		text_printf(line, ", %" PRIu64 " %s", feed->stacks,
			    text_plural(feed->stacks, "interval", "intervals"));
		if (feed->open)
			text_printf(line, ", %" PRIu64 " of them open at a bound", feed->open);
	} else {
		text_printf(line, ", %" PRIu64 " %s", feed->stacks,
			    text_plural(feed->stacks, "sample", "samples"));
		if (event)
			text_printf(line, " of %s", event);
		if (freq)
			text_printf(line, " at %" PRIu64 " Hz", freq);
	}
	text_printf(line, ", %" PRIu64 " lost", lost);
	return text_error(line);
}

static struct ebt_error *add_categories(const struct options *options, const struct tree_feed *feed,
					struct tree_categories *categories, struct svg_flame *flame)
{
	const char *color = options_string(options, "color");
	struct ebt_error *err;

	/* Bottom up, a function has other callers in each stack below it: it stands for itself. */
	err = tree_categories_make(feed->tree, feed->categories,
				   !options_flag(options, "bottom-up"), categories);
	if (err)
		return err;
	flame->node_categories = categories->stack;
	flame->categories = feed->categories;
	flame->category_sums = feed->category_sums;
	flame->by_category = color && strcmp(color, "category") == 0;
	return NULL;
}

/* What of the options is of a trace. */
static struct ebt_error *check_from_sql(const struct options *options)
{
	if (options->pids.n || options->tids.n || options->comms.n || options->cpu_first.n ||
	    options->from.set || options->to.set || options->host || options->kernel_threads)
		return ebt_error_create(EBT_ERR_INVALID,
					"what chooses a part is of a trace: not with --from-sql");
	for (const struct option_def *o = options->command->options; o->name; o++) {
		if (!cli_has_word("icicle title weight from-sql", o->name) &&
		    (options_flag(options, o->name) || options_string(options, o->name)))
			return ebt_error_create(EBT_ERR_INVALID,
						"--%s is of a trace: not with --from-sql", o->name);
	}
	return NULL;
}

static struct ebt_error *flame_from_sql(const struct report *report)
{
	const struct options *options = report->options;
	_cleanup_from_sql_ struct from_sql s = { 0 };
	_cleanup_text_ struct text title = TEXT_INIT, about = TEXT_INIT;
	const char *line;
	struct svg_flame flame = {
		.lines = &line,
		.n_lines = 1,
		.unit = options_string(options, "weight"),
		.title = options_string(options, "title"),
		.icicle = options_flag(options, "icicle"),
	};
	struct ebt_error *err = check_from_sql(options) ?: from_sql_read(options->file, &s);

	if (err)
		return err;
	text_printf(&title, "Stacks of %s", options->file);
	text_amount(&about, calltree_total(s.tree), flame.unit ? flame.unit : "ns");
	text_printf(&about, " in %" PRIu64 " %s", s.lines, text_plural(s.lines, "line", "lines"));
	if (s.changes)
		text_cstr(&about, ", red: more than before, blue: less");
	line = text_get(&about);
	flame.title = flame.title ? flame.title : text_get(&title);
	flame.tree = s.tree;
	flame.changes = s.changes;
	flame.errors = s.errors;
	return text_error(&title) ?: text_error(&about) ?:
	       svg_write_flame(out_file(report->out), &flame);
}

static struct ebt_error *run_flame(struct report *report)
{
	_cleanup_tree_feed_ struct tree_feed feed = { 0 };
	_cleanup_text_ struct text title = TEXT_INIT, host = TEXT_INIT, stacks = TEXT_INIT;
	const char *lines[2];
	_cleanup_tree_categories_ struct tree_categories categories = { 0 };
	struct svg_flame flame = { .lines = lines, .n_lines = 2 };
	struct ebt_error *err;

	if (options_flag(report->options, "from-sql"))
		return flame_from_sql(report);
	err = tree_feed_read(report->trace, report->options, &feed) ?:
	      make_title(report->trace, &feed, &title) ?:
	      describe_host(report->trace, &host) ?:
	      describe_stacks(report->trace, &feed, &stacks);
	if (!err)
		err = trace_warnings(report->trace, &flame.warnings, &flame.n_warnings);
	if (!err && feed.categories)
		err = add_categories(report->options, &feed, &categories, &flame);
	if (err)
		return err;
	if (flame.n_warnings > MAX_WARNINGS)
		flame.n_warnings = MAX_WARNINGS;
	flame.tree = feed.tree;
	flame.unit = feed.unit;
	flame.title = options_string(report->options, "title");
	if (!flame.title)
		flame.title = text_get(&title);
	lines[0] = text_get(&host);
	lines[1] = text_get(&stacks);
	flame.icicle = options_flag(report->options, "icicle");
	return svg_write_flame(out_file(report->out), &flame);
}

static const char *const colors[] = { "kind", "category", NULL };

static const struct option_def flame_options[] = {
	TREE_FEED_OPTIONS,
	{ "color", OPTION_CHOICE, "WHAT",
	  "frames are coloured by their kind of code (kind, default) or of work (category)",
	  colors },
	{ "left-heavy", OPTION_FLAG, NULL, "the widest frame first, instead of by name" },
	{ "icicle", OPTION_FLAG, NULL, "the first frame at the top" },
	{ "from-sql", OPTION_FLAG, NULL,
	  "FILE is no trace: a stack and a weight, or two, a line; --weight says of what unit" },
	{ "title", OPTION_STRING, "TEXT", "instead of the recorder's command line" },
	{ 0 },
};

static const char help[] =
	"One SVG file that needs nothing else; open it in a browser. A click on a frame zooms,\n"
	"Ctrl-F searches and says how much matched, Escape goes back; arrow keys and Enter\n"
	"do the same without a mouse, `i` turns it over. The width of a frame is its share of\n"
	"the time, colours tell kinds of code, or with --color category what it was doing\n"
	"(`ebreport callgraph --help` has more about categories).\n"
	"\n"
	"--event takes the name of any table that has stacks (`ebreport dump --schema` lists\n"
	"them), and --weight one of its numbers: time, bytes, or just rows. It also takes probes,\n"
	"as they were written for `ebrec -e`, without arguments: uprobe:libc.so.6:malloc; * and ?\n"
	"stand for several, and what is before a name may be left out: malloc.\n"
	"\n"
	"With --from-sql FILE is what a query of stacks answered (docs/FLEET.md): frames with\n"
	"semicolons between them, outermost first, a tab and a weight; or as `folded` has it,\n"
	"with a space. Of two weights the picture is of the second, and its colours tell how\n"
	"much more or less that is than the first.\n"
	"\n"
	"  ebreport flame -o cpu.svg t.ebt\n"
	"  ebreport flame --color category --by program -o build.svg t.ebt\n"
	"  ebreport flame --event fault --weight rows -o faults.svg t.ebt\n"
	"  ebreport flame --event tp:block:block_rq_issue -o requests.svg t.ebt\n"
	"  ebreport flame --event offcpu --min 1ms --comm 'nginx*' -o off.svg t.ebt\n"
	"  ebreport flame --event offcpu --files --by none --bottom-up -o files.svg t.ebt\n";

const struct command command_flame = {
	.name = "flame",
	.fn = run_flame,
	.flags = COMMAND_NO_TERMINAL | COMMAND_NO_TABLES | COMMAND_PICTURE,
	.summary = "interactive flame graph (SVG)",
	.elsewhere = "flamegraph",
	.help = help,
	.options = flame_options,
	.opens_with = "from-sql",
};
