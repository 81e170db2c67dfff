/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of a build, put together; see module.h. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "symlist.h"

DEFINE_CLEANUP(struct module *, module_close);

/* Reads what the files have, after which they can be closed. */
static struct ebt_error *read_files(struct module *module, bool no_dwarf)
{
	struct found *files = &module->files;
	struct elf_file *all[] = { files->main, files->debug, files->alt };
	struct ebt_error *err;

	if (module->reason != SYM_OK)
		return NULL;
	err = symtab_create(files->main, files->debug, &module->symtab);
	for (size_t i = 2; !err && !no_dwarf && !module->dwarf && i-- > 0;) {
		if (all[i] && all[i]->has_dwarf)
			err = dwarf_info_create(all[i], files->alt, &module->dwarf);
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i])
			elf_file_done_reading(all[i]);
	}
	return err;
}

struct ebt_error *module_open(const struct finder *finder, const char *path,
			      const struct sym_build_id *id, bool no_dwarf, struct module **ret)
{
	_cleanup_(module_closep) struct module *module = calloc(1, sizeof(*module));
	struct ebt_error *err;

	if (!module)
		return &ebt_enomem;
	err = finder_find(finder, path, id, &module->files);
	if (err)
		return err;
	module->reason = module->files.reason;
	err = read_files(module, no_dwarf);
	if (err)
		return err;
	*ret = take_ptr(module);
	return NULL;
}

struct ebt_error *module_from_memory(char *image, size_t len, struct module **ret)
{
	_cleanup_(module_closep) struct module *module = calloc(1, sizeof(*module));
	struct ebt_error *err;

	if (!module)
		return &ebt_enomem;
	err = elf_file_from_memory(image, len, &module->files.main);
	if (!err)
		err = read_files(module, false);
	if (err && err->code == EBT_ERR_CORRUPT) {
		module->reason = SYM_BAD_FILE;
		ebt_error_destroy(err);
		err = NULL;
	}
	if (err)
		return err;
	*ret = take_ptr(module);
	return NULL;
}

void module_close(struct module *module)
{
	if (!module)
		return;
	dwarf_info_destroy(module->dwarf);
	symtab_destroy(module->symtab);
	found_deinit(&module->files);
	free(module);
}

bool module_address(const struct module *module, const struct module_address *place, uint64_t *ret)
{
	const struct found *files = &module->files;

	if (files->main)
		return elf_file_address(files->main, place->offset, ret);
	return files->debug && (elf_file_address(files->debug, place->offset, ret) ||
				elf_file_address_by_mapping(files->debug, place->pgoff,
							    place->length, place->offset, ret));
}

bool module_is_complete(const struct module *module)
{
	return module->symtab && module->symtab->complete;
}

enum sym_reason module_missing(const struct module *module)
{
	if (module_is_complete(module) || module->files.debug_reason == SYM_OK)
		return SYM_NO_SYMBOL;
	return module->files.debug_reason;
}

/* Length of a symbol's name without what compilers put behind that of the function. Other dots
 * are part of a name: of Rust's, of Go's. */
static size_t function_len(const struct symtab_range *range)
{
	static const char *const parts[] = { ".cold",  ".part.", ".constprop.",
					     ".isra.", ".llvm.", ".lto_priv." };

	for (size_t at = 1; at < range->name_len; at++) {
		if (range->name[at] != '.')
			continue;
		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
			size_t len = strlen(parts[i]);

			if (len <= range->name_len - at && !memcmp(range->name + at, parts[i], len))
				return at;
		}
	}
	return range->name_len;
}

/*
 * Names the outermost frame, which is what a symbol stands for, by the symbol table where that
 * can be: so a function has one name, with debug information and without. Only parts that the
 * compiler split off ("foo.cold") are counted to their function where DWARF says so.
 */
static void name_by_symbol(struct module *module, uint64_t address, struct module_frame *frame)
{
	const struct symtab_range *range = symtab_find(module->symtab, address);

	if (!range)
		return;
	frame->name_len = frame->name ? function_len(range) : range->name_len;
	frame->name = range->name;
	frame->plt = range->plt;
}

struct ebt_error *module_find(struct module *module, uint64_t address, struct module_frame *frames,
			      size_t *ret_n)
{
	struct dwarf_frame found[DWARF_MAX_FRAMES];
	size_t n_found = 0, n = 0;

	if (module->dwarf) {
		struct ebt_error *err = dwarf_info_find(module->dwarf, address, found, &n_found);

		if (err)
			return err;
	}
	if (!n_found)
		found[n_found++] = (struct dwarf_frame){ 0 };
	for (size_t i = 0; i < n_found; i++) {
		/* An inlined call without a name is left out: its caller's line tells where. */
		if (!found[i].name && i + 1 < n_found)
			continue;
		frames[n++] = (struct module_frame){
			.name = found[i].name,
			.name_len = found[i].name ? strnlen(found[i].name, SYM_MAX_NAME) : 0,
			.file = found[i].file,
			.line = found[i].line,
		};
	}
	name_by_symbol(module, address, &frames[n - 1]);
	*ret_n = frames[n - 1].name ? n : 0;
	return NULL;
}
