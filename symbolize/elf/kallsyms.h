/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace's copies of /proc/kallsyms: one of the whole, and those of modules that were there at
 * other times only.
 */
#ifndef SYMBOLIZE_ELF_KALLSYMS_H
#define SYMBOLIZE_ELF_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"

struct kallsyms;

struct kallsyms_hit {
	const char *name; /* NULL: nothing covers the address */
	size_t name_len;
	const char *module; /* without brackets; NULL: the kernel proper */
	size_t module_len;
	uint64_t from, to; /* the same answer holds for from <= time < to */
};

struct ebt_error *kallsyms_create(struct ebt_reader *reader, struct kallsyms **ret);
/* Accepts NULL. */
void kallsyms_destroy(struct kallsyms *kallsyms);

bool kallsyms_is_empty(const struct kallsyms *kallsyms);

struct kallsyms_hit kallsyms_find(const struct kallsyms *kallsyms, uint64_t address,
				  uint64_t time_ns);

#endif
