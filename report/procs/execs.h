/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport procs --exec`: what was run, where, by whom, and what could not be run. */
#ifndef REPORT_PROCS_EXECS_H
#define REPORT_PROCS_EXECS_H

#include "report/procs/view.h"

/* Table `rows`: a line an exec, in order of time. Memory depends on how many there are: up to
 * 32 bytes each, and names of files and folders once. */
struct ebt_error *proc_view_execs(const struct proc_view *v);

#endif
