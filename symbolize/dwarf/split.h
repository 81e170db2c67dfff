/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Split debug information: a unit whose functions are in a file of its own (.dwo), which is known
 * by an id in both.
 */
#ifndef SYMBOLIZE_DWARF_SPLIT_H
#define SYMBOLIZE_DWARF_SPLIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>

bool dwarf_is_skeleton(Dwarf_Die *die);

/* Finds the DIE of the unit in the file that its skeleton names. False: the file is not here, or
 * it is another build's. */
bool dwarf_split_open(Dwarf_Die *skeleton, const char *comp_dir, const char *name, Dwarf_Die *ret);

#endif
