/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Views of `ebreport sched` besides its table of threads: threads added up, who woke whom,
 * and interrupts. */
#ifndef REPORT_SCHED_VIEWS_H
#define REPORT_SCHED_VIEWS_H

#include "report/cli/command.h"
#include "report/sched/model_schedstat.h"

/* --by KEY: table `rows`; all: those that never ran too. */
struct ebt_error *sched_grouped(struct report *report, const struct schedstat *stat, bool all);

/* --tree: reads the trace, table `rows`. */
struct ebt_error *sched_tree(struct report *report);

/* --irq: interrupts, timers and work items. */
struct ebt_error *sched_irq(struct report *report);

#endif
