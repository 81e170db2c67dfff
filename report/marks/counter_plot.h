/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters over time, drawn with characters. */
#ifndef REPORT_MARKS_COUNTER_PLOT_H
#define REPORT_MARKS_COUNTER_PLOT_H

#include "format/base/error.h"
#include "report/marks/model_counters.h"
#include "report/out/out.h"

/* A line for each, or a few lines where there are few, from one time to another. They need points.
 */
struct ebt_error *counter_plot(struct out *out, struct trace *trace, uint64_t from, uint64_t to,
			       const struct counter *const *counters, size_t n);

/* "12.3 MiB/s": a value of the counter, or its rate. */
struct text;
void counter_value(struct text *text, const struct counter *counter, double value, bool rate);

#endif
