/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process is now. */
#ifndef RECORD_BASE_TASK_KEY_H
#define RECORD_BASE_TASK_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "record/bpf/facts.h"

struct bpf_program;

/* iterator: ebrec_facts_iter, loaded. False: the process has gone, or the kernel has no iterator of
 * one task (before Linux 6.1). Some 50 us. */
bool task_key_read(const struct bpf_program *iterator, uint32_t pid, struct ebrec_facts_key *ret);

#endif
