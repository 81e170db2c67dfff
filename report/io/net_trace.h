/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport net --trace`: what happened in the network, one by one. */
#ifndef REPORT_IO_NET_TRACE_H
#define REPORT_IO_NET_TRACE_H

#include "report/cli/command.h"

struct ebt_error *net_trace(struct report *report);

#endif
