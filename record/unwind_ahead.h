/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables of a command and the libraries that it will load, made before it runs. */
#ifndef RECORD_UNWIND_AHEAD_H
#define RECORD_UNWIND_AHEAD_H

#include "unwind_tables.h"

/* name: as execvp() takes it. Looks for libraries as ld.so does, roughly: what is not found is
 * met when it is mapped. */
void unwind_ahead(struct unwind_tables *tables, int files_map, const char *name);

#endif
