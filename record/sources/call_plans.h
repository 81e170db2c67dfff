/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the BPF programs do for each system call, made of format/calls. */
#ifndef RECORD_SOURCES_CALL_PLANS_H
#define RECORD_SOURCES_CALL_PLANS_H

#include "record/bpf/shared.h"

/* EBREC_CALLS each, zeroed: for native calls of this machine, for its 32-bit ones, and whether
 * calls of either kind close a descriptor. */
void call_plans_fill(struct ebrec_call_plan *native, struct ebrec_call_plan *compat, __u8 *closes);

#endif
