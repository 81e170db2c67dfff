/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of a build, put together; see module.h. */
#include "symbolize/files/module.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "symbolize/dwarf/units.h"
#include "symbolize/elf/symlist.h"

DEFINE_CLEANUP(struct module *, module_close);

/* --- files --- */

static const struct elf_file *with_dwarf(const struct found *files)
{
	struct sym_build_id id;
	const char *name;
	const struct elf_file *file = files->debug;

	if (!file || !file->has_dwarf)
		file = files->main;
	if (!file || !file->has_dwarf || (dwarf_altlink(file, &name, &id) && !files->alt))
		return NULL;
	return file;
}

static unsigned int quality_of(const struct found *files, bool no_dwarf)
{
	bool symtab = (files->main && files->main->has_symtab) ||
		      (files->debug && files->debug->has_symtab);

	return (files->main ? CACHE_MAIN : 0) | (symtab ? CACHE_SYMTAB : 0) |
	       (!no_dwarf && with_dwarf(files) ? CACHE_DWARF : 0);
}

static struct ebt_error *copy_loads(struct cache_build *build, const struct found *files)
{
	const struct elf_file *file = files->main ? files->main : files->debug;

	free(build->loads);
	build->n_loads = 0;
	build->loads = calloc(file->n_loads + 1, sizeof(*build->loads));
	if (!build->loads)
		return &ebt_enomem;
	memcpy(build->loads, file->loads, file->n_loads * sizeof(*build->loads));
	build->n_loads = file->n_loads;
	return NULL;
}

/* Takes files for what they are: better than what is known from earlier ones, the same, or less. */
static struct ebt_error *use_files(struct module *module, bool known)
{
	struct cache_build *build = &module->build;
	unsigned int quality = quality_of(&module->files, build->no_dwarf);

	module->found = true;
	module->reason = known ? SYM_OK : module->files.reason;
	module->debug_reason = module->files.debug_reason;
	module->unusable = module->reason != SYM_OK;
	module->passing = known && quality < build->quality;
	if (module->unusable || (known && quality <= build->quality))
		return NULL;
	cache_build_deinit(build);
	build->quality = quality;
	build->complete = quality & CACHE_SYMTAB;
	module->n_saved = 0;
	return copy_loads(build, &module->files);
}

/* What the symbol cache gets of one copy it has for all of them. If only the first path counted, a
 * report that is made again would have more names than the first. */
struct ebt_error *module_source_find(const struct module_source *source, struct found *ret)
{
	struct ebt_error *err = finder_find(source->finder, source->path, &source->id, ret);

	for (size_t i = 0; !err && ret->reason != SYM_OK && i < source->n_copies; i++) {
		struct found copy = { 0 };

		err = finder_find(source->finder, source->copies[i], &source->id, &copy);
		/* What the trace has for a path says nothing of another: a program may run a file
		 * of its own with any build-id. */
		if (err || copy.reason != SYM_OK || copy.main_place == FOUND_TRACE) {
			found_deinit(&copy);
			continue;
		}
		found_deinit(ret);
		*ret = copy;
	}
	return err;
}

static struct ebt_error *find_files(struct module *module, bool known)
{
	struct ebt_error *err = module_source_find(&module->source, &module->files);

	return err ? err : use_files(module, known);
}

struct ebt_error *module_need_files(struct module *module)
{
	return module->found || !module->source.finder ? NULL : find_files(module, true);
}

struct ebt_error *module_need_names(struct module *module)
{
	struct found *files = &module->files;
	struct elf_file *all[] = { files->main, files->debug, files->alt };
	const struct elf_file *dwarf;
	struct ebt_error *err;

	if (module->names_read)
		return NULL;
	err = module_need_files(module);
	if (err || files->reason != SYM_OK)
		return err;
	all[0] = files->main;
	all[1] = files->debug;
	all[2] = files->alt;
	err = symtab_create(files->main, files->debug, &module->symtab);
	dwarf = module->build.no_dwarf ? NULL : with_dwarf(files);
	if (!err && dwarf)
		err = dwarf_units_create(dwarf, files->alt, &module->units);
	if (!err && module->units)
		err = dwarf_info_create(module->units, &module->dwarf);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i])
			elf_file_done_reading(all[i]);
	}
	module->names_read = !err;
	return err;
}

void module_release(struct module *module)
{
	if (!module->source.finder)
		return;
	dwarf_info_destroy(module->dwarf);
	dwarf_units_destroy(module->units);
	symtab_destroy(module->symtab);
	found_deinit(&module->files);
	module->dwarf = NULL;
	module->units = NULL;
	module->symtab = NULL;
	module->names_read = module->found = false;
}

/* --- opening and closing --- */

struct ebt_error *module_open(const struct module_source *source, struct module **ret)
{
	_cleanup_(module_closep) struct module *module = calloc(1, sizeof(*module));
	unsigned int best = source->no_dwarf ? CACHE_MAIN | CACHE_SYMTAB : CACHE_ALL;
	struct ebt_error *err;
	bool known;

	if (!module)
		return &ebt_enomem;
	module->source = *source;
	module->source.path = strdup(source->path);
	if (!module->source.path)
		return &ebt_enomem;
	module->build.id = source->id;
	module->build.no_dwarf = source->no_dwarf;
	err = sym_cache_load(source->cache, &module->build, &known);
	module->n_saved = module->build.frames.n;
	if (!err && (!known || module->build.quality < best))
		err = find_files(module, known);
	if (err)
		return err;
	/* Most likely all that will be asked for is known. */
	if (known && module->found)
		module_release(module);
	*ret = take_ptr(module);
	return NULL;
}

struct ebt_error *module_from_files(struct found *files, bool no_dwarf, struct module **ret)
{
	struct module *module = calloc(1, sizeof(*module));
	struct ebt_error *err;

	if (!module) {
		found_deinit(files);
		return &ebt_enomem;
	}
	module->files = *files;
	module->build.no_dwarf = no_dwarf;
	err = use_files(module, false);
	if (err) {
		module_close(module);
		return err;
	}
	*ret = module;
	return NULL;
}

struct ebt_error *module_from_memory(char *image, size_t len, struct module **ret)
{
	struct found files = { 0 };
	struct ebt_error *err = elf_file_from_memory(image, len, &files.main);

	if (err && err->code == EBT_ERR_CORRUPT) {
		files.reason = SYM_BAD_FILE;
		ebt_error_destroy(err);
		err = NULL;
	}
	return err ? err : module_from_files(&files, false, ret);
}

void module_close(struct module *module)
{
	if (!module)
		return;
	dwarf_info_destroy(module->dwarf);
	dwarf_units_destroy(module->units);
	symtab_destroy(module->symtab);
	found_deinit(&module->files);
	cache_build_deinit(&module->build);
	if (module->source.finder)
		free((char *)module->source.path);
	free(module);
}

struct ebt_error *module_save(struct module *module)
{
	struct ebt_error *err = NULL;

	if (!module->passing && module->build.frames.n > module->n_saved)
		err = sym_cache_save(module->source.cache, &module->build);
	module->n_saved = module->build.frames.n;
	return err;
}

/* --- addresses --- */

bool module_address(const struct module *module, const struct module_address *place, uint64_t *ret)
{
	const struct elf_file file = {
		.loads = module->build.loads,
		.n_loads = module->build.n_loads,
	};

	if (elf_file_address(&file, place->offset, ret))
		return true;
	return !(module->build.quality & CACHE_MAIN) &&
	       elf_file_address_by_mapping(&file, place->pgoff, place->length, place->offset, ret);
}

bool module_is_complete(const struct module *module)
{
	return module->build.complete;
}

enum sym_reason module_missing(const struct module *module)
{
	if (module_is_complete(module) || module->debug_reason == SYM_OK)
		return SYM_NO_SYMBOL;
	return module->debug_reason;
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
static void name_by_symbol(const struct module *module, uint64_t address,
			   struct module_frame *frame)
{
	const struct symtab_range *range = symtab_find(module->symtab, address);

	if (!range)
		return;
	frame->name_len = frame->name ? function_len(range) : range->name_len;
	frame->name = range->name;
	frame->plt = range->plt;
}

struct ebt_error *module_look_up(const struct module *module, struct dwarf_info *dwarf,
				 uint64_t address, struct module_frame *frames, size_t *ret_n,
				 bool *ret_passing)
{
	struct dwarf_frame found[DWARF_MAX_FRAMES];
	enum dwarf_answer answer = DWARF_WHOLE;
	size_t n_found = 0, n = 0;

	if (dwarf) {
		struct ebt_error *err = dwarf_info_find(dwarf, address, found, &n_found, &answer);

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
	/* Debug information that could not be read may be readable where there is more memory. */
	*ret_passing =
		answer != DWARF_WHOLE || (module->build.quality & CACHE_DWARF && !module->units);
	return NULL;
}

struct ebt_error *module_find(struct module *module, uint64_t address, struct module_frame *frames,
			      size_t *ret_n)
{
	struct ebt_error *err;
	bool passing = false;

	*ret_n = 0;
	if (module->unusable || frame_cache_find(&module->build.frames, address, frames, ret_n))
		return NULL;
	err = module_need_names(module);
	if (!err && !module->names_read)
		module->reason = module->files.reason;
	if (err || !module->names_read)
		return err;
	err = module_look_up(module, module->dwarf, address, frames, ret_n, &passing);
	if (err)
		return err;
	err = frame_cache_add(&module->build.frames, address, frames, *ret_n, passing);
	if (err)
		return err;
	frame_cache_find(&module->build.frames, address, frames, ret_n);
	if (module->dwarf && module->reason == SYM_OK && !dwarf_units_time_left(module->units))
		module->reason = SYM_TOO_LONG;
	return err;
}
