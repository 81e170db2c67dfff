/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of the kernel, from /proc/kallsyms. Reading them takes the kernel 50 ms and more,
 * so a thread of its own does it, beside what else begins. */
#ifndef RECORD_SIDEBAND_KERNEL_SYMBOLS_H
#define RECORD_SIDEBAND_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"

struct kernel_symbols;

/* Begins to read. */
struct ebt_error *kernel_symbols_create(struct kernel_symbols **ret);
/* Accepts NULL. */
void kernel_symbols_destroy(struct kernel_symbols *symbols);
DEFINE_CLEANUP(struct kernel_symbols *, kernel_symbols_destroy);

/* Have they been read? */
bool kernel_symbols_ready(const struct kernel_symbols *symbols);

struct kernel_functions {
	const char *text; /* lines of functions; belongs to the symbols */
	size_t len;
	bool truncated;
	bool hidden; /* all addresses are zero, as kernel.kptr_restrict makes them */
};

/* Waits until they have been read; returns what that ended with, once. */
struct ebt_error *kernel_symbols_take(struct kernel_symbols *symbols, struct kernel_functions *ret);

#endif
