/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mapped files and their modules; see objects.h. */
#include "symbolize/files/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/array.h"
#include "format/read/damage.h"
#include "symbolize/files/cache.h"

/* Modules with open files, of which each has up to five. */
#define MAX_OPEN 64

/* Paths of one build that are looked at for its files. */
#define MAX_COPIES 64

DEFINE_CLEANUP(struct module *, module_close);

struct ebt_error *objects_init(struct objects *objects, struct ebt_reader *reader,
			       const struct addrspace *space, struct funcs *funcs,
			       const struct sym_options *options)
{
	*objects = (struct objects){
		.reader = reader,
		.space = space,
		.funcs = funcs,
		.no_dwarf = options->no_inline,
	};
	addrspace_objects(space, &objects->n);
	objects->items = calloc(objects->n + 1, sizeof(*objects->items));
	if (!objects->items)
		return &ebt_enomem;
	if (options->cache && !options->disabled) {
		struct ebt_error *err = sym_cache_open(&objects->cache);

		if (err)
			return err;
	}
	return finder_init(&objects->finder, reader, options);
}

void objects_deinit(struct objects *objects)
{
	for (size_t i = 0; i < objects->n_builds; i++) {
		/* What cannot be kept is found again. */
		ebt_error_destroy(module_save(objects->builds[i].module));
		module_close(objects->builds[i].module);
		free(objects->builds[i].image);
		free(objects->builds[i].copies);
	}
	free(objects->builds);
	free(objects->items);
	ebt_map_deinit(&objects->by_id);
	ebt_map_deinit(&objects->copies);
	finder_deinit(&objects->finder);
	sym_cache_close(objects->cache);
	*objects = (struct objects){ 0 };
}

static bool begins_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* Memory that has no file, or one that nobody else ever sees: what is there was generated, unless
 * the trace has it as an ELF file. */
static bool is_anonymous(const struct addrspace_object *recorded)
{
	const char *path = recorded->path;

	if (path[0] != '/')
		return true;
	return !recorded->id.len && (begins_with(path, "//") || begins_with(path, "/memfd:") ||
				     begins_with(path, "/dev/zero") || begins_with(path, "/SYSV"));
}

static struct ebt_error *describe(struct objects *objects, const struct addrspace_object *recorded,
				  struct object *object)
{
	char hex[2 * SYM_BUILD_ID_MAX + 1] = "";
	const char *path, *slash;
	struct ebt_error *err;

	for (unsigned int i = 0; i < recorded->id.len; i++)
		sprintf(hex + 2 * i, "%02x", recorded->id.bytes[i]);
	err = funcs_string(objects->funcs, hex, strlen(hex), &object->build_id);
	if (err)
		return err;
	err = funcs_string(objects->funcs, recorded->path, strlen(recorded->path), &path);
	if (err)
		return err;
	err = finder_is_embedded(&objects->finder, path, &recorded->id, &object->embedded);
	if (err)
		return err;
	slash = strrchr(path, '/');
	object->name = slash ? slash + 1 : path;
	if (!strcmp(path, "[vdso]"))
		object->kind = SYM_VDSO;
	else if (is_anonymous(recorded) && !object->embedded)
		object->kind = SYM_JIT;
	else
		object->kind = SYM_USER;
	object->anonymous = object->kind == SYM_JIT;
	object->embedded |= object->kind == SYM_VDSO;
	object->path = path;
	return NULL;
}

struct ebt_error *objects_get(struct objects *objects, uint32_t number, struct object **ret)
{
	struct object *object = &objects->items[number];
	struct ebt_error *err;
	size_t n;

	if (!object->path) {
		err = describe(objects, &addrspace_objects(objects->space, &n)[number], object);
		if (err)
			return err;
	}
	*ret = object;
	return NULL;
}

/* Of the vdsos that the trace has, the one with this build-id. *ret is NULL: there is none. */
static struct ebt_error *open_vdso(struct objects *objects, struct build *build)
{
	const struct ebt_file *files;
	struct ebt_error *err;
	size_t n, len;

	err = ebt_reader_files(objects->reader, &files, &n);
	for (size_t i = 0; !err && i < n; i++) {
		_cleanup_(module_closep) struct module *module = NULL;
		_cleanup_free_ char *image = NULL;

		if (strcmp(files[i].role, "vdso"))
			continue;
		err = ebt_reader_file_content(objects->reader, files[i].id, &image, &len);
		if (err) {
			err = ebt_damage_forgive(err);
			continue;
		}
		err = module_from_memory(image, len, &module);
		if (err || !module->files.main ||
		    !sym_build_id_equal(&module->files.main->id, &build->id))
			continue;
		build->module = take_ptr(module);
		build->image = take_ptr(image);
		break;
	}
	return err;
}

/* --- builds that have several paths --- */

static uint64_t hash_id(const struct sym_build_id *id)
{
	return ebt_hash_bytes(0, id->bytes, id->len);
}

static struct ebt_error *index_copies(struct objects *objects)
{
	const struct addrspace_object *recorded;
	struct ebt_error *err = NULL;
	size_t n;

	recorded = addrspace_objects(objects->space, &n);
	for (size_t i = 0; !err && !objects->copies_indexed && i < n; i++) {
		if (recorded[i].id.len && !is_anonymous(&recorded[i]))
			err = ebt_map_insert(&objects->copies, hash_id(&recorded[i].id),
					     (uint32_t)i);
	}
	objects->copies_indexed = !err;
	return err;
}

/* The paths of all other objects with the same build-id. *ret is freed with free(). */
static struct ebt_error *list_copies(struct objects *objects, uint32_t number, const char ***ret,
				     size_t *ret_n)
{
	const struct addrspace_object *recorded;
	const struct sym_build_id *id;
	_cleanup_free_ const char **list = NULL;
	size_t n = 0, capacity = 0, at = 0, n_objects;
	struct ebt_error *err = index_copies(objects);
	uint32_t i;

	recorded = addrspace_objects(objects->space, &n_objects);
	id = &recorded[number].id;
	while (!err && id->len && n < MAX_COPIES &&
	       (i = ebt_map_next(&objects->copies, hash_id(id), &at)) != EBT_MAP_NONE) {
		if (i == number || !sym_build_id_equal(&recorded[i].id, id))
			continue;
		err = ebt_array_reserve(&list, n, &capacity);
		if (!err)
			list[n++] = recorded[i].path;
	}
	if (err)
		return err;
	*ret = take_ptr(list);
	*ret_n = n;
	return NULL;
}

/* --- --- */

static struct module_source source_of(const struct objects *objects, uint32_t number)
{
	const struct addrspace_object *recorded;
	size_t n;

	recorded = addrspace_objects(objects->space, &n);
	return (struct module_source){
		.finder = &objects->finder,
		.cache = objects->cache,
		.path = recorded[number].path,
		.id = recorded[number].id,
		.no_dwarf = objects->no_dwarf,
	};
}

/* copies: other objects of this build may have files. */
static struct ebt_error *add_build(struct objects *objects, uint32_t number, bool copies,
				   struct module **ret)
{
	struct module_source source = source_of(objects, number);
	struct build *build;
	struct ebt_error *err;

	err = ebt_array_reserve(&objects->builds, objects->n_builds, &objects->builds_capacity);
	if (err)
		return err;
	build = &objects->builds[objects->n_builds];
	*build = (struct build){ .id = source.id };
	if (objects->items[number].kind == SYM_VDSO)
		err = open_vdso(objects, build);
	else if (copies)
		err = list_copies(objects, number, &build->copies, &source.n_copies);
	if (err)
		return err;
	source.copies = build->copies;
	if (!build->module)
		err = module_open(&source, &build->module);
	if (err) {
		free(build->copies);
		return err;
	}
	*ret = build->module;
	return ebt_map_insert(&objects->by_id, hash_id(&source.id), objects->n_builds++);
}

/* Closes the files of all modules, if there are many. */
static void close_files(struct objects *objects)
{
	size_t n = 0;

	for (size_t i = 0; i < objects->n_builds; i++)
		n += objects->builds[i].module->found;
	for (size_t i = 0; n >= MAX_OPEN && i < objects->n_builds; i++)
		module_release(objects->builds[i].module);
}

struct ebt_error *objects_open(struct objects *objects, uint32_t number)
{
	struct object *object = &objects->items[number];
	const struct addrspace_object *recorded;
	bool copies = true;
	size_t n, at = 0;
	uint32_t i;

	if (object->module)
		return NULL;
	recorded = &addrspace_objects(objects->space, &n)[number];
	while (recorded->id.len &&
	       (i = ebt_map_next(&objects->by_id, hash_id(&recorded->id), &at)) != EBT_MAP_NONE) {
		struct build *build = &objects->builds[i];

		if (!sym_build_id_equal(&build->id, &recorded->id))
			continue;
		if (!build->module->unusable) {
			object->module = build->module;
			return NULL;
		}
		/* No copy has a file; but each may lack it for another reason. */
		copies = false;
	}
	close_files(objects);
	return add_build(objects, number, copies, &object->module);
}

static struct ebt_error *keep_path(struct objects *objects, const char *path, const char **ret)
{
	return path ? funcs_string(objects->funcs, path, strlen(path), ret) : NULL;
}

static struct ebt_error *describe_found(struct objects *objects, const struct found *found,
					struct sym_object *ret)
{
	const struct elf_file *files[] = { found->main, found->debug };
	struct ebt_error *err = NULL;

	if (found->main) {
		ret->place = found_place_name(found->main_place);
		err = keep_path(objects, found->main->path, &ret->file);
	}
	if (!err && found->debug) {
		ret->debug_place = found_place_name(found->debug_place);
		err = keep_path(objects, found->debug->path, &ret->debug_file);
	}
	if (!err)
		err = keep_path(objects, found->refused, &ret->refused);
	for (size_t i = 0; i < 2; i++) {
		ret->has_symtab |= files[i] && files[i]->has_symtab;
		ret->has_dwarf |= files[i] && files[i]->has_dwarf;
	}
	ret->match = found_match_name(found->match);
	ret->reason = found->reason;
	ret->debug_reason = found->debug_reason;
	return err;
}

struct ebt_error *objects_describe(struct objects *objects, uint32_t number, bool disabled,
				   struct sym_object *ret)
{
	struct module_source source = source_of(objects, number);
	_cleanup_free_ const char **copies = NULL;
	struct found found = { 0 };
	struct object *object;
	struct ebt_error *err = objects_get(objects, number, &object);

	if (err)
		return err;
	*ret = (struct sym_object){
		.path = object->path,
		.build_id = object->build_id,
		.kind = object->kind,
		.anonymous = object->anonymous,
		.reason = disabled ? SYM_DISABLED : SYM_ANONYMOUS,
	};
	if (object->anonymous || disabled)
		return NULL;
	if (object->kind == SYM_VDSO) {
		err = objects_open(objects, number);
		if (!err && object->module->reason == SYM_OK)
			ret->place = found_place_name(FOUND_TRACE);
		ret->match = found_match_name(MATCH_BUILD_ID);
		ret->reason = err ? SYM_OK : object->module->reason;
		return err;
	}
	err = list_copies(objects, number, &copies, &source.n_copies);
	source.copies = copies;
	if (!err)
		err = module_source_find(&source, &found);
	if (!err)
		err = describe_found(objects, &found, ret);
	found_deinit(&found);
	return err;
}

struct ebt_error *objects_expect(struct objects *objects, uint32_t number)
{
	const struct addrspace_object *recorded;
	struct cache_build build = { .no_dwarf = objects->no_dwarf };
	struct object *object;
	struct ebt_error *err = objects_get(objects, number, &object);
	bool known = false;
	size_t n;

	if (err || object->expected || object->anonymous || object->kind == SYM_VDSO)
		return err;
	object->expected = true;
	recorded = &addrspace_objects(objects->space, &n)[number];
	build.id = recorded->id;
	err = sym_cache_load(objects->cache, &build, &known);
	if (!err && known)
		known = build.quality == CACHE_ALL || (build.no_dwarf && build.complete);
	cache_build_deinit(&build);
	if (!err && !known)
		err = finder_expect(&objects->finder, recorded->path, &recorded->id);
	return err;
}
