/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the BPF programs do for each system call, made of format/calls. */
#ifndef RECORD_SOURCES_CALL_PLANS_H
#define RECORD_SOURCES_CALL_PLANS_H

#include <stdbool.h>

#include "record/bpf/shared.h"

/* EBREC_CALLS of each, zeroed. */
struct call_tables {
	struct ebrec_call_plan *native, *compat; /* calls of this machine, and its 32-bit ones */
	struct ebrec_call_structs *native_structs, *compat_structs;
	__u8 *closes; /* calls of either kind close a descriptor */
};

/* structs: all that are known, and not only those that each recording has. */
void call_plans_fill(bool structs, const struct call_tables *tables);

#endif
