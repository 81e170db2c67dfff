/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a file of debug information would make libdw allocate, worked out before libdw is asked:
 * a few kilobytes can stand for terabytes (zlib, and directories that every file name repeats),
 * and libdw ends the program where memory runs out.
 */
#ifndef SYM_DWARFGUARD_H
#define SYM_DWARFGUARD_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elffile.h"

struct dwarf_guard {
	Elf_Data *line, *line_str, *str; /* sections, or NULL; set once libdw unpacked them */
	uint64_t left;			 /* bytes that tables of lines may still take */
};

/* Whether compressed sections unpack to a size that their own makes plausible. */
bool dwarf_guard_sections(const struct elf_file *file);

/* To be called after dwarf_begin_elf(). */
void dwarf_guard_init(struct dwarf_guard *guard, const struct elf_file *file);

/* Whether the table of lines at the offset of .debug_line may be read; it is counted. comp_dir_len:
 * of the directory that relative ones are put behind. */
bool dwarf_guard_lines(struct dwarf_guard *guard, uint64_t offset, size_t comp_dir_len);

#endif
