/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls one by one, in the order in which they were entered, as `strace -f -T` prints. */
#ifndef REPORT_SYSCALLS_TRACE_H
#define REPORT_SYSCALLS_TRACE_H

#include "report/calls/names.h"
#include "report/cli/command.h"

/* Rows that are held back to be put in order of entry. */
#define SYSCALL_TRACE_WINDOW (1u << 18)

/* as_strace: exactly the lines of `strace -f -ttt -T -yy -o FILE`. */
struct ebt_error *syscall_trace(struct report *report, const struct syscall_machine *machine,
				bool as_strace);

#endif
