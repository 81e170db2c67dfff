/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `ebreport overview`, and `ebreport FILE`: one screen that says what ran, where its time went,
 * what was slow or failed, what is missing, and which command tells more of each.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/base/compare.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/stacks/doubts.h"
#include "report/system/model_overview.h"
#include "report/system/overview_events.h"
#include "report/why/words.h"

/* On a screen; JSON and CSV have all. */
#define MOST_FUNCTIONS 4
#define MOST_WAITS     5
#define MOST_CAUSES    3
#define MOST_LOST      2

struct overview_view {
	struct report *report;
	struct trace *trace;
	struct out *out;
	const struct names *names;
	struct overview overview;
	struct overview_events events;
};

static void view_deinit(struct overview_view *v)
{
	overview_deinit(&v->overview);
	overview_events_deinit(&v->events);
}

static bool is_text(const struct overview_view *v)
{
	return out_format(v->out) == FORMAT_TABLE;
}

static bool has(const struct overview_view *v, uint16_t table)
{
	return trace_has_rows(v->trace, table);
}

/* --- what ran --- */

static struct ebt_error *meta(const struct overview_view *v, const char *key, const char **ret)
{
	return ebt_reader_meta(trace_reader(v->trace), key, ret);
}

/* A line no wider than the terminal. */
static void put_line(const struct overview_view *v, struct text *line)
{
	unsigned int width = out_width(v->out);
	const char *s = text_get(line);
	size_t fit = width ? text_fit(s, line->len, width) : line->len;

	if (fit < line->len)
		out_printf(v->out, "%.*s…\n", (int)text_fit(s, line->len, width - 1), s);
	else
		out_printf(v->out, "%s\n", s);
}

/* The command that was recorded, or what else was. */
static struct ebt_error *put_target(const struct overview_view *v)
{
	_cleanup_text_ struct text line = TEXT_INIT;
	const char *kind, *command, *behind;
	struct ebt_error *err =
		meta(v, "target.kind", &kind) ?: meta(v, "ebrec.command_line", &command);

	if (err || !command)
		return err;
	behind = kind && !strcmp(kind, "command") ? strstr(command, " -- ") : NULL;
	if (!behind && kind && !strcmp(kind, "all"))
		text_cstr(&line, "the whole system: ");
	command = behind ? behind + 4 : command;
	text_terminal(&line, ebt_str_of(command));
	put_line(v, &line);
	return text_error(&line);
}

static void add_date(struct text *line, uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	char date[64];
	struct tm tm;

	if (localtime_r(&seconds, &tm) && strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm))
		text_printf(line, ", %s", date);
}

/* On which machine. */
static struct ebt_error *put_machine(const struct overview_view *v)
{
	static const struct {
		const char *key, *before, *behind;
	} parts[] = {
		{ "host.name", " on ", "" },
		{ "host.release", ", Linux ", "" },
		{ "host.machine", " ", "" },
		{ "host.cpus", ", ", " CPUs" },
	};
	_cleanup_text_ struct text line = TEXT_INIT;

	text_duration(&line, trace_window_ns(v->trace));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *value;
		struct ebt_error *err = meta(v, parts[i].key, &value);

		if (err)
			return err;
		if (!value || !*value)
			continue;
		text_cstr(&line, parts[i].before);
		text_terminal(&line, ebt_str_of(value));
		text_cstr(&line, parts[i].behind);
	}
	add_date(&line, ebt_reader_info(trace_reader(v->trace))->start_realtime_ns);
	put_line(v, &line);
	return text_error(&line);
}

static struct ebt_error *put_processes(const struct overview_view *v)
{
	const struct overview *o = &v->overview;
	_cleanup_text_ struct text line = TEXT_INIT;
	uint64_t run_ns = o->places[OVERVIEW_CPU].ns;
	const char *status;
	struct ebt_error *err = meta(v, "end.exit_status", &status);

	if (err)
		return err;
	text_printf(&line, "%" PRIu64 " process%s", v->events.processes,
		    text_plural(v->events.processes, "", "es"));
	if (o->switches)
		text_printf(&line, ", %" PRIu64 " thread%s that ran", o->threads,
			    text_plural(o->threads, "", "s"));
	if (o->ns && (o->switches || o->samples))
		text_printf(&line, ", %.2f CPUs busy", (double)run_ns / (double)o->ns);
	if (status) {
		text_cstr(&line, "; exit status ");
		text_terminal(&line, ebt_str_of(status));
	}
	put_line(v, &line);
	return text_error(&line);
}

static struct ebt_error *put_head(const struct overview_view *v)
{
	return put_target(v) ?: put_machine(v) ?: put_processes(v);
}

/* --- where the time went --- */

struct place_row {
	const char *where, *place, *more;
	const struct overview_place *figures;
	const struct overview_function *function; /* or NULL */
	uint64_t ns, samples;			  /* samples 0: it does not come from any */
};

static double percent(const struct overview_view *v, uint64_t ns)
{
	return v->overview.ns ? (double)ns * 100 / (double)v->overview.ns : 0;
}

#define PLACES(X)                                                                                  \
	X("where", "WHERE THE TIME WENT", OUT_STRING, out_cstr(row->where), OUT_INDENT | OUT_FLEX) \
	X("spent_ns", "TOTAL", OUT_DURATION, out_u64(row->ns))                                     \
	X("window_percent", "%", OUT_PERCENT, out_f64_if(v->overview.ns, percent(v, row->ns)))     \
	X("count", "COUNT", OUT_U64, out_u64_if(figures, figures ? figures->count : 0), 0, 92)     \
	X("max_ns", "MAX", OUT_DURATION,                                                           \
	  out_u64_if(figures && figures->max_ns, figures ? figures->max_ns : 0), OUT_OPTIONAL)     \
	X("most", "MOST OF IT", OUT_STRING, out_str_if(text_str(&most)), OUT_TEXT_ONLY)            \
	X("samples", "SAMPLES", OUT_U64, out_u64_if(row->samples, row->samples), 0, 100)           \
	X("more", "ebreport …", OUT_STRING, out_cstr_if(row->more))                                \
	X("pid", NULL, OUT_U64, out_pid(task), OUT_DETAIL)                                         \
	X("comm", NULL, OUT_STRING, out_comm(task), OUT_DETAIL)                                    \
	X("processes", NULL, OUT_U64, out_u64_if(task, task ? figures->most_processes : 0),        \
	  OUT_DETAIL)                                                                              \
	X("place", NULL, OUT_STRING, out_cstr_if(row->place), OUT_DETAIL)                          \
	X("function", NULL, OUT_STRING, out_cstr_if(function ? function->name : NULL), OUT_DETAIL) \
	X("object", NULL, OUT_STRING, out_cstr_if(function ? function->object : NULL), OUT_DETAIL)

static struct ebt_error *put_place(const struct overview_view *v, const struct place_row *row)
{
	const struct overview_place *figures = row->figures;
	const struct overview_function *function = row->function;
	const struct ebt_task *task = figures ? figures->most : NULL;
	_cleanup_text_ struct text most = TEXT_INIT;

	if (task && figures->most_processes > 1)
		text_program(&most, names_process(v->names, task), figures->most_processes);
	else if (task)
		text_task(&most, names_process(v->names, task), task->pid);
	return text_error(&most) ?: out_row(v->out, function ? 1 : 0, OUT_VALUES(PLACES));
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static struct ebt_error *put_function(const struct overview_view *v,
				      const struct overview_function *function)
{
	_cleanup_text_ struct text where = TEXT_INIT;
	struct place_row row = { .function = function,
				 .ns = function->self_ns,
				 .samples = function->samples };

	text_cstr(&where, function->name[0] ? function->name : "[no name]");
	/* What the recorder did is of no file. */
	if (function->object[0])
		text_printf(&where, " (%s)", file_name(function->object));
	else if (!function->name[0])
		text_cstr(&where, " ([unknown])");
	row.where = text_get(&where);
	return text_error(&where) ?: put_place(v, &row);
}

static struct ebt_error *put_cpu(const struct overview_view *v)
{
	const struct overview *o = &v->overview;
	const struct overview_place *cpu = &o->places[OVERVIEW_CPU];
	const struct place_row row = { .where = "on a CPU",
				       .place = "cpu",
				       .more = o->samples ? "callgraph" : "sched",
				       .figures = o->switches ? cpu : NULL,
				       .ns = cpu->ns,
				       .samples = o->n_samples };
	struct ebt_error *err;

	if (!o->switches && !o->samples)
		return NULL;
	err = put_place(v, &row);
	for (size_t i = 0; !err && i < o->n_functions && (i < MOST_FUNCTIONS || !is_text(v)); i++)
		err = put_function(v, &o->functions[i]);
	return err;
}

/* The command that knows most of what was waited for: of a wait that does not end, where it is. */
static const char *more_of(const struct overview_view *v, enum wait_reason reason)
{
	const uint64_t longest = v->overview.places[OVERVIEW_WAIT + reason].max_ns;

	if (reason == WAIT_RECORDER)
		return NULL;
	if (longest >= v->overview.ns - v->overview.ns / 100 && has(v, EBT_T_thread_stack))
		return "threads";
	if (reason == WAIT_DISK && has(v, EBT_T_block_io))
		return "block";
	if (reason == WAIT_LOCK && (has(v, EBT_T_futex_wait) || has(v, EBT_T_lock_wait)))
		return "locks";
	if (reason == WAIT_NETWORK && has(v, EBT_T_net_transfer))
		return "net";
	return "offcpu --stacks";
}

static struct ebt_error *put_wait(const struct overview_view *v, enum wait_reason reason)
{
	const struct overview_place *figures = &v->overview.places[OVERVIEW_WAIT + reason];
	_cleanup_text_ struct text where = TEXT_INIT;
	struct place_row row = { .place = wait_reason_name(reason),
				 .more = more_of(v, reason),
				 .figures = figures,
				 .ns = figures->ns };

	/* A moment, unless the trace is of a recorder that did not tell when it had begun. */
	if (reason == WAIT_RECORDER && is_text(v) && figures->ns < v->overview.ns / 100)
		return NULL;
	text_printf(&where, "waiting for %s", wait_reason_text(reason));
	row.where = text_get(&where);
	return text_error(&where) ?: put_place(v, &row);
}

static struct ebt_error *put_other_waits(const struct overview_view *v,
					 const enum wait_reason *reasons, size_t n)
{
	struct overview_place figures = { 0 };
	const struct place_row row = { .where = "waiting for other things",
				       .figures = &figures,
				       .more = "offcpu --stacks" };
	struct place_row sum = row;

	for (size_t i = 0; i < n; i++) {
		const struct overview_place *place =
			&v->overview.places[OVERVIEW_WAIT + reasons[i]];

		figures.ns += place->ns;
		figures.count += place->count;
		figures.max_ns = place->max_ns > figures.max_ns ? place->max_ns : figures.max_ns;
	}
	sum.ns = figures.ns;
	/* Only a screen has this line, and it has few: less than 1 % is worth none. */
	return figures.ns && percent(v, figures.ns) >= 1 ? put_place(v, &sum) : NULL;
}

static struct ebt_error *put_waits(const struct overview_view *v)
{
	const struct overview_place *places = v->overview.places;
	enum wait_reason order[WAIT_N_REASONS];
	struct ebt_error *err = NULL;
	size_t shown = 0;

	for (int i = 0; i < WAIT_N_REASONS; i++) {
		int at = i;

		for (;
		     at && places[OVERVIEW_WAIT + i].ns > places[OVERVIEW_WAIT + order[at - 1]].ns;
		     at--)
			order[at] = order[at - 1];
		order[at] = (enum wait_reason)i;
	}
	while (!err && shown < WAIT_N_REASONS && places[OVERVIEW_WAIT + order[shown]].ns &&
	       (shown < MOST_WAITS || !is_text(v)))
		err = put_wait(v, order[shown++]);
	return err ?: put_other_waits(v, order + shown, WAIT_N_REASONS - shown);
}

static struct ebt_error *put_places(struct overview_view *v)
{
	const struct out_table table =
		OUT_TABLE_OF("rows", PLACES, .flags = OUT_KEEP_ORDER, .children = "functions");
	const struct overview *o = &v->overview;
	const struct overview_place *queue = &o->places[OVERVIEW_QUEUE];
	const struct place_row queued = { .where = "waiting for a CPU",
					  .place = "runqueue",
					  .more = "sched",
					  .figures = queue,
					  .ns = queue->ns };
	struct ebt_error *err;

	if (is_text(v) && !o->switches && !o->samples)
		return out_leave_out(v->out, &table);
	out_printf(v->out, "\n");
	err = out_begin(v->out, &table) ?: put_cpu(v);
	if (!err && o->switches)
		err = put_place(v, &queued) ?: put_waits(v);
	return err ?: out_end(v->out);
}

/* --- why it took so long --- */

#define PATH(X)                                                                     \
	X("sentence", "WHY", OUT_STRING, out_cstr(text_get(&line->text)), OUT_FLEX) \
	X("spent_ns", "TOTAL", OUT_DURATION, out_u64(line->ns))                     \
	X("percent", "%", OUT_PERCENT, out_f64(percent_of(line->ns, wall_ns)))      \
	X("more", "ebreport …", OUT_STRING, out_cstr("why"))

static double percent_of(uint64_t ns, uint64_t of)
{
	return of ? (double)ns * 100 / (double)of : 0;
}

static struct ebt_error *put_path_line(const struct overview_view *v, const struct why_line *line,
				       uint64_t wall_ns)
{
	return out_row(v->out, 0, OUT_VALUES(PATH));
}

static struct ebt_error *put_path_lines(const struct overview_view *v, const struct why *why)
{
	const struct out_table table =
		OUT_TABLE_OF("path", PATH, .flags = OUT_FIXED | OUT_KEEP_ORDER);
	struct why_line lines[MOST_CAUSES];
	size_t n = why ? MOST_CAUSES : 0;
	struct ebt_error *err = why ? why_lines(why, v->names, lines, &n) : NULL;

	if (!err && !n && is_text(v))
		return out_leave_out(v->out, &table);
	if (!err && is_text(v))
		out_printf(v->out, "\n");
	if (!err)
		err = out_rows(v->out, &table, n, i,
			       put_path_line(v, &lines[i], why->path.to - why->path.from));
	why_lines_deinit(lines, n);
	return err;
}

static struct ebt_error *put_path(const struct overview_view *v)
{
	_cleanup_(why_destroyp) struct why *why = NULL;
	struct ebt_error *err = why_create_quick(v->trace, v->report->options, false, &why);

	return err ? err : put_path_lines(v, why);
}

/* --- what was slow or failed, and what is missing --- */

#define FINDINGS(X)                                                                   \
	X("text", "SLOW, FAILED OR MISSING", OUT_STRING, out_cstr(e->text), OUT_FLEX) \
	X("more", "ebreport …", OUT_STRING, out_cstr_if(e->more))                     \
	X("kind", NULL, OUT_STRING, out_cstr(e->kind), OUT_DETAIL)                    \
	X("count", NULL, OUT_U64, out_u64_if(e->count, e->count), OUT_DETAIL)         \
	X("max_ns", NULL, OUT_DURATION, out_u64_if(e->max_ns, e->max_ns), OUT_DETAIL)

static struct ebt_error *put_finding(const struct overview_view *v, const struct overview_event *e)
{
	return out_row(v->out, 0, OUT_VALUES(FINDINGS));
}

static struct ebt_error *put_text(const struct overview_view *v, const char *kind, const char *more,
				  struct text *text, uint64_t count)
{
	const struct overview_event e = { kind, more, (char *)text_get(text), count, 0 };

	return text_error(text) ?: put_finding(v, &e);
}

static int compare_losses(const void *a, const void *b)
{
	const struct trace_loss *x = a, *y = b;

	return ebt_compare(y->lost, x->lost);
}

/* What only describes, and what nothing here was made of, is missing elsewhere. */
static struct ebt_error *put_lost(const struct overview_view *v)
{
	_cleanup_free_ struct trace_loss *losses = NULL;
	size_t n;
	struct ebt_error *err = trace_losses(v->trace, LOSSES_OF_EVENTS, &losses, &n);

	if (!err && n)
		qsort(losses, n, sizeof(*losses), compare_losses);
	if (is_text(v))
		trace_tells_losses(v->trace);
	for (size_t i = 0; !err && i < n && (i < MOST_LOST || !is_text(v)); i++) {
		_cleanup_text_ struct text text = TEXT_INIT;

		trace_note_table(v->trace, losses[i].table->id);
		trace_loss_text(&losses[i], &text);
		if (i + 1 == MOST_LOST && n > MOST_LOST && is_text(v))
			text_printf(&text, ", and of %zu more", n - MOST_LOST);
		err = put_text(v, "lost", "info --all", &text, losses[i].lost);
	}
	return err;
}

/* The files that have most of the time without a name. */
static void add_nameless_files(const struct overview_view *v, struct text *text)
{
	const struct overview *o = &v->overview;
	size_t n = 0;

	for (size_t i = 0; i < o->n_functions && n < 3; i++) {
		if (o->functions[i].name[0] || !o->functions[i].object[0])
			continue;
		text_printf(text, "%s%s", n++ ? ", " : " (", file_name(o->functions[i].object));
	}
	text_cstr(text, n ? ")" : "");
}

static struct ebt_error *put_nameless(const struct overview_view *v)
{
	const struct overview *o = &v->overview;
	_cleanup_text_ struct text text = TEXT_INIT;
	double share = o->sampled_ns ? (double)o->nameless_ns * 100 / (double)o->sampled_ns : 0;

	if (share < 1)
		return NULL;
	text_printf(&text, "%.0f %% of CPU time has no name of a function", share);
	add_nameless_files(v, &text);
	return put_text(v, "nameless", "modules", &text, 0);
}

static struct ebt_error *put_few_samples(const struct overview_view *v)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct ebt_error *err = few_samples_text(v->trace, v->overview.n_samples, &text);

	if (err || !text.len)
		return err;
	return put_text(v, "few_samples", NULL, &text, v->overview.n_samples);
}

/* Now and then a CPU is idle for the moment in which a thread goes over to another one. */
static bool has_quota(const struct overview *o)
{
	return o->withheld_ns > o->ns / 20;
}

static struct ebt_error *put_quota(const struct overview_view *v)
{
	const struct overview *o = &v->overview;
	_cleanup_text_ struct text text = TEXT_INIT;

	if (!has_quota(o))
		return NULL;
	text_printf(&text,
		    "a CPU quota (cgroup cpu.max) stopped threads: %" PRIu64 " %s, at least ",
		    o->withheld, text_plural(o->withheld, "time", "times"));
	text_duration(&text, o->withheld_ns);
	return put_text(v, "quota", "sched", &text, o->withheld);
}

/* Who has the CPUs that they wait for is in no trace of some processes. */
static struct ebt_error *put_crowding(const struct overview_view *v)
{
	const struct overview *o = &v->overview;
	const uint64_t run_ns = o->places[OVERVIEW_CPU].ns;
	const uint64_t queue_ns = o->places[OVERVIEW_QUEUE].ns;
	_cleanup_text_ struct text text = TEXT_INIT;
	const char *cpus;
	struct ebt_error *err = meta(v, "host.cpus_online", &cpus);

	if (err || !cpus || !o->partial || has_quota(o) || queue_ns <= run_ns ||
	    queue_ns < o->ns / 10 || (double)run_ns > (double)o->ns * atof(cpus) / 2)
		return err;
	text_cstr(&text, "threads wait for CPUs that others have (ebrec -a shows who), or that the "
			 "cpu.max of their cgroup withholds");
	return put_text(v, "crowding", NULL, &text, 0);
}

/* Of the sources that this report would have used. */
static struct ebt_error *put_absent(const struct overview_view *v)
{
	static const char *const used[] = { "sample", "sched", "offcpu", "syscalls",
					    "block",  "net",   "lock" };
	_cleanup_text_ struct text text = TEXT_INIT;
	struct ebt_error *err = NULL;
	uint64_t n = 0;

	/* A trace may not say what was on. */
	if (!has(v, EBT_T_source))
		return NULL;
	for (size_t i = 0; !err && i < sizeof(used) / sizeof(used[0]); i++) {
		bool on;

		err = trace_source_is_on(v->trace, used[i], &on);
		if (!err && !on)
			text_printf(&text, "%s%s", n++ ? ", " : "not recorded: ", used[i]);
	}
	if (err || !n)
		return err;
	text_cstr(&text, " (ebrec -e default,…)");
	return put_text(v, "not_recorded", "info", &text, n);
}

static struct ebt_error *put_findings(struct overview_view *v)
{
	const struct out_table table =
		OUT_TABLE_OF("findings", FINDINGS, .flags = OUT_FIXED | OUT_KEEP_ORDER);
	struct ebt_error *err;

	out_printf(v->out, "\n");
	err = out_begin(v->out, &table);
	for (size_t i = 0; !err && i < v->events.n; i++)
		err = put_finding(v, &v->events.list[i]);
	if (err)
		return err;
	return put_lost(v)	  ?:
	       put_nameless(v)	  ?:
	       put_few_samples(v) ?:
	       put_quota(v)	  ?:
	       put_crowding(v)	  ?:
	       put_absent(v)	  ?:
	       out_end(v->out);
}

/* --- the command --- */

static struct ebt_error *cmd_overview(struct report *report)
{
	__attribute__((cleanup(view_deinit))) struct overview_view v = { .report = report,
									 .trace = report->trace,
									 .out = report->out };

	out_leaves_out(v.out, "the waits of ");
	return trace_names(v.trace, &v.names)	       ?:
	       overview_read(v.trace, &v.overview)     ?:
	       overview_events_read(v.trace, &v.events) ?:
	       (is_text(&v) ? put_head(&v) : NULL)     ?:
	       put_places(&v)			       ?:
	       put_path(&v)			       ?:
	       put_findings(&v);
}

const struct command command_overview = {
	.name = "overview",
	.fn = cmd_overview,
	.flags = COMMAND_NO_INTERVALS | COMMAND_NOT_IN_PAGE,
	.summary = "one screen: where the time went, what failed, where to look next",
	.help = "  ebreport                        of trace.ebt in this folder\n"
		"  ebreport t.ebt                  the same of t.ebt\n"
		"  ebreport overview --pid 1234 --from 2s t.ebt\n"
		"\n"
		"Time is that of all threads that ran, in percent of the recording: 200 % on a CPU "
		"are\n"
		"two CPUs. Threads of the kernel count on a CPU, and with --kernel-threads where "
		"they\n"
		"wait. What a thread waited for is told by the function of the kernel in which it\n"
		"stopped (-e offcpu). MOST OF IT is the program that most of it was: a process, or "
		"as\n"
		"400 × sed, where none of its processes alone has half of that. The last column is "
		"the\n"
		"command that tells more; JSON and CSV have all functions and reasons. WHY is what "
		"the\n"
		"command took so long for: the longest causes on its critical path, of traces of "
		"up to\n"
		"a million switches.\n",
	.options = NULL,
};
