/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport sched --irq`: time that interrupts took, timers and work items. */
#ifndef REPORT_SCHED_IRQ_H
#define REPORT_SCHED_IRQ_H

#include "report/cli/command.h"

struct ebt_error *sched_irq(struct report *report);

#endif
