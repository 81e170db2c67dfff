/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tracepoint that is to be recorded: what its rows are called and how the BPF program reads them.
 * From the kernel's description of the trace event (tp_format.c), or from type information where
 * that is all there is (btf_tracepoint.c).
 */
#ifndef RECORD_PROBES_TP_EVENT_H
#define RECORD_PROBES_TP_EVENT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "record/bpf/probe_tp.h"
#include "record/probes/list.h"

/* What an array has for its number of elements where that varies. */
#define TP_ELEMENTS_VARY 65535

struct tp_event {
	struct probe probe;
	struct ebrec_tp_spec spec; /* as many as the probe has arguments */
	uint64_t id;		   /* of the trace event */
	bool raw;		   /* there is none: its arguments are read */
	uint32_t number;	   /* of the probe, when it has one */
	uint32_t left_out;	   /* arguments that had no room */
};

void tp_event_deinit(struct tp_event *event);

/* name: CATEGORY:NAME. */
struct ebt_error *tp_event_name(struct tp_event *event, const char *name);

/* name and type are copied, and may be NULL. What has no room is counted. */
struct ebt_error *tp_event_add(struct tp_event *event, const struct probe_arg *arg,
			       const struct ebrec_tp_arg *how);

#endif
