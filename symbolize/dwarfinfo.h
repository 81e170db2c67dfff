/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions, inlined calls and source lines by address, from DWARF by libdw. Units are read when
 * an address of theirs is asked for. What is malformed gives fewer answers; no file makes it
 * work for longer than a budget.
 */
#ifndef SYM_DWARFINFO_H
#define SYM_DWARFINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elffile.h"
#include "error.h"

struct dwarf_info;

/* Deeper nests of inlined calls lose their outer frames. */
#define DWARF_MAX_FRAMES 128

/* Strings live as long as the dwarf_info. */
struct dwarf_frame {
	const char *name; /* mangled, if the language mangles; NULL: not known */
	bool plain;	  /* the name is not the linker's: the symbol table may know a fuller one */
	const char *file; /* NULL: not known */
	uint32_t line;	  /* 0: not known */
};

/*
 * alt: the file that .gnu_debugaltlink names, or NULL. *ret is NULL where there is no usable
 * DWARF, which includes a missing alt. Both files must outlive the dwarf_info.
 */
struct ebt_error *dwarf_info_create(const struct elf_file *file, const struct elf_file *alt,
				    struct dwarf_info **ret);
void dwarf_info_destroy(struct dwarf_info *info);

/*
 * Frames at the address, innermost first: all but the last are inlined into the next. frames has
 * room for DWARF_MAX_FRAMES. *ret_n 0: nothing is known, not even a line.
 */
struct ebt_error *dwarf_info_find(struct dwarf_info *info, uint64_t address,
				  struct dwarf_frame *frames, size_t *ret_n);

/* Whether the file leans on another one (dwz); its name and build-id, empty where they are bad. */
bool dwarf_altlink(const struct elf_file *file, const char **ret_name, struct sym_build_id *ret);

#endif
