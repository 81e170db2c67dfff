/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel addresses to names: the trace's copy of /proc/kallsyms, and what the kernel said to
 * gain and lose (table ksymbol: BPF programs and their trampolines) while it was recorded.
 */
#ifndef SYMBOLIZE_RUNTIMES_KERNEL_H
#define SYMBOLIZE_RUNTIMES_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"
#include "symbolize/elf/kallsyms.h"

struct kernel;

struct ebt_error *kernel_create(struct ebt_reader *reader, struct kernel **ret);
void kernel_destroy(struct kernel *kernel);

/* Whether the trace has any kernel symbols: where addresses were hidden, it has none. */
bool kernel_has_symbols(const struct kernel *kernel);

/* As kallsyms_find(), of generated code too. */
struct ebt_error *kernel_find(struct kernel *kernel, uint64_t address, uint64_t time_ns,
			      struct kallsyms_hit *ret);

#endif
