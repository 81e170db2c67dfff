/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One build of a program or library: its files here, and the frames at an address of it. What is
 * known of an address is kept, and on disk too (cache.h); files are looked for when they are
 * needed, and closed when they are not.
 */
#ifndef SYMBOLIZE_FILES_MODULE_H
#define SYMBOLIZE_FILES_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "symbolize/dwarf/info.h"
#include "symbolize/elf/elffile.h"
#include "symbolize/files/frame_cache.h"
#include "symbolize/files/cache.h"
#include "symbolize/files/finder.h"

/* Where a module comes from. Finder, cache and copies must outlive it; the path is copied. */
struct module_source {
	const struct finder *finder;
	struct sym_cache *cache; /* or NULL */
	const char *path;	 /* as recorded */
	struct sym_build_id id;
	bool no_dwarf; /* symbol tables only */
	/* Other paths where this build was mapped: its files may be there if they are not here. */
	const char *const *copies;
	size_t n_copies;
};

/* Looks for the files of a source at its path, then at those of its copies. */
struct ebt_error *module_source_find(const struct module_source *source, struct found *ret);

struct module {
	struct module_source source;  /* finder NULL: there are only these files */
	enum sym_reason reason;	      /* why an address may have no symbol */
	enum sym_reason debug_reason; /* why there is no debug information, where that is known */
	bool unusable;		      /* there is nothing to name anything by */

	bool found; /* files are looked for, and open */
	struct found files;
	bool names_read;
	struct symtab *symtab;
	struct dwarf_units *units; /* NULL: no debug information */
	struct dwarf_info *dwarf;  /* of the thread that asks for single addresses */

	struct cache_build build; /* what is known so far */
	bool passing;		  /* these files say less than what is on disk was made from */
	size_t n_saved;		  /* addresses that are on disk */
};

/* Where in a file an address is. */
struct module_address {
	uint64_t offset;
	uint64_t pgoff, length; /* of the mapping that it is in */
};

struct ebt_error *module_open(const struct module_source *source, struct module **ret);

/* An image of memory, as the vdso; it must outlive the module. */
struct ebt_error *module_from_memory(char *image, size_t len, struct module **ret);

/* Takes the files over, in any case, where they are all that there is. */
struct ebt_error *module_from_files(struct found *files, bool no_dwarf, struct module **ret);

void module_close(struct module *module);

/* Looks for the files if that was not done. What is not there is NULL in module->files. */
struct ebt_error *module_need_files(struct module *module);

/* Reads symbol tables and the units of debug information. */
struct ebt_error *module_need_names(struct module *module);

/* Closes files, and gives back what was read of them. */
void module_release(struct module *module);

/* Keeps what is new on disk. */
struct ebt_error *module_save(struct module *module);

/* The address that the place is linked to; false: not known. */
bool module_address(const struct module *module, const struct module_address *place, uint64_t *ret);

/* Whether every function of the module has a symbol. */
bool module_is_complete(const struct module *module);

/* Why an address of the module has no symbol. */
enum sym_reason module_missing(const struct module *module);

/*
 * The frames at a linked address, innermost first. frames has room for DWARF_MAX_FRAMES; *ret_n 0:
 * no symbol covers it. Strings live until the next call.
 */
struct ebt_error *module_find(struct module *module, uint64_t address, struct module_frame *frames,
			      size_t *ret_n);

/* The same by what was read, whatever is known: threads may do so with a dwarf_info each. Strings
 * live until the next call with it. *ret_passing: another time more may be found. */
struct ebt_error *module_look_up(const struct module *module, struct dwarf_info *dwarf,
				 uint64_t address, struct module_frame *frames, size_t *ret_n,
				 bool *ret_passing);

#endif
