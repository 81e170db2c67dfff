/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols on their way into a symtab: collected from sections, then flattened into ranges. */
#ifndef SYMBOLIZE_ELF_SYMLIST_H
#define SYMBOLIZE_ELF_SYMLIST_H

#include "symbolize/elf/symtab.h"

struct symbol {
	uint64_t start, size;
	uint64_t limit; /* end of its section: the symbol does not reach beyond */
	const char *name;
	uint32_t name_len;
	uint8_t rank; /* between aliases, the lower wins */
	bool plt;
	bool extend; /* size 0, reaches to the next symbol */
};

/* Longer names are cut: a hostile file can give each of a million symbols the same name of
 * megabytes. */
#define SYM_MAX_NAME 8192

/* Length of a symbol's name without "@@VERSION", which linkers write into .symtab too. */
uint32_t symbol_name_len(const char *name);

struct symlist {
	struct symbol *symbols;
	size_t n, capacity;
};

struct ebt_error *symlist_add(struct symlist *list, const struct symbol *symbol);
void symlist_deinit(struct symlist *list);

/* The functions of .symtab, or of .dynsym where type is SHT_DYNSYM. complete: there is a table of
 * local functions too, so that the next symbol is the next function. */
struct ebt_error *symlist_add_section(struct symlist *list, const struct elf_file *file,
				      uint32_t type, bool complete);

/* The stubs through which a program calls libraries. */
struct ebt_error *symlist_add_plt(struct symlist *list, const struct elf_file *file);

/* Sorts the list and makes ranges of it: freed with free(). */
struct ebt_error *symlist_flatten(struct symlist *list, struct symtab_range **ret, size_t *ret_n);

#endif
