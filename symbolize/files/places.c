/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places where the finder looks: folders of this machine, and what containers have; search.h. */
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "symbolize/dwarf/info.h"
#include "symbolize/files/clientcache.h"
#include "symbolize/files/search.h"
#include "symbolize/spaces/translate.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* DIR/.build-id/ab/cdef… with .debug behind it (separate debug information) and without. */
static struct ebt_error *try_build_id_dir(struct search *search, const char *dir)
{
	char hex[SEARCH_HEX_SIZE];
	struct ebt_error *err;

	if (!search->id->len)
		return NULL;
	search_hex(search->id, hex);
	err = search_format(search, "%s/.build-id/%s.debug", dir, hex);
	return err ? err : search_format(search, "%s/.build-id/%s", dir, hex);
}

/* --- caches of this user --- */

struct ebt_error *search_caches(struct search *search)
{
	static const char *const kinds[] = { "debuginfo", "executable" };
	static const char *const names[] = { "elf", "debug", "vdso" };
	const char *home = getenv("HOME");
	char hex[SEARCH_HEX_SIZE];
	struct ebt_error *err = NULL;

	if (!search->id->len)
		return NULL;
	for (size_t i = 0; !err && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		_cleanup_free_ char *path = NULL;

		err = client_cache_file(search->id, kinds[i], &path);
		if (!err && path)
			err = search_path(search, path);
	}
	search_hex(search->id, hex);
	for (size_t i = 0; !err && home && i < sizeof(names) / sizeof(names[0]); i++)
		err = search_format(search, "%s/.debug/.build-id/%s/%s", home, hex, names[i]);
	return err;
}

/* --- folders that the user named --- */

struct ebt_error *search_debug_dirs(struct search *search)
{
	const char *name = base_name(search->path);

	for (char **dir = search->state->debug_dirs; *dir; dir++) {
		struct ebt_error *err = try_build_id_dir(search, *dir);

		if (err)
			return err;
		err = search_beneath(search, *dir, search->path);
		if (err)
			return err;
		err = search_format(search, "%s/%s", *dir, name);
		if (err)
			return err;
		err = search_format(search, "%s%s.debug", *dir, search->path);
		if (err)
			return err;
		err = search_format(search, "%s/%s.debug", *dir, name);
		if (err)
			return err;
	}
	return NULL;
}

/* --- paths of the recorded machine --- */

static struct ebt_error *try_candidate(struct search *search, const struct candidate *candidate)
{
	const char *sysroot = search->state->sysroot;
	char *path = NULL;
	int fd = -1;

	search->place = FOUND_CONTAINER;
	if (!candidate->dir) {
		if (sysroot)
			fd = beneath_open_layers(&candidate->layers, sysroot, candidate->path,
						 &path);
		if (fd < 0)
			fd = beneath_open_layers(&candidate->layers, NULL, candidate->path, &path);
		return search_fd(search, fd, path);
	}
	if (sysroot) {
		_cleanup_free_ char *whole = NULL;
		struct ebt_error *err;

		err = ebt_format(&whole, "%s%s", candidate->dir, candidate->path);
		if (!err)
			err = search_beneath(search, sysroot, whole);
		if (err)
			return err;
	}
	return search_beneath(search, candidate->dir, candidate->path);
}

/* Openings that paths of a trace may lead to, and the like: some minutes, for a trace that is made
 * to waste them. */
#define MAX_WORK 20000000

/* What translating a path costs, in openings. */
#define TRANSLATE_WORK 64

/* As one process saw the path. */
static struct ebt_error *try_view(struct search *search, const struct view *view, const char *path)
{
	struct finder_state *state = search->state;
	struct candidates candidates = { 0 };
	struct ebt_error *err = NULL;

	if (view->root_dir) {
		search->place = FOUND_ROOT;
		err = search_beneath(search, view->root_dir, path);
	}
	if (err || search_is_done(search))
		return err;
	pthread_mutex_lock(&state->lock);
	if (state->work < MAX_WORK)
		err = translate(state->views, view, path, &candidates);
	state->work += TRANSLATE_WORK;
	for (size_t i = 0; i < candidates.n; i++)
		state->work += 1 + candidates.items[i].layers.n;
	pthread_mutex_unlock(&state->lock);
	for (size_t i = 0; !err && i < candidates.n && !search_is_done(search); i++)
		err = try_candidate(search, &candidates.items[i]);
	candidates_deinit(&candidates);
	return err;
}

static struct ebt_error *try_views(struct search *search, const char *path)
{
	struct finder_state *state = search->state;
	const struct view *views[VIEWS_MAX];
	struct ebt_error *err = NULL;
	size_t n = 0;

	if (!state->reader || search_is_done(search) || !strcmp(path, "/") ||
	    strlen(path) >= PATH_MAX)
		return NULL;
	pthread_mutex_lock(&state->lock);
	if (!state->views)
		err = views_create(state->reader, (const char *const *)state->roots, &state->views);
	if (!err)
		n = views_of(state->views, search->recorded, search->recorded_id, views);
	pthread_mutex_unlock(&state->lock);
	for (size_t i = 0; !err && i < n; i++)
		err = try_view(search, views[i], path);
	return err;
}

/* What is at a path of the recorded machine: below --root, --sysroot, here, in containers. */
static struct ebt_error *in_roots(struct search *search, const char *path)
{
	enum found_place place = search->place;
	struct ebt_error *err = NULL;

	/* A process whose files the user says are elsewhere has none here. */
	if (search->state->sysroot) {
		search->place = FOUND_SYSROOT;
		err = search_beneath(search, search->state->sysroot, path);
	}
	search->place = place;
	if (err)
		return err;
	err = search_path(search, path);
	if (err)
		return err;
	err = try_views(search, path);
	search->place = place;
	return err;
}

struct ebt_error *search_recorded_path(struct search *search)
{
	return in_roots(search, search->path);
}

struct ebt_error *search_system(struct search *search)
{
	char hex[SEARCH_HEX_SIZE];
	_cleanup_free_ char *path = NULL;
	struct ebt_error *err;

	if (!search->id->len)
		return NULL;
	search_hex(search->id, hex);
	err = ebt_format(&path, SYSTEM_DEBUG_DIR "/.build-id/%s.debug", hex);
	return err ? err : in_roots(search, path);
}

/* --- what a file says about its debug information --- */

/* The linked name, where debuggers look for it. */
static struct ebt_error *try_link(struct search *search)
{
	static const struct {
		const char *before, *behind; /* the directory of the file */
	} places[] = { { "", "" }, { "", "/.debug" }, { SYSTEM_DEBUG_DIR, "" } };
	const struct elf_file *main = search->found.main;
	const char *name = base_name(search->path);
	int dir_len = name > search->path ? name - search->path - 1 : 0;
	struct ebt_error *err = NULL;

	search->place = FOUND_DEBUG_DIR;
	for (char **dir = search->state->debug_dirs; !err && *dir; dir++) {
		err = search_format(search, "%s/%s", *dir, search->link->name);
		if (!err)
			err = search_format(search, "%s%.*s/%s", *dir, dir_len, search->path,
					    search->link->name);
	}
	search->place = FOUND_SYSTEM;
	for (size_t i = 0; !err && i < sizeof(places) / sizeof(places[0]); i++) {
		_cleanup_free_ char *path = NULL;

		err = ebt_format(&path, "%s%.*s%s/%s", places[i].before, dir_len, search->path,
				 places[i].behind, search->link->name);
		if (!err)
			err = in_roots(search, path);
	}
	/* Beside the file that was found, wherever that is. */
	if (!err && main && main->path)
		err = search_format(search, "%.*s%s", (int)(base_name(main->path) - main->path),
				    main->path, search->link->name);
	return err;
}

struct ebt_error *search_debuglink(struct search *search)
{
	const struct identity *identity = search->identity;
	struct debuglink link;
	struct ebt_error *err;

	if (search_is_done(search) || search->found.debug)
		return NULL;
	if (search->found.main) {
		if (!debuglink_read(search->found.main, &link))
			return NULL;
	} else if (identity && *identity->debuglink) {
		link = (struct debuglink){ identity->debuglink, identity->debuglink_crc };
	} else {
		return NULL;
	}
	search->link = &link;
	err = try_link(search);
	search->link = NULL;
	return err;
}

/* --- servers --- */

/* Whether there is nothing that a server could add. */
static bool is_enough(const struct search *search)
{
	const struct elf_file *main = search->found.main;

	return !search->state->fetch || !search->id->len || search_is_done(search) ||
	       (search->state->no_inline && main && main->has_symtab);
}

static struct ebt_error *ask(struct search *search, enum fetch_kind kind, enum sym_reason *reason)
{
	struct fetch *fetch = search->state->fetch;
	struct elf_file *main = search->found.main, *debug = search->found.debug;
	_cleanup_free_ char *path = NULL;
	struct ebt_error *err = fetch_wait(fetch, kind, search->id, &path, reason);

	if (err || !path)
		return err;
	err = search_path(search, path);
	if (err || main != search->found.main || debug != search->found.debug)
		return err;
	fetch_refuse(fetch, kind, search->id, path);
	*reason = SYM_SERVER_OTHER;
	return NULL;
}

struct ebt_error *search_servers(struct search *search)
{
	struct found *found = &search->found;
	enum sym_reason before = found->reason, reason = SYM_OK;
	struct ebt_error *err;

	if (is_enough(search))
		return NULL;
	if (search->begin_only)
		return fetch_begin(search->state->fetch, FETCH_DEBUGINFO, search->id);
	err = ask(search, FETCH_DEBUGINFO, &reason);
	if (err)
		return err;
	if (reason != SYM_OK && found->debug_reason == SYM_OK)
		found->debug_reason = reason;
	if (!found->main && !found->debug && reason == SYM_SERVER_LACKS)
		err = ask(search, FETCH_EXECUTABLE, &reason);
	/* What was wrong with a file that is here says more than that a server lacks it. */
	if (!err && reason != SYM_OK)
		found->reason =
			reason != SYM_SERVER_LACKS || before == SYM_NO_FILE ? reason : before;
	return err;
}

static struct ebt_error *look_for_alt(struct search *alt, const struct elf_file *from)
{
	struct ebt_error *err = search_caches(alt);

	if (err)
		return err;
	err = search_debug_dirs(alt);
	if (err)
		return err;
	if (*alt->path == '/')
		err = search_recorded_path(alt);
	if (err)
		return err;
	err = search_system(alt);
	if (err)
		return err;
	if (*alt->path != '/' && from->path)
		err = search_format(alt, "%.*s%s", (int)(base_name(from->path) - from->path),
				    from->path, alt->path);
	return err ? err : search_servers(alt);
}

/* What dwz took out of several files of debug information. Without it theirs cannot be read. */
struct ebt_error *search_alt(struct search *search)
{
	const struct elf_file *from = search->found.debug;
	struct search alt = {
		.state = search->state,
		.recorded = search->recorded,
		.recorded_id = search->recorded_id,
		.begin_only = search->begin_only,
		.any = true,
	};
	struct sym_build_id id;
	struct ebt_error *err;
	const char *name;

	if (!from || !from->has_dwarf)
		from = search->found.main;
	if (!from || !from->has_dwarf || !dwarf_altlink(from, &name, &id) || !id.len)
		return NULL;
	alt.id = &id;
	alt.path = name;
	err = look_for_alt(&alt, from);
	search->found.alt = take_ptr(alt.found.debug);
	found_deinit(&alt.found);
	return err;
}
