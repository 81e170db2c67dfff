/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The chain of places, and what makes a file the right one; see finder.h. */
#include "symbolize/files/finder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/base/cleanup.h"
#include "symbolize/files/search.h"
#include "symbolize/spaces/beneath.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

const char *found_place_name(enum found_place place)
{
	switch (place) {
	case FOUND_NOWHERE:
		return "nowhere";
	case FOUND_TRACE:
		return "trace";
	case FOUND_CACHE:
		return "cache";
	case FOUND_DEBUG_DIR:
		return "debug-dir";
	case FOUND_ROOT:
		return "root";
	case FOUND_SYSROOT:
		return "sysroot";
	case FOUND_PATH:
		return "path";
	case FOUND_CONTAINER:
		return "container";
	case FOUND_SYSTEM:
		return "system";
	case FOUND_DEBUGINFOD:
		break;
	}
	return "debuginfod";
}

const char *found_match_name(enum found_match match)
{
	switch (match) {
	case MATCH_BUILD_ID:
		return "build-id";
	case MATCH_HASH:
		return "content";
	case MATCH_SIZE_TIME:
		break;
	}
	return "size and time";
}

/* --- options --- */

static void free_strings(char **strings)
{
	for (size_t i = 0; strings && strings[i]; i++)
		free(strings[i]);
	free(strings);
}

static struct ebt_error *copy_strings(const char *const *from, char ***ret)
{
	size_t n = 0;

	while (from && from[n])
		n++;
	*ret = calloc(n + 1, sizeof(**ret));
	if (!*ret)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++) {
		(*ret)[i] = strdup(from[i]);
		if (!(*ret)[i])
			return &ebt_enomem;
	}
	return NULL;
}

void finder_deinit(struct finder *finder)
{
	struct finder_state *state = finder->state;

	if (!state)
		return;
	fetch_destroy(state->fetch);
	free_strings(state->debug_dirs);
	free_strings(state->roots);
	free(state->sysroot);
	views_destroy(state->views);
	identities_destroy(state->identities);
	pthread_mutex_destroy(&state->lock);
	free(state);
	finder->state = NULL;
}

struct ebt_error *finder_init(struct finder *finder, struct ebt_reader *reader,
			      const struct sym_options *options)
{
	struct finder_state *state = calloc(1, sizeof(*state));
	struct ebt_error *err;

	finder->state = state;
	if (!state)
		return &ebt_enomem;
	state->reader = reader;
	pthread_mutex_init(&state->lock, NULL);
	state->no_inline = options->no_inline;
	err = copy_strings(options->debug_dirs, &state->debug_dirs);
	if (err)
		return err;
	err = copy_strings(options->roots, &state->roots);
	if (err)
		return err;
	if (options->sysroot) {
		state->sysroot = strdup(options->sysroot);
		if (!state->sysroot)
			return &ebt_enomem;
	}
	if (options->servers && !options->disabled)
		return fetch_create(options->servers, &state->fetch);
	return NULL;
}

void finder_tally(const struct finder *finder, struct sym_tally *ret)
{
	struct finder_state *state = finder->state;

	*ret = (struct sym_tally){ 0 };
	if (state->fetch)
		fetch_failures(state->fetch, ret->not_fetched);
	pthread_mutex_lock(&state->lock);
	if (state->identities)
		ret->by_time = identities_noted(state->identities);
	pthread_mutex_unlock(&state->lock);
}

void found_deinit(struct found *found)
{
	elf_file_close(found->main);
	elf_file_close(found->debug);
	elf_file_close(found->alt);
	free(found->refused);
	free(found->image);
	*found = (struct found){ 0 };
}

/* --- is it the file? --- */

bool search_is_done(const struct search *search)
{
	const struct found *found = &search->found;

	if (search->link)
		return found->debug;
	return found->main && (found->debug || (found->main->has_symtab && found->main->has_dwarf));
}

/* Takes over the file, for what it can be used for. */
static void keep(struct search *search, struct elf_file *file)
{
	struct found *found = &search->found;

	if (file->has_code && !found->main) {
		found->main = file;
		found->main_place = search->place;
	} else if (!file->has_code && !found->debug &&
		   (search->any || file->has_dwarf || file->has_symtab)) {
		found->debug = file;
		found->debug_place = search->place;
	} else {
		elf_file_close(file);
	}
}

/* Whether a file without build-id is the recorded one. */
static bool has_identity(const struct identity *identity, const struct elf_file *file,
			 enum found_match *ret)
{
	struct stat st;

	if (file->id.len || file->fd < 0 || fstat(file->fd, &st) ||
	    (uint64_t)st.st_size != identity->size)
		return false;
	if (identity->hashed) {
		*ret = MATCH_HASH;
		return identity_hash_is(identity, file->fd);
	}
	*ret = MATCH_SIZE_TIME;
	return identity->mtime_ns &&
	       identity->mtime_ns == st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
}

static bool is_right(struct search *search, const struct elf_file *file)
{
	if (search->link)
		return debuglink_accepts(search->link, search->id, file);
	if (search->id->len)
		return sym_build_id_equal(&file->id, search->id);
	return search->identity && has_identity(search->identity, file, &search->found.match);
}

static void refuse(struct search *search, const struct elf_file *file)
{
	struct found *found = &search->found;

	if (search->link)
		found->debug_reason = file->id.len && search->id->len ? SYM_BUILD_ID_DIFFERS
								      : SYM_CHECKSUM_DIFFERS;
	else
		found->reason = search->id->len ? SYM_BUILD_ID_DIFFERS : SYM_CONTENT_DIFFERS;
	if (!found->refused && file->path)
		found->refused = strdup(file->path);
}

struct ebt_error *search_fd(struct search *search, int fd, char *taken)
{
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	_cleanup_free_ char *path = taken;
	struct ebt_error *err;

	if (fd < 0)
		return NULL;
	err = elf_file_open_fd(fd, path, &file);
	if (!err && is_right(search, file))
		keep(search, take_ptr(file));
	else if (!err)
		refuse(search, file);
	if (!err || (err->code != EBT_ERR_CORRUPT && err->code != EBT_ERR_NOT_FOUND))
		return err;
	if (search->found.reason == SYM_NO_FILE)
		search->found.reason = SYM_BAD_FILE;
	ebt_error_destroy(err);
	return NULL;
}

struct ebt_error *search_path(struct search *search, const char *path)
{
	char *copy;
	uint64_t size;
	int fd;

	if (search_is_done(search))
		return NULL;
	fd = sym_open_regular(path, &size);
	if (fd < 0)
		return NULL;
	copy = strdup(path);
	if (!copy) {
		close(fd);
		return &ebt_enomem;
	}
	return search_fd(search, fd, copy);
}

struct ebt_error *search_format(struct search *search, const char *format, ...)
{
	_cleanup_free_ char *path = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&path, format, args) < 0)
		path = NULL;
	va_end(args);
	return path ? search_path(search, path) : &ebt_enomem;
}

struct ebt_error *search_beneath(struct search *search, const char *root, const char *path)
{
	char *found = NULL;
	int fd;

	if (search_is_done(search))
		return NULL;
	fd = beneath_open(root, path, &found);
	return search_fd(search, fd, found);
}

void search_hex(const struct sym_build_id *id, char ret[SEARCH_HEX_SIZE])
{
	size_t at = 0;

	for (unsigned int i = 0; i < id->len; i++) {
		at += sprintf(ret + at, "%02x", id->bytes[i]);
		if (!i)
			ret[at++] = '/';
	}
	ret[at] = '\0';
}

/* --- the search --- */

/* Directories whose files are none of a program's: opening some of them does things. */
static bool is_special(const char *path)
{
	static const char *const places[] = { "/proc/", "/sys/", "/dev/" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!strncmp(path, places[i], strlen(places[i])))
			return true;
	}
	/* The kernel's paths have none of these, which would lead there in other words. */
	return *path != '/' || strstr(path, "//") || strstr(path, "/./") || strstr(path, "/../");
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

static struct ebt_error *find_identity(struct finder_state *state, const char *path,
				       const struct sym_build_id *id, const struct identity **ret)
{
	struct ebt_error *err = NULL;

	*ret = NULL;
	if (!state->reader)
		return NULL;
	pthread_mutex_lock(&state->lock);
	if (!state->identities)
		err = identities_create(state->reader, &state->identities);
	if (!err)
		*ret = identities_find(state->identities, path, id);
	pthread_mutex_unlock(&state->lock);
	return err;
}

struct ebt_error *finder_loads(const struct finder *finder, const char *path,
			       const struct sym_build_id *id, const struct elf_load **ret,
			       size_t *ret_n)
{
	const struct identity *identity;
	struct ebt_error *err = find_identity(finder->state, path, id, &identity);

	if (err)
		return err;
	*ret = identity ? identity->loads : NULL;
	*ret_n = identity ? identity->n_loads : 0;
	return NULL;
}

struct ebt_error *finder_is_embedded(const struct finder *finder, const char *path,
				     const struct sym_build_id *id, bool *ret)
{
	const struct identity *identity;
	struct ebt_error *err = find_identity(finder->state, path, id, &identity);

	*ret = !err && identity && identity->file_id;
	return err;
}

static struct ebt_error *identify(struct search *search)
{
	struct ebt_error *err =
		find_identity(search->state, search->recorded, search->id, &search->identity);

	if (!err && search->identity && !search->id->len)
		search->id = &search->identity->id;
	return err;
}

static void note_by_time(const struct search *search)
{
	pthread_mutex_lock(&search->state->lock);
	identities_note(search->state->identities, search->identity);
	pthread_mutex_unlock(&search->state->lock);
}

static struct ebt_error *look_everywhere(struct search *search)
{
	static const struct {
		enum found_place place;
		struct ebt_error *(*fn)(struct search *search);
	} chain[] = {
		{ FOUND_TRACE, search_trace },		{ FOUND_CACHE, search_caches },
		{ FOUND_DEBUG_DIR, search_debug_dirs }, { FOUND_PATH, search_recorded_path },
		{ FOUND_SYSTEM, search_system },	{ FOUND_SYSTEM, search_debuglink },
		{ FOUND_DEBUGINFOD, search_servers },	{ FOUND_NOWHERE, search_alt },
	};
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < sizeof(chain) / sizeof(chain[0]); i++) {
		search->place = chain[i].place;
		err = chain[i].fn(search);
	}
	return err;
}

/* ret->found is to be released, also on failure. */
static struct ebt_error *look_for(struct search *search)
{
	struct ebt_error *err = identify(search);

	search->found.reason = SYM_NO_FILE;
	if (!err && !search->id->len && !search->identity)
		search->found.reason = SYM_NO_BUILD_ID;
	else if (!err)
		err = look_everywhere(search);
	return err;
}

/* Files of debug information have lost where their segments were in the file. */
static struct ebt_error *use_recorded_loads(const struct search *search)
{
	const struct identity *identity = search->identity;
	struct elf_file *debug = search->found.debug;
	struct elf_load *loads;

	if (search->found.main || !debug || !identity || !identity->n_loads)
		return NULL;
	loads = calloc(identity->n_loads, sizeof(*loads));
	if (!loads)
		return &ebt_enomem;
	memcpy(loads, identity->loads, identity->n_loads * sizeof(*loads));
	free(debug->loads);
	debug->loads = loads;
	debug->n_loads = identity->n_loads;
	return NULL;
}

/* usable: the path as it may be looked for. */
static struct search search_for(const struct finder *finder, const char *path, const char *usable,
				const struct sym_build_id *id)
{
	return (struct search){
		.state = finder->state,
		.recorded = path,
		.recorded_id = id,
		.path = usable,
		.id = id,
	};
}

struct ebt_error *finder_find(const struct finder *finder, const char *path,
			      const struct sym_build_id *id, struct found *ret)
{
	_cleanup_free_ char *usable = usable_path(path);
	struct search search = search_for(finder, path, usable, id);
	struct ebt_error *err;

	if (!usable)
		return &ebt_enomem;
	err = look_for(&search);
	if (!err)
		err = use_recorded_loads(&search);
	if (err) {
		found_deinit(&search.found);
		return err;
	}
	if (search.found.main || search.found.debug)
		search.found.reason = SYM_OK;
	if (search.found.main && search.found.match == MATCH_SIZE_TIME)
		note_by_time(&search);
	*ret = search.found;
	return NULL;
}

struct ebt_error *finder_expect(const struct finder *finder, const char *path,
				const struct sym_build_id *id)
{
	_cleanup_free_ char *usable = usable_path(path);
	struct search search = search_for(finder, path, usable, id);
	struct ebt_error *err;

	if (!usable)
		return &ebt_enomem;
	search.begin_only = true;
	err = finder->state->fetch ? look_for(&search) : NULL;
	found_deinit(&search.found);
	return err;
}
