/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and types of a function's parameters, as DWARF has them, and which register of the calling
 * convention each is in when the function is entered.
 */
#ifndef SYMBOLIZE_DWARF_PARAMS_H
#define SYMBOLIZE_DWARF_PARAMS_H

#include <elfutils/libdw.h>

#include "symbolize/base/types.h"
#include "symbolize/dwarf/info.h"

/* What parameters are read with: strings and references of the files that the function is in. */
struct dwarf_walk {
	struct dwarf_info *info;
	void *state;
};

/* Of info.c. NULL and false: there is none, or it cannot be read. */
const char *dwarf_walk_string(const struct dwarf_walk *walk, Dwarf_Die *die, unsigned int name);
bool dwarf_walk_follow(const struct dwarf_walk *walk, Dwarf_Die *die, unsigned int name);

/* Fills *ret from the DIE of a function. */
void dwarf_params_read(const struct dwarf_walk *walk, Dwarf_Die *function,
		       struct sym_parameters *ret);

/* Of the function that begins at the address. ret->known false: nothing says. */
struct ebt_error *dwarf_info_parameters(struct dwarf_info *info, uint64_t address,
					struct sym_parameters *ret);

#endif
