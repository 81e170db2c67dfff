/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding what a command will load; see unwind_ahead.h. */
#include "unwind_ahead.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "needed.h"
#include "unwind_files.h"

/* Files of a command; the largest desktop programs load some 200. */
#define MAX_FILES 512
/* Scripts whose interpreter is a script, and `env`. */
#define MAX_SCRIPTS 4
#define MAX_CACHE   (16u << 20)

/* What ld.so searches last; Debian's places, and those of others. */
#define DEFAULT_DIRS                                                              \
	"/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib/aarch64-linux-gnu:" \
	"/usr/lib/aarch64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib"

struct ahead {
	struct unwind_tables *tables;
	int files_map;
	char *files[MAX_FILES]; /* found so far */
	size_t n;
	char *cache; /* of ld.so.conf's directories: /etc/ld.so.cache */
	size_t cache_len;
};

/* --- ld.so.cache, as glibc has written it since 2.2: cache_file_new of dl-cache.h --- */

struct cache_header {
	char magic[20];
	uint32_t n, strings_len, unused[5];
};

struct cache_entry {
	int32_t flags;
	uint32_t name, path; /* offsets of strings */
	uint32_t os_version;
	uint64_t hwcap;
};

static void read_cache(struct ahead *a)
{
	_cleanup_close_ int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || st.st_size <= 0 || st.st_size > MAX_CACHE)
		return;
	a->cache = malloc((size_t)st.st_size + 1);
	if (!a->cache || read(fd, a->cache, (size_t)st.st_size) != st.st_size)
		return;
	a->cache[st.st_size] = '\0'; /* ends every string */
	a->cache_len = (size_t)st.st_size;
}

static const char *find_in_cache(const struct ahead *a, const char *name)
{
	struct cache_header header;

	if (a->cache_len < sizeof(header))
		return NULL;
	memcpy(&header, a->cache, sizeof(header));
	if (memcmp(header.magic, "glibc-ld.so.cache1.1", sizeof(header.magic)))
		return NULL;
	for (uint32_t i = 0; i < header.n; i++) {
		size_t at = sizeof(header) + (size_t)i * sizeof(struct cache_entry);
		struct cache_entry e;

		if (a->cache_len - sizeof(e) < at)
			return NULL;
		memcpy(&e, a->cache + at, sizeof(e));
		/* The first one is for the best CPU; others' names are those of other ABIs. */
		if (e.name < a->cache_len && e.path < a->cache_len && !e.hwcap &&
		    (e.flags >> 8 == 3 || e.flags >> 8 == 10) && !strcmp(a->cache + e.name, name))
			return a->cache + e.path;
	}
	return NULL;
}

/* --- where files are --- */

/* Appends one directory of a list, with $ORIGIN put in; false: it does not fit. */
static bool expand(const char *dir, size_t len, const char *origin, char *ret, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		const char *text = NULL;
		size_t skip = 0;

		if (len - i >= 7 && !strncmp(dir + i, "$ORIGIN", 7))
			skip = 7;
		else if (len - i >= 9 && !strncmp(dir + i, "${ORIGIN}", 9))
			skip = 9;
		text = skip ? origin : dir + i;
		if (n + (skip ? strlen(text) : 1) >= size)
			return false;
		if (skip) {
			strcpy(ret + n, text);
			n += strlen(text);
		} else {
			ret[n++] = *text;
		}
		i += skip ? skip : 1;
	}
	ret[n] = '\0';
	return true;
}

/* name in the first directory of a colon list that has it; ret has PATH_MAX. */
static bool find_in(const char *dirs, const char *origin, const char *name, int mode, char *ret)
{
	char dir[PATH_MAX];

	for (const char *d = dirs; d && *d; d += strcspn(d, ":"), d += *d == ':') {
		size_t len = strcspn(d, ":");

		if (!expand(d, len, origin, dir, sizeof(dir)))
			continue;
		if (snprintf(ret, PATH_MAX, "%s/%s", *dir ? dir : ".", name) < PATH_MAX &&
		    !access(ret, mode))
			return true;
	}
	return false;
}

static bool find_library(const struct ahead *a, const struct needed *needed, const char *origin,
			 const char *name, char *ret)
{
	const char *cached;

	if (strchr(name, '/'))
		return snprintf(ret, PATH_MAX, "%s", name) < PATH_MAX;
	if (find_in(needed->runpath, origin, name, R_OK, ret) ||
	    find_in(getenv("LD_LIBRARY_PATH"), origin, name, R_OK, ret))
		return true;
	cached = find_in_cache(a, name);
	if (cached)
		return snprintf(ret, PATH_MAX, "%s", cached) < PATH_MAX;
	return find_in(DEFAULT_DIRS, origin, name, R_OK, ret);
}

static bool find_program(const char *name, char *ret)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(ret, PATH_MAX, "%s", name) < PATH_MAX;
	return find_in(path ? path : "/bin:/usr/bin", "", name, X_OK, ret);
}

/* --- what to make --- */

/* Each file once; names of links to it were made real. */
static void add_file(struct ahead *a, const char *path)
{
	char *real = a->n < MAX_FILES ? realpath(path, NULL) : NULL;

	for (size_t i = 0; real && i < a->n; i++) {
		if (!strcmp(a->files[i], real)) {
			free(real);
			return;
		}
	}
	if (real)
		a->files[a->n++] = real;
}

static void add_needed(struct ahead *a, const char *path, int fd)
{
	char origin[PATH_MAX], found[PATH_MAX];
	struct needed *needed = malloc(sizeof(*needed));
	char *slash;

	if (!needed)
		return;
	needed_read(fd, needed);
	snprintf(origin, sizeof(origin), "%s", path);
	slash = strrchr(origin, '/');
	if (slash)
		*slash = '\0';
	if (*needed->interpreter)
		add_file(a, needed->interpreter);
	for (size_t i = 0; i < needed->n; i++) {
		if (find_library(a, needed, origin, needed->names[i], found))
			add_file(a, found);
	}
	needed_deinit(needed);
	free(needed);
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	return -1;
}

/* The program that runs a script: "#!/bin/sh", "#!/usr/bin/env python3". */
static bool script_program(const char *path, char *ret)
{
	_cleanup_close_ int fd = open_file(path);
	char line[256], *word, *rest;
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

	if (n < 2 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(line + 2, " \t", &rest);
	if (!word || snprintf(ret, PATH_MAX, "%s", word) >= PATH_MAX)
		return false;
	word = strtok_r(NULL, " \t", &rest);
	if (word && strlen(ret) >= 4 && !strcmp(ret + strlen(ret) - 4, "/env"))
		return find_program(word, ret);
	return true;
}

void unwind_ahead(struct unwind_tables *tables, int files_map, const char *name)
{
	struct ahead *a = calloc(1, sizeof(*a));
	char path[PATH_MAX], next[PATH_MAX];

	if (!a)
		return;
	a->tables = tables;
	a->files_map = files_map;
	unwind_files_learn_vdso(tables, files_map);
	if (find_program(name, path)) {
		read_cache(a);
		for (int i = 0; i < MAX_SCRIPTS && script_program(path, next); i++)
			memcpy(path, next, sizeof(path));
		add_file(a, path);
	}
	for (size_t i = 0; i < a->n; i++) {
		_cleanup_close_ int fd = open_file(a->files[i]);

		if (fd < 0)
			continue;
		unwind_files_learn(tables, files_map, fd, a->files[i]);
		add_needed(a, a->files[i], fd);
	}
	unwind_tables_wait(tables);
	for (size_t i = 0; i < a->n; i++)
		free(a->files[i]);
	free(a->cache);
	free(a);
}
