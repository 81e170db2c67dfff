/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process is now. */
#ifndef RECORD_BASE_TASK_KEY_H
#define RECORD_BASE_TASK_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "record/bpf/facts.h"

struct bpf_program;

/* iterator: ebrec_task_iter, loaded, which nobody else reads now; keys: its task_iter_keys. False:
 * the process has gone or is about to, or the kernel has no iterator of one task (before Linux
 * 6.1). Some 50 us. */
bool task_key_read(const struct bpf_program *iterator, volatile uint32_t *keys, uint32_t pid,
		   struct ebrec_facts_key *ret);

#endif
