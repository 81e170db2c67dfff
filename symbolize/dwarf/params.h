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

/* The unit that a function is in, with the strings and references of its files. */
struct info_state;

/* Of info.c. NULL and false: there is none, or it cannot be read. */
const char *dwarf_string_at(const struct info_state *state, Dwarf_Die *die, unsigned int name);
bool dwarf_follow(struct info_state *state, Dwarf_Die *die, unsigned int name);

/* Fills *ret from the DIE of a function. */
void dwarf_params_read(struct info_state *state, Dwarf_Die *function, struct sym_parameters *ret);

/* Of the function that begins at the address. ret->known false: nothing says. */
struct ebt_error *dwarf_info_parameters(struct dwarf_info *info, uint64_t address,
					struct sym_parameters *ret);

#endif
