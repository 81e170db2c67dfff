/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much CPU time passed the filters, by switches. */
#ifndef REPORT_SCHED_CPU_TIME_H
#define REPORT_SCHED_CPU_TIME_H

#include "report/trace/trace.h"

/* In percent of one CPU over the window; negative: no switches were recorded. */
struct ebt_error *cpu_time_percent(struct trace *trace, double *ret);

#endif
