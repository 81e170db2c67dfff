/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking for files by build-id; see finder.h. */
#include "finder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "debuglink.h"
#include "dwarfinfo.h"

#define SYSTEM_DEBUG_DIR "/usr/lib/debug"

/* One search under way. */
struct search {
	const struct finder *finder;
	const char *path; /* as recorded, without " (deleted)" */
	const struct sym_build_id *id;
	struct found found;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void free_dirs(struct finder *finder)
{
	for (size_t i = 0; i < finder->n_debug_dirs; i++)
		free(finder->debug_dirs[i]);
	free(finder->debug_dirs);
}

void finder_deinit(struct finder *finder)
{
	free_dirs(finder);
	free(finder->sysroot);
	*finder = (struct finder){ 0 };
}

struct ebt_error *finder_init(struct finder *finder, const struct sym_options *options)
{
	size_t n = 0;

	*finder = (struct finder){ 0 };
	while (options->debug_dirs && options->debug_dirs[n])
		n++;
	finder->debug_dirs = calloc(n + 1, sizeof(*finder->debug_dirs));
	if (!finder->debug_dirs)
		return &ebt_enomem;
	for (; finder->n_debug_dirs < n; finder->n_debug_dirs++) {
		char **dir = &finder->debug_dirs[finder->n_debug_dirs];

		*dir = strdup(options->debug_dirs[finder->n_debug_dirs]);
		if (!*dir)
			return &ebt_enomem;
	}
	if (options->sysroot) {
		finder->sysroot = strdup(options->sysroot);
		if (!finder->sysroot)
			return &ebt_enomem;
	}
	return NULL;
}

void found_deinit(struct found *found)
{
	elf_file_close(found->main);
	elf_file_close(found->debug);
	elf_file_close(found->alt);
	*found = (struct found){ 0 };
}

/* Nothing better can be found: symbols and lines are there. */
static bool is_complete(const struct found *found)
{
	return found->main && (found->debug || (found->main->has_symtab && found->main->has_dwarf));
}

/* Takes over the file, for what it can be used for. */
static void keep(struct search *search, struct elf_file *file)
{
	struct found *found = &search->found;

	if (file->has_code && !found->main)
		found->main = file;
	else if (!file->has_code && !found->debug && (file->has_dwarf || file->has_symtab))
		found->debug = file;
	else
		elf_file_close(file);
}

/* Opens a file that may be the one; what is wrong with it becomes the reason. */
static struct ebt_error *try_file(struct search *search, const char *path)
{
	struct elf_file *file;
	struct ebt_error *err = elf_file_open(path, &file);

	if (!err && sym_build_id_equal(&file->id, search->id)) {
		keep(search, file);
		return NULL;
	}
	if (!err) {
		search->found.reason = SYM_BUILD_ID_DIFFERS;
		elf_file_close(file);
		return NULL;
	}
	if (err->code != EBT_ERR_CORRUPT && err->code != EBT_ERR_NOT_FOUND)
		return err;
	if (err->code == EBT_ERR_CORRUPT && search->found.reason == SYM_NO_FILE)
		search->found.reason = SYM_BAD_FILE;
	ebt_error_destroy(err);
	return NULL;
}

__attribute__((format(printf, 2, 3))) static struct ebt_error *try_format(struct search *search,
									  const char *format, ...)
{
	_cleanup_free_ char *path = NULL;
	va_list args;
	int len;

	if (is_complete(&search->found))
		return NULL;
	va_start(args, format);
	len = vasprintf(&path, format, args);
	va_end(args);
	if (len < 0) {
		path = NULL;
		return &ebt_enomem;
	}
	return try_file(search, path);
}

/* DIR/.build-id/ab/cdef… with .debug behind it (separate debug information) and without. */
static struct ebt_error *try_build_id_dir(struct search *search, const char *dir, const char *below)
{
	char hex[2 * SYM_BUILD_ID_MAX + 1];
	struct ebt_error *err;

	for (unsigned int i = 0; i < search->id->len; i++)
		sprintf(hex + 2 * i, "%02x", search->id->bytes[i]);
	err = try_format(search, "%s%s/.build-id/%.2s/%s.debug", dir, below, hex, hex + 2);
	return err ? err : try_format(search, "%s%s/.build-id/%.2s/%s", dir, below, hex, hex + 2);
}

static struct ebt_error *in_debug_dirs(struct search *search)
{
	const char *name = base_name(search->path);

	for (size_t i = 0; i < search->finder->n_debug_dirs; i++) {
		const char *dir = search->finder->debug_dirs[i];
		struct ebt_error *err = try_build_id_dir(search, dir, "");

		if (!err)
			err = try_format(search, "%s%s", dir, search->path);
		if (!err)
			err = try_format(search, "%s/%s", dir, name);
		if (!err)
			err = try_format(search, "%s%s.debug", dir, search->path);
		if (!err)
			err = try_format(search, "%s/%s.debug", dir, name);
		if (err)
			return err;
	}
	return NULL;
}

static struct ebt_error *in_sysroot(struct search *search)
{
	const char *sysroot = search->finder->sysroot;
	struct ebt_error *err;

	if (!sysroot)
		return NULL;
	err = try_format(search, "%s%s", sysroot, search->path);
	return err ? err : try_build_id_dir(search, sysroot, SYSTEM_DEBUG_DIR);
}

static struct ebt_error *at_recorded_path(struct search *search)
{
	return try_format(search, "%s", search->path);
}

static struct ebt_error *in_system_debug_dir(struct search *search)
{
	return try_build_id_dir(search, SYSTEM_DEBUG_DIR, "");
}

/* The name in .gnu_debuglink, where debuggers look for it. */
static struct ebt_error *by_debuglink(struct search *search)
{
	static const struct {
		const char *before, *behind; /* the directory of the main file */
	} places[] = { { "", "" }, { "", "/.debug" }, { SYSTEM_DEBUG_DIR, "" } };
	const char *name = base_name(search->path);
	int dir_len = name > search->path ? name - search->path - 1 : 0;
	const char *roots[2] = { search->finder->sysroot, "" };
	struct debuglink link;

	if (!search->found.main || is_complete(&search->found) ||
	    !debuglink_read(search->found.main, &link))
		return NULL;
	for (size_t i = 0; i < 2 * sizeof(places) / sizeof(places[0]); i++) {
		_cleanup_free_ char *path = NULL;
		struct ebt_error *err;

		if (!roots[i % 2])
			continue;
		if (asprintf(&path, "%s%s%.*s%s/%s", roots[i % 2], places[i / 2].before, dir_len,
			     search->path, places[i / 2].behind, link.name) < 0) {
			path = NULL;
			return &ebt_enomem;
		}
		err = debuglink_open(path, &link, search->id, &search->found.debug);
		if (err || search->found.debug)
			return err;
	}
	return NULL;
}

/* What dwz took out of several files of debug information. Without it theirs cannot be read. */
static struct ebt_error *find_alt(struct search *search)
{
	const struct elf_file *from = search->found.debug;
	struct search alt = { .finder = search->finder };
	struct sym_build_id id;
	struct ebt_error *err;
	const char *name;

	if (!from || !from->has_dwarf)
		from = search->found.main;
	if (!from || !from->has_dwarf || !dwarf_altlink(from, &name, &id) || !id.len)
		return NULL;
	alt.id = &id;
	alt.path = name;
	err = in_debug_dirs(&alt);
	if (!err)
		err = in_sysroot(&alt);
	if (!err)
		err = in_system_debug_dir(&alt);
	if (!err && *name == '/')
		err = at_recorded_path(&alt);
	if (!err && *name != '/')
		err = try_format(&alt, "%.*s/%s", (int)(base_name(from->path) - from->path),
				 from->path, name);
	search->found.alt = take_ptr(alt.found.debug);
	found_deinit(&alt.found);
	return err;
}

/* Directories whose files are none of a program's: opening some of them does things. */
static bool is_special(const char *path)
{
	static const char *const places[] = { "/proc/", "/sys/", "/dev/" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!strncmp(path, places[i], strlen(places[i])))
			return true;
	}
	return *path != '/' || strstr(path, "/../");
}

/* A copy of the path, "/" alone (which is no file) where it must not be opened. */
static char *usable_path(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(path), tail = sizeof(deleted) - 1;

	if (is_special(path))
		return strdup("/");
	if (len > tail && !strcmp(path + len - tail, deleted))
		len -= tail;
	return strndup(path, len);
}

struct ebt_error *finder_find(const struct finder *finder, const char *path,
			      const struct sym_build_id *id, struct found *ret)
{
	static struct ebt_error *(*const chain[])(struct search *) = {
		in_debug_dirs,	     in_sysroot,   at_recorded_path,
		in_system_debug_dir, by_debuglink, find_alt,
	};
	_cleanup_free_ char *usable = usable_path(path);
	struct search search = { finder, usable, id, { .reason = SYM_NO_FILE } };

	if (!usable)
		return &ebt_enomem;
	for (size_t i = 0; i < sizeof(chain) / sizeof(chain[0]); i++) {
		struct ebt_error *err = chain[i](&search);

		if (err) {
			found_deinit(&search.found);
			return err;
		}
	}
	if (search.found.main || search.found.debug)
		search.found.reason = SYM_OK;
	*ret = search.found;
	return NULL;
}
