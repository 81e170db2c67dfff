/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a mapping to the unwind table of its file. */
#ifndef RECORD_UNWIND_FILES_H
#define RECORD_UNWIND_FILES_H

#include <stdint.h>

#include "record/base/mapping.h"
#include "record/unwind/tables.h"

/*
 * The table's number, or UNWIND_TABLE_*, and what to subtract from addresses of the mapping.
 * Makes the table if there is none yet and the file can be opened: through the process, or, if
 * that has gone, at its path, if the file there has the same build-id. The exec program is told of
 * a file that was opened.
 */
uint32_t unwind_files_table(struct unwind_tables *tables, const struct mapping *mapping,
			    uint64_t *ret_bias);

/* Makes the table of a file that is expected to be mapped. */
void unwind_files_learn(struct unwind_tables *tables, int fd, const char *path);
/* The same for the kernel's code in each 64-bit process, which is that in this one. */
uint32_t unwind_files_vdso(struct unwind_tables *tables);

/* Opens the file of a mapping again; -1: it cannot be found by its build-id. */
int unwind_files_open(const struct mapping *mapping);

#endif
