/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport block --trace: requests one by one, in the order in which they complete. */
#ifndef REPORT_IO_BLOCK_TRACE_H
#define REPORT_IO_BLOCK_TRACE_H

#include "report/cli/command.h"

struct ebt_error *block_trace(struct report *report);

/* "read", "write" …; "other" for one that this program does not know. */
const char *block_op_name(uint64_t op);

#endif
