/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The header of a table of lines: directories, files, and how its program is to be read. */
#ifndef SYMBOLIZE_DWARF_FILES_H
#define SYMBOLIZE_DWARF_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/error.h"
#include "symbolize/elf/pages.h"

struct dwarf_files {
	struct pages *pages;
	const char *comp_dir; /* or NULL */
	uint16_t version;
	uint8_t min_length, max_operations, line_range, opcode_base;
	int8_t line_base;
	uint8_t operands[255]; /* of standard operations, from number 1 */

	/* Numbered from 0; before version 5 from 1, with an empty one before them. */
	struct dwarf_file_list {
		struct dwarf_file {
			const char *name; /* not read yet */
			uint64_t dir;
		} * items;
		size_t n, capacity;
	} files, dirs;
	char **paths; /* of files, those that were asked for */
};

/* Reads the header at the offset of .debug_line, and hands out the program behind it. */
struct ebt_error *dwarf_files_read(struct pages *pages, uint64_t offset, const char *comp_dir,
				   struct ebt_bytes *ret_program, struct dwarf_files *ret,
				   bool *ret_good);
void dwarf_files_deinit(struct dwarf_files *files);

/* See dwarf_lines_path(). */
struct ebt_error *dwarf_files_path(struct dwarf_files *files, uint64_t file, const char **ret);

#endif
