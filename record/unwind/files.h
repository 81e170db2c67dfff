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
 * that has gone, at its path, if the file there has the same build-id. A file that was opened is
 * told to the exec program through files_map.
 */
uint32_t unwind_files_table(struct unwind_tables *tables, int files_map,
			    const struct mapping *mapping, uint64_t *ret_bias);

/* Makes the table of a file that is expected to be mapped. */
void unwind_files_learn(struct unwind_tables *tables, int files_map, int fd, const char *path);
/* Opens the file of a mapping again; -1: it cannot be found by its build-id. */
int unwind_files_open(const struct mapping *mapping);
/* The same for the kernel's code in each process. */
void unwind_files_learn_vdso(struct unwind_tables *tables, int files_map);

#endif
