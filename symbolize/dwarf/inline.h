/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls that a compiler inlined into one function, as a tree. */
#ifndef SYMBOLIZE_DWARF_INLINE_H
#define SYMBOLIZE_DWARF_INLINE_H

#include <elfutils/libdw.h>
#include <stdint.h>

#include "format/base/error.h"
#include "symbolize/dwarf/units.h"

struct dwarf_inlines;

struct dwarf_inline {
	Dwarf_Die die;	     /* its DW_TAG_inlined_subroutine */
	uint32_t outer;	     /* index of the call around it; UINT32_MAX: the function itself */
	uint32_t depth;	     /* how many are around it */
	uint32_t file, line; /* of the call: file is a number of the unit's table */
};

/* Reads the tree below a function's DIE. Each DIE and range is a step of the budget. */
struct ebt_error *dwarf_inlines_read(Dwarf_Die *function, struct dwarf_budget *budget,
				     struct dwarf_inlines **ret);
void dwarf_inlines_destroy(struct dwarf_inlines *inlines);

/* The innermost call at the address, or NULL. */
const struct dwarf_inline *dwarf_inlines_find(const struct dwarf_inlines *inlines,
					      uint64_t address);
const struct dwarf_inline *dwarf_inline_outer(const struct dwarf_inlines *inlines,
					      const struct dwarf_inline *call);

#endif
