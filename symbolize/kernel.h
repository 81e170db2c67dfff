/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel addresses to names: the trace's copy of /proc/kallsyms, and what the kernel said to
 * gain and lose (table ksymbol: BPF programs and their trampolines) while it was recorded.
 */
#ifndef SYM_KERNEL_H
#define SYM_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "reader.h"

struct kernel;

struct kernel_hit {
	const char *name; /* NULL: nothing covers the address */
	size_t name_len;
	const char *module; /* without brackets; NULL: the kernel proper */
	size_t module_len;
	uint64_t from, to; /* the same answer holds for from <= time < to */
};

struct ebt_error *kernel_create(struct ebt_reader *reader, struct kernel **ret);
void kernel_destroy(struct kernel *kernel);

/* Whether the trace has any kernel symbols: where addresses were hidden, it has none. */
bool kernel_has_symbols(const struct kernel *kernel);

struct ebt_error *kernel_find(struct kernel *kernel, uint64_t address, uint64_t time_ns,
			      struct kernel_hit *ret);

#endif
