/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of a module by address, from all symbol tables that its files have: .symtab, the
 * one packed in .gnu_debugdata, .dynsym, and names made for PLT stubs. Aliases and overlaps are
 * decided once, so that a look-up is a binary search. An address between two functions that say
 * how long they are belongs to neither.
 */
#ifndef SYMBOLIZE_ELF_SYMTAB_H
#define SYMBOLIZE_ELF_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "symbolize/elf/elffile.h"

struct symtab_range {
	uint64_t start, end; /* end is the first address behind */
	const char *name;    /* as linked: not demangled */
	uint32_t name_len;   /* without "@@VERSION" */
	bool plt;	     /* a stub that jumps to the function of this name */
};

struct symtab {
	struct symtab_range *ranges; /* ascending, without overlap */
	size_t n;
	bool complete; /* local functions are among them: what has no range is no function */
	char *image;   /* of .gnu_debugdata, unpacked; NULL: there is none */
	struct elf_file *packed; /* the file in there, which holds names */
};

/* One file or two (main file, debug file): NULL is passed over. Names live as long as both the
 * files and the symtab. */
struct ebt_error *symtab_create(const struct elf_file *main, const struct elf_file *debug,
				struct symtab **ret);
void symtab_destroy(struct symtab *symtab);

/* NULL: no function covers the address. */
const struct symtab_range *symtab_find(const struct symtab *symtab, uint64_t address);

#endif
