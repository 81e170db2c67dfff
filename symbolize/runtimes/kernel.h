/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel addresses to names: the trace's copies of /proc/kallsyms, one of the whole and those of
 * modules that were there at other times only; and what the kernel said to gain and lose (table
 * ksymbol: BPF programs and their trampolines) while it was recorded.
 */
#ifndef SYMBOLIZE_RUNTIMES_KERNEL_H
#define SYMBOLIZE_RUNTIMES_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"

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
