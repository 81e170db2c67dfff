/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recorder does in the kernel while others run, as samples of them show it: its BPF
 * programs, and the kernel's code that runs for nobody but those who trace. docs/symbolizing.md
 * says how it is told from the rest.
 */
#ifndef REPORT_STACKS_RECORDER_H
#define REPORT_STACKS_RECORDER_H

#include "format/read/rows.h"
#include "symbolize/symbolize.h"

/* The frame below which that stands. */
#define RECORDER_FRAME "[ebrec]"

/* *ret: the outermost such entry of a kernel stack; kernel->n: there is none. */
struct ebt_error *recorder_find(struct sym *sym, const struct ebt_task *task, uint64_t time_ns,
				const struct ebt_stack *kernel, uint32_t *ret);

#endif
