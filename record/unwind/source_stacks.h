/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For sources whose rows have stacks: the maps and programs that walk them. */
#ifndef RECORD_UNWIND_SOURCE_STACKS_H
#define RECORD_UNWIND_SOURCE_STACKS_H

#include "record/config/source.h"

/* For configure() of a source whose rows have stacks, by record/bpf/event_stack.bpf.h. */
void source_use_event_stacks(struct source_context *context);

/* For configure(): stacks that were walked before are recognised (record/bpf/unwind_chain.bpf.h).
 */
void source_use_chains(struct source_context *context);

#endif
