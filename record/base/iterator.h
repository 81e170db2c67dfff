/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BPF programs that go through what the kernel has, and write what they find by themselves. */
#ifndef RECORD_BASE_ITERATOR_H
#define RECORD_BASE_ITERATOR_H

#include "format/base/error.h"

struct bpf_program;

/* Runs it once, for all; nothing where it is not loaded. what: as in "the tasks". */
struct ebt_error *iterator_run(const struct bpf_program *program, const char *what);

#endif
