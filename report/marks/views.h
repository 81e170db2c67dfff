/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ways in which `ebreport marks` shows the marks that the options leave, a file for each. */
#ifndef REPORT_MARKS_VIEWS_H
#define REPORT_MARKS_VIEWS_H

#include "report/cli/command.h"
#include "report/marks/model_marks.h"
#include "report/out/out.h"

/* More rows are written as they come, in columns that do not fit what is in them: a row that is
 * kept takes 400 bytes. */
#define MARKS_MAX_KEPT 200000u

typedef struct ebt_error *marks_view_fn(struct report *report, const struct marks *marks);

/* One by one. */
marks_view_fn marks_table;
/* In order of time, nested, with bars; --top: the longest. */
marks_view_fn marks_waterfall;
/* An SVG file. */
marks_view_fn marks_chart;
/* What happened during them. */
marks_view_fn marks_around;
/* --summary: by group and name. */
marks_view_fn marks_summary;
/* --series: one name over time. */
marks_view_fn marks_series;

/* Names of enum span_scope, for --around-scope. */
extern const char *const marks_scopes[];

/* What is not known of a mark; null: all is. */
struct out_value marks_open_text(const struct mark *mark);
/* "gtk4-demo (100/102)", in place of what is in the text; null: no task. */
struct text;
struct out_value marks_process(const struct ebt_task *task, struct text *text);

/* Columns of a table of marks one by one, of one that is `mark`, has `name`, and is of `marks`;
 * `process` is a text for its process. */
#define MARKS_COLUMNS(X)                                                                   \
	X("pid", NULL, OUT_U64, out_pid(mark->task), OUT_DETAIL)                           \
	X("tid", NULL, OUT_U64, out_tid(mark->task), OUT_DETAIL)                           \
	X("process", "PROCESS", OUT_STRING, marks_process(mark->task, process),            \
	  OUT_TEXT_ONLY | OUT_FLEX)                                                        \
	X("group", "GROUP", OUT_STRING, out_cstr(name->group), OUT_FLEX)                   \
	X("name", "NAME", OUT_STRING, out_cstr(name->name), OUT_FLEX)                      \
	X("message", "MESSAGE", OUT_STRING, out_str(marks_message(marks, mark)), OUT_FLEX) \
	X("incomplete", "OPEN", OUT_STRING, marks_open_text(mark), OUT_OPTIONAL)           \
	X("comm", NULL, OUT_STRING, out_comm(mark->task), OUT_DETAIL)

#endif
