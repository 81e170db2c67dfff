/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of lines of one unit (DWARF 2 to 5), in 16 bytes a row. libdw takes three times as
 * much, and makes a path for every file of the unit; here paths are made when asked for.
 */
#ifndef SYMBOLIZE_DWARF_LINE_H
#define SYMBOLIZE_DWARF_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "symbolize/dwarf/units.h"

struct dwarf_lines;

/* From an offset of .debug_line; *ret is NULL where there is no good table. comp_dir, which may be
 * NULL, must outlive the lines. Operations are steps of the budget. */
struct ebt_error *dwarf_lines_read(const struct dwarf_units *units, uint64_t offset,
				   const char *comp_dir, struct dwarf_budget *budget,
				   struct dwarf_lines **ret);
/* Accepts NULL. */
void dwarf_lines_destroy(struct dwarf_lines *lines);

/* False: no row covers the address. */
bool dwarf_lines_find(const struct dwarf_lines *lines, uint64_t address, uint64_t *ret_file,
		      uint32_t *ret_line);

/* Path of a file by its number, which lives as long as the lines; NULL: there is none. */
struct ebt_error *dwarf_lines_path(struct dwarf_lines *lines, uint64_t file, const char **ret);

#endif
