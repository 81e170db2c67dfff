/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport logs: lines that programs wrote, and those of the journal. */
#include <fnmatch.h>
#include <inttypes.h>
#include <regex.h>
#include <string.h>

#include "format/schema/schema.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/trace/trace.h"

struct logs_view {
	struct report *report;
	uint64_t severity; /* at least, which is at most */
	const char *origin, *domain;
	regex_t grep;
	bool has_grep;
	uint64_t shown;
	struct text message, line;
};

/* One line, as both kinds of output have it. */
struct log_entry {
	uint64_t time, severity, cut;
	const struct ebt_task *task;
	uint64_t pid;
	const char *severity_name, *origin; /* NULL: this file has no name for it */
	struct ebt_str domain, message;
};

static void view_deinit(struct logs_view *v)
{
	if (v->has_grep)
		regfree(&v->grep);
	text_deinit(&v->message);
	text_deinit(&v->line);
}

static void read_entry(const struct ebt_row *row, struct log_entry *ret)
{
	uint64_t late = ebt_log_late(row);

	*ret = (struct log_entry){
		.time = row->time > late ? row->time - late : 0,
		.severity = ebt_log_severity(row),
		.cut = ebt_log_cut(row),
		.task = ebt_log_task(row),
		.pid = ebt_log_pid(row),
		.severity_name = ebt_row_value_name(row, EBT_F_log_severity),
		.origin = ebt_row_value_name(row, EBT_F_log_origin),
		.domain = ebt_log_domain(row),
		.message = ebt_log_message(row),
	};
	if (!ret->pid && ret->task)
		ret->pid = ret->task->pid ? ret->task->pid : ret->task->tid;
}

/* --- filters --- */

static bool domain_matches(const char *glob, struct ebt_str domain)
{
	_cleanup_free_ char *text = strndup(domain.data, domain.len);

	return text && !fnmatch(glob, text, 0);
}

/* --grep looks at what is shown. */
static bool is_wanted(struct logs_view *v, const struct log_entry *e)
{
	/* A line may be read long after it was written: --from and --to go by the time that is
	 * shown. */
	if (!trace_overlaps(v->report->trace, e->time, e->time))
		return false;
	if (v->severity < EBT_V_log_severity_none && e->severity > v->severity)
		return false;
	if (v->origin && (!e->origin || strcmp(v->origin, e->origin)))
		return false;
	if (v->domain && !domain_matches(v->domain, e->domain))
		return false;
	if (!v->has_grep)
		return true;
	text_clear(&v->message);
	text_terminal(&v->message, e->message);
	return !regexec(&v->grep, text_get(&v->message), 0, NULL, 0);
}

/* --- for people --- */

#define TEXT_COLUMNS "%14s  %-24s %-9s  %-7s  "

static void put_header(const struct logs_view *v)
{
	FILE *f = out_file(v->report->out);
	bool colors = out_colors(v->report->out);

	fprintf(f, "%s" TEXT_COLUMNS "%s%s\n", colors ? "\033[1m" : "", "TIME", "PROCESS",
		"SEVERITY", "ORIGIN", "DOMAIN: MESSAGE", colors ? "\033[0m" : "");
}

/* name[pid], name[pid/tid] of other threads. */
static void add_process(struct text *text, const struct log_entry *e)
{
	const struct ebt_task *task = e->task;

	if (task)
		text_terminal(text, task->comm);
	if (e->pid)
		text_printf(text, "[%" PRIu64, e->pid);
	if (e->pid && task && task->tid != e->pid)
		text_printf(text, "/%" PRIu32, task->tid);
	if (e->pid)
		text_addc(text, ']');
}

static const char *color_of(const struct logs_view *v, const struct log_entry *e)
{
	if (!out_colors(v->report->out))
		return NULL;
	if (e->severity <= EBT_V_log_severity_error)
		return "\033[31m";
	if (e->severity == EBT_V_log_severity_warning)
		return "\033[33m";
	return e->severity > EBT_V_log_severity_info && e->severity < EBT_V_log_severity_none
		       ? "\033[2m"
		       : NULL;
}

static struct ebt_error *put_line(struct logs_view *v, const struct log_entry *e)
{
	_cleanup_text_ struct text time = TEXT_INIT, process = TEXT_INIT, severity = TEXT_INIT;
	FILE *f = out_file(v->report->out);
	const char *color = color_of(v, e);

	text_seconds(&time, e->time, trace_start_ns(v->report->trace));
	add_process(&process, e);
	if (e->severity_name)
		text_cstr(&severity,
			  e->severity == EBT_V_log_severity_none ? "" : e->severity_name);
	else
		text_u64(&severity, e->severity);
	text_clear(&v->line);
	text_terminal(&v->line, e->domain);
	if (e->domain.len)
		text_cstr(&v->line, ": ");
	text_terminal(&v->line, e->message);
	if (e->cut)
		text_printf(&v->line, "… (%" PRIu64 " %s more)", e->cut,
			    text_plural(e->cut, "byte", "bytes"));
	fprintf(f, "%s" TEXT_COLUMNS "%s%s\n", color ? color : "", text_get(&time),
		text_get(&process), text_get(&severity), e->origin ? e->origin : "?",
		text_get(&v->line), color ? "\033[0m" : "");
	return text_error(&v->line);
}

/* --- tables --- */

#define LINES(X)                                                                       \
	X("time_ns", "TIME", OUT_TIME, out_u64(e->time), OUT_BEGINS)                   \
	X("pid", "PID", OUT_U64, out_u64_if(e->pid, e->pid))                           \
	X("tid", "TID", OUT_U64, out_tid(e->task))                                     \
	X("comm", "COMM", OUT_STRING, out_comm(e->task))                               \
	X("severity", "SEVERITY", OUT_STRING,                                          \
	  out_cstr(e->severity_name ? e->severity_name : severity))                    \
	X("origin", "ORIGIN", OUT_STRING, out_cstr(e->origin ? e->origin : "unknown")) \
	X("domain", "DOMAIN", OUT_STRING, out_str_if(e->domain))                       \
	X("message", "MESSAGE", OUT_STRING, out_str(e->message))                       \
	X("cut", "CUT", OUT_U64, out_u64_if(e->cut, e->cut))

static const struct out_table table = OUT_TABLE_OF("rows", LINES, .flags = OUT_STREAM);

static struct ebt_error *put_row(const struct logs_view *v, const struct log_entry *e)
{
	char severity[24];

	snprintf(severity, sizeof(severity), "%" PRIu64, e->severity);
	return out_row(v->report->out, 0, OUT_VALUES(LINES));
}

/* --- */

static struct ebt_error *warn_none(struct trace *trace)
{
	if (ebt_reader_has_rows(trace_reader(trace), EBT_T_log))
		return trace_warn(trace, "no lines that pass the filters");
	return trace_warn(trace, "the trace has no lines: the command's output makes them "
				 "(ebrec --capture-output), the journal (-e journal), and programs "
				 "with ebmark.h or Sysprof's protocol (-e sysprof)");
}

static struct ebt_error *put_entry(void *arg, const struct ebt_row *row)
{
	struct logs_view *v = arg;
	struct log_entry entry;
	struct ebt_error *err;

	read_entry(row, &entry);
	if (!is_wanted(v, &entry))
		return NULL;
	err = out_format(v->report->out) == FORMAT_TABLE ? put_line(v, &entry) : put_row(v, &entry);
	return err ? err : ++v->shown == v->report->options->top ? &trace_enough : NULL;
}

static struct ebt_error *put_entries(struct logs_view *v)
{
	struct trace *trace = v->report->trace;
	struct ebt_error *err = trace_read_table(trace, EBT_T_log, TRACE_TO_END, put_entry, v);

	return err || v->shown ? err : warn_none(trace);
}

static struct ebt_error *compile(const char *text, regex_t *ret)
{
	char why[128];
	int r = regcomp(ret, text, REG_EXTENDED | REG_NOSUB);

	if (!r)
		return NULL;
	regerror(r, ret, why, sizeof(why));
	return ebt_error_create(EBT_ERR_INVALID, "--grep: '%s' is not a regular expression: %s",
				text, why);
}

/* The value of log.severity with this name, which the option has checked. */
static uint64_t severity_value(const char *name)
{
	const struct ebt_table *log = ebt_table_by_id(EBT_T_log);
	uint64_t value = 0;

	while (value < EBT_V_log_severity_none &&
	       strcmp(name, ebt_value_name(&log->fields[EBT_F_log_severity], value)))
		value++;
	return value;
}

static struct ebt_error *cmd_logs(struct report *report)
{
	const struct options *o = report->options;
	__attribute__((cleanup(view_deinit))) struct logs_view v = {
		.report = report,
		.severity = EBT_V_log_severity_none,
		.origin = options_string(o, "origin"),
		.domain = options_string(o, "domain"),
	};
	const char *severity = options_string(o, "severity"), *grep = options_string(o, "grep");
	bool for_people = out_format(report->out) == FORMAT_TABLE;
	struct ebt_error *err = NULL;

	if (severity)
		v.severity = severity_value(severity);
	if (grep) {
		err = compile(grep, &v.grep);
		v.has_grep = !err;
	}
	if (err)
		return err;
	if (for_people)
		put_header(&v);
	else
		err = out_begin(report->out, &table);
	if (!err)
		err = put_entries(&v);
	return err || for_people ? err : out_end(report->out);
}

static const char *const severities[] = { "emergency", "alert", "critical", "error", "warning",
					  "notice",    "info",	"debug",    NULL };
static const char *const origins[] = { "ebmark", "sysprof", "stdout", "stderr",
				       "output", "journal", NULL };

static const struct option_def logs_options[] = {
	{ "severity", OPTION_CHOICE, "LEVEL", "only of this severity and worse", severities },
	{ "origin", OPTION_CHOICE, "ORIGIN", "only those that came this way", origins },
	{ "domain", OPTION_STRING, "GLOB", "only of this unit, identifier or part of a program" },
	{ "grep", OPTION_STRING, "REGEX", "only those whose message matches, as it is shown" },
	{ 0 },
};

const struct command command_logs = {
	.name = "logs",
	.fn = cmd_logs,
	.flags = COMMAND_NO_INTERVALS | COMMAND_NO_NAMES | COMMAND_NO_SORT,
	.summary = "lines that programs wrote, and those of the journal",
	.elsewhere = "journal",
	.help = "Record with `ebrec --capture-output -- CMD` (origin stdout or stderr; output\n"
		"where both go to one place), `ebrec -e journal` (origin journal), or programs\n"
		"that log through ebmark.h or Sysprof's protocol. A line, with the time when it\n"
		"was read or, where that is known, written; of output, with the command's\n"
		"process, whichever of its descendants wrote it. Lines stand in the order in\n"
		"which the recorder got them.\n"
		"--severity leaves out lines that have none.\n"
		"\n"
		"  ebreport logs t.ebt\n"
		"  ebreport logs --severity warning t.ebt\n"
		"  ebreport logs --origin journal --domain 'ssh*' t.ebt\n"
		"  ebreport logs --grep 'timed? ?out' --from 2s --to 3s t.ebt\n",
	.options = logs_options,
};
