/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One build of a program or library: its files here, and the frames at an address of it. Files
 * are opened when the first address is asked for.
 */
#ifndef SYM_MODULE_H
#define SYM_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarfinfo.h"
#include "elffile.h"
#include "error.h"
#include "finder.h"

struct module {
	enum sym_reason reason; /* why it has no symbols */
	struct found files;
	struct symtab *symtab;
	struct dwarf_info *dwarf; /* NULL: none */
};

/* Where in a file an address is. */
struct module_address {
	uint64_t offset;
	uint64_t pgoff, length; /* of the mapping that it is in */
};

/* A frame as the files have it. */
struct module_frame {
	const char *name; /* as linked */
	size_t name_len;
	bool plt;
	const char *file; /* NULL: not known */
	uint32_t line;
};

/* Finds the build's files. no_dwarf: symbol tables only. */
struct ebt_error *module_open(const struct finder *finder, const char *path,
			      const struct sym_build_id *id, bool no_dwarf, struct module **ret);

/* An image of memory, as the vdso; it must outlive the module. */
struct ebt_error *module_from_memory(char *image, size_t len, struct module **ret);
void module_close(struct module *module);

/* The address that the place is linked to; false: not known. */
bool module_address(const struct module *module, const struct module_address *place, uint64_t *ret);

/* Whether every function of the module has a symbol. */
bool module_is_complete(const struct module *module);

/* Why an address of the module has no symbol. */
enum sym_reason module_missing(const struct module *module);

/*
 * The frames at a linked address, innermost first. frames has room for DWARF_MAX_FRAMES; *ret_n 0:
 * no symbol covers it. Strings live as long as the module.
 */
struct ebt_error *module_find(struct module *module, uint64_t address, struct module_frame *frames,
			      size_t *ret_n);

#endif
