/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel said of a process when it ran a program. */
#ifndef RECORD_SIDEBAND_PROGRAM_H
#define RECORD_SIDEBAND_PROGRAM_H

#include <stddef.h>

#include "record/bpf/facts.h"

struct program {
	struct ebrec_facts facts;
	size_t cmdline_len;
	char cmdline[]; /* arguments, NUL after each */
};

/* Freed with free(). NULL where memory is short. */
struct program *program_create(const struct ebrec_facts *facts, const void *cmdline, size_t len);

/* Bytes that it takes; 0 for NULL. */
size_t program_size(const struct program *program);

#endif
