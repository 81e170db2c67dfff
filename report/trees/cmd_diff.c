/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport diff`: which functions take more or less time in one trace than in another. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/stacks/model_diff.h"
#include "report/stacks/out_svg.h"
#include "report/trees/feed.h"

/* Without --all, in text: what is below this share before and after is noise. */
#define MIN_PERCENT 0.5

/* One of the two traces. */
struct tree_side {
	const char *file;
	struct trace *trace;
	struct tree_feed feed;
	uint64_t total, duration;
};

struct comparison {
	struct report *report;
	struct options other; /* those of the second trace: the same but for the file */
	struct trace *opened; /* the second trace */
	struct tree_side before, after;
	double scale; /* what weights before are multiplied by */
	struct diff *diff;
};

static void comparison_deinit(struct comparison *c)
{
	diff_destroy(c->diff);
	tree_feed_deinit(&c->before.feed);
	tree_feed_deinit(&c->after.feed);
	trace_close(c->opened);
}

/* --- reading --- */

static struct ebt_error *read_side(struct comparison *c, struct tree_side *side)
{
	struct ebt_error *err;

	err = tree_feed_read(side->trace, c->report->options, &side->feed);
	if (err)
		return ebt_error_prefix(err, "%s", side->file);
	side->total = calltree_total(side->feed.tree);
	side->duration = trace_window_ns(side->trace);
	return NULL;
}

/* What is to be said about the second trace is said with that of the first. */
static struct ebt_error *take_warnings(const struct comparison *c)
{
	const char *const *warnings;
	struct ebt_error *err;
	size_t n;

	err = trace_warnings(c->after.trace, &warnings, &n);
	for (size_t i = 0; !err && i < n; i++)
		err = trace_warn(c->report->trace, "%s: %s", c->after.file, warnings[i]);
	return err;
}

static double ratio(uint64_t after, uint64_t before)
{
	return before && after ? (double)after / (double)before : 1;
}

static struct diff_side diff_side(const struct tree_side *side, double scale)
{
	bool sampled = !side->feed.offcpu && side->feed.stacks;

	return (struct diff_side){
		.tree = side->feed.tree,
		.scale = scale,
		.sample = sampled ? (double)side->total / (double)side->feed.stacks : 0,
	};
}

static struct ebt_error *compare(struct comparison *c)
{
	const char *by = options_string(c->report->options, "by");
	const char *per = options_string(c->report->options, "per");
	struct diff_side before, after;

	c->scale = 1;
	if (per && !strcmp(per, "total"))
		c->scale = ratio(c->after.total, c->before.total);
	else if (per && !strcmp(per, "duration"))
		c->scale = ratio(c->after.duration, c->before.duration);
	before = diff_side(&c->before, c->scale);
	after = diff_side(&c->after, 1);
	return diff_create(&before, &after, by && !strcmp(by, "total"), &c->diff);
}

static struct ebt_error *check_hosts(const struct comparison *c)
{
	if (trace_n_hosts(c->opened) && !c->other.host)
		return trace_choose_one(c->opened, "two traces are compared, each of one");
	if (c->other.host && !trace_n_hosts(c->opened) && !trace_n_hosts(c->report->trace))
		return ebt_error_create(EBT_ERR_INVALID,
					"%s and %s are of one machine each: --host does not apply",
					c->before.file, c->after.file);
	return NULL;
}

static struct ebt_error *read_both(struct comparison *c)
{
	struct ebt_error *err;

	c->before.file = c->report->options->file;
	c->before.trace = c->report->trace;
	c->after.file = c->report->options->words[0];
	c->other = *c->report->options;
	c->other.file = c->after.file;
	err = trace_open(&c->other, &c->opened);
	c->after.trace = c->opened;
	err = err ?: check_hosts(c);
	if (!err)
		err = read_side(c, &c->before);
	if (!err)
		err = read_side(c, &c->after);
	if (!err)
		err = take_warnings(c);
	return err ? err : compare(c);
}

/* --- tables --- */

#define TRACES(X)                                                                \
	X("trace", "TRACE", OUT_STRING, out_cstr(name))                          \
	X("total_ns", "TOTAL", OUT_DURATION, out_u64(side->total))               \
	X("duration_ns", "OF", OUT_DURATION, out_u64(side->duration))            \
	X("stack_count", "STACKS", OUT_U64, out_u64(side->feed.stacks))          \
	X("scale", "TIMES", OUT_FLOAT, scale == 1 ? out_null() : out_f64(scale)) \
	X("file", "FILE", OUT_STRING, out_cstr(side->file), OUT_FLEX)

static struct ebt_error *put_trace(struct comparison *c, const char *name,
				   const struct tree_side *side, double scale)
{
	return out_row(c->report->out, 0, OUT_VALUES(TRACES));
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static bool is_shown(const struct comparison *c, const struct diff_func *func)
{
	return out_format(c->report->out) != FORMAT_TABLE ||
	       options_flag(c->report->options, "all") ||
	       percent(func->before, (double)c->before.total * c->scale) >= MIN_PERCENT ||
	       percent(func->after, (double)c->after.total) >= MIN_PERCENT;
}

static const char *note(const struct diff_func *func)
{
	if (diff_within_error(func->after - func->before, func->error))
		return "within sampling error";
	if (func->before <= 0)
		return "new";
	return func->after <= 0 ? "gone" : "";
}

#define FUNCTIONS(X)                                                                               \
	X("before_ns", "BEFORE", OUT_DURATION, out_u64((uint64_t)(func->before + 0.5)))            \
	X("after_ns", "AFTER", OUT_DURATION, out_u64((uint64_t)(func->after + 0.5)))               \
	X("change", "CHANGE", OUT_STRING, out_str(text_str(&absolute)), OUT_TEXT_ONLY | OUT_RIGHT) \
	X("change_ns", "CHANGE", OUT_I64, out_i64((int64_t)change), OUT_DETAIL)                    \
	X("relative", "CHANGE-%", OUT_STRING, out_str(text_str(&relative)),                        \
	  OUT_TEXT_ONLY | OUT_RIGHT)                                                               \
	X("change_percent", "CHANGE-%", OUT_FLOAT,                                                 \
	  func->before > 0 ? out_f64(100 * change / func->before) : out_null(), OUT_DETAIL)        \
	X("before_percent", "BEFORE-%", OUT_PERCENT,                                               \
	  out_f64(percent(func->before, (double)c->before.total * c->scale)), OUT_DETAIL)          \
	X("after_percent", "AFTER-%", OUT_PERCENT,                                                 \
	  out_f64(percent(func->after, (double)c->after.total)), OUT_DETAIL)                       \
	X("error_ns", "ERROR", OUT_DURATION,                                                       \
	  func->error > 0 ? out_u64((uint64_t)func->error) : out_null(), OUT_DETAIL)               \
	X("within_error", "WITHIN", OUT_BOOL, out_u64(diff_within_error(change, func->error)),     \
	  OUT_DETAIL)                                                                              \
	X("note", "NOTE", OUT_STRING, out_cstr(note(func)), OUT_TEXT_ONLY)                         \
	X("function", "FUNCTION", OUT_STRING, out_cstr(func->name), OUT_NAME)                      \
	X("object", "OBJECT", OUT_STRING, out_cstr(object), OUT_FLEX)

static struct ebt_error *put_func(struct comparison *c, const struct diff_func *func)
{
	double change = func->after - func->before;
	_cleanup_text_ struct text absolute = TEXT_INIT, relative = TEXT_INIT;
	const char *object = func->object, *slash = strrchr(object, '/');

	text_addc(&absolute, change < 0 ? '-' : '+');
	text_duration(&absolute, (uint64_t)fabs(change));
	if (func->before > 0)
		text_printf(&relative, "%+.1f %%", 100 * change / func->before);
	if (slash && out_format(c->report->out) == FORMAT_TABLE)
		object = slash + 1;
	return out_row(c->report->out, 0, OUT_VALUES(FUNCTIONS));
}

static struct ebt_error *put_tables(struct comparison *c)
{
	const struct out_table traces =
		OUT_TABLE_OF("traces", TRACES, .flags = OUT_FIXED | OUT_KEEP_ORDER);
	const struct out_table table = OUT_TABLE_OF("rows", FUNCTIONS, .flags = OUT_KEEP_ORDER);
	struct out *out = c->report->out;
	size_t n, hidden = 0;
	const struct diff_func *funcs = diff_funcs(c->diff, &n);
	struct ebt_error *err =
		out_begin(out, &traces) ?:
		put_trace(c, "before", &c->before, c->scale) ?:
		put_trace(c, "after", &c->after, 1) ?:
		out_end(out);

	out_printf(out, "\n");
	if (!err)
		err = out_begin(out, &table);
	for (size_t i = 0; !err && i < n; i++) {
		if (is_shown(c, &funcs[i]))
			err = put_func(c, &funcs[i]);
		else
			hidden++;
	}
	if (!err)
		err = out_end(out);
	if (!err && hidden)
		out_printf(out, "\n%zu %s below %g %% %s not shown: --all\n", hidden,
			   text_plural(hidden, "function", "functions"), MIN_PERCENT,
			   text_plural(hidden, "is", "are"));
	return err;
}

/* --- picture --- */

static void describe(struct text *line, const struct tree_side *side, const char *name)
{
	text_printf(line, "%s: ", name);
	text_duration(line, side->total);
	text_cstr(line, " in ");
	text_duration(line, side->duration);
	text_printf(line, ", %" PRIu64 " %s, %s", side->feed.stacks,
		    side->feed.offcpu ? "intervals" : "samples", side->file);
}

static struct ebt_error *put_flame(struct comparison *c)
{
	bool narrow = options_flag(c->report->options, "before");
	_cleanup_text_ struct text before = TEXT_INIT, after = TEXT_INIT;
	_cleanup_free_ double *changes = NULL, *errors = NULL;
	const char *lines[2];
	struct svg_flame flame = {
		.tree = narrow ? c->before.feed.tree : c->after.feed.tree,
		.title = narrow ? "What changed; widths are those before"
				: "What changed; widths are those after",
		.lines = lines,
		.n_lines = 2,
		.icicle = options_flag(c->report->options, "icicle"),
	};
	struct ebt_error *err = diff_nodes(c->diff, !narrow, &changes, &errors);

	describe(&before, &c->before, "before");
	describe(&after, &c->after, "after");
	if (!err)
		err = text_error(&before);
	if (!err)
		err = text_error(&after);
	if (!err)
		err = trace_warnings(c->report->trace, &flame.warnings, &flame.n_warnings);
	if (err)
		return err;
	if (flame.n_warnings > 6)
		flame.n_warnings = 6;
	lines[0] = text_get(&before);
	lines[1] = text_get(&after);
	flame.changes = changes;
	flame.errors = errors;
	return svg_write_flame(out_file(c->report->out), &flame);
}

static struct ebt_error *check(const struct report *report)
{
	const struct options *options = report->options;

	if (!options_flag(options, "flame")) {
		if (options_flag(options, "before") || options_flag(options, "icicle"))
			return ebt_error_create(EBT_ERR_INVALID,
						"--before and --icicle are for --flame");
		return NULL;
	}
	if (options->format != FORMAT_TABLE || options->sort || options->top)
		return ebt_error_create(EBT_ERR_INVALID,
					"--flame is no table: --json, --csv, --sort and --top do "
					"not apply");
	if (out_is_terminal(report->out))
		return ebt_error_create(EBT_ERR_INVALID,
					"--flame does not write to a terminal: use -o FILE or a "
					"pipe");
	return NULL;
}

static struct ebt_error *run_diff(struct report *report)
{
	__attribute__((cleanup(comparison_deinit))) struct comparison c = { .report = report };
	struct ebt_error *err = check(report) ?: read_both(&c);

	if (err)
		return err;
	return options_flag(report->options, "flame") ? put_flame(&c) : put_tables(&c);
}

static const char *const bys[] = { "self", "total", NULL };
static const char *const pers[] = { "nothing", "total", "duration", NULL };

static const struct option_def diff_options[] = {
	{ "event", OPTION_CHOICE, "EVENT", "what to weigh: cpu (samples, default) or offcpu",
	  tree_feed_events },
	{ "min", OPTION_DURATION, "TIME", "with --event offcpu: leave shorter intervals out" },
	{ "no-recorder", OPTION_FLAG, NULL,
	  "without samples of what the recorder did itself, below [ebrec]" },
	{ "by", OPTION_CHOICE, "WHAT", "time of functions: self (default) or total", bys },
	{ "per", OPTION_CHOICE, "WHAT",
	  "compare shares of the total time, or time per duration: nothing (default), total, "
	  "duration",
	  pers },
	{ "all", OPTION_FLAG, NULL, "also what is below 0.5 % before and after" },
	{ "flame", OPTION_FLAG, NULL, "a flame graph (SVG) coloured by what changed" },
	{ "before", OPTION_FLAG, NULL, "with --flame: frames as wide as before, not after" },
	{ "icicle", OPTION_FLAG, NULL, "with --flame: the first frame at the top" },
	{ 0 },
};

static const char help[] =
	"Functions are matched by name and by the name of their object's file. A change is within\n"
	"sampling error if it is less than 2.58 times its standard error, samples being counted "
	"as\n"
	"events of chance: of 100 functions that did not change, one changes by more. Runs that\n"
	"did not do the same work are compared with --per total. Filters hold for both traces.\n"
	"With --flame, frames that take more are red, those that take less are blue.\n"
	"\n"
	"  ebreport diff before.ebt after.ebt\n"
	"  ebreport diff before.ebt after.ebt --flame -o diff.svg\n";

const struct command command_diff = {
	.name = "diff",
	.fn = run_diff,
	.flags = COMMAND_NO_INTERVALS | COMMAND_COMPARES,
	.summary = "functions in two traces: before, after, and the change",
	.help = help,
	.options = diff_options,
	.words = "FILE",
	.min_words = 1,
	.max_words = 1,
};
