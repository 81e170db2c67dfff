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

/* What is not known of a mark; null: all is. */
struct out_value marks_open_text(const struct mark *mark);
/* "gtk4-demo (100/102)", in place of what is in the text. */
struct text;
void marks_process_text(const struct ebt_task *task, struct text *text);

#endif
