/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and types of the arguments of probed functions, of which the recorder knew registers only.
 * They come from debug information that this machine has.
 */
#ifndef REPORT_TRACE_PROBE_NAMES_H
#define REPORT_TRACE_PROBE_NAMES_H

#include "format/base/error.h"
#include "report/trace/probe_args.h"
#include "report/trace/trace.h"

/* Registers that hold no argument of their function are left out from then on. */
struct ebt_error *probe_names_find(struct trace *trace, struct probe_args *probes);

#endif
