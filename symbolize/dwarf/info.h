/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions, inlined calls and source lines by address, from DWARF by libdw. Units are read when
 * an address of theirs is asked for, and given back soon after. What is malformed gives fewer
 * answers; no file makes it work for longer than a budget.
 */
#ifndef SYMBOLIZE_DWARF_INFO_H
#define SYMBOLIZE_DWARF_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "symbolize/elf/elffile.h"

struct dwarf_info;
struct dwarf_units;

/* Deeper nests of inlined calls lose their outer frames. */
#define DWARF_MAX_FRAMES 128

/* Strings are good until the next call. */
struct dwarf_frame {
	const char *name; /* mangled, if the language mangles; NULL: not known */
	const char *file; /* NULL: not known */
	uint32_t line;	  /* 0: not known */
};

/* For one thread. The units (units.h) must outlive it. */
struct ebt_error *dwarf_info_create(struct dwarf_units *units, struct dwarf_info **ret);
/* Accepts NULL. */
void dwarf_info_destroy(struct dwarf_info *info);

/* How well an address is known. */
enum dwarf_answer {
	DWARF_WHOLE,	/* as well as these files can tell */
	DWARF_NO_SPLIT, /* a file of split debug information (.dwo) is not here */
	DWARF_TOO_LONG, /* what the file may take was used up */
};

/*
 * Frames at the address, innermost first: all but the last are inlined into the next. frames has
 * room for DWARF_MAX_FRAMES. *ret_n 0: nothing is known, not even a line.
 */
struct ebt_error *dwarf_info_find(struct dwarf_info *info, uint64_t address,
				  struct dwarf_frame *frames, size_t *ret_n,
				  enum dwarf_answer *ret);

/* Whether the file leans on another one (dwz); its name and build-id, empty where they are bad. */
bool dwarf_altlink(const struct elf_file *file, const char **ret_name, struct sym_build_id *ret);

#endif
