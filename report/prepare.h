/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pass over the stacks of a table before the report's own: it hands all addresses to the
 * symbolizer, which looks them up together, by several threads.
 */
#ifndef REPORT_PREPARE_H
#define REPORT_PREPARE_H

#include <stdint.h>

#include "error.h"
#include "trace.h"

/* Rows that pass the filters of the command line count. Tables that the trace lacks are none. */
struct ebt_error *prepare_names(struct trace *trace, uint16_t table);

#endif
