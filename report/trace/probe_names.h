/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and types of what probes of functions read, where the recorder had only registers: from
 * debug information that is here.
 */
#ifndef REPORT_TRACE_PROBE_NAMES_H
#define REPORT_TRACE_PROBE_NAMES_H

#include "format/base/error.h"
#include "report/trace/probe_args.h"
#include "report/trace/trace.h"

/* Registers that hold no argument of their function are left out from then on. */
struct ebt_error *probe_names_find(struct trace *trace, struct probe_args *probes);

#endif
