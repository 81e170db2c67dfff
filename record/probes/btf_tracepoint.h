/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tracepoint as the kernel's types describe it: its arguments, and what of them bears the names
 * of the trace event's fields. For kernels that keep tracefs from us, and for tracepoints without a
 * trace event.
 */
#ifndef RECORD_PROBES_BTF_TRACEPOINT_H
#define RECORD_PROBES_BTF_TRACEPOINT_H

#include "format/base/error.h"
#include "record/probes/tp_event.h"

struct btf;

/* Adds what can be read where the event, of this name, is hit. EBT_ERR_NOT_FOUND: it is not there.
 */
struct ebt_error *btf_tracepoint_parse(const struct btf *btf, struct tp_event *event);

#endif
