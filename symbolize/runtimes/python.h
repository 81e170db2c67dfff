/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries of stacks that stand for Python functions: their names and lines from table interp_code.
 * The table is hostile input, and so are the line tables in it.
 */
#ifndef SYMBOLIZE_RUNTIMES_PYTHON_H
#define SYMBOLIZE_RUNTIMES_PYTHON_H

#include <stddef.h>
#include <stdint.h>

#include "format/read/reader.h"
#include "symbolize/base/func.h"
#include "symbolize/base/types.h"

struct python;

/* Reads the table. Both must live longer. */
struct ebt_error *python_create(struct ebt_reader *reader, struct funcs *funcs,
				struct python **ret);
/* Accepts NULL. */
void python_destroy(struct python *python);

/* The function of an entry; one that the trace says nothing about has a reason. */
struct ebt_error *python_frame(struct python *python, uint64_t entry, struct sym_frame *ret);

/*
 * Line of an instruction, counted in code units of 2 bytes, by a location table of CPython 3.11
 * and later; 0: it has none, or the table ends before it.
 */
uint32_t python_line(const void *table, size_t len, uint32_t first_line, uint32_t instruction);

#endif
