/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of the symbol cache: finding, reading, writing and dropping them; see cache.h. */
#include "symbolize/files/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/base/fdio.h"

/* All files together; with more, those that were not used for longest are dropped. */
#define MAX_TOTAL (UINT64_C(1) << 30)

/* One file: of a larger one, whatever it is, nothing is read. */
#define MAX_FILE (UINT64_C(256) << 20)

/* Files that are looked at when there is too much. */
#define MAX_LISTED 100000

/* Files that were being written this long ago never will be. */
#define STALE_SECONDS 3600

/* How often it is noted that a file was used. */
#define TOUCH_SECONDS 3600

struct sym_cache {
	int dir;
	bool written;
};

/* Nobody else can have put something there. */
static bool is_ours(int fd, mode_t type, struct stat *st)
{
	return !fstat(fd, st) && (st->st_mode & S_IFMT) == type && st->st_uid == geteuid() &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* Opens $XDG_CACHE_HOME/ebreport, and makes it. Returns -1 where that cannot be. */
static int open_dir(void)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool xdg = base && *base == '/';
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;
	struct stat st;
	char *slash;

	if (!xdg && (!home || *home != '/'))
		return -1;
	if (ebt_format(&path, "%s%s/ebreport", xdg ? base : home, xdg ? "" : "/.cache"))
		return -1;
	slash = strrchr(path, '/');
	*slash = '\0';
	mkdir(path, 0700);
	*slash = '/';
	mkdir(path, 0700);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 && is_ours(fd, S_IFDIR, &st) ? take_fd(&fd) : -1;
}

struct ebt_error *sym_cache_open(struct sym_cache **ret)
{
	int dir = open_dir();

	*ret = NULL;
	if (dir < 0)
		return NULL;
	*ret = calloc(1, sizeof(**ret));
	if (!*ret) {
		close(dir);
		return &ebt_enomem;
	}
	(*ret)->dir = dir;
	return NULL;
}

/* --- one file --- */

static void file_name(const struct cache_build *build, char name[2 * SYM_BUILD_ID_MAX + 16])
{
	for (unsigned int i = 0; i < build->id.len; i++)
		sprintf(name + 2 * i, "%02x", build->id.bytes[i]);
	strcpy(name + 2 * build->id.len, build->no_dwarf ? ".names" : ".frames");
}

struct ebt_error *sym_cache_load(const struct sym_cache *cache, struct cache_build *build,
				 bool *ret_found)
{
	_cleanup_(ebt_buffer_deinit) struct ebt_buffer data = EBT_BUFFER_INIT;
	char name[2 * SYM_BUILD_ID_MAX + 16];
	_cleanup_close_ int fd = -1;
	struct ebt_error *err;
	struct stat st;
	ssize_t n;

	*ret_found = false;
	if (!cache || !build->id.len)
		return NULL;
	file_name(build, name);
	fd = openat(cache->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || !is_ours(fd, S_IFREG, &st) || (uint64_t)st.st_size > MAX_FILE)
		return NULL;
	if (!ebt_buffer_reserve(&data, (size_t)st.st_size + 1))
		return &ebt_enomem;
	n = ebt_read_full(fd, data.data, (size_t)st.st_size);
	if (n < 0)
		return NULL;
	err = cache_build_unpack(build, data.data, (size_t)n, ret_found);
	if (!err && *ret_found && st.st_mtime + TOUCH_SECONDS < time(NULL))
		futimens(fd, NULL);
	return err;
}

struct ebt_error *sym_cache_save(struct sym_cache *cache, const struct cache_build *build)
{
	_cleanup_(ebt_buffer_deinit) struct ebt_buffer data = EBT_BUFFER_INIT;
	char name[2 * SYM_BUILD_ID_MAX + 16], temporary[sizeof(name) + 32];
	_cleanup_close_ int fd = -1;
	struct ebt_error *err;

	if (!cache || !build->id.len)
		return NULL;
	err = cache_build_pack(build, &data);
	if (err || data.len > MAX_FILE)
		return err;
	file_name(build, name);
	snprintf(temporary, sizeof(temporary), "%s.%ld.tmp", name, (long)getpid());
	fd = openat(cache->dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return NULL;
	if (!ebt_write(fd, data.data, data.len) ||
	    renameat(cache->dir, temporary, cache->dir, name))
		unlinkat(cache->dir, temporary, 0);
	else
		cache->written = true;
	return NULL;
}

/* --- all files --- */

struct cache_listed {
	char *name;
	time_t used;
	uint64_t size;
};

static int compare_listed(const void *a, const void *b)
{
	const struct cache_listed *x = a, *y = b;

	return x->used < y->used ? -1 : x->used > y->used;
}

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	return len > n && !strcmp(name + len - n, end);
}

/* Lists what is ours, and removes what somebody left half written. */
static size_t list_files(const struct sym_cache *cache, DIR *dir, struct cache_listed *ret,
			 uint64_t *ret_total)
{
	const struct dirent *entry;
	time_t now = time(NULL);
	size_t n = 0;

	*ret_total = 0;
	while (n < MAX_LISTED && (entry = readdir(dir))) {
		struct stat st;

		if (fstatat(cache->dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		if (ends_with(entry->d_name, ".tmp") && st.st_mtime + STALE_SECONDS < now)
			unlinkat(cache->dir, entry->d_name, 0);
		if (!ends_with(entry->d_name, ".names") && !ends_with(entry->d_name, ".frames"))
			continue;
		ret[n] = (struct cache_listed){ strdup(entry->d_name), st.st_mtime,
						(uint64_t)st.st_size };
		if (!ret[n].name)
			break;
		*ret_total += ret[n++].size;
	}
	return n;
}

static void drop_old(const struct sym_cache *cache)
{
	struct cache_listed *files = calloc(MAX_LISTED, sizeof(*files));
	int fd = openat(cache->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	uint64_t total = 0;
	size_t n = 0;

	if (files && dir)
		n = list_files(cache, dir, files, &total);
	if (total > MAX_TOTAL)
		qsort(files, n, sizeof(*files), compare_listed);
	for (size_t i = 0; i < n; i++) {
		if (total > MAX_TOTAL && !unlinkat(cache->dir, files[i].name, 0))
			total -= files[i].size;
		free(files[i].name);
	}
	free(files);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

void sym_cache_close(struct sym_cache *cache)
{
	if (!cache)
		return;
	if (cache->written)
		drop_old(cache);
	close(cache->dir);
	free(cache);
}
