/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses of data to the variables there. A trace has mappings of code only; where data of the
 * same file is follows from the file's segments, which the trace has too.
 */
#ifndef SYMBOLIZE_VARIABLE_H
#define SYMBOLIZE_VARIABLE_H

#include "format/base/error.h"
#include "symbolize/files/objects.h"
#include "symbolize/spaces/addrspace.h"
#include "symbolize/symbolize.h"

struct variables;

/* Objects and space must outlive it. */
struct ebt_error *variables_create(struct addrspace *space, struct objects *objects,
				   struct variables **ret);
/* Accepts NULL. */
void variables_destroy(struct variables *variables);

/* As sym_variable(). no_files: nothing is opened. */
struct ebt_error *variables_find(struct variables *variables, uint32_t incarnation,
				 uint64_t address, uint64_t time_ns, bool no_files,
				 struct sym_variable *ret);

#endif
